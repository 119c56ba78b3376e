"""Bad input and faults through the command line: one line, the exit status, and nothing on stdout."""

import io
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.models.store import resolve

Run = Callable[..., Any]
Samples = NDArray[np.float32]


def assert_refused(outcome: Any, *words: str) -> None:
    """One line that names the fault, exit 2, clean stdout."""
    assert outcome.status == 2
    assert outcome.out == ""
    assert len(outcome.lines) == 1
    assert outcome.err.startswith("as2d: error: ")
    assert all(word in outcome.err for word in words)


def video_without_sound() -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        track = output.add_stream("mpeg4", rate=Fraction(10))
        track.width = track.height = 64
        output.mux(track.encode(av.VideoFrame(64, 64, "yuv420p")))
        output.mux(track.encode(None))
    return file.getvalue()


def mp3(samples: Samples) -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format="mp3") as output:
        track = output.add_stream("libmp3lame", rate=16_000, layout="mono")
        assert isinstance(track, av.AudioStream)
        frame = av.AudioFrame.from_ndarray(samples[None], format="flt", layout="mono")
        frame.sample_rate, frame.pts = 16_000, 0
        resampler = av.AudioResampler(track.format, "mono", 16_000, track.frame_size)
        for ready in resampler.resample(frame) + resampler.resample(None):
            output.mux(track.encode(ready))
        output.mux(track.encode(None))
    return file.getvalue()


def float_wav(samples: Samples) -> bytes:
    data = samples.astype("<f4").tobytes()
    form = b"".join(
        value.to_bytes(size, "little")
        for value, size in ((3, 2), (1, 2), (16_000, 4), (64_000, 4), (4, 2), (32, 2))
    )
    body = b"WAVEfmt \x10\0\0\0" + form + b"data" + len(data).to_bytes(4, "little") + data
    return b"RIFF" + len(body).to_bytes(4, "little") + body


BAD = {
    "empty.wav": (b"", "is empty"),
    "header.wav": (float_wav(np.zeros(0, np.float32)), "no audio samples"),
    "text.mp3": (b"once upon a time\n" * 50, "is not audio"),
    "video.mp4": (video_without_sound(), "no audio track"),
    "nan.wav": (float_wav(np.full(16_000, np.nan, np.float32)), "NaN"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(run: Run, tmp_path: Path, name: str) -> None:
    content, complaint = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    assert_refused(run("transcribe", path), str(path), complaint)


def test_a_wav_of_44_bytes(run: Run, tmp_path: Path, make_wav: Callable[..., bytes]) -> None:
    path = tmp_path / "44.wav"
    path.write_bytes(make_wav(np.zeros(0)))
    assert path.stat().st_size == 44
    assert_refused(run("transcribe", path), str(path), "no audio samples")


def test_empty_stdin(run: Run) -> None:
    assert_refused(run("transcribe", "-"), "standard input is empty")


def test_paths_that_cannot_be_read(run: Run, jfk: Path, tmp_path: Path) -> None:
    assert_refused(run("transcribe", tmp_path / "none.wav"), "does not exist")
    assert_refused(run("transcribe", tmp_path), "is a folder")
    assert_refused(run("transcribe", jfk / "inside.wav"), "cannot be read")
    assert_refused(run("transcribe", "/proc/self/mem"), "cannot be read")
    assert_refused(run("transcribe", tmp_path / "two\nlines.wav"), "two lines.wav does not exist")


def test_a_truncated_mp3_gives_its_valid_part(run: Run, jfk_samples: Samples, tmp_path: Path) -> None:
    path = tmp_path / "cut.mp3"
    whole = mp3(jfk_samples)
    path.write_bytes(whole[: len(whole) // 2])
    outcome = run("transcribe", path)
    assert outcome.status == 0
    assert outcome.out.startswith("And so my fellow Americans")
    assert outcome.lines[0].startswith(f"as2d: warning: {path}: the audio is damaged or cut short")
    assert len(outcome.lines) == 2


def test_8_khz(run: Run, jfk_samples: Samples, tmp_path: Path, make_wav: Callable[..., bytes]) -> None:
    path = tmp_path / "8k.wav"
    path.write_bytes(make_wav(jfk_samples[::2], 8_000))
    assert "your country" in run("transcribe", path).out


@pytest.mark.parametrize("kind", ["silence", "noise", "10 ms"])
@pytest.mark.parametrize(("output_format", "out"), [("txt", ""), ("srt", ""), ("vtt", "WEBVTT\n")])
def test_no_speech_is_an_empty_text(
    run: Run, tmp_path: Path, make_wav: Callable[..., bytes], kind: str, output_format: str, out: str
) -> None:
    samples = {
        "silence": np.zeros(160_000),
        "noise": np.random.default_rng(1).normal(0, 0.05, 160_000).clip(-1, 1),
        "10 ms": np.full(160, 0.1),
    }
    path = tmp_path / "nothing.wav"
    path.write_bytes(make_wav(samples[kind]))
    outcome = run("transcribe", path, "--output-format", output_format)
    assert (outcome.status, outcome.out, len(outcome.lines)) == (0, out, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "whisper-huge"), ("whisper-huge", "as2d models list")),
        (("--drafter", "nobody"), ("nobody", "as2d models list")),
        (("--threads", "0"), ("use 1 or more",)),
        (("--method", "as2d", "--drafter", "none"), ("needs a drafter",)),
        (("--method", "lookahead", "--drafter", "none"), ("lookahead needs a drafter",)),
        (
            ("--method", "speculative", "--drafter", "self", "--drafter", "whisper-tiny.en"),
            ("speculative has one drafter, not 2", "name one, or use as2d"),
        ),
        (
            ("--method", "specasr", "--drafter", "pocketsphinx"),
            ("pocketsphinx cannot", "name an audio model"),
        ),
        (("--drafter", "none", "--drafter", "self"), ("contradicts",)),
        (("--drafter", "auto", "--drafter", "self"), ("name others without it",)),
    ],
)
def test_models_that_cannot_be_used(run_fresh: Run, jfk: Path, arguments: Any, words: Any) -> None:
    assert_refused(run_fresh("transcribe", jfk, *arguments), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "magic"), ("'auto', 'as2d', 'target-only'",)),
        (("--output-format", "doc"), ("'txt', 'srt', 'vtt', 'json', 'jsonl'",)),
        (("--precision", "fp1"), ("'fp32'", "'int8'")),
        (("--task", "sing"), ("'transcribe', 'translate'",)),
        (("--language", "klingon"), ("klingon", "use a code or name")),
        (("--budget", "25"), ("use 0 to 24",)),
        (("--budget", "many"), ("--budget", "integer")),
        (("--method", "specasr", "--budget", "7"), ("specasr has no budget", "leave budget out")),
        (("--method", "speculative", "--batch", "8"), ("speculative has no batch",)),
        (("--method", "lookahead", "--resync"), ("lookahead has no resync",)),
        (("--batch", "0"), ("from 1 up",)),
        (("--batch", "-3"), ("use word or a number",)),
        (("--no-such-option",), ("--no-such-option", "see --help")),
        (("--quiet", "--verbose"), ("one of them",)),
    ],
)
def test_options_that_cannot_be(run: Run, jfk: Path, arguments: Any, words: Any) -> None:
    assert_refused(run("transcribe", jfk, *arguments), *words)


def test_a_command_that_cannot_be(run: Run) -> None:
    assert_refused(run("transcribe"), "AUDIO")
    assert_refused(run("sing"), "'sing'")


@pytest.mark.parametrize("output_format", ["srt", "vtt"])
def test_several_files_are_not_one_file_of_cues(run: Run, jfk: Path, output_format: str) -> None:
    assert_refused(run("transcribe", jfk, jfk, "--output-format", output_format), "--output-dir")


def test_a_damaged_model(run_fresh: Run, jfk: Path, tmp_path: Path) -> None:
    files = resolve("whisper-tiny.en")
    (tmp_path / "config.json").symlink_to(files.config)
    (tmp_path / "tokenizer.json").symlink_to(files.tokenizer)
    content = files.hashed[0].read_bytes()
    (tmp_path / "model.bin").write_bytes(content[: len(content) // 2])
    assert_refused(run_fresh("transcribe", jfk, "--model", tmp_path), "cut short")


def test_a_cache_that_cannot_be_written(
    run_fresh: Run, jfk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AS2D_CACHE", str(tmp_path / "file"))
    assert_refused(run_fresh("transcribe", jfk), str(tmp_path / "file"), "AS2D_CACHE")


def test_an_output_folder_that_cannot_be(
    run: Run, jfk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    assert_refused(run("transcribe", jfk, "--output-dir", tmp_path / "file"), "choose another --output-dir")
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    assert_refused(run("transcribe", jfk, "--output-dir", tmp_path), "may not be written")


def test_an_error_is_no_success_of_another_command(run_fresh: Run) -> None:
    assert_refused(run_fresh("models", "path", "whisper-huge"), "whisper-huge")
