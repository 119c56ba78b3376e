"""`as2d tune` on the default models and three kept clips, and what `as2d transcribe` makes of its file."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from as2d import Session
from as2d.cli import replay
from as2d.configuration.explain import choices
from as2d.configuration.file import merge_entries, read_entries
from as2d.configuration.tuned import Choice
from as2d.models.load import load_drafter
from as2d.models.whisper.model import WhisperModel
from as2d.profiling.machine import this_machine
from as2d.profiling.plan import Plan, Point, points
from as2d.profiling.profile import Profile, Timing, save_profile
from as2d.replay import trace_file

Run = Callable[..., Any]
CLIPS = Path(__file__).parents[1] / "clips"
IDS = ("jfk", "ls-3080-5032-0007", "fleurs-de-003")
DRAFTERS = ("self", "whisper-tiny.en")


@pytest.fixture(autouse=True)
def default_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where auto looks, which only this test uses; it does not exist yet."""
    monkeypatch.setenv("AS2D_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config" / "configuration.json"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of kept clips."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = (CLIPS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    clips = [clip for clip in map(json.loads, lines) if clip["id"] in IDS]
    kept = [{**clip, "path": str(CLIPS / clip["path"]), "kind": clip.get("kind", "read")} for clip in clips]
    manifest = "".join(json.dumps(clip) + "\n" for clip in kept)
    (folder / "manifest.jsonl").write_text(manifest, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def identities(base: WhisperModel) -> Mapping[str, str]:
    """Of the target and its drafters, by name."""
    return {"whisper-base": base.identity} | {name: load_drafter(name, base).identity for name in DRAFTERS}


@pytest.fixture(scope="module")
def make_profile(identities: Mapping[str, str]) -> Callable[..., Profile]:
    """A profile of these models on this machine, in which every call takes what it says."""

    def make(milliseconds: Callable[[Point], float], drafters: tuple[str, ...] = DRAFTERS) -> Profile:
        plan = Plan(2, "whisper-base", drafters, ("self",), contexts=(8,), audio_s=(10.0,))
        timings = {point: Timing(milliseconds(point), 0.1, 5) for point in points(plan)}
        overheads = {name: Timing(0.01, 0.001, 5) for name in ("publish", "round", "realign", "truncate")}
        models = {name: identities[name] for name in ("whisper-base", *drafters)}
        memory = {"whisper-base": 300.0, "self": 30.0, "whisper-tiny.en": 130.0}
        return Profile("2026-01-01", this_machine(), models, "noise", plan, timings, overheads, memory)

    return make


def paying(point: Point) -> float:
    """Drafting pays, most with the target's own cheaper decoder."""
    return {"whisper-base": 10.0, "self": 0.5, "whisper-tiny.en": 2.0}[point.model]


@pytest.fixture(scope="module")
def profile(make_profile: Callable[..., Profile], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    save_profile(make_profile(paying), path)
    return path


@pytest.fixture(scope="module")
def traces(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All windows of the corpus, recorded once for all tests."""
    path = tmp_path_factory.mktemp("traces") / "traces.jsonl"
    replay.record(corpus, out=path, quiet=True)
    return path


@pytest.fixture
def run_tune(run_fresh: Run, corpus: Path, profile: Path, traces: Path) -> Run:
    """`as2d tune` with further arguments."""

    def run(*arguments: str | Path) -> Any:
        return run_fresh("tune", corpus, "--profile", profile, "--traces", traces, *arguments)

    return run


def test_the_choices_are_said_and_written_where_auto_looks(
    run_tune: Run, default_file: Path, identities: Mapping[str, str], traces: Path
) -> None:
    outcome = run_tune()
    assert outcome.status == 0
    assert outcome.lines[-1] == f"as2d: written to {default_file}"
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in outcome.out.splitlines()[2:]]
    assert rows == [
        *(["throughput", "english", "2"], ["throughput", "other", "1"], ["throughput", "any", "3"]),
        *(["latency", "english", "2"], ["latency", "other", "1"], ["latency", "any", "3"]),
    ]
    entries = read_entries(default_file)
    assert {(entry.objective, entry.group) for entry in entries} == {(row[0], row[1]) for row in rows}
    for entry in entries:
        assert entry.machine == this_machine()
        assert entry.target == ("whisper-base", identities["whisper-base"])
        assert entry.choice.drafter == "self"
        assert entry.grounds.tps >= (entry.grounds.tps_budget_7 or 0)
        assert entry.grounds.tps > entry.grounds.tps_target_only
        assert 0.5 < entry.grounds.oracle_share <= 1
        assert (entry.task, entry.threads, entry.test, entry.half) == ("transcribe", 2, None, None)
        assert entry.corpus == trace_file.read([traces]).provenance.corpus


def test_auto_uses_what_was_tuned_and_says_so(run_tune: Run, run_fresh: Run, default_file: Path) -> None:
    run_tune("--objective", "latency")
    (whichever,) = (entry for entry in read_entries(default_file) if entry.group == "any")
    outcome = run_fresh("transcribe", CLIPS / "jfk.flac", "--threads", 2)
    assert f"method as2d (tuned: {whichever.choice.label}), drafters self" in outcome.lines[-1]
    assert not any("measuring" in line for line in outcome.lines)


def test_one_objective_one_language_some_clips(run_tune: Run, tmp_path: Path) -> None:
    arguments = ("--objective", "latency", "--languages", "en", "--limit", 1, "--out", tmp_path / "c.json")
    outcome = run_tune(*arguments)
    assert [line.split("|")[1:4] for line in outcome.out.splitlines()[2:]] == [
        [" latency ", " english ", " 1 "]
    ]


def test_several_files_become_one(run_tune: Run, tmp_path: Path) -> None:
    out = tmp_path / "new" / "c.json"
    for objective, entries in (("latency", 3), ("throughput", 6), ("latency", 6)):
        assert run_tune("--objective", objective, "--out", out, "--quiet").err == ""
        assert len(read_entries(out)) == entries


def test_what_does_not_fit_the_memory_is_not_chosen(
    run_tune: Run, default_file: Path, make_profile: Callable[..., Profile], profile: Path
) -> None:
    assert run_tune("--memory-limit", 310).status == 0
    assert {entry.choice.drafter for entry in read_entries(default_file)} == {None}
    outcome = run_tune("--memory-limit", 299)
    assert outcome.status == 2
    assert "whisper-base alone needs 300 MB" in outcome.err


def test_a_limit_of_latency_that_nothing_keeps(run_tune: Run, default_file: Path) -> None:
    outcome = run_tune("--latency-limit", 1)
    assert outcome.status == 2
    assert "allow that much" in outcome.err
    assert not default_file.exists()


def test_halves(run_tune: Run, default_file: Path) -> None:
    outcome = run_tune("--half", "B", "--objective", "throughput")
    assert outcome.status == 0, outcome.err
    entries = read_entries(default_file)
    assert {entry.half for entry in entries} == {"B"}
    tested = [entry for entry in entries if entry.test]
    assert outcome.out.count("throughput, test") == len(tested)


def test_why(run_tune: Run, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    outcome = run_tune("--explain", "--objective", "throughput", "--out", out)
    assert outcome.status == 0, outcome.err
    assert outcome.out.count("## throughput") == 3
    assert outcome.out.count("as2d-without-decoupling") == 3
    assert outcome.out.count("| contention × |") == 3
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert outcome.lines[-1] == f"as2d: drawn in {tmp_path / 'c.png'}"


def test_a_picture_needs_the_extra_which_is_said_before_anything_is_done(
    run_tune: Run, default_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = run_tune("--explain")
    assert outcome.status == 2
    assert 'pip install "as2d[bench]"' in outcome.err
    assert not default_file.parent.exists()


def test_interrupted_nothing_is_lost(
    run_fresh: Run, corpus: Path, profile: Path, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.jsonl"
    really = trace_file.append
    recorded: list[str] = []

    def append(file: Path, window: Any) -> None:
        if recorded:
            raise KeyboardInterrupt
        recorded.append(window.window)
        really(file, window)

    arguments = ("tune", corpus, "--profile", profile, "--traces", path)
    with monkeypatch.context() as patched:
        patched.setattr(trace_file, "append", append)
        outcome = run_fresh(*arguments)
    assert outcome.status == 130
    assert (
        outcome.lines[-1] == f"as2d: what is recorded is kept in {path}; the same command goes on from there"
    )
    assert [window.window for window in trace_file.read([path]).windows] == recorded
    assert run_fresh(*arguments).status == 0
    assert len(trace_file.read([path]).windows) == len(trace_file.read([traces]).windows)


def test_a_profile_of_another_machine_is_for_that_machine(
    run_fresh: Run, corpus: Path, traces: Path, make_profile: Callable[..., Profile], tmp_path: Path
) -> None:
    here = make_profile(paying)
    save_profile(replace(here, machine=replace(here.machine, cpu="a phone")), tmp_path / "p.json")
    out = tmp_path / "c.json"
    outcome = run_fresh("tune", corpus, "--profile", tmp_path / "p.json", "--traces", traces, "--out", out)
    assert outcome.status == 0
    assert {entry.machine.cpu for entry in read_entries(out)} == {"a phone"}


def test_nobody_drafts_where_nothing_pays(
    run_fresh: Run, corpus: Path, traces: Path, make_profile: Callable[..., Profile], tmp_path: Path
) -> None:
    def slow(point: Point) -> float:
        return 1.0 if point.model == "whisper-base" and not point.beside else 20.0

    save_profile(make_profile(slow), tmp_path / "p.json")
    out = tmp_path / "c.json"
    run_fresh("tune", corpus, "--profile", tmp_path / "p.json", "--traces", traces, "--out", out)
    assert {entry.choice for entry in read_entries(out)} == {Choice(None, 0, 1, "word")}
    arguments = ("--configuration", out, "--threads", 2)
    outcome = run_fresh("transcribe", CLIPS / "jfk.flac", *arguments)
    assert "method target-only (tuned: target-only), drafters -" in outcome.lines[-1]


def bad(profile: Profile, what: str) -> Profile:
    if what == "models":
        return replace(profile, models={**profile.models, "self": "another"})
    return replace(
        profile, timings={point: t._replace(ms=float("nan")) for point, t in profile.timings.items()}
    )


@pytest.mark.parametrize(
    ("what", "message"), [("models", "self is not the model"), ("times", "nan for"), ("none", "no drafter")]
)
def test_bad_profiles(
    run_fresh: Run,
    corpus: Path,
    make_profile: Callable[..., Profile],
    tmp_path: Path,
    what: str,
    message: str,
) -> None:
    good = make_profile(paying, ()) if what == "none" else bad(make_profile(paying), what)
    save_profile(good, tmp_path / "p.json")
    traces = tmp_path / "t.jsonl"
    outcome = run_fresh("tune", corpus, "--profile", tmp_path / "p.json", "--traces", traces)
    assert outcome.status == 2
    assert message in outcome.err
    assert len(outcome.lines) == 1
    assert not traces.exists()


def test_an_empty_corpus(run_fresh: Run, profile: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.jsonl").write_text("", encoding="utf-8")
    outcome = run_fresh("tune", tmp_path, "--profile", profile, "--traces", tmp_path / "t.jsonl")
    assert outcome.status == 2
    assert "no clip is of the kinds" in outcome.err


def test_traces_of_other_models(
    run_fresh: Run, corpus: Path, profile: Path, traces: Path, identities: Mapping[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "t.jsonl"
    text = traces.read_text(encoding="utf-8").replace(identities["self"], "another")
    other.write_text(text, encoding="utf-8")
    outcome = run_fresh("tune", corpus, "--profile", profile, "--traces", other)
    assert outcome.status == 2
    assert "recorded with another drafters" in outcome.err


def test_a_file_that_cannot_be_written_is_said_before_anything_is_done(
    run_fresh: Run, corpus: Path, profile: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "c.json"
    damaged.write_text("{}", encoding="utf-8")
    for out, message in (
        (damaged, "is damaged"),
        (tmp_path, "cannot write"),
        (damaged / "x", "name another"),
    ):
        arguments = ("--profile", profile, "--traces", tmp_path / "t.jsonl", "--out", out)
        outcome = run_fresh("tune", corpus, *arguments)
        assert outcome.status == 2
        assert message in outcome.err
    assert not (tmp_path / "t.jsonl").exists()


def test_what_is_lost_at_the_end_is_still_said(
    run_tune: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "gone" / "c.json"

    def vanish(tunings: Any) -> str:
        out.parent.rmdir()
        return choices(tunings)

    monkeypatch.setattr("as2d.cli.tune.choices", vanish)
    outcome = run_tune("--out", out)
    assert outcome.status == 2
    assert "cannot write" in outcome.err
    assert "| throughput | english |" in outcome.out


@pytest.fixture
def hand_written(run_tune: Run, tmp_path: Path) -> Callable[..., Path]:
    """A file of what is asked for: a choice for audio that is not prepared, in any language."""

    def write(choice: Choice, **fields: Any) -> Path:
        run_tune("--objective", "latency", "--out", tmp_path / "some.json", "--quiet")
        one = next(entry for entry in read_entries(tmp_path / "some.json") if entry.group == "any")
        path = tmp_path / "hand.json"
        path.unlink(missing_ok=True)
        merge_entries(path, [replace(one, choice=choice, **fields)])
        return path

    return write


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_drafter_budget_and_batch_are_really_used(
    run_fresh: Run, hand_written: Callable[..., Path], drafter: str
) -> None:
    path = hand_written(Choice(drafter, 2, 1, 8))
    arguments = ("--configuration", path, "--threads", 2)
    outcome = run_fresh("transcribe", CLIPS / "jfk.flac", *arguments, "--output-format", "jsonl")
    *commits, result = outcome.objects
    assert f"method as2d (tuned: {drafter} b2 batch 8), drafters {drafter}" in outcome.lines[-1]
    assert max(commit["proposed"] for commit in commits) <= 2 < result["stats"]["proposed"]
    explicit = run_fresh(
        *("transcribe", CLIPS / "jfk.flac", *arguments, "--output-format", "jsonl", "--budget", 9)
    )
    assert max(commit["proposed"] for commit in explicit.objects[:-1]) > 2


def test_a_file_that_is_named_must_be_sound_and_of_these_models(
    run_fresh: Run, hand_written: Callable[..., Path], tmp_path: Path
) -> None:
    path = hand_written(Choice("self", 2, 1, "word"), target=("big", "another"))
    for name, message in ((path, "another target"), (tmp_path / "none.json", "cannot read")):
        outcome = run_fresh("transcribe", CLIPS / "jfk.flac", "--configuration", name)
        assert outcome.status == 2
        assert message in outcome.err


def test_in_the_default_place_what_is_bad_is_said_and_not_used(
    run_fresh: Run, hand_written: Callable[..., Path], default_file: Path, loaded: Session
) -> None:
    default_file.parent.mkdir()
    elsewhere = replace(this_machine(), engine="another")
    good = hand_written(Choice("self", 2, 1, "word"), machine=elsewhere).read_text(encoding="utf-8")
    for text, message in (
        ("{", "is damaged"),
        (good.replace('"schema": 1', '"schema": 2'), "newer than 1"),
        (good, "another engine version"),
    ):
        default_file.write_text(text, encoding="utf-8")
        outcome = run_fresh("transcribe", CLIPS / "jfk.flac")
        assert outcome.status == 0
        assert sum(message in line for line in outcome.lines) == 1
        assert "tuned" not in outcome.lines[-1]
