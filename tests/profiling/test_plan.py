"""Which calls are timed."""

from itertools import product

import pytest

from as2d.errors import InputError
from as2d.profiling.plan import Other, Plan, Point, contexts_within, points, splits


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        (1, {(1, 1)}),
        (2, {(1, 1)}),
        (3, {(2, 1), (1, 2)}),
        (4, {(3, 1), (2, 2)}),
        (8, {(7, 1), (6, 2), (4, 4)}),
    ],
)
def test_splits_give_each_side_a_core(threads: int, expected: set[tuple[int, int]]) -> None:
    assert set(splits(threads)) == expected


def plan(threads: int = 2) -> Plan:
    return Plan(threads, "big", ("small", "shared"), ("shared",))


def test_each_point_is_timed_once() -> None:
    assert len(points(plan())) == len(set(points(plan())))


def test_the_target_is_timed_at_every_width_context_and_length_on_every_side() -> None:
    sides = [(2, None), (1, None), (1, Other("small", 1, 1)), (1, Other("shared", 1, 1))]
    wanted = {
        Point("forward", "big", cores, audio_s, context, width, beside)
        for (cores, beside), audio_s, context, width in product(
            sides, (10.0, 30.0), (8, 64, 192), range(1, 26)
        )
    }
    assert {point for point in points(plan()) if (point.doing, point.model) == ("forward", "big")} == wanted


def test_a_drafter_is_timed_at_one_token_alone_and_beside_narrow_and_wide_rounds() -> None:
    sides = [(1, None), (2, None), (1, Other("big", 1, 1)), (1, Other("big", 1, 8))]
    found = [point for point in points(plan()) if (point.doing, point.model) == ("forward", "small")]
    assert {(point.cores, point.beside) for point in found} == set(sides)
    assert {point.width for point in found} == {1}
    assert len(found) == len(sides) * 3 * 2


def test_only_sides_with_an_encoder_encode_beside_each_other() -> None:
    beside = {
        (point.model, point.beside) for point in points(plan()) if point.doing == "encode" and point.beside
    }
    assert beside == {("big", Other("small", 1, 0)), ("small", Other("big", 1, 0))}


def test_prompts_are_timed_alone_and_beside_the_other_side_at_work() -> None:
    found = [point for point in points(plan()) if point.doing == "open" and point.model == "big"]
    assert {(point.cores, point.beside and point.beside.model) for point in found} == {
        *((1, None), (2, None), (1, "small"), (1, "shared"))
    }


def test_a_single_core_is_shared() -> None:
    found = [point for point in points(plan(1)) if point.doing == "forward" and point.beside]
    assert {(point.cores, point.beside.cores) for point in found if point.beside} == {(1, 1)}


def test_a_target_alone_has_no_other_side() -> None:
    assert all(point.beside is None for point in points(Plan(2, "big", (), ())))


@pytest.mark.parametrize(("room", "expected"), [(1000, (8, 64, 192)), (100, (8, 64, 100)), (5, (5,))])
def test_contexts_are_cut_to_the_room(room: int, expected: tuple[int, ...]) -> None:
    assert contexts_within(room) == expected


def test_no_room_and_no_threads_are_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        contexts_within(0)
    with pytest.raises(InputError, match="use 1 or more"):
        plan(0)
