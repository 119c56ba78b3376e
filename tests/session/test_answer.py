"""What a result says of its sources."""

from collections.abc import Callable, Sequence

import pytest

from as2d.models.contract import AudioModel
from as2d.records import Commit, Method, Result, SourceStats
from as2d.runtime.window import SourceRecord, WindowRecord
from as2d.session.answer import make_result

ToyFactory = Callable[..., AudioModel]


def accepted(count: int, source: int, *, off: tuple[int, ...] = ()) -> Commit:
    origins = ("accepted",) * count + ("corrected",)
    return Commit((65,) * (count + 1), origins, 4, count, source, switched_off=off)  # type: ignore[arg-type]


ALONE = Commit((65,), ("alone",), 0, 0)
LAST = Commit((256,), ("alone",), 0, 0, finish_reason="stop")


def window(commits: Sequence[Commit], *sources: SourceRecord) -> WindowRecord:
    return WindowRecord(0, 16_000, "en", (*commits, LAST), 1.0, 2.0, 3.0, sources)


def result(toy: ToyFactory, *records: WindowRecord, method: Method = "as2d", exact: bool = True) -> Result:
    return make_result(
        toy(""), records, method=method, exact=exact, samples=16_000, wall_ms=9.0, warnings=("noisy",)
    )


def test_each_source_has_its_figures(toy: ToyFactory) -> None:
    first, second = SourceRecord("one", True, None), SourceRecord("two", True, None)
    unprepared = SourceRecord("two", False, "ValueError: bad")
    found = result(
        toy,
        window([accepted(3, 0), accepted(1, 1), accepted(0, 0), ALONE], first, second),
        window([accepted(2, 0)], first, unprepared),
    )
    assert found.sources == (
        SourceStats("one", proposed=12, accepted=5, windows=2),
        SourceStats("two", proposed=4, accepted=1, windows=1, fault="ValueError: bad"),
    )
    assert (found.stats.proposed, found.stats.accepted) == (16, 6)
    assert found.warnings == ("noisy", "the drafter two failed, which cost only time: ValueError: bad")


def test_a_source_that_was_switched_off_is_named(toy: ToyFactory) -> None:
    source = SourceRecord("one", True, None)
    off = [accepted(3, 0), ALONE, ALONE, accepted(0, 0, off=(0,)), ALONE]
    found = result(toy, window(off, source), window([accepted(3, 0)], source))
    assert found.sources == (SourceStats("one", proposed=12, accepted=6, windows=2, switched_off=1),)
    assert found.warnings[1:] == (
        "the drafter one was switched off in 1 of 2 windows: 0.8 accepted tokens a round",
    )


@pytest.mark.parametrize("records", [(), (window([]),)])
def test_without_sources_there_is_nothing_to_say(toy: ToyFactory, records: tuple[WindowRecord, ...]) -> None:
    assert result(toy, *records).sources == ()


def test_auto_says_what_was_used(toy: ToyFactory) -> None:
    drafted, idle = SourceRecord("one", True, None), SourceRecord("one", False, None)
    mixed = result(toy, window([], idle), window([], drafted), method="auto", exact=False)
    assert (mixed.method, mixed.exact) == ("as2d", False)
    alone = result(toy, window([], idle), method="auto", exact=False)
    assert (alone.method, alone.exact) == ("target-only", True)
    assert mixed.warnings == alone.warnings == ("noisy",), "that nobody drafts was a choice"
    asked = result(toy, window([], idle))
    assert asked.warnings[1:] == ("no drafter for en: the target decoded windows alone (1)",)
