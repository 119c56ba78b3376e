from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from as2d.evaluation.analysis.choice import (
    TABLE_ORDER,
    all_cores,
    best_of_each,
    best_serial,
    is_mean,
    is_peer,
    shown,
    target_only,
    with_mean_speculation,
    without_failed_peers,
)
from as2d.evaluation.analysis.metrics import Sample, by_contender, pooled_tps
from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import Row
from as2d.records import METHODS

MakeRow = Callable[..., Row]
MEAN = "speculative K5-8 self 2c2d"


def fixed(width: int, drafter: str = "self", drafter_cores: int = 2) -> Contender:
    return Contender("speculative", 2, drafter, width - 1, drafter_cores)


def samples_of(make_row: MakeRow, times: Mapping[Contender, Sequence[float]]) -> dict[str, Sample]:
    return {
        contender.key: [
            make_row(contender, window=f"{n}#0", producer_done_ms=ms) for n, ms in enumerate(each)
        ]
        for contender, each in times.items()
    }


def test_every_method_has_its_place() -> None:
    assert sorted(TABLE_ORDER) == sorted(METHODS)
    assert [is_peer(method) for method in ("as2d", "faster-whisper int8")] == [False, True]


def test_mean_speculation_is_the_harmonic_mean_of_speeds(make_row: MakeRow) -> None:
    times = {fixed(width): (10 * width, 3 * width) for width in (5, 6, 7, 8, 12)}
    samples = samples_of(make_row, times)
    mean = with_mean_speculation(samples)[MEAN]
    speeds = [pooled_tps(samples[fixed(width).key]) for width in (5, 6, 7, 8)]
    assert pooled_tps(mean) == pytest.approx(4 / sum(1 / speed for speed in speeds))
    assert [row.producer_done_ms for row in mean] == pytest.approx([65, 19.5])
    assert all(is_mean(row) for row in mean)


def test_the_mean_takes_all_that_a_row_says(make_row: MakeRow) -> None:
    samples = {
        fixed(width).key: [
            make_row(fixed(width), widths={width: 2, 1: 1}, identical=width != 6, proposed=width)
        ]
        for width in (5, 6, 7, 8)
    }
    (row,) = with_mean_speculation(samples)[MEAN]
    assert row.widths == {1: 1, 5: 0.5, 6: 0.5, 7: 0.5, 8: 0.5}
    assert (row.identical, row.proposed, row.energy_j) == (False, 6.5, None)


def test_the_mean_is_of_windows_that_all_its_widths_ran(make_row: MakeRow) -> None:
    samples = samples_of(make_row, {fixed(width): (10,) * (width - 4) for width in (5, 6, 7, 8)})
    assert [row.window for row in with_mean_speculation(samples)[MEAN]] == ["0#0"]


def test_there_is_no_mean_of_some_of_its_widths(make_row: MakeRow) -> None:
    samples = samples_of(make_row, {fixed(width): (10,) for width in (5, 6, 7)})
    assert with_mean_speculation(samples) == samples


def test_the_best_serial_method_ran_all_the_windows(make_row: MakeRow) -> None:
    english_only = fixed(8, "tiny")
    times = {
        fixed(5): (10, 10),
        fixed(6): (9, 9),
        english_only: (1,),
        Contender("as2d", 2, "self", 7): (0.5, 0.5),
    }
    samples = samples_of(make_row, times)
    assert best_serial(samples, {"0#0", "1#0"}) == fixed(6).key
    assert best_serial(samples, {"0#0"}) == english_only.key
    assert best_serial(samples, {"0#0"}, "self") == fixed(6).key
    assert best_serial(samples, {"0#0", "2#0"}) is None


def test_the_mean_is_not_a_serial_method_of_its_own(make_row: MakeRow) -> None:
    samples = with_mean_speculation(samples_of(make_row, {fixed(width): (10,) for width in (5, 6, 7, 8)}))
    del samples[fixed(5).key]
    samples[MEAN] = [make_row(fixed(5), budget=None, producer_done_ms=1)]
    assert best_serial(samples, {"clip0#0"}) is None
    assert best_serial(samples, {"0#0"}) != MEAN


def test_target_only_on_so_many_cores(make_row: MakeRow) -> None:
    samples = samples_of(make_row, {Contender("target-only", 1): (2,), Contender("target-only", 2): (1,)})
    assert target_only(samples, 1)[0].cores == 1
    assert target_only(samples, 4) == ()
    rows = [sample[0] for sample in samples.values()]
    assert all_cores([*rows, make_row(Contender("a peer", 8))]) == 2


def test_a_table_shows_the_best_core_split_and_few_widths(make_row: MakeRow) -> None:
    times: dict[Contender, Sequence[float]] = {
        Contender("a peer", 2): (5,),
        Contender("as2d", 2, "self", 7): (3,),
        Contender("as2d", 2, "self", 3): (4,),
        Contender("specasr", 2, "self", None, 1): (7,),
        Contender("specasr", 2, "self", None, 2): (6,),
        Contender("target-only", 2): (9,),
        Contender("target-only", 1): (12,),
        **{fixed(width): (width,) for width in (5, 6, 7, 8, 12)},
    }
    assert shown(with_mean_speculation(samples_of(make_row, times))) == [
        "target-only 1c",
        "target-only 2c",
        MEAN,
        "speculative self b4 2c2d",
        "speculative self b11 2c2d",
        "specasr self 2c2d",
        "as2d self b3 2c1d",
        "as2d self b7 2c1d",
        "a peer 2c",
    ]


def test_a_picture_shows_the_best_of_each_method_on_most_windows(bench: list[Row]) -> None:
    chosen = best_of_each(by_contender(bench))
    methods = [key.split()[0] for key in chosen]
    assert methods == ["target-only", "target-only", "speculative", "specasr", "lookahead", "as2d"]
    assert not any("tiny" in key for key in chosen)


def test_a_peer_that_failed_once_is_left_out(make_row: MakeRow) -> None:
    ours, failing, sound = Contender("as2d", 2, "self", 7), Contender("parrot", 2), Contender("sparrow", 2)
    rows = [make_row(one, window=f"{n}#0") for n in range(3) for one in (ours, failing, sound)]
    rows[0], rows[4] = replace(rows[0], faults=("slow",)), replace(rows[4], faults=("hoarse", "asleep"))
    rows[7] = replace(rows[7], faults=("dead",))
    kept, failed = without_failed_peers(rows)
    assert kept == [row for row in rows if row.contender != failing.key]
    assert failed == {"parrot": "failed in 1#0: hoarse"}
