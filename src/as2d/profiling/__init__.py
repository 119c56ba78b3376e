"""What a model's calls cost on this machine: measured once, kept in a file, looked up by replay."""
