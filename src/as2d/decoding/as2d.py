"""The AS²D loop: the target verifies whatever candidates are ready and never waits."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from as2d.decoding.accept import judge
from as2d.decoding.align import Cursor, Marks, follow
from as2d.decoding.propose import propose
from as2d.decoding.stop import StopRules
from as2d.drafting.buffer import CandidateBuffer
from as2d.errors import InputError
from as2d.models.contract import Decoder
from as2d.records import Commit, FinishReason


class CoreSplit(NamedTuple):
    """The target's cores while a source still drafts, and when it has the machine to itself."""

    drafting: int
    alone: int


def decode(
    target: Decoder,
    sources: Sequence[CandidateBuffer],
    rules: StopRules,
    *,
    budget: int,
    cores: CoreSplit,
    marks: Marks,
    vocabulary_size: int,
) -> Iterator[Commit]:
    """Decode to the end, one commit a round, with up to `budget` candidates verified in each.

    The tokens are the target's own, whatever the sources publish. Whenever a commit is given out, the target's cache
    holds the prompt and all committed tokens but the last, so that the generator may be closed there.
    """
    opening = target.length  # the prompt but its last token, the first root
    rules = _within(rules, target.capacity - opening)
    committed: list[int] = []
    cursors = [Cursor()] * len(sources)
    root, threads = target.root, 0
    finished: FinishReason | None = None
    while finished is None:
        snapshots = [source.snapshot() for source in sources]
        wanted = cores.alone if all(snapshot.closed for snapshot in snapshots) else cores.drafting
        if wanted != threads:
            target.use_threads(threads := wanted)
        cursors = [follow(c, committed, s.tokens, marks) for c, s in zip(cursors, snapshots, strict=True)]
        room = min(budget, rules.limit - len(committed) - 1)
        candidates, source = propose(
            cursors, snapshots, committed, room, vocabulary_size=vocabulary_size, end_ids=rules.end_ids
        )
        greedy = target.forward((root, *candidates)).greedy
        commit = judge(rules, committed, candidates, greedy, source)
        committed += commit.tokens
        target.truncate(opening + len(committed))
        root, finished = committed[-1], commit.finish_reason
        yield commit


def _within(rules: StopRules, room: int) -> StopRules:
    """The rules with a limit that the cache has room for: each token given out takes one position."""
    if room < 1:
        raise InputError("the prompt fills the model's context; shorten it")
    return replace(rules, limit=min(rules.limit, room))
