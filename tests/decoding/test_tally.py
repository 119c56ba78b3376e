"""Counts over commits."""

from as2d.decoding.tally import Tally
from as2d.records import Commit


def test_tally_adds_up() -> None:
    tally = Tally.of(
        [
            Commit((1,), ("alone",), 0, 0),
            Commit((2, 3, 4), ("accepted", "accepted", "bonus"), 2, 2, 0),
            Commit((5, 0), ("accepted", "corrected"), 2, 1, 0, "stop"),
        ]
    )
    assert (tally.tokens, tally.useful, tally.accepted) == (6, 5, 3)
    assert (tally.rounds, tally.proposed, tally.k1_rounds) == (3, 4, 1)
    assert tally.widths == {1: 1, 3: 2}


def test_nothing_adds_up_to_nothing() -> None:
    tally = Tally.of([])
    assert (tally.tokens, tally.useful, tally.rounds, tally.proposed, tally.k1_rounds) == (0, 0, 0, 0, 0)


def test_a_cut_answer_has_only_useful_tokens() -> None:
    assert Tally.of([Commit((1,), ("alone",), 0, 0, None, "length")]).useful == 1
