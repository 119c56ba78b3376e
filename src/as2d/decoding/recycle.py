"""What SpecASR uses again of a rejected draft; pure."""

from collections.abc import Sequence

SHIFT = 2
"""Positions by which a token may have moved in the text."""


def left_over(draft: tuple[int, ...], accepted: int) -> tuple[int, ...]:
    """What follows the rejected token of a draft; nothing if all of it was accepted."""
    return draft[accepted + 1 :]


def recycled(draft: tuple[int, ...], kept: Sequence[int]) -> tuple[int, ...] | None:
    """A new draft that has come back to what was kept of the one before, and the rest of that; None if it has not.

    It has where a token equals one that was kept at most `SHIFT` positions from there: the first such token, and of
    those kept the nearest, of two equally near the earlier.
    """
    for position, token in enumerate(draft):
        for shift in sorted(range(-SHIFT, SHIFT + 1), key=abs):
            place = position + shift
            if 0 <= place < len(kept) and kept[place] == token:
                return (*draft[: position + 1], *kept[place + 1 :])
    return None
