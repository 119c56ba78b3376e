"""The candidate buffer: whole batches, append-only, closed once."""

from threading import Thread

import pytest

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.errors import ClosedError, InputError


def test_batches_are_appended() -> None:
    buffer = CandidateBuffer()
    assert buffer.snapshot() == Snapshot()
    buffer.publish([1, 2], [0.5, 0.25])
    before = buffer.snapshot()
    buffer.publish((3,), (1.0,))
    assert before == Snapshot((1, 2), (0.5, 0.25))
    assert buffer.snapshot() == Snapshot((1, 2, 3), (0.5, 0.25, 1.0))


def test_a_batch_is_not_changed_through_the_writers_list() -> None:
    buffer = CandidateBuffer()
    tokens = [1, 2]
    buffer.publish(tokens, [0.5, 0.5])
    tokens[0] = 9
    assert buffer.snapshot().tokens == (1, 2)


def test_close_keeps_what_was_published() -> None:
    buffer = CandidateBuffer()
    buffer.publish([1], [0.5])
    buffer.close()
    assert buffer.snapshot() == Snapshot((1,), (0.5,), closed=True)
    with pytest.raises(ClosedError, match="before close"):
        buffer.publish([2], [0.5])


def test_the_first_fault_is_kept() -> None:
    buffer = CandidateBuffer()
    buffer.close()
    assert buffer.fault is None
    buffer.close("ValueError: first")
    buffer.close("ValueError: second")
    buffer.close()
    assert buffer.fault == "ValueError: first"


@pytest.mark.parametrize(
    ("tokens", "probabilities"),
    [([1, 2], [0.5]), ([], [0.5]), ([1.0], [0.5]), (["1"], [0.5]), ([None], [0.5]), ([True], [0.5])],
)
def test_a_malformed_batch_is_refused_whole(tokens: list[int], probabilities: list[float]) -> None:
    buffer = CandidateBuffer()
    with pytest.raises(InputError):
        buffer.publish(tokens, probabilities)
    assert buffer.snapshot() == Snapshot()


def test_ids_that_no_vocabulary_has_are_taken() -> None:
    buffer = CandidateBuffer()
    buffer.publish([-1, 10**30], [0.5, 0.5])
    assert buffer.snapshot().tokens == (-1, 10**30)


def test_a_reader_sees_only_whole_batches_beside_a_hammering_writer() -> None:
    buffer = CandidateBuffer()
    size, batches = 7, 400

    def write() -> None:
        for batch in range(batches):
            first = batch * size
            buffer.publish(range(first, first + size), [float(batch)] * size)
        buffer.close()

    writer = Thread(target=write)
    writer.start()
    before = buffer.snapshot()
    while not before.closed:
        now = buffer.snapshot()
        assert len(now.tokens) == len(now.probabilities)
        assert len(now.tokens) % size == 0
        assert now.tokens[: len(before.tokens)] == before.tokens
        before = now
    writer.join()
    assert before.tokens == tuple(range(size * batches))


def test_a_restart_begins_a_new_open_stream() -> None:
    buffer = CandidateBuffer()
    buffer.publish([1], [0.5])
    before = buffer.snapshot()
    buffer.restart(3)
    assert before == Snapshot((1,), (0.5,))
    assert buffer.snapshot() == Snapshot(start=3)
    buffer.publish([2], [0.25])
    buffer.close()
    assert buffer.snapshot() == Snapshot((2,), (0.25,), closed=True, start=3)
    buffer.restart(4)
    assert buffer.snapshot() == Snapshot(start=4)


@pytest.mark.parametrize("start", [-1, 0, 3])
def test_a_stream_starts_later_than_the_one_before(start: int) -> None:
    buffer = CandidateBuffer()
    buffer.restart(3)
    with pytest.raises(InputError):
        buffer.restart(start)
    assert buffer.snapshot() == Snapshot(start=3)
