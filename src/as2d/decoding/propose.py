"""Which candidates a round verifies; pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from as2d.decoding.align import Cursor, candidates_at, matching_tail
from as2d.drafting.buffer import Snapshot


class Proposal(NamedTuple):
    """The candidates of a round, and the index of the source that they come from."""

    candidates: tuple[int, ...] = ()
    source: int | None = None


def propose(
    cursors: Sequence[Cursor],
    snapshots: Sequence[Snapshot],
    committed: Sequence[int],
    limit: int,
    *,
    vocabulary_size: int,
    end_ids: frozenset[int],
) -> Proposal:
    """Up to `limit` candidates of the source whose stream has agreed the longest, the first of equals."""
    offers = {}
    for source, (cursor, snapshot) in enumerate(zip(cursors, snapshots, strict=True)):
        candidates = _usable(candidates_at(cursor, snapshot, limit), vocabulary_size, end_ids)
        if candidates:
            offers[source] = candidates
    if not offers:
        return Proposal()
    source = _best(offers, cursors, snapshots, committed) if len(offers) > 1 else next(iter(offers))
    return Proposal(offers[source], source)


def _best(
    offers: Iterable[int], cursors: Sequence[Cursor], snapshots: Sequence[Snapshot], committed: Sequence[int]
) -> int:
    return max(offers, key=lambda source: matching_tail(cursors[source], committed, snapshots[source].tokens))


def _usable(candidates: tuple[int, ...], vocabulary_size: int, end_ids: frozenset[int]) -> tuple[int, ...]:
    """The candidates before the first that no text holds: an id outside the vocabulary, or an end id."""
    for index, token in enumerate(candidates):
        if not 0 <= token < vocabulary_size or token in end_ids:
            return candidates[:index]
    return candidates
