"""A source as the loop follows it: its stream, the place in it, and what it has brought so far; pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from as2d.decoding.align import Cursor, Marks, follow
from as2d.decoding.evidence import Evidence, is_worth_its_core, observe
from as2d.drafting.buffer import Snapshot
from as2d.records import Commit

FAR_BEHIND = 8
"""Tokens by which a source may be late before it is asked to catch up."""
LONG_LOST = 2
"""Rounds for which a source may be lost before that."""


class Track(NamedTuple):
    """What the loop knows of one source."""

    snapshot: Snapshot = Snapshot()
    cursor: Cursor = Cursor()
    evidence: Evidence = Evidence()
    lost_rounds: int = 0
    """Rounds in a row for which the cursor has been lost."""
    asked: int = 0
    """Committed tokens when it was last asked to restart; it has answered once its stream starts there."""
    off: bool = False
    """Whether it is switched off. Its snapshot is then empty and closed for good."""

    @property
    def drafting(self) -> bool:
        """Whether its producer takes a core."""
        return not self.snapshot.closed


_OFF = Track(snapshot=Snapshot(closed=True), off=True)


def look(track: Track, snapshot: Snapshot, committed: Sequence[int], marks: Marks) -> Track:
    """The track after new commits, new publications, or both."""
    if track.off:
        return track
    cursor = track.cursor
    if snapshot.start != track.snapshot.start:
        seen = len(committed)
        cursor = Cursor(position=max(seen - snapshot.start, 0), seen=seen)
    cursor = follow(cursor, committed, snapshot.tokens, marks)
    lost_rounds = track.lost_rounds + 1 if cursor.lost else 0
    return track._replace(snapshot=snapshot, cursor=cursor, lost_rounds=lost_rounds)


def learn(
    tracks: Sequence[Track], commit: Commit, committed: int, *, resync: bool
) -> tuple[list[Track], Commit]:
    """The tracks after a round, and its commit, which names the sources to switch off and to restart.

    `committed` counts all tokens so far. Nothing is decided with the last commit.
    """
    if commit.finish_reason:
        return list(tracks), commit
    after, off, restart = [], [], []
    for source, track in enumerate(tracks):
        accepted = commit.accepted if commit.source == source else 0
        learnt = _weighed(track, accepted)
        if learnt.off and not track.off:
            off.append(source)
        elif resync and not accepted and _needs_restart(learnt):
            restart.append(source)
            learnt = learnt._replace(asked=committed)
        after.append(learnt)
    return after, replace(
        commit, switched_off=tuple(off), resync=tuple(restart)
    ) if off or restart else commit


def _weighed(track: Track, accepted: int) -> Track:
    if not track.drafting:
        return track
    evidence = observe(track.evidence, accepted)
    return track._replace(evidence=evidence) if is_worth_its_core(evidence) else _OFF


def _needs_restart(track: Track) -> bool:
    """Whether it is lost or far behind, and has answered when it was last asked.

    A source that ended without a word does not draft this window, or thinks that nothing more is said.
    """
    late = track.cursor.position - len(track.snapshot.tokens)
    astray = track.lost_rounds >= LONG_LOST or late > FAR_BEHIND
    has_spoken = track.drafting or bool(track.snapshot.tokens)
    return astray and has_spoken and track.asked <= track.snapshot.start
