"""Which calls a profile times; pure.

Sides: the target and each drafter. A side is timed alone, and beside the other side at work without pause, on the cores
that each has in a core split.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from as2d.errors import InputError
from as2d.runtime.exactness import MAX_BUDGET

CONTEXTS = (8, 64, 192)
"""Tokens of text in the cache, behind the prompt."""
AUDIO_S = (10.0, 30.0)
"""Seconds of audio."""
VERIFYING = (1, 8)
"""Widths at which the target is at work while a drafter's step is timed."""

Doing = Literal["encode", "open", "forward"]


class Other(NamedTuple):
    """What the other side does meanwhile: calls of that width, or encoding where the width is 0."""

    model: str
    cores: int
    width: int


class Point(NamedTuple):
    """One kind of call: a model encodes audio, opens a decoder on it (the prompt's prefill), or forwards `width`
    tokens behind `context` tokens of text. Context and width are 0 where nothing is forwarded."""

    doing: Doing
    model: str
    cores: int
    audio_s: float
    context: int = 0
    width: int = 0
    beside: Other | None = None


class Split(NamedTuple):
    """Cores of the target and of a drafter that work at the same time."""

    target: int
    drafter: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is timed. `threads` are all cores that the models may use together, `sharing` the drafters that have no
    encoder: they take what they need from the target's prepared audio. The target is timed at every width from 1 to
    `widest`."""

    threads: int
    target: str
    drafters: tuple[str, ...]
    sharing: tuple[str, ...]
    widest: int = MAX_BUDGET + 1
    contexts: tuple[int, ...] = CONTEXTS
    audio_s: tuple[float, ...] = AUDIO_S

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise InputError(f"{self.threads} threads cannot compute anything; use 1 or more")


def contexts_within(room: int, contexts: tuple[int, ...] = CONTEXTS) -> tuple[int, ...]:
    """The contexts that fit `room` tokens; what does not fit is cut to it. InputError where there is no room."""
    if room < 1:
        raise InputError("a model's context has no room for the widest call; use another model")
    return tuple(sorted({min(context, room) for context in contexts}))


def splits(threads: int) -> tuple[Split, ...]:
    """Every way to share the cores that is timed: the drafter has 1, 2, 4, … and the target the others.

    A single core is shared by both.
    """
    if threads == 1:
        return (Split(1, 1),)
    powers = (1 << power for power in range(threads.bit_length()))
    return tuple(Split(threads - cores, cores) for cores in powers if cores < threads)


def points(plan: Plan) -> tuple[Point, ...]:
    """Every call that the plan times, each once, the slow ones first."""
    return tuple(
        point
        for audio_s in plan.audio_s
        for kind in (_encode, _open, _verify, _draft)
        for point in kind(plan, audio_s)
    )


def in_words(cores: int) -> str:
    """A number of cores."""
    return f"{cores} core{'s' if cores > 1 else ''}"


def _encode(plan: Plan, audio_s: float) -> Iterator[Point]:
    for model, cores in _alone(plan):
        yield Point("encode", model, cores, audio_s)
    for drafter, split in _together(plan):
        if drafter not in plan.sharing:
            beside = Other(drafter, split.drafter, 0)
            yield Point("encode", plan.target, split.target, audio_s, beside=beside)
            beside = Other(plan.target, split.target, 0)
            yield Point("encode", drafter, split.drafter, audio_s, beside=beside)


def _open(plan: Plan, audio_s: float) -> Iterator[Point]:
    for model, cores in _alone(plan):
        yield Point("open", model, cores, audio_s)
    for drafter, split in _together(plan):
        yield Point("open", plan.target, split.target, audio_s, beside=Other(drafter, split.drafter, 1))
        yield Point("open", drafter, split.drafter, audio_s, beside=Other(plan.target, split.target, 1))


def _verify(plan: Plan, audio_s: float) -> Iterator[Point]:
    sides: list[tuple[int, Other | None]] = [(cores, None) for cores in _counts(plan, plan.target)]
    sides += [(split.target, Other(drafter, split.drafter, 1)) for drafter, split in _together(plan)]
    for cores, beside in sides:
        for context in plan.contexts:
            for width in range(1, plan.widest + 1):
                yield Point("forward", plan.target, cores, audio_s, context, width, beside)


def _draft(plan: Plan, audio_s: float) -> Iterator[Point]:
    sides: list[tuple[str, int, Other | None]] = [
        (drafter, cores, None) for drafter in plan.drafters for cores in _counts(plan, drafter)
    ]
    sides += [
        (drafter, split.drafter, Other(plan.target, split.target, width))
        for drafter, split in _together(plan)
        for width in VERIFYING
    ]
    for drafter, cores, beside in sides:
        for context in plan.contexts:
            yield Point("forward", drafter, cores, audio_s, context, 1, beside)


def _alone(plan: Plan) -> Iterator[tuple[str, int]]:
    for model in (plan.target, *plan.drafters):
        for cores in _counts(plan, model):
            yield model, cores


def _together(plan: Plan) -> Iterator[tuple[str, Split]]:
    for drafter in plan.drafters:
        for split in splits(plan.threads):
            yield drafter, split


def _counts(plan: Plan, model: str) -> tuple[int, ...]:
    """Cores that a model has in any split, and all of them: methods that take turns give each side all."""
    parts = {split.target if model == plan.target else split.drafter for split in splits(plan.threads)}
    return tuple(sorted(parts | {plan.threads}))
