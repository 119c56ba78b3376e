"""Producers that draft ahead of the target, and the buffers that carry their tokens to it."""
