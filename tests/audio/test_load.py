"""Every kind of source, format and fault that `open_audio` meets; the audio is made here."""

import io
import re
import struct
import sys
import wave
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import AudioStream, open_audio
from as2d.audio.damage import mp3_declares_length, ogg_is_cut, wav_is_cut
from as2d.audio.load import BLOCK_SAMPLES
from as2d.errors import AudioError, ClosedError

Floats = NDArray[np.float64]


def tone(seconds: float = 1.0, rate: int = 16_000, hz: float = 1000.0, amplitude: float = 0.5) -> Floats:
    return amplitude * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)


def riff(data: bytes, rate: int, channels: int, bits: int, tag: int = 1) -> bytes:
    """A wav file of any sample type (tag 1: integers, 3: floats, 7: mu-law)."""
    width = channels * bits // 8
    form = struct.pack("<HHIIHH", tag, channels, rate, rate * width, width, bits)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav16(samples: Floats, rate: int = 16_000) -> bytes:
    """16-bit wav of samples [n] or [n, channels]."""
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    return riff((samples * 32767).round().astype("<i2").tobytes(), rate, channels, 16)


def encoded(
    container: str, codec: str, seconds: float = 5, rate: int = 48_000, options: dict[str, str] | None = None
) -> bytes:
    """A tone of 440 Hz, encoded by libav."""
    file = io.BytesIO()
    samples = tone(seconds, rate, 440).astype(np.float32)
    with av.open(file, "w", format=container, options=options or {}) as output:
        track = output.add_stream(codec, rate=rate, layout="mono")
        assert isinstance(track, av.AudioStream)
        frame = av.AudioFrame.from_ndarray(samples[None], format="flt", layout="mono")
        frame.sample_rate, frame.pts = rate, 0
        resampler = av.AudioResampler(track.format, "mono", rate, track.frame_size or 1024)
        for ready in resampler.resample(frame) + resampler.resample(None):
            output.mux(track.encode(ready))
        output.mux(track.encode(None))
    return file.getvalue()


def video_without_sound() -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        track = output.add_stream("mpeg4", rate=Fraction(10))
        track.width = track.height = 64
        for _ in range(3):
            output.mux(track.encode(av.VideoFrame(64, 64, "yuv420p")))
        output.mux(track.encode(None))
    return file.getvalue()


def read(source: Any) -> tuple[NDArray[np.float32], AudioStream]:
    with open_audio(source) as stream:
        blocks = list(stream)
    assert all(block.dtype == np.float32 and 0 < len(block) <= BLOCK_SAMPLES for block in blocks)
    samples = np.concatenate(blocks)
    assert len(samples) == stream.samples
    return samples, stream


def sound(source: Any) -> NDArray[np.float32]:
    samples, stream = read(source)
    assert stream.warnings == []
    return samples


def assert_tone(samples: NDArray[np.float32], hz: float, noise: float = 0.01) -> None:
    """All but the ends of the samples is a tone of that frequency and amplitude 0.5, and little else."""
    middle = samples[1600:-1600].astype(np.float64)
    time = np.arange(len(middle)) / 16_000
    basis = np.stack([np.sin(2 * np.pi * hz * time), np.cos(2 * np.pi * hz * time)], axis=1)
    weights, *_ = np.linalg.lstsq(basis, middle, rcond=None)
    assert np.hypot(*weights) == pytest.approx(0.5, abs=noise)
    assert np.sqrt(np.mean((middle - basis @ weights) ** 2)) < noise


class Unseekable(io.RawIOBase):
    """A pipe."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(buffer)


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000])
def test_a_tone_keeps_frequency_amplitude_and_length(rate: int) -> None:
    samples = sound(wav16(tone(1.2345, rate), rate))
    assert len(samples) == pytest.approx(round(1.2345 * rate) * 16_000 / rate, abs=1)
    assert_tone(samples, 1000)


def test_16_khz_is_not_resampled() -> None:
    expected = (tone() * 32767).round() / 32768
    np.testing.assert_array_equal(sound(wav16(tone())), expected.astype(np.float32))


@pytest.mark.parametrize(
    ("data", "bits", "tag"),
    [
        ((tone() * 127 + 128).round().astype(np.uint8).tobytes(), 8, 1),
        (b"".join(struct.pack("<i", int(x * (2**23 - 1)))[:3] for x in tone()), 24, 1),
        ((tone() * (2**31 - 1)).astype("<i4").tobytes(), 32, 1),
        (tone().astype("<f4").tobytes(), 32, 3),
        (tone().astype("<f8").tobytes(), 64, 3),
    ],
    ids=["8-bit", "24-bit", "32-bit", "float", "double"],
)
def test_sample_types_of_wav(data: bytes, bits: int, tag: int) -> None:
    samples = sound(riff(data, 16_000, 1, bits, tag))
    np.testing.assert_allclose(samples, tone(), atol=1 / 100 if bits == 8 else 1e-4)


@pytest.mark.parametrize(
    ("container", "codec"),
    [
        ("wav", "pcm_mulaw"),
        ("flac", "flac"),
        ("mp3", "libmp3lame"),
        ("mp4", "aac"),
        ("adts", "aac"),
        ("ogg", "libopus"),
        ("matroska", "libopus"),
        ("aiff", "pcm_s16be"),
    ],
)
def test_codecs(container: str, codec: str) -> None:
    samples = sound(encoded(container, codec))
    assert len(samples) == pytest.approx(5 * 16_000, abs=1600)
    assert_tone(samples[: 4 * 16_000], 440, noise=0.1)


def test_six_channels_are_averaged() -> None:
    channels = np.stack([tone() * gain for gain in (1.0, 0.5, -0.5, 0.25, 0, 0)], axis=1)
    np.testing.assert_allclose(sound(wav16(channels)), channels.mean(axis=1), atol=1e-4)


def test_planar_channels_are_averaged() -> None:
    file = io.BytesIO()
    planes = np.stack([tone(), -tone(), tone()[::-1] * 0.5, tone() * 0]).astype(np.float32)
    with av.open(file, "w", format="wav") as output:
        track = output.add_stream("pcm_f32le", rate=16_000, layout="quad")
        frame = av.AudioFrame.from_ndarray(planes, format="fltp", layout="quad")
        frame.sample_rate = 16_000
        for ready in av.AudioResampler(track.format, "quad", 16_000).resample(frame):
            output.mux(track.encode(ready))
    np.testing.assert_allclose(sound(file.getvalue()), planes.mean(axis=0), atol=1e-6)


def test_the_rate_may_change_within_a_file() -> None:
    samples, _ = read(encoded("adts", "aac", 2, 48_000) + encoded("adts", "aac", 2, 24_000))
    assert len(samples) == pytest.approx(4 * 16_000, abs=3200)
    assert_tone(samples[: int(1.9 * 16_000)], 440, noise=0.1)
    assert_tone(samples[int(2.2 * 16_000) : int(3.9 * 16_000)], 440, noise=0.1)


def test_ten_milliseconds() -> None:
    assert len(sound(wav16(tone(0.01)))) == 160


@pytest.mark.parametrize("name", ["plain.wav", "naïve 音声 №1.wav", "%03d.m3u8"])
def test_paths(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(wav16(tone()))
    assert len(sound(path)) == len(sound(str(path))) == 16_000


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, io.BytesIO, Unseekable])
def test_bytes_and_file_objects(kind: Callable[[bytes], Any]) -> None:
    assert len(sound(kind(wav16(tone())))) == 16_000


def test_a_file_object_is_read_from_its_start_and_stays_open() -> None:
    file = io.BytesIO(wav16(tone()))
    file.seek(100)
    assert len(sound(file)) == 16_000
    assert not file.closed


@pytest.mark.parametrize("kind", [io.BytesIO, Unseekable])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, kind: Callable[[bytes], Any]) -> None:
    data = encoded("mp4", "aac", 2)  # its index is at the end, so it must seek
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=kind(data)))
    assert_tone(sound("-")[:30_000], 440, noise=0.1)


@pytest.mark.parametrize("kind", ["float32", "float64", "int16", "int32", "uint8", ">f4"])
def test_arrays_of_every_type(kind: str) -> None:
    scale, offset = {"int16": (2**15, 0), "int32": (2**31, 0), "uint8": (2**7, 128)}.get(kind, (1, 0))
    samples = sound(((tone() * scale + offset).astype(kind), 16_000))
    np.testing.assert_allclose(samples, tone(), atol=1e-2 if kind == "uint8" else 1e-4)


def test_arrays_of_every_shape() -> None:
    stereo = np.stack([tone(), tone(hz=300)])
    expected = stereo.mean(axis=0).astype(np.float32)
    np.testing.assert_array_equal(sound((stereo, 16_000)), expected)
    np.testing.assert_array_equal(sound((stereo.T, 16_000)), expected)
    np.testing.assert_array_equal(sound((tone()[None], np.int64(16_000))), tone().astype(np.float32))


def test_a_large_array_is_resampled_in_parts() -> None:
    samples = sound((tone(20, 44_100), 44_100))
    assert len(samples) == 20 * 16_000
    assert_tone(samples, 1000)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ((np.zeros(0, np.float32), 16_000), "no audio samples"),
        ((np.zeros((2, 0), np.float32), 16_000), "no audio samples"),
        ((np.zeros((2, 2, 2), np.float32), 16_000), "shape"),
        ((np.zeros(9, np.complex64), 16_000), "complex64"),
        (([0.0, 1.0], 16_000), "list"),
        ((np.zeros(9, np.float32), 0), "sample rate"),
        ((np.zeros(9, np.float32), 768_001), "sample rate"),
        ((np.zeros(9, np.float32), 16_000.0), "sample rate"),
        ((np.zeros(9, np.float32), True), "sample rate"),
        ((np.zeros(9, np.float32),), r"\(array, rate\)"),
        ((np.array([0, np.nan], np.float32), 16_000), "NaN"),
        ((np.array([0, np.inf], np.float32), 8_000), "NaN or infinite"),
        ((np.array([1e300, -1e300]), 16_000), "NaN or infinite"),
        (np.zeros(9, np.float32), "ndarray"),
        (io.StringIO("text"), "StringIO"),
        (7, "int"),
        (b"", "empty"),
        (io.BytesIO(), "empty"),
        (Unseekable(b""), "empty"),
        (riff(b"", 16_000, 1, 16), "no audio samples"),
        (riff(np.array([0, np.nan], "<f4").tobytes(), 16_000, 1, 32, 3), "NaN"),
        (riff(np.array([0, -np.inf], "<f4").tobytes(), 16_000, 1, 32, 3), "NaN"),
        (b"A page of text, not of sound.\n" * 99, "not audio"),
    ],
)
def test_faults_of_the_content(source: Any, words: str) -> None:
    with pytest.raises(AudioError, match=words) as caught:
        read(source)
    assert "\n" not in str(caught.value)


def test_faults_of_the_path(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    (tmp_path / "text.mp3").write_text("This is a text.\n" * 99)
    for name, words in {
        "none.wav": "does not exist",
        "": "folder",
        "empty.wav": "empty",
        "text.mp3": "not audio",
    }.items():
        with pytest.raises(AudioError, match=words):
            open_audio(tmp_path / name)
    with pytest.raises(AudioError, match="cannot be read"):
        open_audio("null\0byte.wav")


def test_a_forbidden_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything, so chmod would not do
    with pytest.raises(AudioError, match="permissions"):
        open_audio(tmp_path / "secret.wav")


def test_video_without_sound() -> None:
    with pytest.raises(AudioError, match="no audio track"):
        open_audio(video_without_sound())


def test_a_playlist_does_not_open_other_files(tmp_path: Path) -> None:
    (tmp_path / "other.wav").write_bytes(wav16(tone()))
    playlist = tmp_path / "playlist.ffconcat"
    playlist.write_text(f"ffconcat version 1.0\nfile '{tmp_path}/other.wav'\n")
    with pytest.raises(AudioError, match="not audio"):
        open_audio(playlist)


FRAGMENTED = {"movflags": "frag_keyframe+empty_moov", "frag_duration": "500000"}


@pytest.mark.parametrize(
    ("container", "codec", "options"),
    [
        ("wav", "pcm_s16le", {}),
        ("flac", "flac", {}),
        ("mp3", "libmp3lame", {}),
        ("adts", "aac", {}),
        ("ogg", "libopus", {}),
        ("matroska", "libopus", {}),
        ("mp4", "aac", FRAGMENTED),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_of_a_truncated_file_the_valid_part_is_used(
    container: str, codec: str, options: dict[str, str]
) -> None:
    whole = encoded(container, codec, options=options)
    assert read(whole)[1].warnings == []
    samples, stream = read(whole[: len(whole) * 6 // 10])
    assert 2 * 16_000 < len(samples) < 3.5 * 16_000
    assert_tone(samples[: int(1.9 * 16_000)], 440, noise=0.1)
    (warning,) = stream.warnings
    assert "cut short" in warning
    assert re.findall(r"[\d.]+(?= s)", warning)[0] == f"{stream.samples / 16_000:.2f}"


def front_index(mp4: bytes) -> bytes:
    """`mp4` with its index (moov) moved before its data, as `faststart` does."""
    start = mp4.index(b"mdat") - 4
    length = int.from_bytes(mp4[start : start + 4], "big")
    index = bytearray(mp4[start + length :])
    table = index.index(b"stco") + 12
    for entry in range(int.from_bytes(index[table - 4 : table], "big")):
        at = slice(table + 4 * entry, table + 4 * entry + 4)
        index[at] = (int.from_bytes(index[at], "big") + len(index)).to_bytes(4, "big")
    return mp4[:start] + bytes(index) + mp4[start : start + length]


def test_a_truncated_m4a_needs_its_index() -> None:
    late = encoded("mp4", "aac")
    with pytest.raises(AudioError, match="not audio"):
        open_audio(late[: len(late) * 6 // 10])
    early = front_index(late)
    assert len(sound(early)) == len(sound(late))
    samples, stream = read(early[: len(early) * 6 // 10])
    assert 2 * 16_000 < len(samples) < 3.5 * 16_000
    assert "s of 5.0" in stream.warnings[0]


def test_damage_in_the_middle_loses_only_that() -> None:
    data = bytearray(encoded("flac", "flac"))
    middle = len(data) // 2
    data[middle : middle + 2000] = bytes(2000)
    samples, stream = read(bytes(data))
    assert len(samples) > 4 * 16_000
    assert "damaged" in stream.warnings[0]


def test_a_device_that_fails_on_the_way() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 100_000:
                raise OSError(5, "Input/output error")
            return super().read(size)

    samples, stream = read(Failing(wav16(tone(10))))
    assert 16_000 < len(samples) < 160_000
    assert "damaged" in stream.warnings[0]


def test_the_file_is_closed_at_the_end_and_on_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    plain_open = Path.open

    def spy(self: Path, *args: Any) -> Any:
        opened.append(plain_open(self, *args))
        return opened[-1]

    paths = [tmp_path / "good.wav", tmp_path / "text.wav", tmp_path / "hollow.wav"]
    for path, data in zip(paths, [wav16(tone()), b"text" * 99, riff(b"", 16_000, 1, 16)], strict=True):
        path.write_bytes(data)
    monkeypatch.setattr(Path, "open", spy)
    list(open_audio(paths[0]))
    open_audio(paths[0]).close()
    for path in paths[1:]:
        with pytest.raises(AudioError):
            list(open_audio(path))
    assert [file.closed for file in opened] == [True] * 4


def test_a_stream_is_read_once() -> None:
    stream = open_audio(wav16(tone(2.5)))
    assert len(next(iter(stream))) == BLOCK_SAMPLES
    assert [len(block) for block in stream] == [16_000, 8_000]
    assert list(stream) == []
    stream.close()
    with pytest.raises(ClosedError, match="open the source again"):
        iter(stream)


def test_python_writes_wav_as_we_read_it(tmp_path: Path) -> None:
    path = str(tmp_path / "stereo.wav")
    with wave.open(path, "wb") as file:
        file.setparams((2, 2, 8_000, 0, "NONE", "NONE"))
        file.writeframes((np.stack([tone(1, 8_000)] * 2, axis=1) * 32767).astype("<i2").tobytes())
    assert_tone(sound(path), 1000)


def test_signs_of_truncation() -> None:
    whole = wav16(tone())
    assert not wav_is_cut(whole, len(whole))
    assert not wav_is_cut(whole, len(whole) - 8)
    assert wav_is_cut(whole, len(whole) // 2)
    assert not wav_is_cut(b"RIFF\xff\xff\xff\xff", 10_000)  # written to a pipe
    ogg = encoded("ogg", "libopus", 1)
    assert not ogg_is_cut(ogg)
    assert ogg_is_cut(ogg[:-1])
    assert ogg_is_cut(b"")


def test_an_mp3_without_a_header_frame_declares_nothing() -> None:
    bare = encoded("mp3", "libmp3lame", options={"write_xing": "0", "id3v2_version": "0"})
    tag = b"ID3\x04\x00\x00" + bytes([0, 0, 2, 0]) + bytes(256)
    declaring = encoded("mp3", "libmp3lame", options={"id3v2_version": "0"})
    assert not mp3_declares_length(io.BytesIO(bare))
    assert mp3_declares_length(io.BytesIO(declaring))
    assert mp3_declares_length(io.BytesIO(tag + declaring))
