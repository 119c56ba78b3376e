"""One window with every kind of bad drafter: the answer is the target's, and the fault is named."""

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from threading import enumerate as threads
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest

from as2d.drafting.publication import BatchSize
from as2d.errors import CancelledError
from as2d.models.contract import AudioModel, Vocabulary
from as2d.records import Commit, Instruction
from as2d.runtime.pair import Pair, PreparedWindow, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window

ToyFactory = Callable[..., AudioModel]
Step = Callable[[Sequence[int]], int]

TEXT = "Ask not what your country can do for you, ask what you can do for your country."
END = 256
ENGLISH = Instruction("transcribe", "en")
SPEECH = SpeechWindow(1600, np.zeros(16_000, np.float32))


def recite(prefix: Sequence[int]) -> int:
    return (*TEXT.encode(), END)[len(prefix)] if len(prefix) <= len(TEXT) else ord("?")


def unhurried(prefix: Sequence[int]) -> int:
    """A target that gives its drafter time."""
    sleep(0.001)
    return recite(prefix)


def drained(run: Iterator[Commit]) -> tuple[list[Commit], WindowRecord]:
    commits = []
    while True:
        try:
            commits.append(next(run))
        except StopIteration as stop:
            return commits, stop.value


def decode(
    target: AudioModel,
    drafter: AudioModel | None,
    *,
    prepared: bool = True,
    budget: int = 7,
    batch: BatchSize = "word",
    instruction: Instruction = ENGLISH,
    any_language: bool = False,
) -> WindowRecord:
    pair = Pair(target, (lambda: drafter) if drafter else None, threads=2)
    window: SpeechWindow | PreparedWindow = SPEECH
    if prepared:
        window = pair.prepare(SPEECH, "en", any_language=any_language)
    decoding = Decoding("as2d", budget, batch, any_language)
    commits, record = drained(run_window(pair, window, instruction, decoding, Event()))
    assert record.commits == tuple(commits)
    assert (record.start, record.end) == (SPEECH.start, SPEECH.end)
    return record


def text_of(record: WindowRecord) -> str:
    return bytes(t for commit in record.commits for t in commit.tokens if t != END).decode()


def proposed(record: WindowRecord) -> int:
    return sum(commit.proposed for commit in record.commits)


@pytest.fixture
def target(toy: ToyFactory) -> AudioModel:
    return toy(unhurried)


@pytest.fixture
def release() -> Iterator[Event]:
    """Set when the test is over, for drafters that would hang for ever."""
    event = Event()
    yield event
    event.set()
    for thread in threads():
        if thread.name == "as2d-producer":
            thread.join(5)


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("batch", ["word", 1, 8, 1000])
def test_a_good_drafter_is_used(
    target: AudioModel, toy: ToyFactory, prepared: bool, batch: BatchSize
) -> None:
    record = decode(target, toy(TEXT), prepared=prepared, batch=batch)
    assert text_of(record) == TEXT
    assert record.drafted
    assert record.fault is None
    assert sum(commit.accepted for commit in record.commits) > 0
    assert record.producer_done_ms >= record.decode_ms > 0


@pytest.mark.parametrize("prepared", [True, False])
def test_without_a_drafter_the_target_is_alone(target: AudioModel, prepared: bool) -> None:
    record = decode(target, None, prepared=prepared)
    assert text_of(record) == TEXT
    assert not record.drafted
    assert {commit.origins for commit in record.commits} == {("alone",)}


def test_with_a_budget_of_nothing_nobody_drafts(target: AudioModel, toy: ToyFactory) -> None:
    record = decode(target, toy(TEXT), budget=0)
    assert text_of(record) == TEXT
    assert not record.drafted


@pytest.mark.parametrize("prepared", [True, False])
def test_a_detected_language_decides_who_drafts(toy: ToyFactory, prepared: bool) -> None:
    target = toy(unhurried, languages=("de", "en"))
    detected = Instruction("transcribe", None)
    pair = Pair(target, lambda: toy(TEXT), threads=2)
    for any_language in (False, True):
        window = pair.prepare(SPEECH, None, any_language=any_language) if prepared else SPEECH
        decoding = Decoding("as2d", 7, "word", any_language)
        _, record = drained(run_window(pair, window, detected, decoding, Event()))
        assert record.language == "de"
        assert record.drafted is any_language
        assert record.fault is None
        assert text_of(record) == TEXT


class Strange:
    """A vocabulary that has text for every id."""

    size = 257
    weak_tokens: frozenset[int] = frozenset()
    word_starts: frozenset[int] = frozenset()

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(map(str, tokens))

    def token_bytes(self, token: int) -> bytes:
        return f" {token}".encode() if token % 2 else b"\xff\xfe\x80"


class Unknowing(Strange):
    """A target's vocabulary that encodes what it does not know as ids that it does not have."""

    def encode(self, text: str) -> tuple[int, ...]:
        return (-1, 10**12, -(10**12), 257) * 3

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]) if token < END else b""


def strange_id(prefix: Sequence[int]) -> int:
    size = int(10 ** (len(prefix) % 12))
    return -size if len(prefix) % 2 else size


def failing_at(count: int, error: BaseException) -> Step:
    def step(prefix: Sequence[int]) -> int:
        if len(prefix) == count:
            raise error
        return recite(prefix)

    return step


def failing(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def endless(prefix: Sequence[int]) -> int:
    return ord("a") + len(prefix) * len(prefix) % 25


def very_slow(prefix: Sequence[int]) -> int:
    sleep(0.3)
    return ord("a")


BAD: dict[str, tuple[Step | str, dict[str, Any], str | None]] = {
    "raises at once": (failing_at(0, ValueError("bad head")), {}, "ValueError: bad head"),
    "raises later": (failing_at(20, OverflowError("cache")), {}, "OverflowError: cache"),
    "exits": (failing_at(3, SystemExit(1)), {}, "SystemExit: 1"),
    "runs out of memory": (failing_at(3, MemoryError("full")), {}, "MemoryError: full"),
    "cannot open": (TEXT, {"on_open": failing(RuntimeError("no session"))}, "RuntimeError: no session"),
    "has no room": (TEXT, {"capacity": 5}, None),
    "says nothing": ("", {}, None),
    "closes early": (TEXT[:30], {}, None),
    "says something else": ("Completely different words, all of them. " * 3, {}, None),
    "is never right": (lambda prefix: ord("#"), {}, None),
    "repeats one phrase": (lambda prefix: b"ask "[len(prefix) % 4], {"limit": 10**9}, None),
    "never ends": (endless, {"limit": 10**9}, None),
    "says ids that it does not have": (strange_id, {}, "ValueError: "),
    "says strange ids": (strange_id, {"vocabulary": Strange()}, None),
    "is too slow": (very_slow, {}, None),
    "has a limit of nothing": (TEXT, {"limit": 0}, None),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("budget", [1, 7, 24])
def test_a_bad_drafter_changes_nothing(
    target: AudioModel, toy: ToyFactory, kind: str, prepared: bool, budget: int
) -> None:
    says, fields, fault = BAD[kind]
    record = decode(target, toy(says, **fields), prepared=prepared, budget=budget)
    assert text_of(record) == TEXT
    assert record.commits[-1].finish_reason == "stop"
    assert record.drafted
    assert (record.fault is None) == (fault is None)
    assert (record.fault or "").startswith(fault or "")


def test_tokens_that_no_vocabulary_has_are_not_proposed(toy: ToyFactory) -> None:
    vocabulary: Vocabulary = Unknowing()
    record = decode(toy(unhurried, vocabulary=vocabulary), toy(TEXT))
    assert text_of(record) == TEXT
    assert record.drafted
    assert record.fault is None
    assert proposed(record) == 0


@pytest.mark.parametrize("error", [ValueError("bad mel"), SystemExit(2), MemoryError("full")])
def test_a_drafter_that_cannot_encode(target: AudioModel, toy: ToyFactory, error: BaseException) -> None:
    record = decode(target, toy(TEXT, on_prepare=failing(error)), prepared=False)
    assert text_of(record) == TEXT
    assert record.fault == f"{type(error).__name__}: {error}"


def test_a_preparation_without_drafter_is_decoded_alone_and_its_fault_is_kept(
    target: AudioModel, toy: ToyFactory
) -> None:
    record = decode(target, toy(TEXT, on_prepare=failing(ValueError("bad mel"))))
    assert text_of(record) == TEXT
    assert not record.drafted
    assert record.fault == "ValueError: bad mel"


def test_a_drafter_that_publishes_late_is_used_from_then_on(toy: ToyFactory) -> None:
    gate = Event()

    def said(prefix: Sequence[int]) -> int:
        if len(prefix) == 40:
            gate.set()
        return unhurried(prefix)

    def late(prefix: Sequence[int]) -> int:
        gate.wait(5)
        return recite(prefix)

    record = decode(toy(said), toy(late))
    assert text_of(record) == TEXT
    assert {commit.proposed for commit in record.commits[:39]} == {0}
    assert proposed(record) > 0


@pytest.mark.parametrize("where", ["on_prepare", "on_open", "step"])
def test_a_drafter_that_hangs_is_left_behind_after_a_second(
    target: AudioModel, toy: ToyFactory, release: Event, where: str
) -> None:
    def hang() -> None:
        release.wait(30)

    def hanging(prefix: Sequence[int]) -> int:
        hang()
        return END

    drafter = toy(hanging) if where == "step" else toy(TEXT, **{where: hang})
    began = perf_counter()
    record = decode(target, drafter, prepared=False)
    assert perf_counter() - began < 2.5
    assert text_of(record) == TEXT
    assert record.fault == "it did not stop within 1 s and was left behind"
    assert record.producer_done_ms > 900 + record.decode_ms


def test_cancelling_ends_the_window_and_its_producer(target: AudioModel, toy: ToyFactory) -> None:
    cancelled = Event()
    pair = Pair(target, lambda: toy(endless, limit=10**9), threads=2)
    run = run_window(pair, SPEECH, ENGLISH, Decoding("as2d", 7, "word", False), cancelled)
    next(run)
    assert "as2d-producer" in {thread.name for thread in threads()}
    cancelled.set()
    with pytest.raises(CancelledError):
        next(run)
    assert "as2d-producer" not in {thread.name for thread in threads()}


def test_closing_the_generator_ends_the_producer(target: AudioModel, toy: ToyFactory) -> None:
    pair = Pair(target, lambda: toy(endless, limit=10**9), threads=2)
    run = run_window(pair, SPEECH, ENGLISH, Decoding("as2d", 7, "word", False), Event())
    next(run)
    run.close()
    assert "as2d-producer" not in {thread.name for thread in threads()}


def test_a_target_that_fails_ends_the_producer_and_says_why(toy: ToyFactory) -> None:
    target = toy(failing_at(10, ValueError("broken target")))
    pair = Pair(target, lambda: toy(endless, limit=10**9), threads=2)
    with pytest.raises(ValueError, match="broken target"):
        drained(run_window(pair, SPEECH, ENGLISH, Decoding("as2d", 7, "word", False), Event()))
    assert "as2d-producer" not in {thread.name for thread in threads()}


@pytest.mark.parametrize(("says", "limit", "reason"), [("la " * 60, 500, "repetition"), (TEXT, 20, "length")])
def test_a_window_ends_where_the_rules_say(toy: ToyFactory, says: str, limit: int, reason: str) -> None:
    alone = decode(toy(says, limit=limit), None)
    drafted = decode(toy(says, limit=limit), toy(says))
    assert text_of(alone) == text_of(drafted)
    assert alone.commits[-1].finish_reason == drafted.commits[-1].finish_reason == reason
