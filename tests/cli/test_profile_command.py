"""`as2d profile`: measuring toys, and showing what was written."""

import struct
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from as2d.cli import profile
from as2d.models.contract import AudioModel
from as2d.profiling.profile import Profile, load_profile, save_profile
from as2d.profiling.subjects import Subjects

ToyFactory = Callable[..., AudioModel]
Run = Callable[..., Any]
needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason='needs pip install "as2d[bench]"'
)


@pytest.fixture
def loads(toy: ToyFactory, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What was asked to be loaded; toys are loaded instead, whose memory nobody measures."""
    calls: list[tuple[object, ...]] = []

    def load(target: str, drafters: tuple[str, ...], precision: str) -> Subjects:
        calls.append((target, drafters, precision))
        return Subjects(target, toy("Hello."), {name: toy("Hello.", identity=name) for name in drafters})

    monkeypatch.setattr(profile, "load_subjects", load)
    monkeypatch.setattr(profile, "peaks_mb", lambda *_: {"whisper-base": 12.0})
    return calls


@pytest.fixture
def file(run_fresh: Run, loads: list[object], tmp_path: Path) -> Path:
    out = tmp_path / "toys.json"
    assert run_fresh("profile", "--out", out, "--drafter", "self", "--threads", "1", "--quiet").status == 0
    return out


def test_a_profile_is_measured_written_and_shown(
    run_fresh: Run, loads: list[tuple[object, ...]], tmp_path: Path
) -> None:
    out = tmp_path / "p.json"
    outcome = run_fresh("profile", "--out", out, "--threads", "2", "--precision", "fp32")
    assert outcome.status == 0
    assert loads == [("whisper-base", ("self", "whisper-tiny.en"), "fp32")]
    written = load_profile(out)
    assert (written.plan.threads, written.plan.widest, len(written.plan.audio_s)) == (2, 25, 2)
    assert written.memory_mb == {"whisper-base": 12.0}
    assert "V(K)" in outcome.out
    assert outcome.lines == [f"as2d: written to {out}"]
    assert run_fresh("profile", "show", out).out == outcome.out
    assert run_fresh("profile", "run", "--out", out, "--drafter", "none", "--threads", "1").status == 0
    assert load_profile(out).plan.drafters == ()


def test_quiet_says_nothing_on_stderr(file: Path, run_fresh: Run) -> None:
    assert run_fresh("profile", "--out", file, "--drafter", "none", "--threads", "1", "--quiet").err == ""


def test_interrupted_it_says_how_to_go_on(
    run_fresh: Run, loads: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> dict[str, float]:
        raise KeyboardInterrupt

    out = tmp_path / "p.json"
    monkeypatch.setattr(profile, "peaks_mb", interrupt)
    outcome = run_fresh("profile", "--out", out, "--drafter", "none", "--threads", "1")
    assert outcome.status == 130
    assert outcome.lines == [
        f"as2d: interrupted; what was timed is in {out}.partial, and the same command goes on from there"
    ]
    kept = load_profile(tmp_path / "p.json.partial", partial=True).timings
    assert len(kept) == 25 * 3 * 2 + 2 + 2, "widths, contexts and lengths; encodings and prompts"
    assert not out.exists()
    monkeypatch.setattr(profile, "peaks_mb", lambda *_: {})
    assert run_fresh("profile", "--out", out, "--drafter", "none", "--threads", "1").status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "use 1 or more"),
        (["--drafter", "none", "--drafter", "self"], "contradicts"),
        (["--drafter", "whisper-base"], "both target and drafter"),
        (["--out", "none/p.json"], "there is no folder"),
        (["--budget", "3"], "No such option"),
        (["nonsense"], "unexpected extra argument"),
        (["show"], "Missing argument"),
        (["show", "none.json"], "cannot read none.json"),
    ],
)
def test_what_is_wrong_is_one_line(
    run_fresh: Run,
    loads: list[object],
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run_fresh("profile", *arguments)
    assert outcome.status == 2
    assert len(outcome.lines) == 1
    assert message in outcome.lines[0]


def test_help_names_both_commands(run_fresh: Run) -> None:
    assert "show FILE" in run_fresh("profile", "--help").out


@needs_matplotlib
def test_a_picture_is_drawn(run_fresh: Run, file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    assert run_fresh("profile", "show", file, "--png", picture).status == 0
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert width == 900
    assert 500 < height < 900


@needs_matplotlib
@pytest.mark.parametrize("threads", [2, 4])
def test_a_picture_of_more_cores_or_no_drafters(
    run_fresh: Run, loads: list[object], tmp_path: Path, threads: int
) -> None:
    drafter = "none" if threads == 2 else "self"
    out, picture = tmp_path / "p.json", tmp_path / "p.png"
    assert run_fresh("profile", "--out", out, "--drafter", drafter, "--threads", threads).status == 0
    assert run_fresh("profile", "show", out, "--png", picture).status == 0
    assert picture.stat().st_size > 10_000


@needs_matplotlib
def test_a_picture_needs_a_folder_and_the_extra(
    run_fresh: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run_fresh("profile", "show", file, "--png", tmp_path / "none" / "p.png")
    assert outcome.status == 2
    assert "cannot write" in outcome.lines[0]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = run_fresh("profile", "show", file, "--png", tmp_path / "p.png")
    assert outcome.status == 2
    assert 'pip install "as2d[bench]"' in outcome.lines[0]


def test_a_profile_of_another_machine_is_shown_too(run_fresh: Run, file: Path) -> None:
    loaded = load_profile(file)
    machine = type(loaded.machine)("a phone", 8, "another", "an engine", "0.0.1")
    other = Profile(
        *(loaded.date, machine, loaded.models, loaded.audio, loaded.plan, loaded.timings, loaded.overheads)
    )
    save_profile(other, file)
    outcome = run_fresh("profile", "show", file)
    assert outcome.status == 0
    assert outcome.out.startswith("a phone: 8 cores, an engine, as2d 0.0.1, ")
