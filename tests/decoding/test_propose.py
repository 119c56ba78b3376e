"""Which candidates a round verifies."""

import pytest

from as2d.decoding.align import Cursor
from as2d.decoding.propose import Proposal, propose
from as2d.decoding.track import Track
from as2d.drafting.buffer import Snapshot

TOKENS = tuple(range(10, 18))


def proposal(probabilities: tuple[float, ...], floor: float, position: int = 0) -> Proposal:
    """Of one source of eight tokens that has agreed up to a position."""
    cursor = Cursor(position=position, seen=position, checked=position, agreed=position)
    track = Track(Snapshot(TOKENS, probabilities), cursor)
    return propose([track], TOKENS[:position], 7, usable=lambda some: some, threshold=0.0, floor=floor)


@pytest.mark.parametrize(("position", "count"), [(0, 1), (1, 1), (2, 1), (3, 5), (7, 1)])
def test_the_floor_is_of_what_is_at_the_cursor(position: int, count: int) -> None:
    found = proposal((0.9, 0.2, 0.2, 0.9, 0.9, 0.9, 0.9, 0.9), 0.5, position)
    assert found == Proposal(TOKENS[position : position + count], 0)


def test_without_a_floor_all_are_proposed() -> None:
    assert proposal((0.01,) * 8, 0.0) == Proposal(TOKENS[:7], 0)
