"""The overlap identity: why drafting ahead pays on a machine, or does not. Pure.

Every millisecond of a decode, from the first root until target and drafters have all stopped, is drafting (D),
verifying (V), both at once (O, counted in D and in V) or neither (the rest H): its time is T = D + V − O + H. Between a
method that overlaps and a serial one the difference is then

    T(serial) − T(overlapping) = ΔO − ΔD − ΔV − ΔH

and overlap pays exactly when the time that overlaps is longer than what drafting, verifying and the rest cost more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from as2d.evaluation.analysis.choice import best_serial
from as2d.evaluation.analysis.metrics import Sample, paired, tokens


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the time of a decode went, in milliseconds for each useful token, pooled over windows."""

    total: float
    draft: float
    verify: float
    overlap: float
    rest: float

    @property
    def ideal(self) -> float:
        """The time if all that can overlap did: max(D, V) + H."""
        return max(self.draft, self.verify) + self.rest


@dataclass(frozen=True, slots=True)
class Overlap:
    """An overlapping contender beside the best serial one with the same drafter, on the windows that both ran.

    `gain` is the measured difference T(serial) − T(overlapping) in milliseconds a token, `predicted` what the recorded
    calls of the models make of it (ΔO − ΔD − ΔV). What lies between them is the rest, ΔH: waiting, hand-over and
    bookkeeping.
    """

    contender: str
    serial: str
    windows: int
    overlapping_parts: Parts
    serial_parts: Parts

    @property
    def gain(self) -> float:
        """Milliseconds a token that the overlapping contender saves; negative: loses."""
        return self.serial_parts.total - self.overlapping_parts.total

    @property
    def predicted(self) -> float:
        """The gain that the time in the models explains."""
        return self.gain + self.overhead

    @property
    def overhead(self) -> float:
        """ΔH, milliseconds a token."""
        return self.overlapping_parts.rest - self.serial_parts.rest

    @property
    def pays(self) -> bool:
        """Whether the overlapping contender is the faster one."""
        return self.gain > 0

    @property
    def explained(self) -> bool:
        """Whether the time in the models alone says who is faster."""
        return (self.predicted > 0) == self.pays


def parts(sample: Sample) -> Parts | None:
    """Where the time of a sample went; None without useful tokens."""
    useful = tokens(sample)
    if not useful:
        return None
    total, draft, verify, overlap = (
        sum(getattr(row, field) for row in sample) / useful
        for field in ("producer_done_ms", "draft_ms", "verify_ms", "overlap_ms")
    )
    return Parts(total, draft, verify, overlap, total - draft - verify + overlap)


def overlaps(samples: Mapping[str, Sample]) -> list[Overlap]:
    """The identity for every AS²D contender that has a serial counterpart with its drafter."""
    pairs = ((key, _counterpart(samples, sample)) for key, sample in samples.items())
    return [
        compared
        for key, serial in pairs
        if serial and (compared := _compare(samples, key, serial)) is not None
    ]


def _counterpart(samples: Mapping[str, Sample], sample: Sample) -> str | None:
    if sample[0].method != "as2d":
        return None
    return best_serial(samples, {row.window for row in sample}, sample[0].drafter)


def _compare(samples: Mapping[str, Sample], contender: str, serial: str) -> Overlap | None:
    pairs = paired(samples[contender], samples[serial])
    overlapping, in_turn = (parts([pair[side] for pair in pairs]) for side in (0, 1))
    if overlapping is None or in_turn is None:
        return None
    return Overlap(contender, serial, len(pairs), overlapping, in_turn)
