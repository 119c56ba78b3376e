"""Audio that is pushed in pieces: the same windows as of the whole, and bad pieces that change nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.audio import Window, open_audio, windows
from as2d.audio.live import LiveInput, LiveWindows
from as2d.errors import InputError
from as2d.records import SAMPLE_RATE

CLIPS = Path(__file__).parents[1] / "clips"
Floats = NDArray[np.float32]
SPEECH = np.concatenate(
    [block for name in ("jfk", "ls-3080-5032-0007") for block in open_audio(CLIPS / f"{name}.flac")]
)
LENGTHS = st.lists(st.floats(0.05, 12), min_size=1, max_size=5)


def recording(lengths: Sequence[float]) -> Floats:
    """Speech and silence of these seconds, in turn."""
    parts = [
        np.zeros(round(seconds * SAMPLE_RATE), np.float32)
        if index % 2
        else SPEECH[: round(seconds * SAMPLE_RATE)]
        for index, seconds in enumerate(lengths)
    ]
    return np.concatenate(parts)


def seen(found: Sequence[Window]) -> list[tuple[int, int, bool, bytes]]:
    return [(window.start, window.end, window.speech, window.samples.tobytes()) for window in found]


@settings(deadline=None, max_examples=25)
@given(LENGTHS, st.lists(st.floats(0, 1), max_size=6), st.sampled_from([3, 5, 30]))
def test_what_is_pushed_is_cut_as_the_whole_is(lengths: list[float], cuts: list[float], longest: int) -> None:
    audio, max_samples = recording(lengths), longest * SAMPLE_RATE
    live = LiveWindows(max_samples)
    found: list[Window] = []
    for piece in np.split(audio, sorted(round(cut * len(audio)) for cut in cuts)):
        found += live.feed(piece)
        live.rest()
    assert seen(found + live.rest()) == seen(list(windows([audio], max_samples)))
    assert seen(live.rest()) == seen(live.rest()), "nothing is consumed"


@settings(deadline=None, max_examples=10)
@given(LENGTHS, st.floats(0, 1))
def test_one_that_was_packed_goes_on_as_if_it_had_not_been(lengths: list[float], at: float) -> None:
    audio, max_samples = recording(lengths), 4 * SAMPLE_RATE
    first, second = np.split(audio, [round(at * len(audio))])
    live = LiveWindows(max_samples)
    before = live.feed(first)
    other = LiveWindows.unpack(live.pack(), max_samples)
    found = [*before, *other.feed(second), *other.rest()]
    assert seen(found) == seen(list(windows([audio], max_samples)))


def test_a_fork_does_not_hear_what_comes_later() -> None:
    live = LiveWindows()
    live.feed(SPEECH)
    fork = live.fork()
    expected = seen(live.rest())
    live.feed(SPEECH)
    assert seen(fork.rest()) == expected != seen(live.rest())


def test_a_window_must_hold_two_seconds() -> None:
    with pytest.raises(InputError, match="at least"):
        LiveWindows(1000)


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_pieces_are_resampled_as_the_whole_is(rate: int) -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, rate).astype(np.float32)
    whole = np.concatenate(list(open_audio((samples, rate))))
    live = LiveInput(rate)
    pieces = [live.convert(piece, rate) for piece in np.array_split(samples, 13)] + [live.flush()]
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-6)


@pytest.mark.parametrize("kind", ["float32", "float64", "int16"])
@pytest.mark.parametrize("channels", [None, 1, 2])
def test_samples_of_any_kind_become_mono_floats(kind: str, channels: int | None) -> None:
    scale = 2**15 if kind == "int16" else 1
    samples = (np.array([0.5, -0.25]) * scale).astype(kind)
    given_ = samples if channels is None else np.repeat(samples[:, None], channels, axis=1)
    found = LiveInput(SAMPLE_RATE).convert(given_)
    assert found.dtype == np.float32
    assert found.tolist() == [0.5, -0.25]


GOOD = np.full((10, 2), 0.5, np.float32)


@pytest.mark.parametrize(
    ("samples", "rate", "message"),
    [
        (GOOD, 8_000, "sample rate changed from 16000 to 8000"),
        (GOOD[:, :1], None, "there were 2 channels and now are 1"),
        (GOOD[:, 0], None, "2 channels and now are 1; begin another"),
        (np.full((3, 2), np.nan, np.float32), None, "NaN or infinite"),
        (np.array([[1.0, np.inf]]), None, "NaN or infinite"),
        (np.full((3, 2), 1e300), None, "NaN or infinite"),
        (GOOD.astype(np.int32), None, "samples are int32; give a numpy array of float32"),
        (GOOD.astype(np.complex64), None, "samples are complex64"),
        ([0.0, 0.0], None, "samples are list"),
        (np.float32(1), None, "samples are float32|shape"),
        (np.zeros((2, 1000), np.float32), None, r"give \[n\] or \[n, channels\]"),
        (np.zeros((2, 2, 2), np.float32), None, "shape"),
        (np.zeros((2, 0), np.float32), None, "shape"),
    ],
)
def test_bad_samples_are_refused_and_change_nothing(samples: Any, rate: int | None, message: str) -> None:
    live = LiveInput(SAMPLE_RATE)
    live.convert(GOOD)
    with pytest.raises(InputError, match=message):
        live.convert(samples, rate)
    assert live.convert(GOOD, SAMPLE_RATE).tolist() == [0.5] * 10


@pytest.mark.parametrize("rate", [0, -1, 16_000.5, True, "fast", 10**9])
def test_a_rate_that_cannot_be_is_refused(rate: Any) -> None:
    with pytest.raises(InputError, match="sample rate"):
        LiveInput(rate)


def test_no_samples_are_no_samples() -> None:
    live = LiveInput(8_000)
    assert live.convert(np.zeros(0, np.float32)).size == 0
    assert live.convert(np.zeros((0, 2), np.int16)).size == live.flush().size == 0


def test_no_samples_are_no_other_channel_count() -> None:
    live = LiveInput(SAMPLE_RATE)
    live.convert(GOOD)
    assert live.convert(np.zeros(0, np.float32)).size == 0
    assert live.convert(GOOD).tolist() == [0.5] * 10
