"""How windows close while audio arrives: the rules, and that only the audio decides."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.audio import Window, open_audio
from as2d.audio.closing import GROUP, LEAST, PAUSE, ClosingWindows
from as2d.audio.silero import CHUNK
from as2d.audio.windows import LONG_PAUSE, PADDING
from as2d.errors import InputError

CLIPS = Path(__file__).parents[1] / "clips"
Floats = NDArray[np.float32]
Parts = Sequence[tuple[int, float]]
SECOND = 16_000
PARTS = st.lists(
    st.tuples(st.integers(1, 120), st.sampled_from([0.0, 0.2, 0.4, 0.9, 1.0])), min_size=1, max_size=12
)


def heard(samples: Floats) -> Floats:
    """A detector for audio that says itself how probable speech is."""
    return np.array([samples[first] for first in range(0, len(samples), CHUNK)], np.float32)


def audio(parts: Parts) -> Floats:
    """Chunks of a probability, as what `heard` hears."""
    return np.concatenate([np.full(chunks * CHUNK, value, np.float32) for chunks, value in parts])


def fed(windows: ClosingWindows, samples: Floats, sizes: Sequence[int]) -> list[Window]:
    """What closes when the samples come in pieces of these sizes, over and over, and then end."""
    closed, first, turn = [], 0, 0
    while first < len(samples):
        last = first + sizes[turn % len(sizes)]
        closed += windows.feed(samples[first:last])
        first, turn = last, turn + 1
    return closed + windows.finish()


def closed_in_chunks(parts: Parts, max_samples: int = 15 * SECOND) -> list[tuple[int, int]]:
    """Those that close before the audio ends."""
    closed = ClosingWindows(max_samples, heard).feed(audio(parts))
    return [(window.start // CHUNK, window.end // CHUNK) for window in closed]


def same(one: list[Window], other: list[Window]) -> bool:
    return [(w.start, w.end, w.samples.tobytes()) for w in one] == [
        (w.start, w.end, w.samples.tobytes()) for w in other
    ]


@settings(deadline=None, max_examples=30)
@given(PARTS, st.integers(0, CHUNK - 1), st.lists(st.integers(1, 3 * SECOND), min_size=1), st.integers(5, 15))
def test_only_the_audio_decides(parts: Parts, missing: int, sizes: list[int], longest: int) -> None:
    samples = audio(parts)
    samples = samples[: len(samples) - missing]
    whole = fed(ClosingWindows(longest * SECOND, heard), samples, [len(samples)])
    assert same(whole, fed(ClosingWindows(longest * SECOND, heard), samples, [*sizes, SECOND]))
    end = 0
    for window in whole:
        assert end <= window.start < window.end <= len(samples)
        assert window.speech
        assert window.end - window.start <= longest * SECOND
        assert np.array_equal(window.samples, samples[window.start : window.end])
        end = window.end


@settings(deadline=None, max_examples=30)
@given(PARTS, st.integers(5000, 4 * SECOND))
def test_the_open_window_goes_on_where_the_closed_ones_end(parts: Parts, size: int) -> None:
    samples = audio(parts)
    windows = ClosingWindows(5 * SECOND, heard)
    closed: list[Window] = []
    for first in range(0, len(samples), size):
        closed += windows.feed(samples[first : first + size])
        window = windows.open_window()
        assert window.start >= (closed[-1].end if closed else 0)
        assert window.end <= min(first + size, len(samples))
        assert len(window.samples) == window.end - window.start <= 5 * SECOND
        assert np.array_equal(window.samples, samples[window.start : window.end])
        assert window.speech == (len(window.samples) > 0)


@settings(deadline=None, max_examples=30)
@given(PARTS)
def test_certain_speech_is_in_a_window(parts: Parts) -> None:
    samples = audio(parts)
    inside = np.zeros(len(samples), bool)
    for window in fed(ClosingWindows(15 * SECOND, heard), samples, [SECOND]):
        inside[window.start : window.end] = True
    first = 0
    for chunks, value in parts:
        last = first + chunks * CHUNK
        if value >= 0.9 and chunks >= 8:
            assert inside[first:last].all()
        first = last


def test_a_pause_closes_a_window_that_is_long_enough() -> None:
    assert closed_in_chunks([(144, 1), (PAUSE, 0)]) == [(0, 144 + PADDING)]
    assert closed_in_chunks([(144, 1), (PAUSE - 1, 0), (1, 1)]) == []
    assert closed_in_chunks([(144, 1), (PAUSE, 0), (160, 1), (PAUSE, 0)]) == [(0, 152), (152, 328)]


def test_a_pause_in_a_short_window_waits_until_enough_has_arrived() -> None:
    word = [(8, 0), (24, 1)]
    silence = -(-LEAST // 8) * 8 - 32  # up to the first group behind the least
    assert closed_in_chunks([*word, (silence - 8, 0)]) == []
    assert closed_in_chunks([*word, (silence, 0)]) == [(0, 32 + PADDING)]
    assert closed_in_chunks([*word, (40, 0), (24, 1), (16, 0)]) == []


def test_a_noise_that_may_be_speech_is_no_pause() -> None:
    assert closed_in_chunks([(144, 1), (8, 0), (32, 0.4)]) == []
    assert closed_in_chunks([(144, 1), (8, 0), (32, 0.4), (PAUSE, 0)]) == [(0, 184 + PADDING)]


def test_long_silence_is_dropped() -> None:
    assert closed_in_chunks([(1000, 0), (144, 1), (PAUSE, 0)]) == [(1000 - LONG_PAUSE, 1144 + PADDING)]
    assert closed_in_chunks([(36, 0), (144, 1), (20, 0)]) == [(36 - PADDING, 180 + PADDING)]
    windows = ClosingWindows(detector=heard)
    assert fed(windows, audio([(1000, 0)]), [SECOND]) == []
    assert len(windows.open_window().samples) == 0
    quiet_end = fed(ClosingWindows(detector=heard), audio([(64, 1), (56, 0)]), [SECOND])
    assert [(w.start, w.end // CHUNK) for w in quiet_end] == [(0, 64 + PADDING)]


def test_memory_holds_no_more_silence_than_may_belong_to_speech() -> None:
    windows = ClosingWindows(detector=heard)
    windows.feed(audio([(4000, 0)]))
    assert len(windows._samples) == LONG_PAUSE * CHUNK


def test_a_full_window_is_cut_in_the_last_pause_of_its_last_third() -> None:
    parts = [(200, 1), (10, 0), (190, 1), (10, 0), (200, 1)]
    assert closed_in_chunks(parts) == [(0, 405)]


def test_a_full_window_without_a_pause_is_cut_in_its_last_third() -> None:
    ((start, end),) = closed_in_chunks([(500, 1)])
    assert start == 0
    assert 300 <= end <= 15 * SECOND // CHUNK


def test_the_open_window_has_all_that_has_arrived() -> None:
    windows = ClosingWindows(detector=heard)
    windows.feed(audio([(64, 1)])[: GROUP + 700])
    assert len(windows.open_window().samples) == GROUP + 700
    windows.feed(audio([(60, 0)]))
    assert windows.open_window().end < GROUP + 700 + PADDING * CHUNK + CHUNK


@pytest.mark.parametrize("seconds", [0, 4.9, 31])
def test_a_window_that_no_model_takes(seconds: float) -> None:
    with pytest.raises(InputError, match="use 5 to 30"):
        ClosingWindows(int(seconds * SECOND))


def test_real_speech_is_cut_the_same_whatever_the_pieces() -> None:
    with open_audio(CLIPS / "ls-3080-5032-0007.flac") as stream:
        samples = np.concatenate(list(stream))
    silence = np.zeros(2 * SECOND, np.float32)
    samples = np.concatenate([samples, silence, samples, silence])
    whole = fed(ClosingWindows(), samples, [len(samples)])
    assert same(whole, fed(ClosingWindows(), samples, [1601, 77, 64_000]))
    assert len(whole) >= 3
    assert whole[-1].end < len(samples) - SECOND
