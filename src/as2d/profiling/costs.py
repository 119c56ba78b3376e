"""What a call costs, looked up in a profile.

Every width, number of cores and other side stands for itself: kernels have cliffs. Between the contexts and the lengths
of audio that were timed costs are interpolated; beyond them the nearest one holds.
"""

from bisect import bisect_right
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from as2d.errors import InputError
from as2d.profiling.plan import VERIFYING, Doing, Point, in_words
from as2d.profiling.profile import Profile


class _Call(NamedTuple):
    """A point without what is interpolated."""

    doing: Doing
    model: str
    cores: int
    width: int
    beside: str | None
    beside_width: int


class _Surface(NamedTuple):
    """Milliseconds over lengths of audio × contexts, both ascending."""

    audio_s: tuple[float, ...]
    contexts: tuple[int, ...]
    ms: tuple[tuple[float, ...], ...]

    def at(self, audio_s: float, context: float) -> float:
        """Linear in both."""
        first, second, share = _between(self.audio_s, audio_s)
        left, right, part = _between(self.contexts, context)
        above, below = self.ms[first], self.ms[second]
        return (1 - share) * _mix(above[left], above[right], part) + share * _mix(
            below[left], below[right], part
        )


class Costs:
    """The costs of a profile, in milliseconds.

    `context` is the number of tokens of text in the cache, the prompt not counted; `audio_s` the seconds of audio;
    `cores` those of the model that is asked about. Beside a drafter the target's costs are those while the drafter
    writes on the cores that the split leaves it. What was not timed is an InputError.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._surfaces = _surfaces(profile)

    def encode_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        """Encoding audio, alone or while the other model (one with an encoder) encodes too.

        For a drafter without encoder, what it makes of the target's prepared audio.
        """
        return self._cost(_Call("encode", model, cores, 0, beside, 0), audio_s, 0)

    def open_ms(self, model: str, audio_s: float, cores: int, beside: str | None = None) -> float:
        """Opening a decoder: the prompt's prefill; alone or while the other model writes."""
        return self._cost(_Call("open", model, cores, 0, beside, 1 if beside else 0), audio_s, 0)

    def verify_ms(
        self, width: int, context: float, audio_s: float, cores: int, beside: str | None = None
    ) -> float:
        """One call of the target with `width` tokens, alone or while the drafter `beside` writes."""
        target = self.profile.plan.target
        return self._cost(
            _Call("forward", target, cores, width, beside, 1 if beside else 0), audio_s, context
        )

    def step_ms(self, drafter: str, context: float, audio_s: float, *, beside: bool, cores: int = 1) -> float:
        """One token of a drafter, alone or (the mean over narrow and wide rounds) while the target verifies."""
        if not beside:
            return self._cost(_Call("forward", drafter, cores, 1, None, 0), audio_s, context)
        target = self.profile.plan.target
        calls = (_Call("forward", drafter, cores, 1, target, width) for width in VERIFYING)
        return fmean(self._cost(call, audio_s, context) for call in calls)

    @property
    def publish_ms(self) -> float:
        """A word goes into the buffer."""
        return self._overhead("publish")

    @property
    def round_ms(self) -> float:
        """A round of the loop beyond the target's call, the stream agreeing."""
        return self._overhead("round")

    @property
    def align_ms(self) -> float:
        """A search for the place of a stream that differs, beyond that."""
        return self._overhead("realign")

    def _cost(self, call: _Call, audio_s: float, context: float) -> float:
        surface = self._surfaces.get(call)
        if surface is None:
            raise InputError(f"the profile has no time for {_words(call)}; measure it with `as2d profile`")
        return surface.at(audio_s, context)

    def _overhead(self, name: str) -> float:
        if name not in self.profile.overheads:
            raise InputError(f"the profile has no time for {name}; measure it with `as2d profile`")
        return self.profile.overheads[name].ms


def _surfaces(profile: Profile) -> dict[_Call, _Surface]:
    """A surface for each call that is timed at every context and length of audio of the plan."""
    found: dict[_Call, dict[tuple[float, int], float]] = {}
    for point, timing in profile.timings.items():
        found.setdefault(_call_of(point), {})[point.audio_s, point.context] = timing.ms
    return {call: _surface(times) for call, times in found.items()}


def _surface(times: dict[tuple[float, int], float]) -> _Surface:
    lengths, contexts = (tuple(sorted(set(axis))) for axis in zip(*times, strict=True))
    ms = tuple(tuple(times[length, context] for context in contexts) for length in lengths)
    return _Surface(lengths, contexts, ms)


def _call_of(point: Point) -> _Call:
    other, width = (point.beside.model, point.beside.width) if point.beside else (None, 0)
    return _Call(point.doing, point.model, point.cores, point.width, other, width)


def _between(axis: Sequence[float], value: float) -> tuple[int, int, float]:
    """The neighbours of a value on an ascending axis, and its share of the way between them."""
    right = bisect_right(axis, value)
    if right in (0, len(axis)):
        end = 0 if right == 0 else len(axis) - 1
        return end, end, 0.0
    left = right - 1
    return left, right, (value - axis[left]) / (axis[right] - axis[left])


def _mix(one: float, other: float, share: float) -> float:
    return one + share * (other - one)


def _words(call: _Call) -> str:
    what = f"{call.doing} of {call.model} on {in_words(call.cores)}"
    if call.width:
        what += f" at width {call.width}"
    return f"{what} beside {call.beside}" if call.beside else what
