"""Where an answer ends: an end id, the output limit or the loop guard, applied token by token."""

from collections.abc import Sequence
from dataclasses import dataclass

from as2d.drafting.repetition import LONGEST_LOOP, repeats
from as2d.errors import InputError
from as2d.records import FinishReason


@dataclass(frozen=True, slots=True)
class StopRules:
    """All end ids of the model, and the most useful tokens to give."""

    end_ids: frozenset[int]
    limit: int

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise InputError(f"an output limit of {self.limit} leaves no room for an answer; use 1 or more")


def cut(
    rules: StopRules, committed: Sequence[int], new: Sequence[int]
) -> tuple[tuple[int, ...], FinishReason | None]:
    """The tokens of `new` up to the first stop, that one included, and the reason if there is a stop.

    An end id is committed too, so that the cache always holds all committed tokens but the last; it is not
    useful text. A reached limit is "length" whatever the model would have said next.
    """
    tail = list(committed[-LONGEST_LOOP:])
    for kept, token in enumerate(new, 1):
        tail.append(token)
        reason = _reason(rules, tail, len(committed) + kept)
        if reason:
            return tuple(new[:kept]), reason
    return tuple(new), None


def _reason(rules: StopRules, tail: list[int], count: int) -> FinishReason | None:
    if tail[-1] in rules.end_ids:
        return "stop"
    if repeats(tail):
        return "repetition"
    return "length" if count >= rules.limit else None
