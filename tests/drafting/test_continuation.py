"""A drafter's text that is written on from any beginning: what is kept, what is computed, and where it ends."""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.drafting.continuation import Continuation, Step
from as2d.errors import InputError
from as2d.models.contract import Rows

ENDS = frozenset({0})


class Counting:
    """Says what a function of its cache says; the prompt is 5, 6, 7."""

    root = 7

    def __init__(self, model: Callable[[Sequence[int]], int], capacity: int = 1000) -> None:
        self.model = model
        self.capacity = capacity
        self.cache = [5, 6]
        self.calls: list[tuple[int, ...]] = []

    @property
    def length(self) -> int:
        return len(self.cache)

    def forward(self, tokens: Sequence[int]) -> Rows:
        if not tokens or self.length + len(tokens) > self.capacity:
            raise InputError("no room")
        self.calls.append(tuple(tokens))
        greedy = []
        for token in tokens:
            self.cache.append(token)
            greedy.append(self.model(self.cache))
        return Rows(tuple(greedy), tuple(token / 100 for token in greedy))

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        raise AssertionError("for the exactness probe only")

    def truncate(self, length: int) -> None:
        assert 2 <= length <= self.length
        del self.cache[length:]

    def use_threads(self, threads: int) -> None:
        raise AssertionError("a drafter keeps its cores")


def counting(cache: Sequence[int]) -> int:
    return cache[-1] + 1


def written(text: Continuation, count: int) -> list[int | None]:
    return [step.token if (step := text.step()) else None for _ in range(count)]


def test_it_writes_one_token_a_step_and_says_how_sure_it_is() -> None:
    decoder = Counting(counting)
    text = Continuation(decoder, ENDS, 100)
    assert [text.step() for _ in range(3)] == [Step(8, 0.08), Step(9, 0.09), Step(10, 0.10)]
    assert decoder.calls == [(7,), (8,), (9,)]


@pytest.mark.parametrize(
    ("given", "forwarded"),
    [
        ((8, 9, 10, 11), (11,)),  # all that was written, of which the last is not in the cache
        ((8, 9, 10), (10,)),  # the row of the last position is needed again
        ((8, 9, 10, 11, 30, 31), (11, 30, 31)),
        ((8, 9, 30), (30,)),
        ((30, 31, 32), (30, 31, 32)),
        ((8,), (8,)),
        ((), (7,)),
    ],
)
def test_only_what_the_cache_lacks_is_computed_in_one_call(
    given: tuple[int, ...], forwarded: tuple[int, ...]
) -> None:
    decoder = Counting(counting)
    text = Continuation(decoder, ENDS, 100)
    written(text, 4)
    decoder.calls.clear()
    text.rewind(given)
    assert decoder.calls == [], "nothing is computed before it is needed"
    assert written(text, 2) == [(7, *given)[-1] + 1, (7, *given)[-1] + 2]
    assert decoder.calls[0] == forwarded
    assert decoder.cache[:-1] == [5, 6, 7, *given]


def test_the_first_word_of_its_own_is_remembered() -> None:
    text = Continuation(Counting(counting), ENDS, 100)
    text.rewind((20,))
    written(text, 2)
    assert text.first is None
    text.rewind(())
    written(text, 2)
    text.rewind((30,))
    written(text, 2)
    assert text.first == 8


def test_an_end_id_ends_the_text_until_it_is_rewound() -> None:
    decoder = Counting(lambda cache: 0 if cache[-1] == 9 else counting(cache))
    text = Continuation(decoder, ENDS, 100)
    assert written(text, 4) == [8, 9, None, None]
    assert len(decoder.calls) == 3
    text.rewind((8, 9, 20))
    assert written(text, 2) == [21, 22]
    assert decoder.calls[3] == (20,), "what came before the end is kept"


@pytest.mark.parametrize(("limit", "capacity"), [(3, 1000), (100, 5), (0, 1000), (100, 2)])
def test_a_text_ends_at_its_limit_and_in_a_full_cache(limit: int, capacity: int) -> None:
    decoder = Counting(counting, capacity)
    text = Continuation(decoder, ENDS, limit)
    room = min(limit, capacity - 2)
    assert written(text, 5) == [*range(8, 8 + room), *(None,) * (5 - room)]
    text.rewind(range(20, 20 + room + 1))
    assert text.step() is None
    assert len(decoder.calls) == room
    text.rewind(())
    assert text.step() == (None if room == 0 else Step(8, 0.08))


def test_a_text_ends_in_a_loop() -> None:
    text = Continuation(Counting(lambda _: 4), ENDS, 1000)
    assert written(text, 26) == [4] * 24 + [None] * 2
    text.rewind((9,))
    assert text.step() == Step(4, 0.04)


@given(st.lists(st.lists(st.integers(10, 13), max_size=6), max_size=8), st.integers(0, 2**32))
def test_rewound_in_any_way_it_writes_what_a_fresh_one_writes(texts: list[list[int]], seed: int) -> None:
    def model(cache: Sequence[int]) -> int:
        return 10 + Random(repr((seed, list(cache)))).randrange(4)

    text = Continuation(Counting(model), ENDS, 100)
    for given_text in texts:
        text.rewind(given_text)
        fresh = Continuation(Counting(model), ENDS, 100)
        fresh.rewind(given_text)
        assert written(text, 3) == written(fresh, 3)
