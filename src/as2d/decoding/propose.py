"""Which candidates a round verifies; pure."""

from collections.abc import Callable, Iterable, Sequence
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
    usable: Callable[[tuple[int, ...]], tuple[int, ...]],
    threshold: float,
) -> Proposal:
    """Up to `limit` candidates of the source whose stream has agreed the longest, the first of equals.

    `usable` gives the beginning of some candidates that a text can hold. None follow one below `threshold`.
    """
    offers = {}
    for source, track in enumerate(tracks):
        candidates = usable(candidates_at(track.cursor, track.snapshot, limit, threshold))
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
