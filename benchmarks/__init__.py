"""What prints a speed or an error rate; run from the root of the repository as `python -m benchmarks.NAME`."""
