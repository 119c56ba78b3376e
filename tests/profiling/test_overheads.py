"""What a round costs besides the models."""

from collections.abc import Callable

import numpy as np

from as2d.decoding.align import Marks, follow
from as2d.models.contract import AudioModel
from as2d.profiling import overheads
from as2d.records import Instruction

ToyFactory = Callable[..., AudioModel]


def test_each_overhead_takes_time_and_little_of_it(toy: ToyFactory) -> None:
    model = toy("Hi")
    decoder = model.open(model.prepare(np.zeros(1, np.float32), 1), Instruction("transcribe", "en"), 1)
    decoder.forward([1, 2, 3])
    found = overheads.measure_overheads(decoder, 50_000)
    assert set(found) == {"publish", "round", "realign", "truncate"}
    assert all(0 < timing.ms < 10 and timing.repetitions == 15 for timing in found.values())
    assert decoder.length == 3


def test_the_loop_is_timed_on_rounds_that_are_accepted_whole() -> None:
    commits = list(overheads._recited(range(800), 800))
    assert len(commits) == 100
    assert {(commit.width, commit.accepted) for commit in commits} == {(8, 7)}
    assert [token for commit in commits for token in commit.tokens] == list(range(800))


def test_the_search_is_timed_on_a_place_that_is_found() -> None:
    cursor, said, published = overheads._word_left_out(range(800))
    found = follow(cursor, said, published, Marks())
    assert (found.position, found.lost) == (len(published), False)
