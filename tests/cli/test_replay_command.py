"""`as2d replay` on the default models and three kept clips."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from as2d.models.whisper.model import load_whisper
from as2d.profiling.plan import Plan, points
from as2d.profiling.profile import Machine, Profile, Timing, save_profile
from as2d.replay import trace_file

Run = Callable[..., Any]
CLIPS = Path(__file__).parents[1] / "clips"
IDS = ("jfk", "ls-3080-5032-0007", "fleurs-de-003")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of kept clips, and of one whose file is missing."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = (CLIPS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    clips = [clip for clip in map(json.loads, lines) if clip["id"] in IDS]
    kept = [{**clip, "path": str(CLIPS / clip["path"]), "kind": clip.get("kind", "read")} for clip in clips]
    missing = {"id": "gone", "path": "gone.flac", "kind": "read", "language": "en"}
    manifest = "".join(json.dumps(clip) + "\n" for clip in [*kept, missing])
    (folder / "manifest.jsonl").write_text(manifest, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def traces(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `as2d replay record` makes of the corpus."""
    from as2d.cli import main

    path = tmp_path_factory.mktemp("traces") / "traces.jsonl"
    assert main(["replay", "record", str(corpus), "--out", str(path), "--threads", "2", "--quiet"]) == 0
    return path


@pytest.fixture(scope="module")
def profile(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Costs of the models of the traces under which drafting pays."""
    known = trace_file.read([traces]).provenance
    plan = Plan(2, known.target, tuple(known.drafters), ("self",), contexts=(8,), audio_s=(10.0,))
    machine = Machine("host", 2, "cpu", "engine 1", "1")
    models = {known.target: known.target_digest, **known.drafters}
    timings = {point: Timing(3.0 if point.model == known.target else 0.5, 0.1, 5) for point in points(plan)}
    overheads = {name: Timing(0.01, 0.001, 5) for name in ("publish", "round", "realign", "truncate")}
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    save_profile(Profile("2026-01-01", machine, models, "noise", plan, timings, overheads, {}), path)
    return path


def test_what_is_recorded(traces: Path) -> None:
    recorded = trace_file.read([traces])
    assert recorded.provenance.target == "whisper-base"
    assert recorded.provenance.target_digest == load_whisper("whisper-base").identity
    assert list(recorded.provenance.drafters) == ["self", "whisper-tiny.en"]
    streams = {window.window: set(window.streams) for window in recorded.windows}
    assert streams == {
        "jfk#0": {"self", "whisper-tiny.en"},
        "ls-3080-5032-0007#0": {"self", "whisper-tiny.en"},
        "fleurs-de-003#0": {"self"},
    }


def test_recording_goes_on_where_it_was(run_fresh: Run, corpus: Path, traces: Path, tmp_path: Path) -> None:
    lines = traces.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "some.jsonl"
    path.write_text("".join(lines[:2]), encoding="utf-8")
    outcome = run_fresh("replay", "record", corpus, "--out", path, "--threads", 2)
    assert outcome.status == 0
    assert outcome.out == ""
    assert any("gone is skipped" in line for line in outcome.lines)
    assert outcome.lines[-1] == f"as2d: written to {path}"
    continued = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert continued[:2] == lines[:2]
    names = [window.window for window in trace_file.read([path]).windows]
    assert sorted(names) == sorted(window.window for window in trace_file.read([traces]).windows)


def test_clips_are_cut_and_joined(run_fresh: Run, passage: Path, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    outcome = run_fresh("replay", "record", passage, "--out", path, "--threads", 2, "--drafter", "self")
    assert (outcome.status, outcome.lines) == (0, [f"as2d: written to {path}"])
    [window] = trace_file.read([path]).windows
    assert (window.window, window.useful > 20) == ("test/q1#0", True)


def test_traces_of_another_model_are_not_continued(run_fresh: Run, corpus: Path, traces: Path) -> None:
    outcome = run_fresh("replay", "record", corpus, "--out", traces, "--threads", 2, "--drafter", "self")
    assert outcome.status == 2
    assert "recorded with another drafters" in outcome.err


def test_the_best_configurations(run_fresh: Run, traces: Path, profile: Path) -> None:
    outcome = run_fresh("replay", "run", traces, "--profile", profile)
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[2].startswith("| as2d self b")
    assert any(line.startswith("| target-only 2c |") for line in lines)
    assert lines[-1].startswith("oracle ")


def test_some_configurations(run_fresh: Run, traces: Path, profile: Path) -> None:
    arguments = ("--drafter", "whisper-tiny.en", "--budget", "0,3", "--batch", "word,8", "--whole")
    outcome = run_fresh("replay", "run", traces, "--profile", profile, *arguments)
    names = {line.split("|")[1].strip() for line in outcome.out.splitlines()[2:-2]}
    assert names == {
        "target-only 2c",
        "as2d whisper-tiny.en b3 2c1d",
        "as2d whisper-tiny.en b3 2c1d batch 8",
    }


def test_ablations(run_fresh: Run, traces: Path, profile: Path) -> None:
    methods = "as2d,as2d-without-decoupling,as2d-without-budget,speculative"
    selected = ("--drafter", "self", "--budget", "3", "--method", methods)
    outcome = run_fresh("replay", "run", traces, "--profile", profile, *selected)
    names = {line.split("|")[1].strip() for line in outcome.out.splitlines()[2:-2]}
    assert names == {
        "target-only 2c",
        "as2d self b3 2c1d",
        "as2d-without-decoupling self b3 2c1d",
        "as2d-without-budget self 2c1d",
        "speculative self b3 2c1d",
        "speculative self b3 2c2d",
    }


def test_sensitivity(run_fresh: Run, traces: Path, profile: Path) -> None:
    arguments = ("--budget", "0,3,7", "--contention", "0.5", "--contention", "1", "--contention", "2")
    outcome = run_fresh("replay", "run", traces, "--profile", profile, *arguments)
    assert [line.split("|")[1].strip() for line in outcome.out.splitlines()[2:]] == ["0.5", "1", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "25"), "use 0 to 24"),
        (("--budget", "many"), "write them as 1,2"),
        (("--batch", "x"), "write word, or numbers"),
        (("--batch", "0"), "use 'word' or a number"),
        (("--drafter", "nobody"), "no drafter nobody"),
        (("--contention", "-1"), "--contention"),
        (("--method", "specasr,none"), "specasr, none cannot be replayed; choose among as2d, "),
    ],
)
def test_bad_arguments(
    run_fresh: Run, traces: Path, profile: Path, arguments: tuple[str, ...], message: str
) -> None:
    outcome = run_fresh("replay", "run", traces, "--profile", profile, *arguments)
    assert outcome.status == 2
    assert message in outcome.err
    assert len(outcome.lines) == 1


def test_a_profile_of_other_models(run_fresh: Run, traces: Path, profile: Path, tmp_path: Path) -> None:
    text = profile.read_text(encoding="utf-8")
    digest = trace_file.read([traces]).provenance.target_digest
    other = tmp_path / "profile.json"
    other.write_text(text.replace(digest, "another"), encoding="utf-8")
    outcome = run_fresh("replay", "run", traces, "--profile", other)
    assert outcome.status == 2
    assert "of another whisper-base; record or measure again" in outcome.err


def test_damaged_traces(run_fresh: Run, traces: Path, profile: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_text(traces.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    outcome = run_fresh("replay", "run", cut, "--profile", profile)
    assert outcome.status == 2
    assert "delete that line" in outcome.err


def test_check(run_fresh: Run, corpus: Path) -> None:
    outcome = run_fresh("replay", "check", corpus, "--repetitions", 2, "--drafter", "self", "--threads", 2)
    assert outcome.status == 0
    rows = [line.split("|")[1:3] for line in outcome.out.splitlines()[2:]]
    assert [(name.strip(), count.strip()) for name, count in rows] == [
        ("target-only 2c", "3"),
        ("target-only 1c", "3"),
        ("as2d self b7 2c1d", "3"),
    ]


def test_check_of_too_little(run_fresh: Run, corpus: Path) -> None:
    outcome = run_fresh("replay", "check", corpus, "--limit", 1, "--drafter", "self")
    assert outcome.status == 2
    assert "check two windows or more" in outcome.err
