from collections.abc import Callable

import pytest

from as2d.evaluation.analysis.metrics import (
    by_contender,
    cost,
    drafting,
    groups,
    ms_a_token,
    on_windows,
    paired,
    pooled_tps,
    slow_share,
    speed_up,
    tps_interval,
)
from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import Row

MakeRow = Callable[..., Row]
AS2D = Contender("as2d", 2, "self", 7)


def test_pooled_speed_is_all_tokens_over_all_time_of_the_clock(make_row: MakeRow) -> None:
    rows = [
        make_row(tokens=(1,) * 10, producer_done_ms=100, decode_ms=50),
        make_row(tokens=(1,) * 90, producer_done_ms=400, decode_ms=150),
    ]
    assert pooled_tps(rows) == pytest.approx(200)
    assert pooled_tps(rows, "decode_ms") == pytest.approx(500)
    assert pooled_tps([]) == 0
    figure = tps_interval(rows)
    assert figure is not None
    assert figure.value == pytest.approx(200)


def test_speed_up_is_on_the_windows_that_both_ran(make_row: MakeRow) -> None:
    ahead = [make_row(AS2D, window="a#0", producer_done_ms=10)]
    alone = [make_row(window="a#0", producer_done_ms=25), make_row(window="b#0", producer_done_ms=1)]
    assert paired(ahead, alone) == [(ahead[0], alone[0])]
    figure = speed_up(ahead, alone)
    assert figure is not None
    assert figure.value == pytest.approx(2.5)
    assert speed_up(ahead, [alone[1]]) is None


def test_a_window_is_slow_by_its_time_a_token(make_row: MakeRow) -> None:
    ahead = [make_row(AS2D, window=f"{n}#0", producer_done_ms=100) for n in range(4)]
    alone = [make_row(window=f"{n}#0", producer_done_ms=ms) for n, ms in enumerate((99, 100, 101, 102))]
    figure = slow_share(ahead, alone)
    assert figure is not None
    assert figure.value == pytest.approx(0.25)
    more_text = slow_share([make_row(tokens=(1,) * 30, producer_done_ms=11)], [make_row(tokens=(1,) * 20)])
    assert more_text is not None
    assert more_text.value == 0


def test_a_window_without_tokens_counts_as_one(make_row: MakeRow) -> None:
    assert ms_a_token(make_row(tokens=(), producer_done_ms=7)) == 7


def test_drafting_adds_up_over_windows(make_row: MakeRow) -> None:
    rows = [
        make_row(proposed=10, accepted=9, rounds=3, widths={1: 1, 8: 2}, draft_ms=8, overlap_ms=6),
        make_row(proposed=10, accepted=1, rounds=5, widths={1: 5}, draft_ms=4, overlap_ms=3),
    ]
    figures = drafting(rows)
    assert figures.acceptance == pytest.approx(0.5)
    assert figures.coverage == pytest.approx(10 / 8)
    assert figures.k1_share == pytest.approx(6 / 8)
    assert figures.tokens_a_round == pytest.approx(1)
    assert figures.drafting_share == pytest.approx(12 / 20)
    assert figures.hidden_share == pytest.approx(9 / 12)


def test_what_nobody_drafted_has_no_acceptance(make_row: MakeRow) -> None:
    figures = drafting([make_row(proposed=0, accepted=0, draft_ms=0, widths={1: 4})])
    assert (figures.acceptance, figures.hidden_share, figures.k1_share) == (None, None, 1)


def test_cost(make_row: MakeRow) -> None:
    rows = [make_row(call_ms=ms, cpu_s=0.1, energy_j=2.0, peak_memory_mb=ms) for ms in range(101)]
    figures = cost(rows)
    assert (figures.call_p50_ms, figures.call_p95_ms) == pytest.approx((50, 95))
    assert figures.cpu_s_a_token == pytest.approx(0.025)
    assert figures.energy_j_a_token == pytest.approx(0.5)
    assert figures.peak_memory_mb == 100


def test_energy_is_absent_where_a_window_lacks_it(make_row: MakeRow) -> None:
    assert cost([make_row(energy_j=1.0), make_row()]).energy_j_a_token is None
    assert cost([make_row(peak_memory_mb=None)]).peak_memory_mb is None


def test_groups_leave_out_what_is_empty(make_row: MakeRow) -> None:
    english, german = make_row(window="a#0"), make_row(window="b#0", language="de")
    assert groups([english]) == {"English": [english], "all": [english]}
    assert groups([english, german])["other languages"] == [german]


def test_samples_are_by_contender(make_row: MakeRow) -> None:
    alone, ahead = make_row(), make_row(AS2D)
    assert by_contender([alone, ahead]) == {"target-only 2c": [alone], "as2d self b7 2c1d": [ahead]}
    assert on_windows([alone], {"clip0#0"}) == [alone]
    assert on_windows([alone], {"clip1#0"}) == []
