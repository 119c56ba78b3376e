"""What a bench has measured so far, in a folder: written as it is measured, and read when it goes on.

* `bench.json`: what is measured, and with what; only the same bench goes on there.
* `runs.jsonl`: a line a run, written at once, so that nothing measured is lost when the bench is interrupted.
* `windows.jsonl`: the rows of `rows.Row`, a line a window and contender, once a window is complete.
* `clips.jsonl`: a line a clip, once all its windows are.

A torn last line is what a crash leaves behind, and is dropped. A line that is damaged otherwise is dropped too, with a
notice, and what it held is measured again.
"""

import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from as2d.errors import InputError
from as2d.evaluation.measuring.codec import from_json, to_json
from as2d.evaluation.rows import Row, Run

T = TypeVar("T")

_SETUP, _RUNS, _ROWS, _CLIPS = "bench.json", "runs.jsonl", "windows.jsonl", "clips.jsonl"


@dataclass(frozen=True, slots=True)
class Setup:
    """What makes two benches the same: everything here. `plan` are the contenders' keys, `options` all other wishes.

    `duplicates` are the clips of the corpus that were left out as such, `missing_peers` says why some did not run.
    """

    schema: int
    commit: str
    corpus: str
    cpu: str
    versions: Mapping[str, str]
    options: Mapping[str, str]
    plan: tuple[str, ...]
    duplicates: tuple[str, ...]
    missing_peers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClipRecord:
    """A clip that is done. `windows` counts the rows of each, `short` names those with too few tokens to be measured.

    `reference` is what was said in it, empty where that is not known beyond doubt. `fault` says why a clip, or what
    follows its windows, could not be heard.
    """

    clip: str
    windows: Mapping[str, int]
    short: tuple[str, ...]
    reference: str
    fault: str | None = None


class Journal:
    """A bench's folder while it is measured; a context manager. No two processes write to one at a time."""

    def __init__(self, folder: Path, setup: Setup) -> None:
        """Makes the folder, or goes on in it. InputError when it holds something else or cannot be written."""
        self.notices: list[str] = []
        self._folder = folder
        self._closing = ExitStack()
        with self._closing:
            self._claim()
            _require_same(folder, setup)
            self._rows: dict[str, set[str]] = defaultdict(set)  # the contenders of each window
            for row in self._repaired(_ROWS, Row):
                self._rows[row.window].add(row.contender)
            self._clips = {record.clip: record for record in self._repaired(_CLIPS, ClipRecord)}
            self._drawn: set[str] = set()
            self._runs: dict[str, list[Run]] = defaultdict(list)
            done = self._done_windows()
            for run in self._repaired(_RUNS, Run):
                self._remember(run, done)
            self._logs = {name: self._log(name) for name in (_RUNS, _ROWS, _CLIPS)}
            self._closing = self._closing.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    @property
    def windows(self) -> int:
        """How many windows are complete."""
        return len(self._rows)

    @property
    def drawn(self) -> frozenset[str]:
        """The windows that have a time line."""
        return frozenset(self._drawn)

    def is_done(self, clip: str) -> bool:
        """Whether a clip has been measured and all its rows are still there."""
        record = self._clips.get(clip)
        return record is not None and all(
            len(self._rows.get(window, ())) == rows for window, rows in record.windows.items()
        )

    def runs(self, window: str) -> tuple[Run, ...]:
        """The runs so far of a window whose clip is not done."""
        return tuple(self._runs.get(window, ()))

    def add_run(self, run: Run) -> None:
        """Write down a run. InputError when the disk is full, as for all that writes; what was written stays."""
        self._logs[_RUNS].write([to_json(run)])
        self._remember(run)

    def add_rows(self, window: str, rows: Iterable[Row]) -> None:
        """Complete a window, whose runs are then forgotten here."""
        new = [row for row in rows if row.contender not in self._rows[window]]
        self._logs[_ROWS].write([to_json(row) for row in new])
        self._rows[window] |= {row.contender for row in new}
        self._runs.pop(window, None)

    def finish(self, record: ClipRecord) -> None:
        """Complete a clip."""
        if self._clips.get(record.clip) != record:
            self._logs[_CLIPS].write([to_json(record)])
            self._clips[record.clip] = record

    def _done_windows(self) -> frozenset[str]:
        done = (record for record in self._clips.values() if self.is_done(record.clip))
        return frozenset(window for record in done for window in record.windows)

    def _remember(self, run: Run, done: frozenset[str] = frozenset()) -> None:
        """Of windows that are `done`, the runs are of no use later."""
        if run.time_line:
            self._drawn.add(run.window)
        if run.window not in done:
            self._runs[run.window].append(run)

    def _claim(self) -> None:
        make_folder(self._folder)
        try:
            lock = os.open(self._folder, os.O_RDONLY)
            self._closing.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"another bench is writing to {self._folder}; wait for it, or name another --out"
            ) from error
        except OSError as error:
            raise _unwritable(self._folder, error) from error

    def _log(self, name: str) -> "_Log":
        log = _Log(self._folder / name)
        self._closing.callback(log.close)
        return log

    def _repaired(self, name: str, kind: type[T]) -> Iterator[T]:
        """The records of a file, which from then on holds nothing else."""
        path = self._folder / name
        bad = _BadLines()
        yield from _records(path, kind, bad)
        if bad.damaged:
            self.notices.append(_notice(path, bad.damaged))
        if bad.damaged or bad.torn:
            _keep_records(path, kind)


def read_setup(folder: Path) -> Setup:
    """What a folder was measured with. InputError when it holds no bench or is damaged."""
    path = folder / _SETUP
    try:
        return from_json(Setup, path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"{folder} holds no {_SETUP}; name the --out folder of a bench") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged ({error}); measure again with another --out") from error


def read_rows(folder: Path, say: Callable[[str], None]) -> list[Row]:
    """All rows; what is damaged is left out and said."""
    return _read(folder / _ROWS, Row, say)


def read_clips(folder: Path, say: Callable[[str], None]) -> list[ClipRecord]:
    """All clips that are done, the last word on each; what is damaged is left out and said."""
    return list({record.clip: record for record in _read(folder / _CLIPS, ClipRecord, say)}.values())


def make_folder(folder: Path) -> None:
    """Make a folder where there is none. InputError when it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def write_whole(path: Path, content: str) -> None:
    """Write a file, or leave the one that is there. InputError when the disk is full or the like."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(content, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise _unwritable(path, error) from error


class _Log:
    """A file that is only appended to, whole lines at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise _unwritable(path, error) from error

    def write(self, lines: Sequence[str]) -> None:
        """Append lines; where that fails, what was there before stays as it was."""
        size = os.fstat(self._file).st_size
        rest = memoryview("".join(f"{line}\n" for line in lines).encode())
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            os.ftruncate(self._file, size)
            raise _unwritable(self._path, error) from error

    def close(self) -> None:
        """Free the file."""
        os.close(self._file)


@dataclass
class _BadLines:
    """Lines that are no records: `damaged` ones, and whether the last one is `torn`."""

    damaged: int = 0
    torn: bool = False


def _records(path: Path, kind: type[T], bad: _BadLines) -> Iterator[T]:
    """The records in a file, which may be missing; counts the other lines."""
    for _, record in _lines(path, kind, bad):
        yield record


def _lines(path: Path, kind: type[T], bad: _BadLines) -> Iterator[tuple[bytes, T]]:
    for line in _raw_lines(path):
        if not line.endswith(b"\n"):
            bad.torn = True
            return
        try:
            record = from_json(kind, line)
        except ValueError:
            bad.damaged += 1
        else:
            yield line, record


def _raw_lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); name another --out") from error


def _keep_records(path: Path, kind: type[Any]) -> None:
    content = b"".join(line for line, _ in _lines(path, kind, _BadLines()))
    write_whole(path, content.decode())


def _read(path: Path, kind: type[T], say: Callable[[str], None]) -> list[T]:
    bad = _BadLines()
    records = list(_records(path, kind, bad))
    if bad.damaged:
        say(_notice(path, bad.damaged))
    return records


def _notice(path: Path, damaged: int) -> str:
    return f"{path} has {damaged} damaged lines, which are left out; the same command measures what they held again"


def _require_same(folder: Path, setup: Setup) -> None:
    """Write the setup, or compare with the one that is there."""
    path = folder / _SETUP
    if not path.exists():
        if (folder / _RUNS).exists():
            raise InputError(f"{folder} holds runs without {_SETUP}; name another --out")
        write_whole(path, json.dumps(asdict(setup), ensure_ascii=False, indent=1) + "\n")
        return
    if differences := list(_differences(asdict(read_setup(folder)), asdict(setup))):
        raise InputError(
            f"{folder} was measured otherwise: {'; '.join(differences)}; name another --out, or repeat the "
            "command and the state that began it"
        )


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name, value in now.items():
        old = before[name]
        if old == value:
            continue
        if isinstance(value, Mapping):
            names = sorted({*value, *old})
            yield from _differences(
                {key: old.get(key) for key in names}, {key: value.get(key) for key in names}
            )
        else:
            yield f"{name} {_told(old)} then, {_told(value)} now"


def _told(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"{path} cannot be written ({error.strerror}); free some space or name another --out; what is measured is kept"
    )
