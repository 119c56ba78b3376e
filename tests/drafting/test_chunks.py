"""The draft of a recogniser that hears chunks and gives text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.chunks import CHUNK_SAMPLES, free_run_chunks, split_words
from as2d.drafting.producer import Producer
from as2d.models.whisper.model import WhisperModel

SOON = 5.0
Hear = Callable[["Parrot"], Any]


class Bytes:
    """A vocabulary of bytes."""

    size = 256
    weak_tokens: frozenset[int] = frozenset()
    word_starts: frozenset[int] = frozenset()

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes:
        return bytes([token])


@dataclass
class Parrot:
    """A recogniser and its stream: remembers what it is given, says what a function of itself says."""

    hear: Hear
    name: str = "parrot"
    languages: tuple[str, ...] = ("en",)
    chunks: list[tuple[int, bool]] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    closed: int = 0

    def open(self, language: str, stop: Event) -> "Parrot":
        self.opened.append(language)
        return self

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:
        self.chunks.append((len(chunk), last))
        said: str = self.hear(self)
        chunk[:] = 9  # whatever it does to its chunk, the target's samples stay
        return said

    def close(self) -> None:
        self.closed += 1


def saying(*hypotheses: Any) -> Parrot:
    return Parrot(lambda parrot: hypotheses[len(parrot.chunks) - 1])


class Recorder(CandidateBuffer):
    """A buffer that keeps its batches apart."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[str] = []

    def publish(self, tokens: Sequence[int], probabilities: Sequence[float]) -> None:
        super().publish(tokens, probabilities)
        assert set(probabilities) == {1.0}
        self.batches.append(bytes(tokens).decode())


def batches(recogniser: Parrot, chunks: int, *, rest: int = 0, stop: Event | None = None) -> list[str]:
    samples = np.zeros(chunks * CHUNK_SAMPLES + rest, np.float32)
    buffer = Recorder()
    free_run_chunks(recogniser, "en", samples, Bytes(), buffer, stop or Event())
    assert not samples.any()
    assert recogniser.opened == ["en"]
    assert recogniser.closed == 1
    return buffer.batches


def fault(recogniser: Any) -> tuple[str, Snapshot]:
    """What a producer's buffer says of a recogniser that goes wrong."""
    buffer = CandidateBuffer()
    samples = np.zeros(3 * CHUNK_SAMPLES, np.float32)
    producer = Producer(
        lambda buffer, stop: free_run_chunks(recogniser, "en", samples, Bytes(), buffer, stop), buffer
    )
    producer.start()
    assert producer.join(SOON)
    return buffer.fault or "", buffer.snapshot()


def test_a_chunk_is_2_56_seconds() -> None:
    assert CHUNK_SAMPLES == 2.56 * 16_000


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (0, []),
        (1, [(1, True)]),
        (CHUNK_SAMPLES, [(CHUNK_SAMPLES, True)]),
        (CHUNK_SAMPLES + 1, [(CHUNK_SAMPLES, False), (1, True)]),
        (2 * CHUNK_SAMPLES, [(CHUNK_SAMPLES, False), (CHUNK_SAMPLES, True)]),
    ],
)
def test_chunks_cover_the_window(samples: int, expected: list[tuple[int, bool]]) -> None:
    parrot = Parrot(lambda parrot: "")
    assert batches(parrot, 0, rest=samples) == []
    assert parrot.chunks == expected


def test_each_chunk_is_one_batch_and_its_last_word_is_held_back() -> None:
    parrot = saying("and so", "and so my fellow", "and so my fellow americans ask")
    assert batches(parrot, 3) == [" and", " so my", " fellow americans ask"]


def test_a_cut_word_is_published_as_the_next_chunk_has_it() -> None:
    assert batches(saying("my fell", "my fellow americans"), 2) == [" my", " fellow americans"]


def test_nothing_new_is_no_batch() -> None:
    assert batches(saying("and", "and", "and so"), 3) == [" and so"]


def test_what_is_published_stays_and_a_change_of_mind_appends() -> None:
    parrot = saying("an so my", "and sew my fellow", "and sew my fellow americans")
    assert batches(parrot, 3) == [" an so", " my", " fellow americans"]


def test_a_text_that_shrinks_takes_nothing_back() -> None:
    assert batches(saying("and so my", "and", "and so my fellow"), 3) == [" and so", " my fellow"]


def test_a_word_boundary_gives_one_space() -> None:
    assert batches(saying("  And\nso,  my\tfellow "), 1) == [" And so, my fellow"]


def test_scripts_without_spaces_are_held_back_by_characters() -> None:
    assert batches(saying("今日は天", "今日は天 気です。"), 2) == ["今日は", "天気です。"]


def test_stop_ends_it_between_chunks() -> None:
    stop = Event()

    def hear(parrot: Parrot) -> str:
        stop.set()
        return "and so"

    parrot = Parrot(hear)
    assert batches(parrot, 3, stop=stop) == [" and"]
    assert len(parrot.chunks) == 1


@pytest.mark.parametrize("wrong", [None, b"and", 7, ["and"]])
def test_no_text_is_a_fault(wrong: object) -> None:
    message, snapshot = fault(saying("and so", wrong))
    assert message.startswith(f"InputError: the recogniser parrot gave {type(wrong).__name__} instead of str")
    assert bytes(snapshot.tokens) == b" and"
    assert snapshot.closed


def test_text_that_is_not_unicode_is_a_fault() -> None:
    message, snapshot = fault(saying("and so", "and so \ud800 my"))
    assert message.startswith("UnicodeEncodeError: ")
    assert snapshot == Snapshot(tuple(b" and"), (1.0,) * 4, closed=True)


@pytest.mark.parametrize("error", [RuntimeError("deaf"), MemoryError("full"), SystemExit(3)])
def test_what_it_raises_is_a_fault_and_it_is_closed(error: BaseException) -> None:
    def hear(parrot: Parrot) -> str:
        raise error

    parrot = Parrot(hear)
    message, snapshot = fault(parrot)
    assert message == f"{type(error).__name__}: {error}"
    assert snapshot == Snapshot((), (), closed=True)
    assert parrot.closed == 1


def test_one_that_does_not_open_is_a_fault() -> None:
    message, _ = fault(object())
    assert message.startswith("AttributeError: ")


def test_one_that_does_not_close_is_a_fault() -> None:
    class Stuck(Parrot):
        def close(self) -> None:
            raise OSError("stuck")

    message, snapshot = fault(Stuck(lambda parrot: "and so"))
    assert message == "OSError: stuck"
    assert bytes(snapshot.tokens) == b" and so"


def test_one_that_hangs_holds_nobody() -> None:
    release = Event()

    def hear(parrot: Parrot) -> str:
        release.wait(SOON)
        return "too late"

    samples = np.zeros(CHUNK_SAMPLES, np.float32)
    buffer = CandidateBuffer()
    producer = Producer(
        lambda buffer, stop: free_run_chunks(Parrot(hear), "en", samples, Bytes(), buffer, stop), buffer
    )
    producer.start()
    producer.stop()
    assert not producer.join(0.05)
    assert buffer.snapshot().tokens == ()
    release.set()
    assert producer.join(SOON)


@given(st.lists(st.text("ab', .Éß", min_size=1).filter(lambda word: not word.isspace()), max_size=12))
def test_words_keep_all_but_the_spacing(parts: list[str]) -> None:
    text = " ".join(parts)
    assert "".join(split_words(text)).split() == text.split()
    assert all(word[0] == " " and word.count(" ") == 1 for word in split_words(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ich bin's", [" Ich", " bin's"]),
        ("你好 world,再见", ["你", "好", " world,", "再", "见"]),
        ("你好world", ["你", "好", "world"]),
        ("안녕 하세요", [" 안녕", " 하세요"]),
        ("สวัส", ["ส", "ว", "ั", "ส"]),
        ("", []),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_the_tokens_are_those_of_the_whole_text(base: WhisperModel) -> None:
    hypotheses = [
        "Don't ask",
        "Don't ask what 12,000 of",
        "Don't ask what 12,000 of you, naïve — (or not) did?",
    ]
    buffer = CandidateBuffer()
    samples = np.zeros(3 * CHUNK_SAMPLES, np.float32)
    free_run_chunks(saying(*hypotheses), "en", samples, base.vocabulary, buffer, Event())
    words = hypotheses[-1].split()
    assert buffer.snapshot().tokens == base.vocabulary.encode(" " + hypotheses[-1])
    assert buffer.snapshot().tokens == tuple(
        token for word in words for token in base.vocabulary.encode(" " + word)
    )
