"""Which candidates a round verifies; pure."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from as2d.decoding.align import candidates_at, matching_tail
from as2d.decoding.floor import likely
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
    floor: float,
) -> Proposal:
    """Up to `limit` candidates of the source whose stream has agreed the longest, the first of equals.

    `usable` gives the beginning of some candidates that a text can hold. None follow one below `threshold`, and those
    end where all of them are less likely than `floor` to be accepted (`floor.likely`).
    """
    offers = {}
    for source, track in enumerate(tracks):
        candidates = usable(_candidates(track, limit, threshold, floor))
        if candidates:
            offers[source] = candidates
    if not offers:
        return Proposal()
    source = _best(offers, tracks, committed) if len(offers) > 1 else next(iter(offers))
    return Proposal(offers[source], source)


def _candidates(track: Track, limit: int, threshold: float, floor: float) -> tuple[int, ...]:
    candidates, place = candidates_at(track.cursor, track.snapshot, limit, threshold), track.cursor.position
    probabilities = track.snapshot.probabilities[place : place + len(candidates)]
    return candidates[: likely(probabilities, floor)]


def _best(offers: Iterable[int], tracks: Sequence[Track], committed: Sequence[int]) -> int:
    def agreement(source: int) -> int:
        return matching_tail(tracks[source].cursor, committed, tracks[source].snapshot.tokens)

    return max(offers, key=agreement)
