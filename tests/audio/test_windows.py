"""How audio is cut into windows: exact positions, bounded length and memory, cuts at silence."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.audio import MAX_SAMPLES, Window, open_audio, windows
from as2d.audio.silero import CHUNK
from as2d.audio.speech import BLOCK_CHUNKS, Detected
from as2d.audio.windows import LONG_PAUSE, PADDING, tiled
from as2d.errors import InputError

CLIPS = Path(__file__).parents[1] / "clips"
Floats = NDArray[np.float32]
Parts = list[tuple[float, float]]


def detected(samples: Floats, probability: Floats) -> Iterator[Detected]:
    """Blocks of the size that the detector gives."""
    for first in range(0, len(probability), BLOCK_CHUNKS):
        last = first + BLOCK_CHUNKS
        yield Detected(samples[first * CHUNK : last * CHUNK], probability[first:last])


def audio(parts: Parts) -> tuple[Floats, Floats]:
    """Samples (each its own number) and probabilities of parts (chunks, probability)."""
    probability = np.concatenate([np.full(round(chunks), value, np.float32) for chunks, value in parts])
    return np.arange(1, len(probability) * CHUNK + 1, dtype=np.float32), probability


def cut(parts: Parts, max_samples: int = MAX_SAMPLES) -> list[tuple[int, int, bool]]:
    """Windows in chunks."""
    result = list(tiled(detected(*audio(parts)), max_samples))
    return [(window.start // CHUNK, window.end // CHUNK, window.speech) for window in result]


def assert_tiling(result: list[Window], samples: Floats, max_samples: int) -> None:
    edges = [window.start for window in result] + [len(samples)]
    assert edges[0] == 0
    assert [window.end for window in result] == edges[1:]
    for window in result:
        assert window.end > window.start
        if window.speech:
            assert window.end - window.start <= max_samples
            np.testing.assert_array_equal(window.samples, samples[window.start : window.end])
        else:
            assert window.samples.size == 0
    assert all(a.speech or b.speech for a, b in pairwise(result))


PARTS = st.lists(
    st.tuples(st.integers(1, 200), st.sampled_from([0.0, 0.2, 0.4, 0.9, 1.0])), min_size=1, max_size=30
)


@settings(deadline=None, max_examples=200)
@given(PARTS, st.integers(0, CHUNK - 1), st.integers(2 * 16_000, 8 * 16_000))
def test_windows_tile_any_audio(parts: Parts, missing: int, max_samples: int) -> None:
    samples, probability = audio(parts)
    samples = samples[: len(samples) - missing]
    result = list(tiled(detected(samples, probability), max_samples))
    assert_tiling(result, samples, max_samples)


@settings(deadline=None, max_examples=100)
@given(PARTS)
def test_speech_is_in_a_speech_window(parts: Parts) -> None:
    _, probability = audio(parts)
    inside = np.zeros(len(probability), bool)
    for start, end, speech in cut(parts, 4 * 16_000):
        inside[start:end] = speech
    runs = np.split(np.arange(len(probability)), np.flatnonzero(np.diff(probability >= 0.9)) + 1)
    certain = [run for run in runs if probability[run[0]] >= 0.9 and len(run) >= 16]
    assert all(inside[run].all() for run in certain if len(run) < 4 * 16_000 // CHUNK // 3)


def test_what_fits_is_one_window_with_its_pauses() -> None:
    assert cut([(30, 0), (100, 1), (300, 0), (100, 1), (30, 0)]) == [(0, 560, True)]
    samples = np.ones(MAX_SAMPLES, np.float32)
    probability = np.ones(-(-MAX_SAMPLES // CHUNK), np.float32)
    (window,) = tiled(detected(samples, probability), MAX_SAMPLES)
    assert (window.start, window.end) == (0, MAX_SAMPLES)


def test_long_silence_around_speech_is_left_out() -> None:
    assert cut([(100, 0), (100, 1), (100, 0)]) == [
        (0, 100 - PADDING, False),
        (100 - PADDING, 200 + PADDING, True),
        (200 + PADDING, 300, False),
    ]


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        ([(500, 1), (20, 0), (150, 1), (10, 0), (150, 1), (20, 0), (500, 1)], 840),
        ([(650, 1), (10, 0), (60, 1), (40, 0), (500, 1)], 720 + PADDING),
        ([(650, 1), (30, 0), (100, 1), (10, 0), (500, 1)], 665),
        ([(930, 1), (30, 0), (500, 1)], 937),
        ([(100, 1), (600, 0), (500, 1)], 100 + PADDING),
        ([(480, 1), (10, 0), (60, 1), (10, 0), (700, 1)], 555),
    ],
    ids=["longest", "a long one after its speech", "first", "at the limit", "long since", "second half"],
)
def test_a_long_rest_is_cut_in_a_pause(parts: Parts, end: int) -> None:
    first = cut(parts)[0]
    assert first == (0, end, True)


def test_without_a_pause_the_cut_is_where_speech_is_weakest() -> None:
    assert cut([(800, 0.95), (1, 0.4), (800, 0.95)])[0] == (0, 800, True)


def test_pauses_before_the_second_half_do_not_count() -> None:
    first = cut([(100, 1), (10, 0), (2000, 1)])[0]
    assert first[1] >= 937 * 2 // 3


def test_audio_without_speech_is_one_window() -> None:
    assert cut([(5000, 0.1)]) == [(0, 5000, False)]
    assert [window.end for window in windows([np.zeros(7, np.float32)])] == [7]
    assert list(windows([])) == []


def test_speech_that_begins_where_reading_stopped_keeps_its_beginning() -> None:
    silence = 10 * BLOCK_CHUNKS - 2
    assert cut([(silence, 0), (40, 1)]) == [
        (0, silence - PADDING, False),
        (silence - PADDING, silence + 40, True),
    ]


def test_a_short_clip_reaches_the_model_as_it_is() -> None:
    samples = np.concatenate(list(open_audio(CLIPS / "jfk.flac")))
    (window,) = windows([samples])
    np.testing.assert_array_equal(window.samples, samples)


def test_real_speech_is_cut_where_it_is_quiet() -> None:
    names = ["jfk.flac", "ls-3080-5032-0007.flac", "fleurs-de-003.ogg", "fleurs-es-008.ogg"]
    samples = np.concatenate([block for name in names for block in open_audio(CLIPS / name)])
    result = list(windows(iter(np.array_split(samples, 40))))
    assert_tiling(result, samples, MAX_SAMPLES)
    assert sum(window.speech for window in result) == 2
    for window in result[1:]:
        around = samples[window.start - 400 : window.start + 400]
        assert np.sqrt(np.mean(around**2)) < 0.1 * np.sqrt(np.mean(samples**2))


def test_the_blocks_do_not_matter() -> None:
    samples = np.concatenate([block for path in sorted(CLIPS.glob("*.flac")) for block in open_audio(path)])
    whole = [(window.start, window.end) for window in windows([samples])]
    assert whole == [(window.start, window.end) for window in windows(np.array_split(samples, 1000))]


def test_windows_are_given_out_as_audio_comes_in() -> None:
    taken = 0

    def endless() -> Iterator[Floats]:
        nonlocal taken
        speech = np.concatenate(list(open_audio(CLIPS / "jfk.flac")))
        while True:
            taken += len(speech)
            yield speech

    result = windows(endless())
    for _ in range(3):
        window = next(result)
        assert taken - window.start < 60 * 16_000


def test_a_window_must_hold_two_seconds() -> None:
    with pytest.raises(InputError, match="at least"):
        windows([], 1000)
    assert LONG_PAUSE * CHUNK < 2 * 16_000


MEASURE = """
import resource, sys
from as2d.audio import open_audio, windows
with open_audio(sys.argv[1]) as audio:
    (window,) = windows(audio)
assert not window.speech
print(window.end, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def silent_wav(path: Path, minutes: int) -> Path:
    """8 kHz, 16-bit, written sparsely."""
    count = minutes * 60 * 8_000 * 2
    sizes = [(36 + count).to_bytes(4, "little"), count.to_bytes(4, "little")]
    form = bytes.fromhex("10000000 0100 0100 401f0000 803e0000 0200 1000")
    with path.open("wb") as file:
        file.write(b"RIFF" + sizes[0] + b"WAVEfmt " + form + b"data" + sizes[1])
        file.truncate(44 + count)
    return path


def test_memory_does_not_grow_with_the_audio(tmp_path: Path) -> None:
    def peak(minutes: int) -> int:
        path = silent_wav(tmp_path / f"{minutes}.wav", minutes)
        command = [sys.executable, "-c", MEASURE, str(path)]
        end, kilobytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert int(end) == minutes * 60 * 16_000
        return int(kilobytes)

    assert peak(120) < peak(10) + 100 * 1024
