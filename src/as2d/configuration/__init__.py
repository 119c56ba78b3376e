"""What to run on this machine, and the built-in defaults."""
