"""What SpecASR uses again of a rejected draft."""

import pytest

from as2d.decoding.confidence import through_unsure
from as2d.decoding.recycle import left_over, recycled


@pytest.mark.parametrize(("accepted", "left"), [(0, (11, 12, 13)), (2, (13,)), (3, ()), (4, ())])
def test_what_follows_the_rejected_token_is_left_over(accepted: int, left: tuple[int, ...]) -> None:
    assert left_over((10, 11, 12, 13), accepted) == left


@pytest.mark.parametrize(
    ("draft", "found"),
    [
        ((20,), (20, 21, 22, 23, 24)),
        ((9, 21), (9, 21, 22, 23, 24)),
        ((9, 20), (9, 20, 21, 22, 23, 24)),  # a token was added
        ((9, 8, 20), (9, 8, 20, 21, 22, 23, 24)),  # two
        ((21,), (21, 22, 23, 24)),  # one was left out
        ((22,), (22, 23, 24)),
        ((23,), None),  # three
        ((9, 8, 7, 20), None),
        ((9, 8, 24), (9, 8, 24)),  # the last that was kept: there is no rest
        ((9,), None),
        ((), None),
        ((20, 9), (20, 21, 22, 23, 24)),  # the first that is back decides
    ],
)
def test_a_draft_that_is_back_takes_over_the_rest(
    draft: tuple[int, ...], found: tuple[int, ...] | None
) -> None:
    assert recycled(draft, (20, 21, 22, 23, 24)) == found


def test_of_equal_tokens_the_nearest_is_meant() -> None:
    assert recycled((9, 5), (5, 6, 5, 7)) == (9, 5, 6, 5, 7)
    assert recycled((5,), (6, 5, 5, 7)) == (5, 5, 7)
    assert recycled((9, 8, 5), (5, 6, 5, 7)) == (9, 8, 5, 7)
    assert recycled((5,), ()) is None


@pytest.mark.parametrize(
    ("threshold", "count"), [(0.0, 4), (0.4, 2), (0.3, 4), (0.31, 2), (0.95, 1), (float("nan"), 4)]
)
def test_tokens_end_with_the_first_unsure_one(threshold: float, count: int) -> None:
    tokens = (1, 2, 3, 4)
    assert through_unsure(tokens, (0.9, 0.3, 0.9, 0.3), threshold) == tokens[:count]
