"""Raw samples of a stream: every format, whatever the reads bring; what is wrong is said after all that is right."""

import io
import os
from collections.abc import Iterator
from threading import Timer

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.audio.blocks import Samples
from as2d.audio.pcm import SampleFormat, pcm_samples
from as2d.errors import AudioError


class Trickle(io.BytesIO):
    """Gives as many bytes a read as it is told, over and over."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        super().__init__(data)
        self._sizes = sizes
        self._turn = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self._turn += 1
        return super().read(self._sizes[self._turn % len(self._sizes)])


def read(
    data: bytes, rate: int = 16_000, sample_format: SampleFormat = "s16le", channels: int = 1
) -> Samples:
    return joined(pcm_samples(io.BytesIO(data), rate, sample_format, channels))


def joined(pieces: Iterator[Samples]) -> Samples:
    return np.concatenate([np.zeros(0, np.float32), *pieces])


def test_integers_and_floats() -> None:
    expected = np.array([0, 0.5, -1, 0.25], np.float32)
    assert read((expected * 32_768).astype("<i2").tobytes()).tolist() == expected.tolist()
    assert read(expected.astype("<f4").tobytes(), sample_format="f32le").tolist() == expected.tolist()


def test_channels_are_mixed() -> None:
    stereo = np.array([[0.5, -0.5], [0.25, 0.75]], "<f4")
    assert read(stereo.tobytes(), sample_format="f32le", channels=2).tolist() == [0.0, 0.5]


def test_another_rate_is_resampled() -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(8_000) / 8_000)
    samples = read((tone * 20_000).astype("<i2").tobytes(), rate=8_000)
    assert len(samples) == 16_000
    assert np.argmax(np.abs(np.fft.rfft(samples))) == 440


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-32_768, 32_767), max_size=200), st.lists(st.integers(1, 9), min_size=1))
def test_reads_of_any_size_give_the_same_samples(values: list[int], sizes: list[int]) -> None:
    data = np.array(values, "<i2").tobytes()
    np.testing.assert_array_equal(joined(pcm_samples(Trickle(data, sizes))), read(data))


def test_nothing_at_all() -> None:
    assert len(read(b"")) == 0


@pytest.mark.parametrize(
    ("size", "sample_format", "channels", "said"),
    [
        (101, "s16le", 1, "1 of the 2 bytes"),
        (102, "f32le", 1, "2 of the 4 bytes"),
        (102, "s16le", 2, "2 of the 4 bytes"),
    ],
)
def test_an_end_within_a_sample(size: int, sample_format: SampleFormat, channels: int, said: str) -> None:
    pieces = pcm_samples(io.BytesIO(bytes(size)), 16_000, sample_format, channels)
    assert len(next(pieces)) > 0
    with pytest.raises(AudioError, match=said):
        next(pieces)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number(value: float) -> None:
    data: NDArray[np.float32] = np.array([0, value], "<f4")
    with pytest.raises(AudioError, match="NaN or infinity"):
        read(data.tobytes(), sample_format="f32le")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((0, "s16le", 1), "sample rate is 0"),
        ((10**6, "s16le", 1), "sample rate"),
        ((16_000, "u8", 1), "use s16le or f32le"),
        ((16_000, "s16le", 0), "0 channels"),
        ((16_000, "s16le", 1000), "use 1 to 64"),
    ],
)
def test_what_no_samples_are_like(options: tuple[int, SampleFormat, int], said: str) -> None:
    with pytest.raises(AudioError, match=said):
        pcm_samples(io.BytesIO(b""), *options)


def test_a_pipe_that_does_not_block_is_waited_for() -> None:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    with os.fdopen(ours, "rb", buffering=0) as stream, os.fdopen(theirs, "wb", buffering=0) as other:
        Timer(0.05, other.write, [bytes(4)]).start()
        assert len(next(pcm_samples(stream))) == 2


def test_a_stream_that_breaks() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("gone")

    with pytest.raises(AudioError, match="gone"):
        next(pcm_samples(Broken()))
