"""`as2d transcribe` on real speech and the real models: formats, methods, several files, stdin, what is said."""

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from as2d import Result, Session
from as2d.cli import answering
from as2d.configuration import selection
from as2d.configuration.method import Evidence, Times, Trial
from as2d.records import METHODS

Run = Callable[..., Any]

JFK = "And so my fellow Americans, ask not what your country can do for you, ask what you can do for your country."
FIELDS = [
    *("file", "text", "language", "duration_s", "tokens", "segments", "method", "exact", "finish_reason"),
    *("truncated", "warnings", "stats"),
]
STATS = [
    *("encode_ms", "decode_ms", "producer_done_ms", "wall_ms", "decode_tok_s", "rounds", "proposed"),
    *("accepted", "coverage", "k1_rounds"),
]
COMMIT = [
    *(
        "type",
        "file",
        "window",
        "tokens",
        "origins",
        "proposed",
        "accepted",
        "finish_reason",
        "end_s",
        "at_ms",
    ),
    "text",
]
SUMMARY = re.compile(
    r"as2d: (?P<file>.+): audio (?P<audio>[\d.]+) s, wall [\d.]+ s, RTFx [\d.]+, encode \d+ ms, "
    r"decode (?P<speed>\d+) tok/s, acceptance (?P<acceptance>-|[01]\.\d\d), coverage (-|[01]\.\d\d), "
    r"rounds (?P<rounds>\d+), K=1 share (-|[01]\.\d\d), method (?P<method>[a-z0-9-]+), drafters (?P<drafters>\S+)"
)


def test_the_text_and_nothing_else_is_on_stdout(run: Run, jfk: Path) -> None:
    outcome = run("transcribe", jfk, "--method", "target-only")
    assert (outcome.status, outcome.out) == (0, JFK + "\n")
    match = SUMMARY.fullmatch(outcome.err.rstrip("\n"))
    assert match
    assert match["file"] == str(jfk)
    assert match["audio"] == "11.0"
    assert match["acceptance"] == "-"
    assert (match["method"], match["drafters"]) == ("target-only", "-")


def test_drafting_is_part_of_the_summary(run: Run, jfk: Path) -> None:
    [line] = run("transcribe", jfk, "--method", "as2d").lines
    match = SUMMARY.fullmatch(line)
    assert match
    assert match["method"] == "as2d"
    assert match["drafters"] in ("self", "whisper-tiny.en")
    assert float(match["acceptance"]) > 0


def test_json_has_exactly_the_documented_fields(run: Run, jfk: Path) -> None:
    [result] = run("transcribe", jfk, "--output-format", "json").objects
    assert list(result) == FIELDS
    assert list(result["stats"]) == STATS
    assert [list(segment) for segment in result["segments"]] == [["start_s", "end_s", "text", "tokens"]]
    assert result["file"] == str(jfk)
    assert result["text"] == JFK
    assert (result["language"], result["duration_s"], result["finish_reason"]) == ("en", 11.0, "stop")


@pytest.mark.parametrize("clip", ["jfk.flac", "fleurs-de-003.ogg"])
def test_every_method_gives_the_same_tokens(run: Run, clips: Path, clip: str) -> None:
    results = [
        run("transcribe", clips / clip, "--output-format", "json", "--method", method).objects[0]
        for method in ("target-only", "as2d", "auto")
    ]
    assert [result["method"] for result in results[:2]] == ["target-only", "as2d"]
    assert all(result["exact"] for result in results)
    assert results[0]["tokens"] == results[1]["tokens"] == results[2]["tokens"] != []


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_asked_for_and_is_named(run: Run, jfk: Path, method: str) -> None:
    outcome = run("transcribe", jfk, "--method", method)
    match = SUMMARY.fullmatch(outcome.lines[-1])
    assert outcome.out == JFK + "\n"
    assert match
    assert match["method"] == method
    assert (match["drafters"] == "-") is (method == "target-only")
    assert (
        method in ("as2d", "as2d-without-budget", "lookahead", "target-only")
        or float(match["acceptance"]) > 0.3
    )


def test_a_language_without_drafter_is_said(run_fresh: Run, clips: Path) -> None:
    drafter = ("--drafter", "whisper-tiny.en", "--method", "as2d")
    outcome = run_fresh("transcribe", clips / "fleurs-de-003.ogg", *drafter)
    assert outcome.lines[0].startswith(f"as2d: warning: {clips / 'fleurs-de-003.ogg'}: no drafter for de")


def test_jsonl_streams_what_the_result_holds(run: Run, long_wav: Path, long_result: Result) -> None:
    outcome = run("transcribe", long_wav, "--output-format", "jsonl", "--method", "as2d")
    *commits, result = outcome.objects
    assert all(list(commit) == COMMIT and commit["type"] == "commit" for commit in commits)
    assert list(result) == ["type", *FIELDS]
    assert result["type"] == "result"
    assert "".join(commit["text"] for commit in commits).strip() == result["text"]
    assert [token for commit in commits for token in useful(commit)] == result["tokens"]
    assert result["tokens"] == list(long_result.tokens)
    assert sum(commit["proposed"] for commit in commits) == result["stats"]["proposed"] > 0
    assert [commit["window"] for commit in commits if commit["finish_reason"]] == [0, 1]
    assert [commit["at_ms"] for commit in commits] == sorted(commit["at_ms"] for commit in commits)


def useful(commit: dict[str, Any]) -> list[int]:
    """The tokens of a commit but the end id, which a window that stopped by itself ends with."""
    tokens: list[int] = commit["tokens"]
    return tokens[:-1] if commit["finish_reason"] == "stop" else tokens


def test_txt_is_a_line_a_window(run: Run, long_wav: Path, long_result: Result) -> None:
    out = run("transcribe", long_wav).out
    assert out == "".join(segment.text + "\n" for segment in long_result.segments)
    assert out.count("\n") == 2
    assert " ".join(out.split()) == long_result.text


@pytest.mark.parametrize(("output_format", "point"), [("srt", ","), ("vtt", ".")])
def test_cues_read_back_as_the_segments(
    run: Run, long_wav: Path, long_result: Result, output_format: str, point: str
) -> None:
    outcome = run("transcribe", long_wav, "--output-format", output_format)
    assert read_cues(outcome.out, point) == [
        (round(segment.start_s, 3), round(segment.end_s, 3), segment.text) for segment in long_result.segments
    ]


def read_cues(text: str, point: str) -> list[tuple[float, float, str]]:
    """The cues of an srt or vtt text."""
    time = rf"(\d\d):(\d\d):(\d\d)\{point}(\d\d\d)"
    cues = re.findall(rf"^{time} --> {time}\n(.+)\n(?:\n|\Z)", text, re.MULTILINE)
    return [(seconds(cue[:4]), seconds(cue[4:8]), cue[8]) for cue in cues]


def seconds(parts: tuple[str, ...]) -> float:
    hours, minutes, whole, milliseconds = map(int, parts)
    return round(hours * 3600 + minutes * 60 + whole + milliseconds / 1000, 3)


def test_text_that_is_not_ascii_is_not_escaped(run: Run, clips: Path) -> None:
    outcome = run("transcribe", clips / "fleurs-ja-1837.flac", "--output-format", "json")
    assert outcome.objects[0]["language"] == "ja"
    assert "復興" in outcome.out


def test_stdin(run: Run, jfk: Path) -> None:
    outcome = run("transcribe", "-", "--output-format", "json", stdin=jfk.read_bytes())
    assert outcome.objects[0]["file"] == "-"
    assert outcome.objects[0]["text"] == JFK


def test_language_and_task_reach_the_model(run: Run, clips: Path) -> None:
    clip = clips / "fleurs-fr-005.ogg"
    [spoken] = run("transcribe", clip, "--language", "french", "--output-format", "json").objects
    [english] = run("transcribe", clip, "--task", "translate", "--output-format", "json").objects
    assert spoken["language"] == english["language"] == "fr"
    assert "course" in spoken["text"]
    assert "race" in english["text"]


def test_budget_and_batch_reach_the_drafting(run: Run, jfk: Path) -> None:
    json_as2d = ("--method", "as2d", "--output-format", "json")
    [none] = run("transcribe", jfk, *json_as2d, "--budget", "0").objects
    [some] = run("transcribe", jfk, *json_as2d, "--batch", "8").objects
    assert none["stats"]["proposed"] == 0 < some["stats"]["proposed"]
    assert none["tokens"] == some["tokens"]


def test_model_options_reach_the_session(
    run_fresh: Run, loaded: Session, jfk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []

    def opened(model: str, drafter: Any, **options: Any) -> Session:
        calls.append((model, drafter, options))
        return Session(model, drafter, **options)

    monkeypatch.setattr(answering, "Session", opened)
    arguments = ("--drafter", "none", "--threads", "1", "--precision", "fp32", "--offline", "--verbose")
    outcome = run_fresh("transcribe", jfk, *arguments)
    options = {
        "precision": "fp32",
        "engine": "auto",
        "device": "cpu",
        "threads": 1,
        "configuration": None,
    }
    assert calls == [("whisper-base", None, options)]
    assert outcome.out == JFK + "\n"
    assert re.fullmatch(
        r"as2d: whisper-base \(fp32\), drafters none, cores 1: loaded in [\d.]+ s", outcome.lines[0]
    )


def test_several_drafters_and_resync_reach_the_session(run_fresh: Run, jfk: Path) -> None:
    arguments = ("--drafter", "self", "--drafter", "whisper-tiny.en", "--threads", "3", "--resync")
    outcome = run_fresh("transcribe", jfk, *arguments, "--method", "as2d", "--verbose")
    assert outcome.out == JFK + "\n"
    assert "drafters self, whisper-tiny.en, cores 3 (1 beside the drafters): loaded in" in outcome.lines[0]
    match = SUMMARY.fullmatch(outcome.lines[-1])
    assert match
    assert match["drafters"] == "self+whisper-tiny.en"


def test_a_machine_is_measured_once_and_that_is_said(run_fresh: Run, jfk: Path, monkeypatch: Any) -> None:
    def measured(*_: Any) -> Evidence:
        logging.getLogger("as2d.configuration.measure").info("measuring this machine once")
        return Evidence((Trial(frozenset(), {"english": Times(9, 90)}),), {})

    monkeypatch.setattr(selection, "evidence_of", measured)
    first, *others = run_fresh("transcribe", jfk).lines
    assert first == "as2d: measuring this machine once"
    assert len(others) == 1
    assert run_fresh("transcribe", jfk, "--quiet").err == ""
    verbose = run_fresh("transcribe", jfk, "--verbose").lines
    assert verbose[2] == "as2d: measured on this machine: alone: english 9 ms prepared, 90 ms not"


def test_several_files_are_paragraphs(run: Run, jfk: Path, long_wav: Path, long_result: Result) -> None:
    outcome = run("transcribe", jfk, long_wav)
    assert outcome.status == 0
    assert outcome.out == "\n".join((JFK, "", *(segment.text for segment in long_result.segments), ""))
    assert len(outcome.lines) == 2


def test_a_bad_file_among_several_is_named_and_the_others_are_done(
    run: Run, jfk: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.mp3"
    bad.write_text("this is no sound")
    outcome = run("transcribe", bad, jfk, "--output-format", "json", "--quiet")
    assert outcome.status == 1
    assert [result["text"] for result in outcome.objects] == [JFK]
    assert len(outcome.lines) == 1
    assert outcome.err.startswith(f"as2d: error: {bad} is not audio")


def test_only_bad_files_mean_that_nothing_could_be_done(run: Run, tmp_path: Path) -> None:
    outcome = run("transcribe", tmp_path / "one.wav", tmp_path / "two.wav")
    assert (outcome.status, outcome.out, len(outcome.lines)) == (2, "", 2)


def test_names_that_are_not_ascii(run: Run, jfk: Path, tmp_path: Path) -> None:
    path = tmp_path / "été 日本 [red].flac"
    path.write_bytes(jfk.read_bytes())
    outcome = run("transcribe", path, "--output-format", "json", "--output-dir", tmp_path / "naïve")
    assert outcome.out == ""
    assert f'"file": "{path}"' in (tmp_path / "naïve" / "été 日本 [red].json").read_text(encoding="utf-8")
    assert outcome.lines[0].startswith(f"as2d: {path}: audio 11.0 s")


def test_a_name_that_is_not_utf8(run: Run, jfk: Path, tmp_path: Path) -> None:
    path = tmp_path / b"\xff.flac".decode("utf-8", "surrogateescape")
    path.write_bytes(jfk.read_bytes())
    outcome = run("transcribe", path, "--output-format", "json")
    assert outcome.status == 0
    assert outcome.objects[0]["file"] == str(tmp_path / "\ufffd.flac")


def test_output_dir_takes_one_file_each(run: Run, jfk: Path, tmp_path: Path) -> None:
    outcome = run("transcribe", jfk, jfk, "--output-dir", tmp_path, "--output-format", "vtt", "--verbose")
    assert outcome.out == ""
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["jfk-2.vtt", "jfk.vtt"]
    assert all(JFK in (tmp_path / name).read_text(encoding="utf-8") for name in written)
    assert f"written to {tmp_path / 'jfk-2.vtt'}" in outcome.err


def test_a_file_that_fails_leaves_no_output(run: Run, tmp_path: Path) -> None:
    assert run("transcribe", tmp_path / "none.wav", "--output-dir", tmp_path / "out").status == 2
    assert list((tmp_path / "out").iterdir()) == []


def test_quiet_and_verbose(run: Run, jfk: Path) -> None:
    assert run("transcribe", jfk, "--quiet").err == ""
    loaded, details, summary = run("transcribe", jfk, "--verbose").lines
    assert "whisper-base, drafters the best of self, whisper-tiny.en, cores " in loaded
    assert "language en, exact yes, finish stop, windows with speech 1, tokens 25" in details
    assert SUMMARY.fullmatch(summary)


def test_methods_in_turn_share_no_cores(run: Run, jfk: Path) -> None:
    lines = run("transcribe", jfk, "--verbose", "--method", "specasr").lines
    assert "(in turn with the drafter): loaded in " in lines[0]


def test_version_and_help(run_fresh: Run) -> None:
    assert re.fullmatch(r"as2d \d+\.\d+\.\d+\n", run_fresh("--version").out)
    assert "transcribe" in run_fresh("--help").out
    assert run_fresh().status == 2
