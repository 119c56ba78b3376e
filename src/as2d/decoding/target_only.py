"""The target alone, one token a round: what every other method must equal."""

from collections.abc import Iterator

from as2d.decoding.align import Marks
from as2d.decoding.as2d import CoreSplit, decode
from as2d.decoding.stop import StopRules
from as2d.models.contract import Decoder
from as2d.records import Commit


def decode_alone(target: Decoder, rules: StopRules, threads: int) -> Iterator[Commit]:
    """Decode to the end on `threads` cores without any source."""
    return decode(target, (), rules, budget=0, cores=CoreSplit(threads), marks=Marks(), vocabulary_size=0)
