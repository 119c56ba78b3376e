"""Counts over the commits of one or more windows; pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from as2d.records import Commit


@dataclass(frozen=True, slots=True)
class Tally:
    """What some commits add up to. `useful` tokens are those committed but the end ids."""

    tokens: int
    useful: int
    accepted: int
    widths: Mapping[int, int]
    """Rounds of each width K."""

    @classmethod
    def of(cls, commits: Iterable[Commit]) -> Self:
        """Count `commits`."""
        seen = list(commits)
        tokens = sum(len(commit.tokens) for commit in seen)
        ended = sum(commit.finish_reason == "stop" for commit in seen)
        accepted = sum(commit.accepted for commit in seen)
        return cls(tokens, tokens - ended, accepted, Counter(commit.width for commit in seen))

    @property
    def rounds(self) -> int:
        """Calls of the target."""
        return sum(self.widths.values())

    @property
    def proposed(self) -> int:
        """Candidates verified."""
        return sum((width - 1) * rounds for width, rounds in self.widths.items())

    @property
    def k1_rounds(self) -> int:
        """Rounds without a candidate."""
        return self.widths.get(1, 0)
