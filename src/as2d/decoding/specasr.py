"""SpecASR's adaptive single-sequence prediction with draft recycling, as reconstructed.

The body of the article (arXiv 2507.18181) was not at hand: this is a reconstruction from its description at the level
of the abstract. A round drafts greedily from the verified text and stops after a token with a probability below 0.4,
at the end of the text or after 24 tokens. When the target rejects a token, what was drafted behind it is kept. The
next round drafts anew, and where a new token equals a kept one within two positions, the kept ones behind it are taken
over without drafting them. The drafter's cache takes the tokens in, in one call, when it drafts next.
"""

from collections.abc import Iterator

from as2d.decoding.confidence import LONGEST_DRAFT, THRESHOLD
from as2d.decoding.recycle import left_over, recycled
from as2d.decoding.rounds import Rounds
from as2d.decoding.speculative import Turns
from as2d.decoding.stop import StopRules
from as2d.drafting.words import Word
from as2d.models.contract import Decoder
from as2d.records import Commit


def decode_specasr(
    target: Decoder, turns: Turns, rules: StopRules, *, vocabulary_size: int
) -> Iterator[Commit]:
    """Decode to the end, one commit a round. All is done on the target's tokens, whatever those of the drafter are.

    Whatever is drafted, the tokens are the target's own.
    """
    rounds = Rounds(target, rules, vocabulary_size)
    rounds.use_threads(turns.threads)
    kept: tuple[int, ...] = ()
    while not rounds.finished:
        room = rounds.room(LONGEST_DRAFT)
        candidates = rounds.usable(_drafted(turns, rounds.committed, room, kept))
        commit = rounds.verify(candidates, turns.source)
        kept = left_over(candidates, commit.accepted)
        yield commit


def _drafted(turns: Turns, committed: list[int], room: int, kept: tuple[int, ...]) -> tuple[int, ...]:
    def enough(draft: Word) -> bool:
        unsure = any(probability < THRESHOLD for probability in draft.probabilities)
        return unsure or recycled(draft.tokens, kept) is not None

    draft = turns.drafter.draft(committed, room, enough)
    return (recycled(draft.tokens, kept) or draft.tokens)[: max(room, 0)]
