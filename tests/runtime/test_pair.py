"""A target and its drafter: who is loaded when, who drafts what, and what happens where the drafter fails."""

from collections.abc import Callable

import numpy as np
import pytest

from as2d.errors import InputError
from as2d.models.contract import AudioModel
from as2d.records import Instruction
from as2d.runtime.pair import Pair, PreparedSource, SpeechWindow

ToyFactory = Callable[..., AudioModel]
WINDOW = SpeechWindow(8000, np.zeros(16_000, np.float32))


@pytest.fixture
def target(toy: ToyFactory) -> AudioModel:
    return toy("hello", languages=("de", "en"), tasks=("transcribe", "translate"))


def test_a_drafter_is_loaded_when_it_is_first_needed(target: AudioModel, toy: ToyFactory) -> None:
    loaded = []

    def load() -> AudioModel:
        loaded.append(1)
        return toy("hi")

    pair = Pair(target, load, 2)
    assert not loaded
    assert pair.sources is pair.sources
    assert len(loaded) == 1


def test_a_pair_may_have_no_drafter(target: AudioModel) -> None:
    pair = Pair(target, None, 2)
    assert pair.sources == ()
    assert pair.prepare(WINDOW, Instruction(language="en"), any_language=True).sources == ()


@pytest.mark.parametrize(
    ("instruction", "can"),
    [
        (Instruction("transcribe", "en"), True),
        (Instruction("transcribe", "de"), False),
        (Instruction("translate", "en"), False),
    ],
)
def test_a_drafter_drafts_what_it_can(
    target: AudioModel, toy: ToyFactory, instruction: Instruction, can: bool
) -> None:
    (source,) = Pair(target, lambda: toy("hi"), 2).sources
    assert source.can_draft(instruction) is can


def test_a_prepared_window_keeps_its_place_and_the_detected_language(
    target: AudioModel, toy: ToyFactory
) -> None:
    prepared = Pair(target, lambda: toy("hi"), 2).prepare(WINDOW, Instruction(), any_language=False)
    assert (prepared.start, prepared.end, prepared.language) == (8000, 24_000, "de")
    assert prepared.sources == (PreparedSource(),)


@pytest.mark.parametrize(("language", "any_language", "drafts"), [("en", False, True), ("de", True, True)])
def test_a_window_is_prepared_for_a_drafter_that_will_draft(
    target: AudioModel, toy: ToyFactory, language: str, any_language: bool, drafts: bool
) -> None:
    prepared = Pair(target, lambda: toy("hi"), 2).prepare(
        WINDOW, Instruction(language=language), any_language=any_language
    )
    assert (prepared.sources[0].audio is not None) is drafts


def test_a_drafter_that_cannot_encode_is_left_out(target: AudioModel, toy: ToyFactory) -> None:
    def fail() -> None:
        raise MemoryError("no room")

    prepared = Pair(target, lambda: toy("hi", on_prepare=fail), 2).prepare(
        WINDOW, Instruction(language="en"), any_language=False
    )
    assert prepared.sources == (PreparedSource(fault="MemoryError: no room"),)


def test_a_pair_needs_a_core(target: AudioModel) -> None:
    with pytest.raises(InputError):
        Pair(target, None, 0)
