"""Which candidates a round verifies; pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from as2d.decoding.align import candidates_at, matching_tail
from as2d.decoding.track import Track


class Proposal(NamedTuple):
    """The candidates of a round, and the index of the source that they come from."""

    candidates: tuple[int, ...] = ()
    source: int | None = None


def propose(
    tracks: Sequence[Track],
    committed: Sequence[int],
    limit: int,
    *,
    vocabulary_size: int,
    end_ids: frozenset[int],
) -> Proposal:
    """Up to `limit` candidates of the source whose stream has agreed the longest, the first of equals."""
    offers = {}
    for source, track in enumerate(tracks):
        candidates = _usable(candidates_at(track.cursor, track.snapshot, limit), vocabulary_size, end_ids)
        if candidates:
            offers[source] = candidates
    if not offers:
        return Proposal()
    source = _best(offers, tracks, committed) if len(offers) > 1 else next(iter(offers))
    return Proposal(offers[source], source)


def _best(offers: Iterable[int], tracks: Sequence[Track], committed: Sequence[int]) -> int:
    def agreement(source: int) -> int:
        return matching_tail(tracks[source].cursor, committed, tracks[source].snapshot.tokens)

    return max(offers, key=agreement)


def _usable(candidates: tuple[int, ...], vocabulary_size: int, end_ids: frozenset[int]) -> tuple[int, ...]:
    """The candidates before the first that no text holds: an id outside the vocabulary, or an end id."""
    for index, token in enumerate(candidates):
        if not 0 <= token < vocabulary_size or token in end_ids:
            return candidates[:index]
    return candidates
