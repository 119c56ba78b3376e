"""One window with every kind of bad drafter: the answer is the target's, and the fault is named."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from threading import enumerate as threads
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.drafting.publication import BatchSize
from as2d.errors import CancelledError, InputError
from as2d.models.contract import AudioModel, Rows, Vocabulary
from as2d.records import METHODS, Commit, Instruction, UsedMethod
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
    drafter: AudioModel | Sequence[Any] | None,
    *,
    prepared: bool = True,
    budget: int = 7,
    batch: BatchSize = "word",
    instruction: Instruction = ENGLISH,
    any_language: bool = False,
    resync: bool = False,
    cores: int = 2,
    drafter_cores: int = 1,
    method: UsedMethod = "as2d",
) -> WindowRecord:
    models = drafter if isinstance(drafter, Sequence) else [drafter] if drafter else []
    pair = Pair(target, [partial(_same, model) for model in models], cores, drafter_cores)
    window: SpeechWindow | PreparedWindow = SPEECH
    if prepared:
        window = pair.prepare(SPEECH, Instruction(language="en"), any_language=any_language)
    decoding = Decoding(method, budget, batch, any_language, resync)
    commits, record = drained(run_window(pair, window, instruction, decoding, Event()))
    assert record.commits == tuple(commits)
    assert (record.start, record.end) == (SPEECH.start, SPEECH.end)
    return record


def _same(model: Any) -> Any:
    return model


def text_of(record: WindowRecord) -> str:
    return bytes(t for commit in record.commits for t in commit.tokens if t != END).decode()


def proposed(record: WindowRecord) -> int:
    return sum(commit.proposed for commit in record.commits)


def producers() -> list[str]:
    return [thread.name for thread in threads() if thread.name == "as2d-producer"]


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
    assert record.faults == ()
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
        window = pair.prepare(SPEECH, Instruction(), any_language=any_language) if prepared else SPEECH
        decoding = Decoding("as2d", 7, "word", any_language)
        _, record = drained(run_window(pair, window, detected, decoding, Event()))
        assert record.language == "de"
        assert record.drafted is any_language
        assert record.faults == ()
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
    assert len(record.faults) == (fault is not None)
    assert "".join(record.faults).startswith(fault or "")


def test_tokens_that_no_vocabulary_has_are_not_proposed(toy: ToyFactory) -> None:
    vocabulary: Vocabulary = Unknowing()
    record = decode(toy(unhurried, vocabulary=vocabulary), toy(TEXT))
    assert text_of(record) == TEXT
    assert record.drafted
    assert record.faults == ()
    assert proposed(record) == 0


@pytest.mark.parametrize("error", [ValueError("bad mel"), SystemExit(2), MemoryError("full")])
def test_a_drafter_that_cannot_encode(target: AudioModel, toy: ToyFactory, error: BaseException) -> None:
    record = decode(target, toy(TEXT, on_prepare=failing(error)), prepared=False)
    assert text_of(record) == TEXT
    assert record.faults == (f"{type(error).__name__}: {error}",)


def test_a_preparation_without_drafter_is_decoded_alone_and_its_fault_is_kept(
    target: AudioModel, toy: ToyFactory
) -> None:
    record = decode(target, toy(TEXT, on_prepare=failing(ValueError("bad mel"))))
    assert text_of(record) == TEXT
    assert not record.drafted
    assert record.faults == ("ValueError: bad mel",)


def test_a_drafter_that_publishes_late_is_used_from_then_on(toy: ToyFactory) -> None:
    gate = Event()

    def said(prefix: Sequence[int]) -> int:
        if len(prefix) == 10:
            gate.set()
        return unhurried(prefix)

    def late(prefix: Sequence[int]) -> int:
        gate.wait(5)
        return recite(prefix)

    record = decode(toy(said), toy(late))
    assert text_of(record) == TEXT
    assert {commit.proposed for commit in record.commits[:9]} == {0}
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
    assert record.faults == ("it did not stop within 1 s and was left behind",)
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


@dataclass
class Parrot:
    """A recogniser that says the whole text at its first chunk."""

    name: str = "parrot"
    languages: tuple[str, ...] = ("en",)
    heard: list[int] = field(default_factory=list)

    def open(self, language: str, stop: Event) -> "Parrot":
        return self

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:
        self.heard.append(len(chunk))
        return TEXT

    def close(self) -> None:
        """Nothing is held."""


class Sharing:
    """A drafter without an encoder."""

    def __init__(self, model: AudioModel) -> None:
        self._model = model
        self.name = "sharing"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def prepare(self, samples: NDArray[np.float32], threads: int) -> Any:
        raise AssertionError("it has no encoder")

    def share(self, prepared: Any) -> Any:
        return prepared


class Watched:
    """A target that notes the cores on which it encodes and opens."""

    def __init__(self, model: AudioModel) -> None:
        self._model = model
        self.cores: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def prepare(self, samples: NDArray[np.float32], threads: int) -> Any:
        self.cores.append(threads)
        return self._model.prepare(samples, threads)

    def open(self, prepared: Any, instruction: Instruction, threads: int) -> Any:
        self.cores.append(threads)
        return self._model.open(prepared, instruction, threads)


def good(toy: ToyFactory, kind: str) -> Any:
    return {"drafter": toy(TEXT), "recogniser": Parrot(), "sharing": Sharing(toy(TEXT))}[kind]


KINDS = ["drafter", "recogniser", "sharing"]


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_source_is_used(target: AudioModel, toy: ToyFactory, kind: str, prepared: bool) -> None:
    record = decode(target, [good(toy, kind)], prepared=prepared)
    assert text_of(record) == TEXT
    assert record.faults == ()
    assert sum(commit.accepted for commit in record.commits) > 0


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("resync", [True, False])
@pytest.mark.parametrize("kind", [kind for kind in BAD if kind != "is too slow"])
def test_bad_sources_beside_good_ones_change_nothing(
    target: AudioModel, toy: ToyFactory, kind: str, resync: bool, prepared: bool
) -> None:
    says, fields, fault = BAD[kind]
    sources = [toy(says, **fields), *(good(toy, kind) for kind in KINDS)]
    record = decode(target, sources, prepared=prepared, resync=resync, cores=3)
    assert text_of(record) == TEXT
    assert [source.name for source in record.sources] == ["toy", "toy", "parrot", "sharing"]
    assert all(source.drafted for source in record.sources)
    assert len(record.faults) == (fault is not None)
    assert "".join(record.faults).startswith(fault or "")
    assert producers() == []


@pytest.mark.parametrize(
    ("language", "encodes", "decodes"),
    [("en", 2, 1), (None, 3, 1)],  # without a language the recogniser has nothing to do yet
)
def test_sources_that_wait_for_the_target_leave_it_their_cores(
    toy: ToyFactory, language: str | None, encodes: int, decodes: int
) -> None:
    target = Watched(toy(unhurried))
    pair = Pair(target, [lambda: Sharing(toy(TEXT)), Parrot], threads=3)
    instruction = Instruction("transcribe", language)
    run = run_window(pair, SPEECH, instruction, Decoding("as2d", 7, "word", False), Event())
    assert text_of(drained(run)[1]) == TEXT
    assert target.cores == [encodes, decodes]


def test_a_preparation_has_samples_only_for_a_recogniser(target: AudioModel, toy: ToyFactory) -> None:
    pair = Pair(target, [Parrot, lambda: toy(TEXT)], threads=2)
    audio = [
        source.audio
        for source in pair.prepare(SPEECH, Instruction(language="en"), any_language=False).sources
    ]
    assert audio[0] is SPEECH.samples
    assert audio[1] is not None
    assert not isinstance(audio[1], np.ndarray)


@pytest.mark.parametrize("sources", [0, 1, 3])
def test_a_preparation_of_another_pair_may_be_used(target: AudioModel, toy: ToyFactory, sources: int) -> None:
    window = Pair(target, lambda: toy(TEXT), threads=2).prepare(
        SPEECH, Instruction(language="en"), any_language=False
    )
    pair = Pair(target, [lambda: toy(TEXT)] * sources, threads=2)
    _, record = drained(run_window(pair, window, ENGLISH, Decoding("as2d", 7, "word", False), Event()))
    assert text_of(record) == TEXT
    assert [source.drafted for source in record.sources] == [True, False, False][:sources]


def test_a_source_that_is_no_use_is_stopped_within_the_window(toy: ToyFactory) -> None:
    alive: list[int] = []

    def said(prefix: Sequence[int]) -> int:
        alive.append(len(producers()))
        return unhurried(prefix)

    def unhelpful(prefix: Sequence[int]) -> int:
        sleep(0.001)
        return 128 + len(prefix) ** 2 % 25  # nothing that is ever said, and no loop

    record = decode(toy(said), toy(unhelpful, limit=10**9))
    assert text_of(record) == TEXT
    off = [index for index, commit in enumerate(record.commits) if commit.switched_off]
    assert len(off) == 1
    assert all(commit.proposed == 0 for commit in record.commits[off[0] + 1 :])
    assert (alive[0], alive[-1]) == (1, 0)
    assert record.faults == ()


def test_a_source_that_has_lost_its_place_catches_up_if_it_may(toy: ToyFactory) -> None:
    def astray(prefix: Sequence[int]) -> int:
        return recite(prefix) if bytes(prefix[:8]) == TEXT.encode()[:8] else ord("#")

    pure = decode(toy(unhurried), toy(astray))
    caught_up = decode(toy(unhurried), toy(astray), resync=True)
    assert text_of(pure) == text_of(caught_up) == TEXT
    assert all(commit.resync == () for commit in pure.commits)
    assert sum(commit.accepted for commit in pure.commits) == 0
    assert sum(len(commit.resync) for commit in caught_up.commits) >= 1
    assert sum(commit.accepted for commit in caught_up.commits) > 0


DRAFTING = [method for method in METHODS if method != "target-only"]
SERIAL: list[UsedMethod] = ["speculative", "specasr", "as2d-without-decoupling"]
ONE_SOURCE: list[UsedMethod] = [*SERIAL, "lookahead"]


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("kind", ["drafter", "sharing"])
@pytest.mark.parametrize("method", DRAFTING)
def test_every_method_uses_its_drafter(
    target: AudioModel, toy: ToyFactory, method: UsedMethod, kind: str, prepared: bool
) -> None:
    record = decode(target, [good(toy, kind)], method=method, prepared=prepared)
    assert text_of(record) == TEXT
    assert record.drafted
    assert record.faults == ()
    assert sum(commit.accepted for commit in record.commits) > 0
    assert {commit.source for commit in record.commits} <= {None, 0}
    assert record.producer_done_ms >= record.decode_ms > 0
    assert producers() == []


@pytest.mark.parametrize("method", SERIAL)
def test_methods_in_turn_have_no_producer(toy: ToyFactory, method: UsedMethod) -> None:
    def said(prefix: Sequence[int]) -> int:
        assert producers() == []
        return recite(prefix)

    record = decode(toy(said), toy(said), method=method, prepared=False)
    assert text_of(record) == TEXT
    assert record.producer_done_ms == record.decode_ms


def test_a_perfect_drafter_in_turn_fills_every_round(target: AudioModel, toy: ToyFactory) -> None:
    for budget in (1, 7, 24):
        record = decode(target, toy(TEXT), method="speculative", budget=budget)
        assert [commit.width for commit in record.commits[:-1]] == [budget + 1] * (len(TEXT) // (budget + 1))


@pytest.mark.parametrize("kind", [kind for kind in BAD if kind != "is too slow"])
@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("method", [method for method in DRAFTING if method != "as2d"])
def test_a_bad_drafter_changes_nothing_in_any_method(
    toy: ToyFactory, method: UsedMethod, kind: str, prepared: bool
) -> None:
    says, fields, fault = BAD[kind]
    record = decode(toy(unhurried), toy(says, **fields), method=method, prepared=prepared)
    assert text_of(record) == TEXT
    assert record.commits[-1].finish_reason == "stop"
    assert record.drafted
    assert len(record.faults) == (fault is not None)
    assert "".join(record.faults).startswith(fault or "")
    assert producers() == []


@pytest.mark.parametrize("method", SERIAL)
@pytest.mark.parametrize("error", [ValueError("bad mel"), MemoryError("full")])
def test_a_drafter_in_turn_that_cannot_encode(
    target: AudioModel, toy: ToyFactory, method: UsedMethod, error: BaseException
) -> None:
    for prepared in (True, False):
        record = decode(target, toy(TEXT, on_prepare=failing(error)), method=method, prepared=prepared)
        assert text_of(record) == TEXT
        assert not record.drafted
        assert record.faults == (f"{type(error).__name__}: {error}",)


@pytest.mark.parametrize("method", DRAFTING)
@pytest.mark.parametrize("prepared", [True, False])
def test_in_a_language_that_the_drafter_lacks_the_target_is_alone_in_every_method(
    toy: ToyFactory, method: UsedMethod, prepared: bool
) -> None:
    target = toy(unhurried, languages=("de", "en"))
    pair = Pair(target, lambda: toy(TEXT), threads=2)
    for any_language in (False, True):
        window = pair.prepare(SPEECH, Instruction(), any_language=any_language) if prepared else SPEECH
        decoding = Decoding(method, 7, "word", any_language)
        _, record = drained(run_window(pair, window, Instruction("transcribe", None), decoding, Event()))
        assert text_of(record) == TEXT
        assert (record.language, record.drafted, record.faults) == ("de", any_language, ())


@pytest.mark.parametrize("method", SERIAL)
@pytest.mark.parametrize("drafter_cores", [1, 3])
def test_target_and_drafter_in_turn_have_all_cores(
    toy: ToyFactory, method: UsedMethod, drafter_cores: int
) -> None:
    target, drafter = Watched(toy(TEXT)), Watched(toy(TEXT))
    record = decode(
        target,
        [drafter],
        method=method,
        prepared=False,
        cores=3,
        drafter_cores=drafter_cores,
    )
    assert text_of(record) == TEXT
    assert target.cores == [3, 3]
    assert drafter.cores == [3, drafter_cores]


@pytest.mark.parametrize("method", ["as2d", "lookahead", "as2d-without-budget"])
def test_a_drafter_that_runs_beside_may_have_more_cores(toy: ToyFactory, method: UsedMethod) -> None:
    target, drafter = Watched(toy(unhurried)), Watched(toy(TEXT))
    record = decode(
        target,
        [drafter],
        method=method,
        prepared=False,
        cores=3,
        drafter_cores=2,
    )
    assert text_of(record) == TEXT
    assert target.cores == [1, 1]
    assert drafter.cores == [2, 2]


@pytest.mark.parametrize("method", ONE_SOURCE)
@pytest.mark.parametrize("prepared", [True, False])
def test_methods_that_write_on_refuse_several_sources(
    target: AudioModel, toy: ToyFactory, method: UsedMethod, prepared: bool
) -> None:
    with pytest.raises(InputError, match=r"one drafter, not several \(toy, toy\); choose one"):
        decode(target, [toy(TEXT), toy(TEXT)], method=method, prepared=prepared)
    assert producers() == []


def test_methods_that_write_on_use_the_chosen_one_of_several_sources(
    target: AudioModel, toy: ToyFactory
) -> None:
    pair = Pair(target, [lambda: toy("nothing of that"), lambda: toy(TEXT)], 2)
    for method in ONE_SOURCE:
        decoding = Decoding(method, 7, "word", False, chosen=lambda _: frozenset({1}))
        for window in (SPEECH, pair.prepare(SPEECH, Instruction(language="en"), any_language=False)):
            _, record = drained(run_window(pair, window, ENGLISH, decoding, Event()))
            assert text_of(record) == TEXT
            assert [source.drafted for source in record.sources] == [False, True]
            assert {commit.source for commit in record.commits} <= {None, 1}
            assert sum(commit.accepted for commit in record.commits) > 0


def test_a_recogniser_cannot_write_on(target: AudioModel) -> None:
    record = decode(target, [Parrot()], method="speculative")
    assert text_of(record) == TEXT
    assert "use the method as2d, or an audio model" in record.faults[0]


def test_a_drafter_that_runs_ahead_is_rolled_back(toy: ToyFactory) -> None:
    def astray(prefix: Sequence[int]) -> int:
        return recite(prefix) if bytes(prefix[:8]) == TEXT.encode()[:8] else ord("#")

    record = decode(toy(unhurried), toy(astray), method="lookahead")
    assert text_of(record) == TEXT
    assert sum(len(commit.resync) for commit in record.commits) >= 1
    assert sum(commit.accepted for commit in record.commits) > 0


class Unsure:
    """A drafter that is never sure."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def open(self, *arguments: Any) -> Any:
        return Unsure(self._model.open(*arguments))

    def forward(self, tokens: Sequence[int]) -> Rows:
        rows: Rows = self._model.forward(tokens)
        return rows._replace(probability=(0.3,) * len(rows.greedy))


@pytest.mark.parametrize(("method", "budget"), [("as2d-without-budget", 1), ("specasr", 1), ("as2d", 7)])
def test_instead_of_a_budget_unsure_candidates_end_a_round(
    target: AudioModel, toy: ToyFactory, method: UsedMethod, budget: int
) -> None:
    sure, unsure = (
        decode(target, [model], method=method, budget=budget) for model in (toy(TEXT), Unsure(toy(TEXT)))
    )
    assert text_of(sure) == text_of(unsure) == TEXT
    assert max(commit.proposed for commit in sure.commits) > 1
    assert (max(commit.proposed for commit in unsure.commits) == 1) is (method != "as2d")


@pytest.mark.parametrize("method", SERIAL)
def test_cancelling_ends_a_window_that_is_decoded_in_turn(
    target: AudioModel, toy: ToyFactory, method: UsedMethod
) -> None:
    cancelled = Event()
    pair = Pair(target, lambda: toy(TEXT), threads=2)
    run = run_window(pair, SPEECH, ENGLISH, Decoding(method, 3, "word", False), cancelled)
    next(run)
    cancelled.set()
    with pytest.raises(CancelledError):
        next(run)
