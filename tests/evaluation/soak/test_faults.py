from collections.abc import Callable
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from as2d.drafting.buffer import CandidateBuffer
from as2d.evaluation.soak import faults
from as2d.evaluation.soak.faults import Faults, FaultySource, InjectedError
from as2d.models.contract import AudioModel
from as2d.records import Instruction
from as2d.runtime.source import Job, source_of

ENGLISH = Instruction(language="en")
TEXT = "Ask not what your country can do for you. " * 4
NO_SOUND = np.zeros(16_000, np.float32)


class Always(Faults):
    """Only one fault, in every call that can have it."""

    def __init__(self, fault: faults.Fault) -> None:
        super().__init__(0, 1.0)
        self.fault = fault

    def draw(self, among: tuple[faults.Fault, ...] = ("raises", "stalls", "hangs", "lies")) -> Any:
        return self.fault if self.fault in among else None


def drafted(toy: Callable[..., AudioModel], how: Faults, stop: Event | None = None) -> bytes:
    """What a drafter that recites TEXT publishes."""
    target, source = toy(TEXT), FaultySource(source_of(toy(TEXT)), how)
    buffer = CandidateBuffer()
    prepared = source.prepare(NO_SOUND, lambda: None, 1, ENGLISH)
    source.draft(prepared, Job(ENGLISH, target.vocabulary, "word", None, buffer, stop or Event()))
    return bytes(token for token in buffer.snapshot().tokens if 0 <= token < 256)


def test_without_faults_it_is_the_plain_source(toy: Callable[..., AudioModel]) -> None:
    how = Faults(0, share=0.0)
    assert drafted(toy, how) == TEXT.encode()
    assert how.counts.total() == 0


def test_a_lie_is_another_text(toy: Callable[..., AudioModel]) -> None:
    said = drafted(toy, Always("lies"))
    assert said != TEXT.encode()
    assert len(said) > len(TEXT) / 2


def test_it_raises(toy: Callable[..., AudioModel]) -> None:
    with pytest.raises(InjectedError):
        drafted(toy, Always("raises"))


def test_a_stall_ends_when_told_to_and_a_hang_does_not(
    toy: Callable[..., AudioModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Faults, "delay_s", lambda _: 0.2)
    stop = Event()
    stop.set()
    began = perf_counter()
    drafted(toy, Always("stalls"), stop)
    assert perf_counter() - began < 0.15
    drafted(toy, Always("hangs"), stop)
    assert perf_counter() - began > 0.4  # once as it prepares, once as it drafts


def test_the_seed_decides_and_faults_are_counted() -> None:
    one, two, other = (Faults(seed, share=0.3) for seed in (1, 1, 2))
    drawn = [one.draw() for _ in range(200)]
    assert drawn == [two.draw() for _ in range(200)]
    assert drawn != [other.draw() for _ in range(200)]
    assert one.counts.total() == sum(fault is not None for fault in drawn)
    assert set(one.counts) == {"raises", "stalls", "hangs", "lies"}
    assert 30 < one.counts.total() < 90
