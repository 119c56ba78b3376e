"""Prefix-dependent lookahead (PEARL, AMUSD): the drafter runs ahead of the verified text, and is rolled back.

Asynchronous as AS²D, but a draft is used only as long as it continues the target's text exactly. Where it does not, the
drafter is told to go on from the committed tokens, and the target advances alone until it does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from as2d.decoding.as2d import CoreSplit
from as2d.decoding.evidence import Evidence, is_worth_its_core, observe
from as2d.decoding.rounds import Rounds
from as2d.decoding.stop import StopRules
from as2d.decoding.track import FAR_BEHIND
from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.models.contract import Decoder
from as2d.records import Commit


class Ahead(NamedTuple):
    """What the loop knows of the drafter that runs ahead."""

    evidence: Evidence = Evidence()
    asked: int = 0
    """Committed tokens when it was last asked to go on from them; it has answered once its stream starts there."""
    off: bool = False


def decode_lookahead(
    target: Decoder,
    buffer: CandidateBuffer,
    rules: StopRules,
    *,
    source: int,
    budget: int,
    cores: CoreSplit,
    vocabulary_size: int,
) -> Iterator[Commit]:
    """Decode to the end, one commit a round, with up to `budget` candidates of the source verified in each.

    A commit whose `resync` names the source asks for a stream that starts behind all committed tokens; another one is
    asked for only when that has begun. A source that does not pay for its core is switched off, as under as2d. The
    target never waits. Whatever is published, the tokens are the target's own.
    """
    rounds = Rounds(target, rules, vocabulary_size)
    ahead = Ahead()
    while not rounds.finished:
        snapshot = Snapshot(closed=True) if ahead.off else buffer.snapshot()
        rounds.use_threads(cores.cores_for(int(not snapshot.closed)))
        candidates = rounds.usable(continuation(snapshot, rounds.committed, rounds.room(budget)))
        commit = rounds.verify(candidates, source)
        if not (ahead.off or rounds.finished):
            ahead, commit = _learn(ahead, snapshot, commit, rounds.committed, source)
        yield commit


def continuation(snapshot: Snapshot, committed: Sequence[int], limit: int) -> tuple[int, ...]:
    """Up to `limit` published tokens behind the committed ones; none where the stream says anything else before."""
    position = len(committed) - snapshot.start
    if not _agrees(snapshot, committed):
        return ()
    return snapshot.tokens[position : position + max(limit, 0)]


def _agrees(snapshot: Snapshot, committed: Sequence[int]) -> bool:
    """Whether the stream begins behind committed tokens, and equals what else is committed as far as it goes."""
    said = committed[snapshot.start :]
    return snapshot.start <= len(committed) and all(
        token == own for token, own in zip(snapshot.tokens, said, strict=False)
    )


def _learn(
    ahead: Ahead, snapshot: Snapshot, commit: Commit, committed: Sequence[int], source: int
) -> tuple[Ahead, Commit]:
    """What is known after a round, and its commit, which may switch the source off or ask it to go on from here."""
    if not snapshot.closed:
        ahead = ahead._replace(evidence=observe(ahead.evidence, commit.accepted))
        if not is_worth_its_core(ahead.evidence):
            return ahead._replace(off=True), replace(commit, switched_off=(source,))
    if ahead.asked <= snapshot.start and _is_astray(snapshot, committed):
        return ahead._replace(asked=len(committed)), replace(commit, resync=(source,))
    return ahead, commit


def _is_astray(snapshot: Snapshot, committed: Sequence[int]) -> bool:
    """Whether the stream differs, ended before the text did, or is so late that it had better begin again here."""
    late = len(committed) - snapshot.start - len(snapshot.tokens)
    return not _agrees(snapshot, committed) or late > (0 if snapshot.closed else FAR_BEHIND)
