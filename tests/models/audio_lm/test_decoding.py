"""What is decoded does not depend on widths, rejections, drafters, or what else the audio was asked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from as2d.errors import InputError
from as2d.models.contract import AudioModel, prepare_for
from as2d.records import Instruction
from as2d.runtime.pair import Pair, PreparedSource, PreparedWindow, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window

CHATS = ("qwen2_5_omni", "qwen2_audio", "voxtral", "granite_speech")
FAMILIES = ("qwen3_asr", *CHATS, "whisper")
ENGLISH = Instruction(language="en")
ALONE = Decoding("target-only", 0, "word", any_language=True)

_quick = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def run(pair: Pair, window: SpeechWindow | PreparedWindow, decoding: Decoding) -> WindowRecord:
    """The record of a window that is asked for in English."""
    commits: Iterator[Any] = run_window(pair, window, ENGLISH, decoding, Event())
    while True:
        try:
            next(commits)
        except StopIteration as stop:
            record: WindowRecord = stop.value
            return record


def said(record: WindowRecord) -> list[int]:
    return [token for commit in record.commits for token in commit.tokens]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_is_bitwise_the_same_in_every_call(
    loaded: Callable[..., AudioModel], noise: Any, family: str
) -> None:
    model = loaded(family)
    prepared = prepare_for(model, ENGLISH, noise(0.9), 1)
    tokens = np.random.default_rng(2).integers(0, 300, 37).tolist()
    single = model.open(prepared, ENGLISH, 1)
    rows = np.concatenate([single.scores([token]).copy() for token in tokens])
    for threads, start, width in [(1, 0, 37), (2, 1, 25), (1, 5, 2), (1, 30, 3), (2, 12, 7)]:
        decoder = model.open(prepared, ENGLISH, 1)
        decoder.use_threads(threads)
        decoder.scores([*tokens[:start], 7, 8])  # two that are rejected
        decoder.truncate(decoder.length - 2)
        assert np.array_equal(decoder.scores(tokens[start : start + width]), rows[start : start + width]), (
            width
        )


@_quick
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6))
def test_rejected_tokens_leave_nothing_behind(
    loaded: Callable[..., AudioModel], noise: Any, rounds: Sequence[tuple[int, int, int]]
) -> None:
    model = loaded("qwen3_asr")
    prepared = prepare_for(model, ENGLISH, noise(2.5), 1)
    tokens = np.random.default_rng(3).integers(0, 300, 60).tolist()
    whole = model.open(prepared, ENGLISH, 1)
    expected = whole.forward(tokens)
    decoder, at = model.open(prepared, ENGLISH, 1), 0
    opening = decoder.length
    for width, wrong, kept in rounds:
        rows = decoder.forward([*tokens[at : at + width], *[9] * wrong])
        assert rows.greedy[:width] == expected.greedy[at : at + width]
        assert rows.probability[:width] == expected.probability[at : at + width]
        at += min(kept, width)
        decoder.truncate(opening + at)
    assert decoder.length == opening + at


@pytest.fixture(scope="session")
def window(loaded: Callable[..., AudioModel], noise: Any) -> SpeechWindow:
    return SpeechWindow(0, noise(1.2))


@pytest.fixture(scope="session")
def answered(
    loaded: Callable[..., AudioModel], window: SpeechWindow
) -> Callable[[str], tuple[PreparedWindow, list[int]]]:
    """Gives what a family's model prepared of the window, and says of it alone."""

    @cache
    def get(family: str) -> tuple[PreparedWindow, list[int]]:
        pair = Pair(loaded(family), None, 1)
        prepared = pair.prepare(window, ENGLISH, any_language=True)
        return prepared, said(run(pair, prepared, ALONE))

    return get


def draft_with(
    pair: Pair, window: PreparedWindow, budget: int, audio: object = "heard by a toy"
) -> WindowRecord:
    return run(
        pair,
        replace(window, sources=(PreparedSource(audio),)),
        Decoding("as2d", budget, 2, any_language=True),
    )


@_quick
@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["wrong", "lost", "more"])), max_size=5),
    st.integers(1, 24),
    st.sampled_from(["qwen3_asr", "qwen2_5_omni"]),
)
def test_any_drafter_leaves_the_answer_as_it_is(
    loaded: Callable[..., AudioModel],
    toy: Callable[..., AudioModel],
    answered: Callable[[str], tuple[PreparedWindow, list[int]]],
    faults: Sequence[tuple[int, str]],
    budget: int,
    family: str,
) -> None:
    model, (window, alone) = loaded(family), answered(family)
    draft = list(alone)
    for place, fault in faults:
        at = min(place, len(draft) - 1)
        draft[at : at + 1] = {"wrong": [11], "lost": [], "more": [draft[at], 12]}[fault]
        draft = draft or [11]
    pair = Pair(model, lambda: toy(reciting(draft, model), **tokens_of(model)), 1)
    record = draft_with(pair, window, budget)
    assert said(record) == alone
    assert not record.faults


def reciting(draft: Sequence[int], model: AudioModel) -> Callable[[Sequence[int]], int]:
    return lambda prefix: [*draft, min(model.end_ids)][min(len(prefix), len(draft))]


def tokens_of(model: AudioModel) -> dict[str, Any]:
    return {"vocabulary": model.vocabulary, "end_ids": model.end_ids}


def test_a_drafter_that_is_right_is_accepted(
    loaded: Callable[..., AudioModel],
    toy: Callable[..., AudioModel],
    answered: Callable[[str], tuple[PreparedWindow, list[int]]],
) -> None:
    model, (window, alone) = loaded("qwen3_asr"), answered("qwen3_asr")
    record = draft_with(Pair(model, lambda: toy(reciting(alone, model), **tokens_of(model)), 1), window, 7)
    assert said(record) == alone
    assert sum(commit.accepted for commit in record.commits) > len(alone) // 2


@pytest.mark.parametrize(
    ("target", "drafter", "seed"),
    [("qwen3_asr", "qwen3_asr", 1), ("qwen2_5_omni", "qwen3_asr", 0), ("voxtral", "whisper", 0)],
)
def test_families_draft_for_each_other(
    loaded: Callable[..., AudioModel],
    answered: Callable[[str], tuple[PreparedWindow, list[int]]],
    window: SpeechWindow,
    target: str,
    drafter: str,
    seed: int,
) -> None:
    model, other = loaded(target), loaded(drafter, seed)
    assert (model.vocabulary == other.vocabulary) == (target == drafter)
    prepared, alone = answered(target)
    heard = prepare_for(other, ENGLISH, window.samples, 1)
    record = draft_with(Pair(model, lambda: other, 1), prepared, 5, heard)
    assert said(record) == alone
    assert record.drafted
    assert not [fault for fault in record.faults if "left behind" not in fault]


@pytest.mark.parametrize("family", CHATS)
def test_two_requests_on_one_preparation_are_as_on_two(
    loaded: Callable[..., AudioModel], noise: Any, family: str
) -> None:
    model, samples = loaded(family), noise(1.2)
    second = Instruction("translate", to="de")
    shared = model.prepare(samples, 1)
    one, two = model.open(shared, Instruction(), 1), model.open(shared, second, 1)
    for decoder, instruction in ((one, Instruction()), (two, second)):
        fresh = model.open(model.prepare(samples, 1), instruction, 1)
        assert decoder.root == fresh.root
        for token in (decoder.root, 5, 6):  # by turns with the other decoder
            assert np.array_equal(decoder.scores([token]), fresh.scores([token]))
    assert not np.array_equal(one.scores([7]), two.scores([7]))


def test_every_end_id_ends_a_text(saved: Any, window: SpeechWindow) -> None:
    from as2d.models.audio_lm import load_audio_lm

    folder, reference = saved("qwen2_audio")
    ids = reference.tokenizer.convert_tokens_to_ids
    ends = {ids("<|endoftext|>"), ids("<|im_end|>")}
    for end in sorted(ends):
        model: Any = load_audio_lm(folder)
        assert model.end_ids == ends
        third = said(run(Pair(model, None, 1), window, ALONE))[2]
        weight = model._text.head.weight
        weight[[third, end]] = weight[[end, third]]  # what was the third token is the end now
        record = run(Pair(model, None, 1), window, ALONE)
        assert said(record)[-1] == end
        assert record.commits[-1].finish_reason == "stop"
        assert len(said(record)) <= 3


def test_what_does_not_fit_is_refused(loaded: Callable[..., AudioModel], noise: Any) -> None:
    model = loaded("qwen2_audio")
    prepared = model.prepare(noise(0.5), 1)
    with pytest.raises(InputError, match="shorten"):
        model.open(prepared, Instruction("ask", question="x1 " * 1500), 1)
    decoder = model.open(prepared, Instruction(), 1)
    with pytest.raises(InputError, match="do not fit"):
        decoder.forward([1] * (decoder.capacity - decoder.length + 1))
    with pytest.raises(InputError, match="do not fit"):
        decoder.forward([])
    with pytest.raises(InputError, match="truncate"):
        decoder.truncate(decoder.length + 1)
    limit = model.output_limit(prepared, Instruction())
    assert decoder.length + 1 + limit == decoder.capacity
    assert model.output_limit(prepared, Instruction("ask", question="x")) > limit


@pytest.mark.parametrize("family", ["qwen3_asr", "qwen2_audio", "whisper"])
def test_what_another_model_prepared_is_refused(
    loaded: Callable[..., AudioModel], noise: Any, family: str
) -> None:
    """One of the same shapes, too, whose numbers mean nothing here."""
    model = loaded(family)
    for other in (loaded(family, 7), loaded("granite_speech")):
        prepared = other.prepare(noise(0.5), 1)
        with pytest.raises(InputError, match="another model"):
            model.open(prepared, Instruction(language="en"), 1)


@pytest.mark.parametrize("family", ["qwen2_audio", "whisper"])
def test_audio_that_is_too_long_is_not_cut_in_silence(
    loaded: Callable[..., AudioModel], noise: Any, family: str
) -> None:
    with pytest.raises(InputError, match="hears 30 s at most"):
        loaded(family).prepare(noise(30.5), 1)
    loaded(family).prepare(noise(30.0), 1)
