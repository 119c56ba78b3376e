"""What has been prepared is kept up to a bound, and counted right."""

from dataclasses import dataclass
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.session.store import PreparedStore, array_bytes

KILO = 1000


def block(size: int) -> NDArray[np.uint8]:
    return np.zeros(size, np.uint8)


@dataclass(frozen=True, slots=True)
class Slotted:
    one: Any
    many: Any = None


class Named(NamedTuple):
    array: Any
    text: str = "abc"


TEN = block(10)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 0),
        ("text", 0),
        (block(7), 7),
        (np.zeros((3, 4), np.float32), 48),
        ((block(1), [block(2), {"k": block(4)}]), 7),
        (Slotted(block(8), (Named(block(16)), Slotted(block(32)))), 56),
        ((TEN, TEN, Slotted(TEN)), 10),
        ((TEN[:5], TEN[5:], TEN.reshape(2, 5)), 10),
        (Slotted, 0),
    ],
)
def test_each_array_counts_once(value: object, expected: int) -> None:
    assert array_bytes(value) == expected


def test_the_least_recently_used_goes_first() -> None:
    store: PreparedStore[str, NDArray[np.uint8]] = PreparedStore(3 * KILO)
    for key in "abc":
        store.put(key, block(KILO))
    assert store.get("a") is not None
    assert "b" in store, "which does not use it"
    store.put("d", block(KILO))
    assert list(store.items()) == ["c", "a", "d"]
    assert store.held == 3 * KILO
    store.put("e", block(2 * KILO))
    assert list(store.items()) == ["d", "e"]


def test_a_value_may_take_the_place_of_another() -> None:
    store: PreparedStore[str, NDArray[np.uint8]] = PreparedStore(3 * KILO)
    store.put("a", block(KILO))
    store.put("a", block(2 * KILO))
    assert store.held == 2 * KILO
    store.discard("a")
    store.discard("a")
    assert (store.held, store.get("a")) == (0, None)


def test_what_alone_is_too_much_is_not_kept() -> None:
    store: PreparedStore[str, NDArray[np.uint8]] = PreparedStore(KILO)
    store.put("a", block(KILO + 1))
    assert (store.held, "a" in store) == (0, False)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50))), st.integers(0, 100))
def test_the_bound_holds_whatever_is_put(puts: list[tuple[int, int]], bound: int) -> None:
    store: PreparedStore[int, NDArray[np.uint8]] = PreparedStore(bound)
    for key, size in puts:
        store.put(key, block(size))
        assert store.held == sum(len(value) for value in store.items().values()) <= bound
        assert (key in store) == (size <= bound)


def test_any_thread_may_use_it() -> None:
    store: PreparedStore[int, NDArray[np.uint8]] = PreparedStore(5 * KILO)

    def use(seed: int) -> None:
        for key in np.random.default_rng(seed).integers(0, 20, 300).tolist():
            store.put(key, block(KILO))
            store.get(key - 1)
            store.discard(key - 2)

    threads = [Thread(target=use, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.held == KILO * len(store.items()) <= 5 * KILO
