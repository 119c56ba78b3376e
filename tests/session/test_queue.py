"""Whose turn it is."""

from functools import partial
from itertools import pairwise
from threading import Thread
from time import sleep

from hypothesis import given
from hypothesis import strategies as st

from as2d.session.queue import FairQueue, Lanes


def order(*puts: tuple[str, int]) -> list[tuple[str, int]]:
    """In which order jobs that were put into lanes come out."""
    done: list[tuple[str, int]] = []
    lanes = Lanes()
    for put in puts:
        lanes.put(put[0], partial(done.append, put))
    while lanes:
        lanes.take()()
    return done


def test_lanes_take_turns_and_are_in_order_within() -> None:
    found = order(("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1), ("b", 2))
    assert found == [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("a", 3)]


def test_a_lane_with_a_hundred_jobs_starves_nobody() -> None:
    found = order(*[("a", number) for number in range(100)], ("b", 1))
    assert found.index(("b", 1)) == 1


@given(st.lists(st.sampled_from("abcd"), max_size=40))
def test_nothing_is_lost_and_nobody_waits_more_than_a_round(lanes: list[str]) -> None:
    puts = [(lane, lanes[:index].count(lane)) for index, lane in enumerate(lanes)]
    found = order(*puts)
    assert sorted(found) == sorted(puts)
    for lane in set(lanes):
        places = [place for place, (its_lane, _) in enumerate(found) if its_lane == lane]
        assert [found[place][1] for place in places] == sorted(found[place][1] for place in places)
        assert all(after - before <= len(set(lanes)) for before, after in pairwise(places))


def test_the_background_comes_after_all_requests_and_its_lanes_take_turns() -> None:
    done: list[str] = []
    queue = FairQueue()
    for name in ("x1", "x2", "y1"):
        assert queue.put_background(name[0], partial(done.append, name))
    for name in ("a1", "a2", "b1"):
        assert queue.put(name[0], partial(done.append, name))
    for _ in range(6):
        job = queue.take()
        assert job
        job()
    assert done == ["a1", "b1", "a2", "x1", "y1", "x2"]


def test_once_closed_what_waits_is_given_out_but_for_the_background() -> None:
    queue = FairQueue()
    queue.put("a", lambda: None)
    queue.put_background("a", lambda: None)
    queue.close()
    queue.close()
    assert not queue.put("a", lambda: None)
    assert not queue.put_background("a", lambda: None)
    assert queue.take() is not None
    assert queue.take() is None


def test_who_takes_waits_for_a_job_or_the_end() -> None:
    queue = FairQueue()
    taken: list[bool] = []

    def take() -> None:
        while queue.take() is not None:
            taken.append(True)
        taken.append(False)

    taker = Thread(target=take)
    taker.start()
    sleep(0.02)
    assert taken == []
    queue.put_background("a", lambda: None)
    queue.put("a", lambda: None)
    sleep(0.02)
    queue.close()
    taker.join(5)
    assert taken == [True, True, False]
