"""The measuring bench: corpora in, paired runs of every method, tables and pictures out.

`corpora` says what is heard, `measuring/` decodes it with every contender and `peers/`, and writes `rows`; `analysis/`
and `plots/` make of these what `results` writes. `bench` is the way in, `independence` a probe of its own.
"""
