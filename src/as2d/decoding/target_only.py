"""The target alone, one token a round: what every other method must equal."""

from collections.abc import Iterator

from as2d.decoding.rounds import Rounds
from as2d.decoding.stop import StopRules
from as2d.models.contract import Decoder
from as2d.records import Commit


def decode_alone(target: Decoder, rules: StopRules, threads: int) -> Iterator[Commit]:
    """Decode to the end on `threads` cores without any source."""
    rounds = Rounds(target, rules, vocabulary_size=0)
    rounds.use_threads(threads)
    while not rounds.finished:
        yield rounds.verify()
