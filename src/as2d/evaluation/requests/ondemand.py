"""Requests at many positions of a long recording that arrives: every method in turn, on the same audio."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.configuration.drafters import AUTO
from as2d.errors import InputError
from as2d.evaluation.contender import Contender
from as2d.evaluation.host import Machine
from as2d.evaluation.measuring.runner import rotated
from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE, Result, UsedMethod
from as2d.session.session import Session

POSITIONS = 19
"""The paper's number of positions."""
FIRST_S = 30.0
"""The first position; the last is the end of the recording."""

_ENOUGH = 1 << 36
"""Bytes that no prepared recording needs: nothing is dropped of what has been prepared."""


@dataclass(frozen=True, slots=True)
class OnDemandOptions:
    """How long the recording is, how many positions, the view in seconds (None: all so far), and how often.

    Each of the drafters makes a contender of its own.
    """

    seconds: float = 600.0
    positions: int = POSITIONS
    last_s: float | None = 30.0
    repetitions: int = 3
    drafters: tuple[str, ...] = (AUTO,)
    language: str | None = None

    def __post_init__(self) -> None:
        """InputError for what cannot be."""
        if self.positions < 1 or self.repetitions < 1:
            raise InputError("there is nothing to measure; ask for 1 position and 1 repetition or more")
        if self.seconds < FIRST_S:
            raise InputError(f"a recording of {self.seconds:g} s is too short; use {FIRST_S:g} s or more")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answered request. Times are milliseconds; of the tokens, that many were drafted and `accepted`.

    `prepared` says that everything in the view had been encoded before, otherwise nothing had. `latency_ms` counts from
    the request's arrival to its last token (of an answer without any: to the answer), `first_token_ms` to the first;
    `decode_ms` is what the decoding took of it, until all producers had stopped. The view was from `start_s` to
    `end_s`, with that many `windows` with speech, of which `encoded` had to be encoded for it. `identical`: the tokens
    are those of target-only on all cores.
    """

    contender: str
    position_s: float
    prepared: bool
    repetition: int
    tokens: tuple[int, ...]
    accepted: int
    identical: bool
    exact: bool
    latency_ms: float
    first_token_ms: float | None
    decode_ms: float
    start_s: float
    end_s: float
    windows: int
    encoded: int
    peak_memory_mb: float | None
    faults: tuple[str, ...]


def positions_of(seconds: float, count: int) -> tuple[float, ...]:
    """So many positions from 30 s to the end, evenly. Pure."""
    if count == 1:
        return (float(seconds),)
    return tuple(round(FIRST_S + (seconds - FIRST_S) * index / (count - 1), 3) for index in range(count))


def contenders_of(drafters: Sequence[str], cores: int) -> tuple[Contender, ...]:
    """Target-only on all cores, which is the reference, and on one; AS²D with each drafter. Pure.

    InputError on one core, which a drafter and its target cannot share.
    """
    if cores < 2:
        raise InputError(
            "a drafter needs a core beside the target's; measure on a machine with 2 cores or more"
        )
    alone = (Contender("target-only", cores), Contender("target-only", 1))
    return (*alone, *(Contender("as2d", cores, drafter) for drafter in dict.fromkeys(drafters)))


class OnDemand:
    """The bench. `answers` are those of all positions so far."""

    def __init__(
        self, target: AudioModel, samples: NDArray[np.float32], options: OnDemandOptions, cores: int
    ) -> None:
        """`samples` are the recording, mono at 16 kHz."""
        self.answers: list[Answered] = []
        self.contenders = contenders_of(options.drafters, cores)
        self._target = target
        self._samples = samples
        self._options = options
        self._machine = Machine()

    def measure(self) -> Iterator[float]:
        """Measure at one position after the other, and tell each that is done. Once."""
        options = self._options
        with ExitStack() as closing:
            askers = self._askers(closing)
            fed = 0
            for number, position in enumerate(positions_of(options.seconds, options.positions)):
                end = round(position * SAMPLE_RATE)
                for ears in dict.fromkeys(asker.ears for asker in askers):
                    ears.feed(self._samples[fed:end])
                fed = end
                self.answers += self._at(position, number, askers)
                yield position

    def _askers(self, closing: ExitStack) -> list["_Asker"]:
        """Sessions over the one target; target-only on all cores asks the recording of the first drafter."""
        *_, first = (one for one in reversed(self.contenders) if one.drafter)
        ears: dict[tuple[int, str | None], _Ears] = {}
        askers = []
        for contender in self.contenders:
            drafter = None if contender.cores == 1 else contender.drafter or first.drafter
            if (key := (contender.cores, drafter)) not in ears:
                session = closing.enter_context(Session(self._target, drafter, threads=contender.cores))
                ears[key] = _Ears(session, self._options, closing)
            askers.append(_Asker(contender, ears[key], self._options.last_s))
        return askers

    def _at(self, position: float, number: int, askers: Sequence["_Asker"]) -> list[Answered]:
        """First everybody once, not measured: what is still open at the position is prepared by that."""
        expected, *_ = [asker.ask(prepared=True).tokens for asker in askers]
        return [
            self._measured(asker, position, repetition, expected, prepared=prepared)
            for prepared in (True, False)
            for repetition in range(self._options.repetitions)
            for asker in rotated(askers, number + repetition)
        ]

    def _measured(
        self,
        asker: "_Asker",
        position: float,
        repetition: int,
        expected: tuple[int, ...],
        *,
        prepared: bool,
    ) -> Answered:
        measuring = self._machine.start()
        result = asker.ask(prepared=prepared)
        readings = measuring.stop()
        return _answered(
            result,
            contender=asker.contender.key,
            position_s=position,
            prepared=prepared,
            repetition=repetition,
            expected=expected,
            peak_memory_mb=readings.peak_memory_mb,
        )


class _Ears:
    """Two recordings of a session that hear the same: one keeps all that is prepared, the other nothing."""

    def __init__(self, session: Session, options: OnDemandOptions, closing: ExitStack) -> None:
        self.recordings = {
            prepared: closing.enter_context(
                session.listen(language=options.language, memory=_ENOUGH if prepared else 0)
            )
            for prepared in (True, False)
        }

    def feed(self, samples: NDArray[np.float32]) -> None:
        """Let audio arrive, and wait until what can be prepared is."""
        for recording in self.recordings.values():
            recording.feed(samples)
            recording.wait()


class _Asker(NamedTuple):
    """A contender, whom it asks, and the seconds of the view."""

    contender: Contender
    ears: _Ears
    last_s: float | None

    def ask(self, *, prepared: bool) -> Result:
        """The answer about the view that ends now."""
        method: UsedMethod = "as2d" if self.contender.drafter else "target-only"
        return self.ears.recordings[prepared].request(last=self.last_s, method=method)


def _answered(
    result: Result,
    *,
    contender: str,
    position_s: float,
    prepared: bool,
    repetition: int,
    expected: tuple[int, ...],
    peak_memory_mb: float | None,
) -> Answered:
    timing, view = result.timing, result.view
    assert timing  # every request of a live recording has both
    assert view
    last_token_ms = timing.last_token_ms
    return Answered(
        contender=contender,
        position_s=position_s,
        prepared=prepared,
        repetition=repetition,
        tokens=result.tokens,
        accepted=result.stats.accepted,
        identical=result.tokens == expected,
        exact=result.exact,
        latency_ms=result.stats.wall_ms if last_token_ms is None else last_token_ms,
        first_token_ms=timing.first_token_ms,
        decode_ms=result.stats.producer_done_ms,
        start_s=view.start_s,
        end_s=view.end_s,
        windows=view.reused + view.prepared,
        encoded=view.prepared,
        peak_memory_mb=peak_memory_mb,
        faults=tuple(source.fault for source in result.sources if source.fault),
    )
