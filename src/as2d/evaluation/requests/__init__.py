"""Requests while audio arrives: the benches of on-demand answers and of a sustained stream."""
