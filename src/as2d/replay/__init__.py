"""Recorded tokens and measured costs under a virtual clock: what a configuration would have done."""
