"""The AS²D loop: the target verifies whatever candidates are ready and never waits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from as2d.decoding.align import Marks
from as2d.decoding.propose import propose
from as2d.decoding.rounds import Rounds
from as2d.decoding.stop import StopRules
from as2d.decoding.track import Track, learn, look
from as2d.drafting.buffer import CandidateBuffer
from as2d.models.contract import Decoder
from as2d.records import Commit


@dataclass(frozen=True, slots=True)
class CoreSplit:
    """How `alone` cores are shared: `drafter` for each source that drafts, the rest, at least one, for the target."""

    alone: int
    drafter: int = 1

    def cores_for(self, drafting: int) -> int:
        """The target's cores beside that many sources."""
        return max(1, self.alone - drafting * self.drafter)

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
    threshold: float = 0.0,
    floor: float = 0.0,
) -> Iterator[Commit]:
    """Decode to the end, one commit a round, with up to `budget` candidates verified in each.

    The tokens are the target's own, whatever the sources publish. Whenever a commit is given out, the target's cache
    holds the prompt and all committed tokens but the last, so that the generator may be closed there. A commit names
    the sources that it switches off, which are ignored from then on, and with `resync` those to restart. No candidate
    is proposed behind one with a probability below `threshold`, nor where it is less probable than `floor` that all are
    accepted (`floor.likely`).
    """
    rounds = Rounds(target, rules, vocabulary_size)
    tracks = [Track()] * len(sources)
    while not rounds.finished:
        committed = rounds.committed
        tracks = [look(t, s.snapshot(), committed, marks) for t, s in zip(tracks, sources, strict=True)]
        rounds.use_threads(cores.cores_for(sum(track.drafting for track in tracks)))
        candidates, source = propose(
            tracks,
            committed,
            rounds.room(budget),
            usable=rounds.usable,
            threshold=threshold,
            floor=floor,
        )
        commit = rounds.verify(candidates, source)
        tracks, commit = learn(tracks, commit, len(committed), resync=resync)
        yield commit
