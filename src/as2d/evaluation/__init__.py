"""The measuring bench: corpora in, paired runs of every method, tables and pictures out."""
