"""Speeds and error rates that `as2d bench` does not print: auto, drafters, end_to_end, memory, wer.

Each is run from the root of the repository as `python -m benchmarks.NAME`.
"""
