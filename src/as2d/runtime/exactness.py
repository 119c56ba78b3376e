"""Row invariance, probed on the loaded weights: is verifying K tokens bitwise what K single steps are?

`Decoder.scores` must give the same bits for a token whatever its place in a call, the width of the call and the
number of threads that a core split uses. See docs/exactness.md for what breaks it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from as2d.engines.onnxruntime import cpu_fingerprint
from as2d.models.cache import cache_key, cached
from as2d.models.contract import AudioModel, Decoder, prepare_for
from as2d.records import SAMPLE_RATE, Instruction

MAX_BUDGET = 24
"""Most candidates of a round."""
WIDTHS = range(1, MAX_BUDGET + 2)
"""Widths K that a round can have: the root and up to MAX_BUDGET candidates."""

_STARTS = (5, 38)
"""Cached tokens before the probed call, an odd and an even number."""
_SECONDS = 10


def is_exact(model: AudioModel, thread_counts: Iterable[int]) -> bool:
    """Whether every width and every one of these thread counts gives bitwise equal rows; probed once and cached."""
    counts = sorted(set(thread_counts))
    fingerprint = cpu_fingerprint()
    key = cache_key("exactness", model.identity, *fingerprint.values(), *map(str, counts))
    folder = cached(key, lambda target: _write(target, probe(model, counts)))
    return not json.loads((folder / "unequal.json").read_text(encoding="utf-8"))


def _write(folder: Path, unequal: list[tuple[int, int]]) -> None:
    (folder / "unequal.json").write_text(json.dumps(unequal), encoding="utf-8")


def probe(model: AudioModel, thread_counts: Sequence[int]) -> list[tuple[int, int]]:
    """The (threads, width) pairs whose rows differ from single steps on the first thread count; empty is exact.

    The audio is noise and the tokens are random: what is compared is arithmetic, not speech. Both are seeded.
    """
    random = np.random.default_rng(0)
    samples = random.standard_normal(_SECONDS * SAMPLE_RATE).astype(np.float32) * np.float32(0.1)
    instruction = Instruction(model.capabilities.tasks[0], next(iter(model.capabilities.languages), None))
    prepared = prepare_for(model, instruction, samples, max(thread_counts))
    tokens = random.integers(0, model.vocabulary.size, max(_STARTS) + max(WIDTHS)).tolist()

    def opened() -> Decoder:
        return model.open(prepared, instruction, thread_counts[0])

    reference = _single_steps(opened(), tokens)
    return find_unequal(opened, tokens, reference, thread_counts)


def find_unequal(
    opened: Callable[[], Decoder],
    tokens: Sequence[int],
    reference: NDArray[np.float32],
    thread_counts: Sequence[int],
) -> list[tuple[int, int]]:
    """Compare every width and thread count with the rows [len(tokens), n] of single steps."""
    decoder = opened()
    opening = decoder.length
    unequal = set()
    for start in _STARTS:
        decoder.truncate(opening)
        decoder.use_threads(thread_counts[0])
        decoder.scores(tokens[:start])
        for threads in thread_counts:
            decoder.use_threads(threads)
            for width in WIDTHS:
                decoder.truncate(opening + start)
                rows = decoder.scores(tokens[start : start + width])
                if not np.array_equal(rows, reference[start : start + width]):
                    unequal.add((threads, width))
    return sorted(unequal)


def _single_steps(decoder: Decoder, tokens: Sequence[int]) -> NDArray[np.float32]:
    return np.concatenate([decoder.scores([token]).copy() for token in tokens])
