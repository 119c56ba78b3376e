"""`as2d live`: options, formats and errors on a toy model; signals and a terminal on the real one."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d import Session
from as2d.cli import answering, main
from as2d.models.contract import AudioModel

Run = Callable[..., Any]
TEXT = "Ask not what your country can do for you — “naïve” 復興."
COMMAND = [sys.executable, "-c", "import sys; from as2d.cli import main; sys.exit(main())", "live"]


@pytest.fixture
def live(
    run_fresh: Run, toy: Callable[..., AudioModel], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Run]:
    """`as2d live ARGUMENTS…` on a toy that always says the same."""
    with Session(toy(TEXT), None, threads=2) as session:
        monkeypatch.setattr(answering, "Session", lambda *_, **__: nullcontext(session))
        yield lambda *arguments, stdin=b"": run_fresh("live", *arguments, stdin=stdin)


@pytest.fixture(scope="session")
def pcm(jfk_samples: NDArray[np.float32]) -> bytes:
    return (jfk_samples * 32_767).astype("<i2").tobytes()


def test_a_pipe_gets_the_stable_text_a_line_a_window(live: Run, pcm: bytes) -> None:
    outcome = live("-", stdin=pcm)
    assert outcome.status == 0
    assert outcome.out == f"{TEXT}\n" * 2
    (line,) = outcome.lines
    assert line.startswith("as2d: audio 11.0 s, stable texts 2, lag of tentative text ")
    assert "backlog" in line


def test_standard_input_is_what_is_meant_by_nothing(live: Run, pcm: bytes) -> None:
    assert live(stdin=pcm).out == f"{TEXT}\n" * 2


def test_a_file_is_paced(live: Run, jfk: Path) -> None:
    outcome = live(jfk, "--pace", "16", "--block", "2", "--output-format", "jsonl")
    kinds = [item["type"] for item in outcome.objects]
    assert kinds.count("stable") == 2
    assert kinds.count("tentative") >= 4
    assert all(item["lag_ms"] >= 0 for item in outcome.objects)
    assert {item["text"] for item in outcome.objects} == {TEXT}
    assert "blocks 6, widened 0, backlog 0.0 s, method as2d, drafters previous text" in outcome.lines[-1]


def test_floats_of_several_channels_at_another_rate(live: Run, jfk_samples: NDArray[np.float32]) -> None:
    stereo = np.repeat(np.repeat(jfk_samples, 2)[:, None], 2, axis=1).astype("<f4").tobytes()
    options = ("--rate", "32000", "--sample-format", "f32le", "--channels", "2")
    outcome = live("-", *options, stdin=stereo)
    assert outcome.out == f"{TEXT}\n" * 2
    assert "audio 11.0 s" in outcome.err


@pytest.mark.parametrize("stdin", [b"", bytes(16_000 * 2 * 5)], ids=["nothing", "silence"])
def test_without_speech_there_is_no_text(live: Run, stdin: bytes) -> None:
    outcome = live("-", stdin=stdin)
    assert (outcome.status, outcome.out) == (0, "")
    assert "stable texts 0" in outcome.err


def test_an_end_within_a_sample_is_said_after_all_text(live: Run, pcm: bytes) -> None:
    outcome = live("-", stdin=pcm + b"\0")
    assert outcome.status == 2
    assert outcome.out == f"{TEXT}\n" * 2
    assert outcome.lines[-1].startswith("as2d: error: the samples end with 1 of the 2 bytes of one")


def test_a_damaged_file_is_said_after_all_text(live: Run, jfk: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.flac"
    cut.write_bytes(jfk.read_bytes()[: jfk.stat().st_size * 2 // 3])
    outcome = live(cut, "--pace", "100")
    assert (outcome.status, outcome.out) == (0, f"{TEXT}\n" * 2)
    assert "warning: the audio is damaged or cut short: 7." in outcome.lines[0]


@pytest.mark.parametrize("stdin", [None, SimpleNamespace(isatty=lambda: True)], ids=["closed", "terminal"])
def test_standard_input_without_samples_is_refused(
    stdin: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["live"]) == 2
    assert "pipe them there, or name a file" in capsys.readouterr().err


def test_quiet(live: Run, pcm: bytes) -> None:
    outcome = live("-", "--quiet", stdin=pcm)
    assert outcome.err == ""
    assert outcome.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-", "--rate", "0"], "sample rate is 0"),
        (["-", "--sample-format", "u8"], "s16le"),
        (["-", "--channels", "0"], "0 channels"),
        (["-", "--block", "0.01"], "--block"),
        (["-", "--pace", "2"], "leave --pace out"),
        (["-", "--output-format", "srt"], "jsonl"),
        (["-", "--quiet", "--verbose"], "contradict"),
        (["-", "--method", "as2d"], "needs a drafter"),
        (["-", "--budget", "99"], "use 0 to 24"),
        (["missing.wav"], "does not exist"),
        (["JFK", "--pace", "0"], "pace of 0"),
        (["JFK", "--rate", "8000"], "--rate is for raw samples"),
        (["JFK", "--channels", "1"], "--channels is for raw samples"),
        ([__file__], "not audio"),
    ],
)
def test_bad_usage(live: Run, jfk: Path, arguments: list[str], said: str) -> None:
    outcome = live(*[str(jfk) if argument == "JFK" else argument for argument in arguments])
    assert (outcome.status, outcome.out) == (2, "")
    (line,) = outcome.lines
    assert line.startswith("as2d: error: ")
    assert said in line


def start(*arguments: str | Path, stdin: int, stdout: int) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "40", "LINES": "10"}
    options = ["--method", "target-only", "--language", "en"]
    command = [*COMMAND, *map(str, arguments), *options]
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=environment)


def test_an_interrupt_ends_the_audio_and_all_text_comes_out(pcm: bytes) -> None:
    arguments = ("-", "--block", "2", "--output-format", "jsonl")
    with start(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(pcm[: 16_000 * 2 * 2])
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
        process.stdin.write(pcm[16_000 * 2 * 2 : 16_000 * 2 * 3])
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        assert process.stderr
        err = process.stderr.read().decode()
        assert process.wait(10) == 130
    (last,) = [json.loads(line) for line in out.splitlines()]
    assert (first["type"], last["type"]) == ("tentative", "stable")
    assert last["end_s"] >= 2.0
    assert "so my fellow" in last["text"]
    assert "stable texts 1" in err
    assert "Traceback" not in err
    assert "Fatal" not in err


def interrupt_once_all_is_heard() -> None:
    for thread in threading.enumerate():
        if thread.name == "as2d-arrivals":
            thread.join()
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("heard", [True, False])
def test_an_interrupt_while_models_load_gives_out_what_was_heard(
    live: Run, pcm: bytes, heard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = vars(answering)["Session"]

    def interrupted(*arguments: Any, **options: Any) -> Any:
        interrupt_once_all_is_heard()
        return load(*arguments, **options)

    monkeypatch.setattr(answering, "Session", interrupted)
    outcome = live(stdin=pcm if heard else b"")
    assert outcome.status == 130
    assert outcome.out == (f"{TEXT}\n" * 2 if heard else "")
    assert ("stable texts 2" in outcome.err) is heard


def test_a_second_interrupt_ends_at_once(live: Run, pcm: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        interrupt_once_all_is_heard()
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(answering, "Session", interrupted)
    outcome = live(stdin=pcm)
    assert (outcome.status, outcome.out, outcome.err) == (130, "", "")


def test_a_terminal_shows_tentative_text_dimmed_and_replaces_it(jfk: Path) -> None:
    ours, theirs = os.openpty()
    with start(jfk, "--pace", "8", "--block", "3", stdin=subprocess.DEVNULL, stdout=theirs) as process:
        os.close(theirs)
        screen = read_all(ours).decode()
        process.communicate()
    assert process.returncode == 0
    assert "\x1b[2mAnd so my fellow" in screen
    assert "\r\x1b[J" in screen
    after_the_last_erasure = screen[screen.rindex("\x1b[J") + 3 :]
    assert "\x1b" not in after_the_last_erasure
    assert after_the_last_erasure.rstrip().endswith("for your country.")
    assert max(len(row) for row in screen.split("\x1b[2m")[1].split("\x1b[22m")[0].split("\r\n")) < 40


def read_all(terminal: int) -> bytes:
    """What is written to a terminal until nobody has it open."""
    screen = b""
    try:
        while chunk := os.read(terminal, 1 << 16):
            screen += chunk
    except OSError:  # Linux: the other side is closed
        pass
    os.close(terminal)
    return screen
