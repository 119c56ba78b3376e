"""The soak test: hours of random requests, with faults, in which no token may be wrong and nothing may leak."""
