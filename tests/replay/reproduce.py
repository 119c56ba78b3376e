"""Replays a native run from its own times: when each batch was published, and when each round looked.

No cost is involved, so what comes out must be the native run, round by round.
"""

from collections.abc import Sequence
from typing import NamedTuple

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.records import Commit
from as2d.replay.lanes import Publications
from as2d.replay.loop import Answering, KnownTarget, native_loop
from as2d.replay.native import NativeRun
from as2d.replay.timed import Log


class Round(NamedTuple):
    """What a round verified, root included, and what it committed."""

    verified: tuple[int, ...]
    commit: Commit


def rounds_of(run: NativeRun) -> list[Round]:
    """The rounds of a native run."""
    calls = run.target.calls
    return [Round(call.tokens, commit) for call, commit in zip(calls, run.commits, strict=True)]


def reproduce(run: NativeRun, answering: Answering) -> list[Round]:
    """The same rounds, replayed. The first root is not known, and stands as -1."""
    answer = tuple(token for commit in run.commits for token in commit.tokens)
    verified: list[tuple[int, ...]] = []

    def verify(tokens: Sequence[int], context: int, cores: int) -> None:
        verified.append(tuple(tokens))

    target = KnownTarget(answer, answering.rules.limit, verify)
    buffers = [_PastBuffer(log) for log in run.drafters]
    commits = list(native_loop(run.configuration, answering, target, buffers))
    return [Round(tokens, commit) for tokens, commit in zip(verified, commits, strict=True)]


class _PastBuffer(CandidateBuffer):
    """Shows at each look what was published by the time of that look."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._published = _published(log)
        self._looks = iter(log.looks)

    def snapshot(self) -> Snapshot:
        return self._published.at(next(self._looks))


def _published(log: Log) -> Publications:
    """All that was visible, by when."""
    seen = CandidateBuffer()
    states = []
    for publication in log.publications:
        seen.publish(publication.tokens, publication.probabilities)
        states.append((publication.at, seen.snapshot()))
    seen.close()
    states.append((log.closed, seen.snapshot()))
    return Publications(tuple(at for at, _ in states), tuple(state for _, state in states))
