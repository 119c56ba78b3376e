"""The decoder on real weights: what its caches hold after any pattern of calls, and that its rows stay the same."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import InputError
from as2d.models.whisper.decoder import WhisperDecoder
from as2d.models.whisper.graph import MAX_ROWS
from as2d.models.whisper.model import WhisperModel, WhisperPrepared
from as2d.records import Instruction

Float32 = NDArray[np.float32]
ENGLISH = Instruction("transcribe", "en")
WIDEST = 25
STEPS = 64


@pytest.fixture(scope="module")
def spoken(base: WhisperModel, clips: dict[str, Path]) -> WhisperPrepared:
    samples = np.concatenate(list(open_audio(clips["jfk"])))
    return base.prepare(samples, 2)


@pytest.fixture
def decoder(base: WhisperModel, spoken: WhisperPrepared) -> WhisperDecoder:
    return base.open(spoken, ENGLISH, 1)


@pytest.fixture(scope="module")
def tokens(base: WhisperModel, spoken: WhisperPrepared) -> list[int]:
    """What the model says of the clip, and then random text."""
    decoder = base.open(spoken, ENGLISH, 1)
    said = [decoder.root]
    while said[-1] not in base.end_ids:
        said += decoder.forward(said[-1:]).greedy
    return (said[:-1] + Random(0).choices(range(50_000), k=STEPS))[:STEPS]


@pytest.fixture(scope="module")
def single_steps(base: WhisperModel, spoken: WhisperPrepared, tokens: list[int]) -> Float32:
    """The rows [STEPS, columns] of one token at a time on one core."""
    decoder = base.open(spoken, ENGLISH, 1)
    return np.concatenate([decoder.scores([token]).copy() for token in tokens])


def test_a_decoder_opens_behind_all_but_the_last_prompt_token(
    base: WhisperModel, decoder: WhisperDecoder
) -> None:
    assert decoder.root == base.vocabulary.notimestamps
    assert decoder.length == 3
    assert decoder.capacity == base.config.text_ctx == 448


def test_forward_appends_and_truncate_forgets(decoder: WhisperDecoder) -> None:
    rows = decoder.forward([decoder.root, 400, 500])
    assert decoder.length == 6
    assert len(rows.greedy) == 3
    assert rows.probability == ()
    decoder.truncate(4)
    assert decoder.length == 4
    assert decoder.forward([400, 500]).greedy == rows.greedy[1:]


@pytest.mark.parametrize("length", [-1, 4])
def test_a_cache_is_not_truncated_to_what_it_never_held(decoder: WhisperDecoder, length: int) -> None:
    with pytest.raises(InputError, match="cannot truncate"):
        decoder.truncate(length)
    assert decoder.length == 3


def test_no_tokens_are_refused(decoder: WhisperDecoder) -> None:
    with pytest.raises(InputError, match="do not fit"):
        decoder.forward([])


def test_more_tokens_than_fit_are_refused_and_leave_the_cache_as_it_was(decoder: WhisperDecoder) -> None:
    decoder.forward([100] * 443)
    with pytest.raises(InputError, match=r"446 \+ 3 positions"):
        decoder.forward([1, 2, 3])
    assert decoder.length == 446


def test_the_last_position_of_the_context_can_be_used(decoder: WhisperDecoder) -> None:
    decoder.forward([100] * 444)
    kept = decoder.length
    alone = [decoder.forward([token]).greedy[0] for token in (100,)]
    assert decoder.length == decoder.capacity
    decoder.truncate(kept - 1)
    assert list(decoder.forward([100, 100]).greedy[1:]) == alone


@pytest.mark.parametrize("threads", [1, 2])
def test_every_width_gives_bitwise_the_rows_of_single_steps(
    decoder: WhisperDecoder, tokens: list[int], single_steps: Float32, threads: int
) -> None:
    opening = decoder.length
    for start in (0, 1, 20, 37):
        for width in range(1, WIDEST + 1):
            decoder.truncate(opening)
            decoder.use_threads(1)
            if start:
                decoder.scores(tokens[:start])
            decoder.use_threads(threads)
            rows = decoder.scores(tokens[start : start + width])
            assert np.array_equal(rows, single_steps[start : start + width]), (start, width)


def test_a_call_wider_than_the_graph_takes_is_split(
    decoder: WhisperDecoder, tokens: list[int], single_steps: Float32
) -> None:
    assert STEPS > 3 * MAX_ROWS
    assert np.array_equal(decoder.scores(tokens), single_steps)
    decoder.truncate(3)
    rows = decoder.forward(tokens)
    decoder.truncate(3)
    assert rows.greedy == tuple(decoder.forward([token]).greedy[0] for token in tokens)


Round = tuple[int, int, int]
"""Candidates, how many of them are right, and the threads."""
rounds = st.tuples(st.integers(0, WIDEST - 1), st.integers(0, WIDEST - 1), st.sampled_from([1, 2]))


@settings(max_examples=30, deadline=None)
@given(pattern=st.lists(rounds, min_size=1, max_size=12), seed=st.integers(0, 2**32))
def test_rows_after_accepts_and_rejects_are_those_of_a_fresh_decoder(
    base: WhisperModel,
    spoken: WhisperPrepared,
    tokens: list[int],
    single_steps: Float32,
    pattern: Sequence[Round],
    seed: int,
) -> None:
    random = Random(seed)
    decoder = base.open(spoken, ENGLISH, 1)
    opening, kept = decoder.length, 0
    for candidates, right, threads in pattern:
        agreed = min(candidates, right, STEPS - kept - 1)
        wrong = random.choices(range(50_000), k=candidates - agreed)
        decoder.use_threads(threads)
        rows = decoder.scores([*tokens[kept : kept + agreed + 1], *wrong])[: agreed + 1]
        assert np.array_equal(rows, single_steps[kept : kept + agreed + 1])
        kept = min(kept + agreed + 1, STEPS - 1)
        decoder.truncate(opening + kept)
    fresh = base.open(spoken, ENGLISH, 2)
    fresh.scores(tokens[:kept])
    assert np.array_equal(decoder.scores(tokens[kept:]), fresh.scores(tokens[kept:]))


def test_decoders_share_prepared_audio_and_nothing_else(
    base: WhisperModel, spoken: WhisperPrepared, tokens: list[int], single_steps: Float32
) -> None:
    first, second = base.open(spoken, ENGLISH, 1), base.open(spoken, ENGLISH, 2)
    second.scores([400] * 30)
    for index in range(0, 40, 4):
        assert np.array_equal(first.scores(tokens[index : index + 4]), single_steps[index : index + 4])
        second.scores([index])


def test_a_drafter_tells_its_probabilities(tiny: WhisperModel, clips: dict[str, Path]) -> None:
    samples = np.concatenate(list(open_audio(clips["jfk"])))
    decoder = tiny.open(tiny.prepare(samples, 2), ENGLISH, 1)
    rows = decoder.forward([decoder.root])
    assert len(rows.probability) == 1
    assert 0 < rows.probability[0] <= 1
