"""Where in a drafter's stream the next committed token is expected; pure.

A drafter writes its own transcript, so it may lack, add or replace tokens. While its stream agrees with the
committed tokens, both advance in step. Where they differ, the last committed tokens are looked for nearby. Where
those are not found, the drafter is taken to have put one word for another, and the words behind it are tried.
"""

from collections.abc import Sequence
from typing import NamedTuple

from as2d.decoding.accept import accept
from as2d.decoding.confidence import through_unsure
from as2d.drafting.buffer import Snapshot
from as2d.drafting.words import LONGEST_WORD

BACK = 4
"""Tokens that are searched before the end of the last agreement."""
AHEAD = 16
"""Tokens that are searched after the position: the most that a drafter may add at once."""
LONGEST_MATCH = 4
"""Committed tokens that are looked for, at most."""
GUESSES = 1
"""Candidates at a place that is only a guess; with the root an even width, which costs no more than the odd below."""
LONGEST_TAIL = 16
"""Tokens beyond which a longer agreement says nothing more about a source."""


class Marks(NamedTuple):
    """What alignment knows of a vocabulary: tokens without a letter or digit, and tokens that begin a word."""

    weak: frozenset[int] = frozenset()
    word_starts: frozenset[int] = frozenset()


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
    """Whether the stream differs and no place to go on has been found; then `position` is a guess."""


def follow(cursor: Cursor, committed: Sequence[int], published: tuple[int, ...], marks: Marks) -> Cursor:
    """The cursor after new commits, new publications, or both.

    A single weak token is too common to realign at.
    """
    seen, ready = len(committed), len(published)
    if cursor.lost and cursor.seen == seen and cursor.checked == ready:
        return cursor
    if cursor.lost:
        said = committed[cursor.seen :]
        moved = cursor._replace(position=_after_words(cursor.position, said, published, marks), seen=seen)
    else:
        moved, differs = _compare(_counted(cursor, seen), committed, published)
        if differs is None:
            return moved
        said = committed[differs - moved.position + seen :]
        moved = moved._replace(position=_after_difference(differs, said, published, marks))
    place = _realign(moved, committed, published, marks.weak)
    if place is None:
        return moved._replace(checked=ready, lost=True)
    return moved._replace(position=place, checked=place, lost=False)


def matching_tail(cursor: Cursor, committed: Sequence[int], published: tuple[int, ...]) -> int:
    """Published tokens that agree with the committed ones, going back from the cursor; at most 16."""
    if cursor.position > len(published):
        return 0
    return _run(committed, published, cursor.position, LONGEST_TAIL)


def candidates_at(cursor: Cursor, snapshot: Snapshot, limit: int, threshold: float = 0.0) -> tuple[int, ...]:
    """Up to `limit` published tokens at the cursor, fewer where it is a guess; none past the published end.

    They end with the first that is less probable than `threshold`.
    """
    count = min(limit, GUESSES) if cursor.lost else limit
    here = slice(cursor.position, cursor.position + max(count, 0))
    return through_unsure(snapshot.tokens[here], snapshot.probabilities[here], threshold)


def _counted(cursor: Cursor, seen: int) -> Cursor:
    return cursor._replace(position=cursor.position + seen - cursor.seen, seen=seen)


def _compare(
    cursor: Cursor, committed: Sequence[int], published: tuple[int, ...]
) -> tuple[Cursor, int | None]:
    """The cursor after comparing what is both published and committed, and where the stream first differs."""
    start, end = cursor.checked, min(cursor.position, len(published))
    if start == end:
        return cursor, None
    offset = cursor.position - cursor.seen  # published[i] stands for committed[i - offset]
    equal = accept(published[start:end], committed[start - offset : end - offset])
    agreed = start + equal if equal else cursor.agreed
    differs = start + equal if start + equal < end else None
    return cursor._replace(checked=end, agreed=agreed), differs


def _after_difference(place: int, said: Sequence[int], published: tuple[int, ...], marks: Marks) -> int:
    """Where the stream may go on after `said` was committed in place of what begins at `place`.

    Punctuation was added, or put for other punctuation; a word was put for another word.
    """
    if said[0] not in marks.weak:
        place = _next_word(place, published, marks)
    elif published[place] in marks.weak:
        place += 1
    return _after_words(place, said[1:], published, marks)


def _after_words(place: int, said: Sequence[int], published: tuple[int, ...], marks: Marks) -> int:
    """One word further for each word that `said` begins."""
    for token in said:
        if token in marks.word_starts and token not in marks.weak:
            place = _next_word(place, published, marks)
    return place


def _next_word(place: int, published: tuple[int, ...], marks: Marks) -> int:
    """The next place where a word or punctuation begins; the next token where none does nearby."""
    for ahead in range(place + 1, min(place + 1 + LONGEST_WORD, len(published))):
        if published[ahead] in marks.word_starts or published[ahead] in marks.weak:
            return ahead
    return place + 1


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
