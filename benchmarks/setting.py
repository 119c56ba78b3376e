"""What the benchmarks have in common: the corpus, its clips, the cores, and what is said of the machine."""

import hashlib
import os
import sys
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import InputError
from as2d.evaluation.corpora import NO_OWN_SPEECH, Clip, Corpus, read_corpus
from as2d.evaluation.host import describe_host

CORES = 2
"""Cores of the contenders that are given more than one."""


def development_corpus() -> Corpus:
    """The corpus in the folder that `AS2D_CORPUS` names; ends the program when there is none."""
    folder = os.environ.get("AS2D_CORPUS")
    if not folder:
        sys.exit("set AS2D_CORPUS to the folder of the development corpus (it holds manifest.jsonl)")
    try:
        return read_corpus(Path(folder))
    except InputError as error:
        sys.exit(f"AS2D_CORPUS: {error}")


def spoken_clips(clips: Iterable[Clip], languages: Collection[str]) -> list[Clip]:
    """The clips of speech in these languages, in an order that is fixed and mixes kinds and speakers."""
    chosen = (clip for clip in clips if clip.kind not in NO_OWN_SPEECH and clip.language in languages)
    return sorted(chosen, key=lambda clip: hashlib.sha256(clip.name.encode()).digest())


def read_samples(clip: Clip) -> NDArray[np.float32]:
    """All samples of a clip, mono at 16 kHz. AudioError when it cannot be decoded."""
    with open_audio(clip.path) as stream:
        return np.concatenate(list(stream))


def header(corpus: Corpus) -> dict[str, str]:
    """What a reader must know to judge the figures, by what it is."""
    host = describe_host()
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": host.commit,
        "host": host.name,
        "CPU": f"{host.cpu}, {host.cores} cores, load {host.load:.2f} at the start",
        "versions": ", ".join(f"{name} {version}" for name, version in host.versions.items()),
        "corpus": f"{corpus.digest}: development data, all of it (budget and constants were tuned on it)",
    }


def print_header(corpus: Corpus) -> None:
    """The header, a line for each thing."""
    for name, value in header(corpus).items():
        print(f"{name}: {value}")


def markdown_line(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"
