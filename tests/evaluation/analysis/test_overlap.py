from collections.abc import Callable

import pytest

from as2d.evaluation.analysis.metrics import by_contender
from as2d.evaluation.analysis.overlap import overlaps, parts
from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import Row

MakeRow = Callable[..., Row]
AS2D, SERIAL = Contender("as2d", 2, "self", 7), Contender("speculative", 2, "self", 7, 2)


def timed(
    make_row: MakeRow, contender: Contender, total: float, draft: float, verify: float, overlap: float
) -> Row:
    """A row of ten tokens."""
    return make_row(
        contender,
        tokens=(1,) * 10,
        producer_done_ms=total,
        draft_ms=draft,
        verify_ms=verify,
        overlap_ms=overlap,
    )


def test_parts_add_up_to_the_time(make_row: MakeRow) -> None:
    found = parts([timed(make_row, AS2D, 100, 40, 60, 20), timed(make_row, AS2D, 20, 0, 10, 0)])
    assert found is not None
    assert (found.total, found.draft, found.verify, found.overlap) == pytest.approx((6, 2, 3.5, 1))
    assert found.rest == pytest.approx(1.5)
    assert found.ideal == pytest.approx(5)
    assert parts([make_row(tokens=())]) is None


def test_the_identity_of_a_gain(make_row: MakeRow) -> None:
    rows = [timed(make_row, AS2D, 80, 60, 60, 50), timed(make_row, SERIAL, 100, 50, 45, 0)]
    (found,) = overlaps(by_contender(rows))
    assert (found.contender, found.serial, found.windows) == (AS2D.key, SERIAL.key, 1)
    assert found.gain == pytest.approx(2)
    assert found.predicted == pytest.approx(5 - 1 - 1.5)
    assert found.overhead == pytest.approx(1 - 0.5)
    assert found.gain == pytest.approx(found.predicted - found.overhead)
    assert found.pays
    assert found.explained


def test_a_loss_that_the_rest_decides_is_not_explained(make_row: MakeRow) -> None:
    rows = [timed(make_row, AS2D, 110, 60, 60, 50), timed(make_row, SERIAL, 100, 50, 45, 0)]
    (found,) = overlaps(by_contender(rows))
    assert not found.pays
    assert not found.explained


def test_only_the_same_drafter_is_compared(make_row: MakeRow) -> None:
    other = Contender("speculative", 2, "tiny", 7, 2)
    rows = [timed(make_row, AS2D, 80, 60, 60, 50), timed(make_row, other, 1, 1, 1, 0)]
    assert overlaps(by_contender(rows)) == []


def test_windows_without_tokens_have_no_identity(make_row: MakeRow) -> None:
    assert overlaps(by_contender([make_row(AS2D, tokens=()), make_row(SERIAL, tokens=())])) == []
