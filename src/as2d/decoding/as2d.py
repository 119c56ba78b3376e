"""The AS²D loop: the target verifies whatever candidates are ready and never waits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from as2d.decoding.accept import judge
from as2d.decoding.align import Marks
from as2d.decoding.propose import propose
from as2d.decoding.stop import StopRules
from as2d.decoding.track import Track, learn, look
from as2d.drafting.buffer import CandidateBuffer
from as2d.errors import InputError
from as2d.models.contract import Decoder
from as2d.records import Commit, FinishReason


@dataclass(frozen=True, slots=True)
class CoreSplit:
    """How `alone` cores are shared: one for each source that still drafts, the others for the target, at least one."""

    alone: int

    def cores_for(self, drafting: int) -> int:
        """The target's cores beside that many sources."""
        return max(1, self.alone - drafting)

    def counts(self, sources: int) -> tuple[int, ...]:
        """Every number of cores that the target can have with up to that many sources."""
        return tuple(sorted({self.cores_for(drafting) for drafting in range(sources + 1)}))


def decode(
    target: Decoder,
    sources: Sequence[CandidateBuffer],
    rules: StopRules,
    *,
    budget: int,
    cores: CoreSplit,
    marks: Marks,
    vocabulary_size: int,
    resync: bool = False,
) -> Iterator[Commit]:
    """Decode to the end, one commit a round, with up to `budget` candidates verified in each.

    The tokens are the target's own, whatever the sources publish. Whenever a commit is given out, the target's cache
    holds the prompt and all committed tokens but the last, so that the generator may be closed there. A commit names
    the sources that it switches off, which are ignored from then on, and with `resync` those to restart.
    """
    opening = target.length  # the prompt but its last token, the first root
    rules = _within(rules, target.capacity - opening)
    committed: list[int] = []
    tracks = [Track()] * len(sources)
    root, threads = target.root, 0
    finished: FinishReason | None = None
    while finished is None:
        tracks = [look(t, s.snapshot(), committed, marks) for t, s in zip(tracks, sources, strict=True)]
        wanted = cores.cores_for(sum(track.drafting for track in tracks))
        if wanted != threads:
            target.use_threads(threads := wanted)
        room = min(budget, rules.limit - len(committed) - 1)
        candidates, source = propose(
            tracks, committed, room, vocabulary_size=vocabulary_size, end_ids=rules.end_ids
        )
        greedy = target.forward((root, *candidates)).greedy
        commit = judge(rules, committed, candidates, greedy, source)
        committed += commit.tokens
        target.truncate(opening + len(committed))
        root, finished = committed[-1], commit.finish_reason
        tracks, commit = learn(tracks, commit, len(committed), resync=resync)
        yield commit


def _within(rules: StopRules, room: int) -> StopRules:
    """The rules with a limit that the cache has room for: each token given out takes one position."""
    if room < 1:
        raise InputError("the prompt fills the model's context; shorten it")
    return replace(rules, limit=min(rules.limit, room))
