"""The greedy pick and its rules, against plain numpy."""

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.models.whisper.rules import Head, make_head

SPEAKABLE = [3, 5, 7, 11, 13]
LANGUAGES = [20, 21]


def head(*, begin: frozenset[int] = frozenset({5, 9}), with_probability: bool = True) -> Head:
    return make_head(SPEAKABLE, begin, LANGUAGES, with_probability=with_probability)


def logits(*rows: list[float]) -> NDArray[np.float32]:
    return np.array(rows, np.float32)


def test_the_columns_are_the_speakable_ids_and_then_the_languages() -> None:
    assert head().ids.tolist() == [*SPEAKABLE, *LANGUAGES]
    assert head().begin_columns.tolist() == [1]


def test_the_best_speakable_token_is_picked_and_a_language_never() -> None:
    rows = head().pick(logits([0, 1, 9, 2, 3, 99, 0], [4, 1, 0, 2, 3, 0, 99]), first_row=-1)
    assert rows.greedy == (7, 3)
    assert all(type(token) is int for token in rows.greedy)


@pytest.mark.parametrize(("first_row", "greedy"), [(0, (3, 5)), (1, (5, 3)), (-1, (5, 5)), (2, (5, 5))])
def test_only_the_row_that_says_the_first_token_has_the_begin_rule(
    first_row: int, greedy: tuple[int, ...]
) -> None:
    row = [1.0, 2, 0, 0, 0, 0, 0]
    assert head().pick(logits(row, row), first_row).greedy == greedy


def test_of_equal_logits_the_lowest_id_wins() -> None:
    assert head().pick(logits([0, 4, 4, 4, 0, 0, 0]), first_row=-1).greedy == (5,)
    assert head().pick(logits([0, 4, 4, 4, 0, 0, 0]), first_row=0).greedy == (7,)


def test_a_language_is_picked_among_languages_only() -> None:
    assert head().best_language(logits([9, 9, 9, 9, 9, 1, 2])[0]) == 21
    assert head().best_language(logits([9, 9, 9, 9, 9, 2, 2])[0]) == 20


def softmax(row: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(row - row.max())
    return np.asarray(powers / powers.sum())


@pytest.mark.parametrize("first_row", [-1, 0, 3])
def test_token_and_probability_are_those_of_a_softmax(first_row: int) -> None:
    scores = np.random.default_rng(0).normal(0, 5, (6, 7)).astype(np.float32)
    expected = scores[:, : len(SPEAKABLE)].astype(np.float64)
    if first_row >= 0:
        expected[first_row, 1] = -np.inf
    rows = head().pick(scores.copy(), first_row)
    probabilities = np.array([softmax(row) for row in expected])
    assert rows.greedy == tuple(SPEAKABLE[column] for column in probabilities.argmax(axis=1))
    np.testing.assert_allclose(rows.probability, probabilities.max(axis=1), rtol=1e-5)


def test_a_target_s_probabilities_are_not_computed() -> None:
    assert head(with_probability=False).pick(logits([0] * 7), 0).probability == ()


def test_rules_for_tokens_that_cannot_be_said_are_left_out() -> None:
    assert head(begin=frozenset({1, 2, 20})).begin_columns.tolist() == []
