"""The command as a process of its own: signals, pipes, a terminal, a full disk."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

COMMAND = [sys.executable, "-c", "import sys; from as2d.cli import main; sys.exit(main())", "transcribe"]


def start(
    *arguments: str | Path, stdout: int | BinaryIO = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"TERM": "xterm"}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=stdout, stderr=stderr, env=environment)


def test_commits_stream_and_an_interrupt_ends_them(long_wav: Path) -> None:
    with start(long_wav, long_wav, "--output-format", "jsonl") as process:
        assert process.stdout
        first = json.loads(process.stdout.readline())
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate()
    assert process.returncode == 130
    assert first["type"] == "commit"
    assert all(json.loads(line)["type"] == "commit" for line in rest.splitlines())
    assert b"Traceback" not in err


def test_a_reader_that_leaves(long_wav: Path) -> None:
    with start(long_wav, "--output-format", "jsonl", "--method", "target-only") as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, b"")


def test_a_full_disk_behind_stdout(jfk: Path) -> None:
    with Path("/dev/full").open("wb") as full, start(jfk, stdout=full) as process:
        _, err = process.communicate()
    assert process.returncode == 2
    assert err.startswith(b"as2d: error: standard output cannot be written (No space left on device)")
    assert err.count(b"\n") == 1


def test_a_terminal_shows_the_bar_and_the_pipe_only_text(long_wav: Path) -> None:
    ours, theirs = os.openpty()
    with start(long_wav, "--method", "target-only", stderr=theirs) as process:
        os.close(theirs)
        out, _ = process.communicate()
        screen = read_all(ours)
    assert process.returncode == 0
    assert out.count(b"ask not what your country") == 3
    assert b"\x1b" not in out
    assert b"/ 0:34" in screen
    assert screen.rstrip().endswith(b"method target-only, drafters -")


def read_all(terminal: int) -> bytes:
    """What was written to a terminal that nobody writes to any more."""
    screen = b""
    try:
        while chunk := os.read(terminal, 1 << 16):
            screen += chunk
    except OSError:  # Linux: the other side is closed
        pass
    os.close(terminal)
    return screen
