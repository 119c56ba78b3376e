"""Recordings on disk: opened as they were, refused when something is wrong with them, and never half written."""

import errno
import json
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from as2d.audio import open_audio
from as2d.errors import ClosedError, InputError, SaveError, UnsupportedError
from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE, Instruction
from as2d.session import LiveRecording, Session, saved

ToyFactory = Callable[..., AudioModel]
Floats = NDArray[np.float32]
CLIPS = Path(__file__).parents[1] / "clips"
TEXT = "Ask not."
SOON = 20.0


@pytest.fixture(autouse=True)
def _cache(own_cache: Path) -> None:
    """Toys are probed like any model; keep that out of the user's cache."""


@pytest.fixture(scope="module")
def speech() -> Floats:
    """59 s with four clips: one window that is complete, and one that stays open."""
    clips = [
        np.concatenate(list(open_audio(CLIPS / f"{name}.flac"))) for name in ("jfk", "ls-3080-5032-0007")
    ]
    long_pause = np.zeros(3 * SAMPLE_RATE, np.float32)
    return np.concatenate([part for clip in clips * 2 for part in (clip, long_pause)])


@dataclass(frozen=True)
class Heard:
    samples: int
    states: Floats


class Keeper:
    """Makes a toy a model whose prepared audio can be saved, and that counts what it encodes."""

    def __init__(self, toy: AudioModel, identity: str = "keeper") -> None:
        self.toy = toy
        self.identity = identity
        self.encoded = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.toy, name)

    def prefix(self, instruction: Instruction) -> str:
        return instruction.context

    def prepare_after(self, prefix: str, samples: Floats, threads: int) -> Heard:
        self.encoded += 1
        return Heard(len(samples), np.full(1000, samples.sum(), np.float32))

    def prepare(self, samples: Floats, threads: int) -> Heard:
        return self.prepare_after("", samples, threads)

    def pack(self, prepared: Heard) -> dict[str, NDArray[np.generic]]:
        return {"states": prepared.states}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], samples: int, threads: int) -> Heard:
        return Heard(samples, np.asarray(arrays["states"], np.float32))


@pytest.fixture
def keeper(toy: ToyFactory) -> Keeper:
    return Keeper(toy(TEXT))


@pytest.fixture
def session(keeper: Keeper) -> Iterator[Session]:
    with Session(keeper, None, threads=1) as session:
        yield session


@pytest.fixture
def recording(session: Session, speech: Floats) -> LiveRecording:
    recording = session.listen(context="Names", language="en")
    recording.feed(speech[: 50 * SAMPLE_RATE])
    assert recording.wait(SOON)
    return recording


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_recording_goes_on_where_it_was_saved(
    session: Session, recording: LiveRecording, keeper: Keeper, speech: Floats, tmp_path: Path
) -> None:
    recording.save(tmp_path / "kept")
    encoded = keeper.encoded
    opened = session.open_recording(tmp_path / "kept")
    assert opened.wait(SOON)
    assert opened.duration_s == recording.duration_s == 50
    assert (opened.prepared_s, opened.prepared_bytes) == (recording.prepared_s, recording.prepared_bytes)
    assert keeper.encoded == encoded, "what was saved is not encoded again"
    for one in (opened, recording):
        one.feed(speech[50 * SAMPLE_RATE :])
        one.finish()
        assert one.wait(SOON)
    expected = recording.request()
    found = opened.request()
    assert (found.segments, found.view) == (expected.segments, expected.view)
    assert found.view
    assert found.view.reused >= 1
    opened.save(tmp_path / "kept")
    with pytest.raises(ClosedError):
        session.open_recording(tmp_path / "kept").feed(speech)


def test_the_first_request_of_an_opened_recording_reuses_it(
    session: Session, recording: LiveRecording, keeper: Keeper, tmp_path: Path
) -> None:
    recording.save(tmp_path / "kept")
    encoded = keeper.encoded
    result = session.open_recording(tmp_path / "kept").request(until=1)
    assert result.view
    assert (result.view.reused, result.view.prepared, keeper.encoded) == (1, 0, encoded)


def test_one_saved_again_before_it_was_used_is_whole(
    session: Session, recording: LiveRecording, keeper: Keeper, tmp_path: Path
) -> None:
    recording.save(tmp_path / "one")
    session.run(lambda: session.open_recording(tmp_path / "one").save(tmp_path / "two")).result(SOON)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_drafters_are_prepared_again_in_the_background(
    toy: ToyFactory, speech: Floats, tmp_path: Path
) -> None:
    heard: list[int] = []
    drafter = toy(TEXT, on_prepare=lambda: heard.append(1))
    with Session(Keeper(toy(TEXT)), drafter, threads=2) as session:
        recording = session.listen()
        recording.feed(speech)
        recording.wait(SOON)
        recording.save(tmp_path / "kept")
        before = len(heard)
        opened = session.open_recording(tmp_path / "kept")
        assert opened.wait(SOON)
        assert len(heard) == 2 * before > 0


def test_only_two_small_files_are_written(recording: LiveRecording, tmp_path: Path) -> None:
    recording.save(tmp_path / "kept")
    recording.save(str(tmp_path / "kept"))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert sorted(contents(tmp_path / "kept")) == ["audio.safetensors", "recording.json"]
    manifest = json.loads((tmp_path / "kept" / "recording.json").read_text())
    assert (manifest["schema"], manifest["target"], manifest["samples"]) == (1, "keeper", 50 * SAMPLE_RATE)
    assert (manifest["context"], manifest["prefix"], manifest["language"]) == ("Names", "Names", "en")


def test_a_model_that_cannot_keep_what_it_prepares_says_so(
    toy: ToyFactory, recording: LiveRecording, tmp_path: Path
) -> None:
    recording.save(tmp_path / "kept")
    with Session(toy(TEXT), None, threads=1) as session:
        with pytest.raises(UnsupportedError, match="toy prepares cannot be saved"):
            session.listen().save(tmp_path / "other")
        with pytest.raises(UnsupportedError):
            session.open_recording(tmp_path / "kept")
    assert not (tmp_path / "other").exists()


def test_another_model_is_refused(toy: ToyFactory, recording: LiveRecording, tmp_path: Path) -> None:
    recording.save(tmp_path / "kept")
    with (
        Session(Keeper(toy(TEXT), "other"), None, threads=1) as session,
        pytest.raises(InputError, match=r"another model \(keeper, not other\); load that one"),
    ):
        session.open_recording(tmp_path / "kept")


def changed(**values: Any) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / "recording.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def in_window(field: int, value: Any) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / "recording.json"
        values = json.loads(path.read_text())
        values["windows"][0][field] = value
        path.write_text(json.dumps(values))

    return change


def in_tensor(name: str, change: Callable[[Floats], Floats]) -> Callable[[Path], object]:
    def rewrite(folder: Path) -> None:
        path = folder / "audio.safetensors"
        tensors = load_file(path)
        save_file(tensors | {name: np.ascontiguousarray(change(tensors[name]))}, path)
        changed(sha256=sha256(path.read_bytes()).hexdigest())(folder)

    return rewrite


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "recording.json").unlink(), "no saved recording in .*; check the path"),
        (lambda folder: (folder / "recording.json").write_bytes(b"{"), "not JSON; save it again"),
        (lambda folder: (folder / "recording.json").write_bytes(b"[]"), "is no object"),
        (lambda folder: (folder / "recording.json").write_bytes(b"\xff\xfe\xff"), "not JSON"),
        (changed(schema=2), "schema 2, not 1: it was saved by as2d .*; open it with that version"),
        (changed(schema=None), "schema None"),
        (changed(samples="many"), "samples is 'many'"),
        (changed(windows=[[0, 1]]), "malformed"),
        (changed(windows=5), "malformed"),
        (changed(windows=[["a", "b", True, True, None]]), "is damaged"),
        (changed(windows=[[0, 1, True, False, None]]), "window 0 has .* samples"),
        (changed(windows=[[0, 5, False, False, None], [6, 9, False, False, None]]), "do not follow"),
        (changed(windows=[[0, 5, False, False, None], [5, 9, True, False, None]]), "is damaged"),
        (changed(extra=1), "malformed"),
        (changed(samples=5), "it ends at sample .*, not at 5"),
        (changed(finished=True), "it ends at sample"),
        (in_window(0, "0"), "malformed: start is '0'"),
        (in_window(2, None), "malformed: speech is None"),
        (in_window(4, []), r"malformed: language is \[\]"),
        (in_tensor("open.h", lambda array: array[0]), "h has shape"),
        (in_tensor("open.samples", lambda array: array[:-1]), "do not fit together"),
        (in_tensor("open.probability", lambda array: array[:-1]), "do not fit together"),
        (in_tensor("open.pending", lambda array: array[:-1]), "it ends at sample"),
        (in_tensor("open.pending", lambda array: array[None]), "do not fit together"),
        (in_tensor("open.position", lambda array: array + 512), "do not follow"),
        (lambda folder: (folder / "audio.safetensors").unlink(), "is damaged"),
        (lambda folder: os.truncate(folder / "audio.safetensors", 5000), "digest"),
        (lambda folder: (folder / "audio.safetensors").write_bytes(b""), "digest"),
    ],
)
def test_what_is_damaged_or_of_another_version_is_refused(
    session: Session,
    recording: LiveRecording,
    tmp_path: Path,
    damage: Callable[[Path], object],
    message: str,
) -> None:
    recording.save(tmp_path / "kept")
    damage(tmp_path / "kept")
    with pytest.raises(InputError, match=message):
        session.open_recording(tmp_path / "kept")


@pytest.mark.parametrize("name", [".", "file", "folder"])
def test_what_is_no_recording_is_never_replaced(recording: LiveRecording, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "precious").write_bytes(b"")
    before = contents(tmp_path)
    with pytest.raises(InputError, match="choose another folder"):
        recording.save(tmp_path / name)
    assert contents(tmp_path) == before


def failing_at(call: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """The real thing, but for one call: the disk is full then."""
    calls = iter(range(1000))

    def full(*args: Any, **options: Any) -> Any:
        if next(calls) == call:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **options)

    return full


Step = tuple[Any, str, int]
"""What is called, and which call of it fails."""
FIRST_SAVE: list[Step] = [
    (Path, "mkdir", 0),
    (saved, "save_file", 0),
    (os, "fsync", 0),
    (os, "fsync", 1),
    (saved, "file_digest", 0),
    (Path, "write_text", 0),
    (Path, "rename", 0),
]
LATER_SAVE: list[Step] = [*FIRST_SAVE, (Path, "rename", 1)]


@pytest.mark.parametrize(
    ("earlier", "step"),
    [*((False, step) for step in FIRST_SAVE), *((True, step) for step in LATER_SAVE)],
)
def test_a_full_disk_leaves_what_was_there(
    recording: LiveRecording,
    speech: Floats,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    earlier: bool,
    step: Step,
) -> None:
    owner, name, call = step
    if earlier:
        recording.save(tmp_path / "kept")
        recording.feed(speech)
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing_at(call, getattr(owner, name)))
        with pytest.raises(
            SaveError, match=r"No space left on device.*; free space there, or choose another"
        ):
            recording.save(tmp_path / "kept")
    assert contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["kept"] * earlier
    recording.save(tmp_path / "kept")


@pytest.mark.parametrize("quota", [100, 10_000, 1_000_000])
def test_a_real_quota_leaves_what_was_there(
    session: Session, recording: LiveRecording, speech: Floats, tmp_path: Path, quota: int
) -> None:
    recording.save(tmp_path / "kept")
    before = contents(tmp_path)
    recording.feed(speech)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (quota, hard))
    try:
        with pytest.raises(SaveError, match=r"could not be saved to .*kept"):
            recording.save(tmp_path / "kept")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert contents(tmp_path) == before
    assert session.open_recording(tmp_path / "kept").duration_s == 50


def test_a_closed_recording_does_not_replace_what_it_has_saved(
    recording: LiveRecording, tmp_path: Path
) -> None:
    recording.save(tmp_path / "kept")
    before = contents(tmp_path)
    recording.close()
    with pytest.raises(ClosedError):
        recording.save(tmp_path / "kept")
    assert contents(tmp_path) == before


def test_what_may_not_be_kept_is_not_opened(
    session: Session, recording: LiveRecording, tmp_path: Path
) -> None:
    recording.save(tmp_path / "kept")
    opened = session.open_recording(tmp_path / "kept", memory=0)
    result = opened.request(until=1)
    assert result.view
    assert (result.view.reused, result.view.prepared, opened.prepared_bytes) == (0, 1, 0)


@pytest.mark.parametrize("name", ["no-such/kept", "x" * 300])
def test_a_folder_that_cannot_be_is_named(recording: LiveRecording, tmp_path: Path, name: str) -> None:
    with pytest.raises(SaveError, match=name):
        recording.save(tmp_path / name)
