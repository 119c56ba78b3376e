"""Where in a drafter's stream the next committed token is expected; pure.

A drafter writes its own transcript, so it may lack, add or replace tokens. While its stream agrees with the
committed tokens, both advance in step. Where they differ, the last committed tokens are looked for nearby.
"""

from collections.abc import Sequence
from typing import NamedTuple

from as2d.decoding.accept import accept
from as2d.drafting.buffer import Snapshot

BACK = 4
"""Tokens that are searched before the end of the last agreement."""
AHEAD = 16
"""Tokens that are searched after the position: the most that a drafter may add at once."""
LONGEST_MATCH = 4
"""Committed tokens that are looked for, at most."""
LONGEST_TAIL = 16
"""Tokens beyond which a longer agreement says nothing more about a source."""


class Cursor(NamedTuple):
    """One source's place in its stream.

    What lies more than `BACK` before `agreed` is retired: not searched again. The search reaches back to the
    last agreement, not only to the position, since tokens that a drafter leaves out, and a wrong realignment,
    put the position too far ahead by any number.
    """

    position: int = 0
    """Index in the stream of the next committed token; past the published end, the drafter is only late."""
    seen: int = 0
    """Committed tokens that `position` accounts for."""
    checked: int = 0
    """Published tokens that have been compared, or searched when lost."""
    agreed: int = 0
    """End of the last published tokens that proved equal to the committed ones at their place."""
    lost: bool = False
    """Whether the stream differs and no place to go on has been found; the position still counts."""


def follow(
    cursor: Cursor, committed: Sequence[int], published: tuple[int, ...], weak: frozenset[int]
) -> Cursor:
    """The cursor after new commits, new publications, or both.

    A single token in `weak` is too common to realign at.
    """
    seen, ready = len(committed), len(published)
    if cursor.lost and cursor.seen == seen and cursor.checked == ready:
        return cursor
    counted = cursor._replace(position=cursor.position + seen - cursor.seen, seen=seen)
    if not cursor.lost:
        counted, differs = _compare(counted, committed, published)
        if not differs:
            return counted
    place = _realign(counted, committed, published, weak)
    if place is None:
        return counted._replace(checked=ready, lost=True)
    return counted._replace(position=place, checked=place, lost=False)


def matching_tail(cursor: Cursor, committed: Sequence[int], published: tuple[int, ...]) -> int:
    """Published tokens that agree with the committed ones, going back from the cursor; at most 16."""
    if cursor.position > len(published):
        return 0
    return _run(committed, published, cursor.position, LONGEST_TAIL)


def candidates_at(cursor: Cursor, snapshot: Snapshot, limit: int) -> tuple[int, ...]:
    """Up to `limit` published tokens at the cursor; none when it is lost or past the published end."""
    if cursor.lost or limit < 1:
        return ()
    return snapshot.tokens[cursor.position : cursor.position + limit]


def _compare(cursor: Cursor, committed: Sequence[int], published: tuple[int, ...]) -> tuple[Cursor, bool]:
    """The cursor after comparing what is both published and committed, and whether anything differs."""
    start, end = cursor.checked, min(cursor.position, len(published))
    if start == end:
        return cursor, False
    offset = cursor.position - cursor.seen  # published[i] stands for committed[i - offset]
    equal = accept(published[start:end], committed[start - offset : end - offset])
    agreed = start + equal if equal else cursor.agreed
    return cursor._replace(checked=end, agreed=agreed), start + equal < end


def _realign(
    cursor: Cursor, committed: Sequence[int], published: tuple[int, ...], weak: frozenset[int]
) -> int | None:
    """The place after the longest match of the committed tail, the nearest of equals to the position."""
    last, position = committed[-1], cursor.position
    first = max(cursor.agreed - BACK - 1, 0)
    window = enumerate(published[first : position + AHEAD], first + 1)
    places = [place for place, token in window if token == last]
    if not places:
        return None
    places.sort(key=lambda place: (abs(place - position), -place))  # of two equally near, the forward one
    runs = [_run(committed, published, place, LONGEST_MATCH) for place in places]
    longest = max(runs)
    return None if longest == 1 and last in weak else places[runs.index(longest)]


def _run(committed: Sequence[int], published: tuple[int, ...], place: int, limit: int) -> int:
    """Length, up to `limit`, of the common suffix of `committed` and published[:place]."""
    longest = min(limit, place, len(committed))
    for length in range(longest):
        if published[place - 1 - length] != committed[-1 - length]:
            return length
    return longest
