"""The draft of a recogniser that hears chunks and gives text, as the paper's external drafters do."""

import re
from contextlib import closing
from threading import Event

import numpy as np
from numpy.typing import NDArray

from as2d.drafting.buffer import CandidateBuffer
from as2d.errors import InputError
from as2d.models.contract import Vocabulary
from as2d.models.recognisers.contract import Recogniser

CHUNK_SAMPLES = 40_960
"""Samples of a chunk: the paper's 2.56 s at 16 kHz."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"  # kana, Han, their punctuation
)
"""Scripts that write no spaces, in which each character counts as a word."""
_WORD = re.compile(rf"(?:(?P<space>^|\s)\s*)?(?:(?P<word>[^\s{_UNSPACED}]+)|(?P<character>[{_UNSPACED}]))")


def free_run_chunks(
    recogniser: Recogniser,
    language: str,
    samples: NDArray[np.float32],
    target: Vocabulary,
    buffer: CandidateBuffer,
    stop: Event,
) -> None:
    """Recognise a window (float32 [n], 16 kHz) chunk by chunk, and publish each chunk's words as one batch.

    The last word is held back until the next chunk, since it may be cut. What is published stays: a recogniser that
    changes its mind about earlier words only appends behind them, and the loop realigns. The probabilities are 1,
    as nothing is known of them. Whatever the recogniser raises is raised, InputError where it gives no text.
    """
    published = 0
    with closing(recogniser.open(language, stop)) as stream:
        for start in range(0, len(samples), CHUNK_SAMPLES):
            if stop.is_set():
                return
            last = start + CHUNK_SAMPLES >= len(samples)
            chunk = samples[start : start + CHUNK_SAMPLES].copy()  # the target reads the original meanwhile
            words = split_words(_checked(stream.accept(chunk, last=last), recogniser.name))
            complete = words if last else words[:-1]
            _publish(complete[published:], target, buffer)
            published = max(published, len(complete))


def split_words(text: str) -> list[str]:
    """The words, each with the one leading space that Whisper and its like write, also at the beginning.

    Characters of scripts without spaces stand alone and never have one.
    """
    return [
        match["character"] or (match["word"] if match["space"] is None else " " + match["word"])
        for match in _WORD.finditer(text)
    ]


def _checked(text: object, name: str) -> str:
    if not isinstance(text, str):
        raise InputError(f"the recogniser {name} gave {type(text).__name__} instead of str; mend its adapter")
    return text


def _publish(words: list[str], target: Vocabulary, buffer: CandidateBuffer) -> None:
    """Publish the words together. Tokenizers split before spaces, so that the tokens are those of each word."""
    tokens = target.encode("".join(words))
    if tokens:
        buffer.publish(tokens, (1.0,) * len(tokens))
