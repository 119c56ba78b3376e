import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.evaluation.analysis.summary import summarise
from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import SCHEMA, Row

MakeRow = Callable[..., Row]
AS2D = "as2d self b7 2c1d"


def figures(rows: list[Row], contender: str = AS2D, group: str = "all") -> dict[str, Any]:
    found: dict[str, Any] = summarise(rows)["groups"][group]["contenders"][contender]
    return found


def test_a_summary_is_json(bench: list[Row]) -> None:
    summary = summarise(
        bench, {AS2D: {"wer": 0.1, "cer": None}}, ["clip9: no such file"], {"a peer": "absent"}
    )
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["schema"] == SCHEMA
    assert summary["skipped"] == ["clip9: no such file"]
    assert summary["accuracies"][AS2D]["wer"] == 0.1


def test_the_header_says_what_was_measured(bench: list[Row]) -> None:
    header = summarise(bench)["header"]
    assert (header["clips"], header["windows"], header["cores"]) == (36, 36, 2)
    assert header["languages"] == {"en": 24, "de": 6, "es": 6}
    assert header["host"] == ["a machine"]
    assert header["seconds"] == 360


def test_nothing_measured_is_refused() -> None:
    with pytest.raises(InputError, match="run as2d bench"):
        summarise([])


def test_groups(bench: list[Row]) -> None:
    groups = summarise(bench)["groups"]
    assert {name: group["windows"] for name, group in groups.items()} == {
        "English": 24,
        "other languages": 12,
        "all": 36,
    }
    assert "as2d tiny b7 2c1d" not in groups["other languages"]["contenders"]


def test_an_english_drafter_is_compared_on_its_windows(bench: list[Row]) -> None:
    for group in ("English", "all"):
        tiny = figures(bench, "as2d tiny b7 2c1d", group)
        assert tiny["windows"] == 24
    assert (
        figures(bench, "as2d tiny b7 2c1d")["ratio_all_cores"]
        == figures(bench, "as2d tiny b7 2c1d", "English")["ratio_all_cores"]
    )


def test_ratios_by_hand(make_row: MakeRow) -> None:
    times = {
        Contender("target-only", 1): 30,
        Contender("target-only", 2): 20,
        Contender("speculative", 2, "self", 7, 2): 16,
        Contender("speculative", 2, "self", 11, 2): 15,
        Contender("as2d-without-decoupling", 2, "self", 7): 11,
        Contender("as2d", 2, "self", 7): 10,
    }
    found = figures([make_row(contender, producer_done_ms=ms) for contender, ms in times.items()])
    assert [
        found[key]["value"] for key in ("ratio_one_core", "ratio_all_cores", "ratio_serial")
    ] == pytest.approx([3, 2, 1.5])
    assert found["best_serial"] == "speculative self b11 2c2d"
    assert found["tps"]["value"] == pytest.approx(400)
    assert (found["slow_one_core"]["value"], found["slow_all_cores"]["value"]) == (0, 0)


def test_without_a_baseline_there_is_no_ratio(make_row: MakeRow) -> None:
    found = figures([make_row(Contender("as2d", 2, "self", 7))])
    assert (found["ratio_one_core"], found["ratio_serial"], found["slow_all_cores"]) == (None, None, None)


def test_looped_and_capped_windows_are_included_and_apart(bench: list[Row]) -> None:
    looping = [replace(row, looped=True) if row.window == "clip3#0" else row for row in bench]
    summary = summarise([replace(row, capped=True) if row.window == "clip5#0" else row for row in looping])
    assert summary["groups"]["all"]["windows"] == 36
    assert summary["groups"]["looped or capped"]["windows"] == 2
    assert (summary["header"]["looped"], summary["header"]["capped"]) == (1, 1)
    rest = summarise([row for row in bench if row.window not in {"clip3#0", "clip5#0"}])
    figures_of_all, figures_of_rest = (s["groups"]["all"]["contenders"][AS2D] for s in (summary, rest))
    assert figures_of_all["tps_finished"] == pytest.approx(figures_of_rest["tps"]["value"])


def test_a_looping_peer_is_not_our_loop(bench: list[Row]) -> None:
    rows = [replace(row, looped=row.method == "faster-whisper int8") for row in bench]
    assert "looped or capped" not in summarise(rows)["groups"]


def test_every_difference_from_target_only_is_counted(bench: list[Row]) -> None:
    wrong = [
        replace(row, identical=row.window != "clip7#0") if row.contender == AS2D else row for row in bench
    ]
    assert figures(wrong)["identical"] == 35
    assert figures(wrong, "faster-whisper int8 2c")["identical"] == 0


def test_drafting_share_and_hidden_drafting_are_of_different_methods(bench: list[Row]) -> None:
    ahead, serial = figures(bench), figures(bench, "specasr self 2c1d")
    assert ahead["hidden_share"] == pytest.approx(0.75, rel=0.05)
    assert ahead["drafting_share"] is None
    assert serial["hidden_share"] is None
    assert 0.35 < serial["drafting_share"] < 0.4


def test_overlap_is_part_of_it(bench: list[Row]) -> None:
    compared = summarise(bench)["groups"]["all"]["overlap"]
    assert {one["contender"] for one in compared} == {AS2D, "as2d tiny b7 2c1d"}
    assert compared[0]["gain"] == pytest.approx(compared[0]["predicted"] - compared[0]["overhead"])
