"""Standard speculative decoding: target and drafter take turns, with a fixed number of candidates a round."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from as2d.decoding.rounds import Rounds
from as2d.decoding.stop import StopRules
from as2d.drafting.prefix import Enough
from as2d.drafting.words import Word
from as2d.models.contract import Decoder
from as2d.records import Commit


class SerialDrafter(Protocol):
    """Drafts from the target's text when it is asked, while the target waits."""

    def draft(self, committed: list[int], limit: int, enough: Enough) -> Word:
        """At most `limit` tokens that go on from the text; fewer where there are no more, or `enough`."""


class Turns(NamedTuple):
    """Who drafts for a target, as which of its sources, and the target's cores: all, as one waits for the other."""

    drafter: SerialDrafter
    source: int
    threads: int


def decode_speculative(
    target: Decoder, turns: Turns, rules: StopRules, *, budget: int, vocabulary_size: int
) -> Iterator[Commit]:
    """Decode to the end, one commit a round, each of K = `budget` + 1 positions.

    A round drafts from the verified text, verifies the draft, and rolls both caches back to what is committed: the
    target's at once, the drafter's when it drafts next. K is less only where the answer must end or the drafter has no
    more to say. Whatever it drafts, the tokens are the target's own.
    """
    rounds = Rounds(target, rules, vocabulary_size)
    rounds.use_threads(turns.threads)
    while not rounds.finished:
        draft = turns.drafter.draft(rounds.committed, rounds.room(budget), _never)
        yield rounds.verify(rounds.usable(draft.tokens), turns.source)


def _never(_: Word) -> bool:
    return False
