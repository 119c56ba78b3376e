"""What can draft: audio models with or without an encoder of their own, and recognisers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.producer import Producer
from as2d.drafting.resync import Requests
from as2d.errors import InputError
from as2d.models.contract import AudioModel, Vocabulary
from as2d.models.recognisers.contract import Recogniser
from as2d.records import SAMPLE_RATE, Instruction
from as2d.runtime.source import DrafterSource, Job, RecogniserSource, Source, source_of

ToyFactory = Callable[..., AudioModel]
ENGLISH = Instruction("transcribe", "en")
SAMPLES = np.zeros(16_000, np.float32)


def no_encoding() -> Any:
    raise AssertionError("not asked for")


@dataclass
class Parrot:
    """A recogniser that hears the same words whatever is said."""

    words: str
    name: str = "parrot"
    languages: tuple[str, ...] = ("en", "fr")
    opened: str | None = None

    def open(self, language: str, stop: Event) -> "Parrot":
        self.opened = language
        return self

    def accept(self, chunk: NDArray[np.float32], *, last: bool) -> str:
        return self.words

    def close(self) -> None:
        """Nothing is held."""


class Sharing:
    """A drafter that works on what its target has prepared."""

    def __init__(self, model: AudioModel) -> None:
        self._model = model
        self.name = model.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def prepare(self, samples: NDArray[np.float32], threads: int) -> Any:
        raise AssertionError("it has no encoder")

    def share(self, prepared: Any) -> Any:
        return ("shared", prepared)


class Upper:
    """Another vocabulary of bytes, which writes capitals."""

    size = 257
    weak_tokens: frozenset[int] = frozenset()
    word_starts: frozenset[int] = frozenset()

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(text.upper().encode())

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode(errors="replace").lower()

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]).lower() if token < 256 else b""


def draft(
    source: Source,
    target: Vocabulary,
    instruction: Instruction = ENGLISH,
    committed: tuple[int, ...] | None = None,
) -> Snapshot:
    """What it has published when it has nothing more to say, behind the committed tokens if there are any."""
    buffer = CandidateBuffer()
    requests: Requests = SimpleQueue()

    def work(buffer: CandidateBuffer, stop: Event) -> None:
        prepared = source.prepare(SAMPLES, no_encoding, 1, Instruction())
        asked = requests if committed else None
        source.draft(prepared, Job(instruction, target, "word", asked, buffer, stop))

    producer = Producer(work, buffer)
    producer.start()
    if committed:
        requests.put(committed)
        end = perf_counter() + 5
        while not (buffer.snapshot().start and buffer.snapshot().closed):
            assert perf_counter() < end
            sleep(0.001)
        requests.put(None)
    assert producer.join(5)
    assert buffer.fault is None
    return buffer.snapshot()


def text_of(snapshot: Snapshot) -> str:
    return bytes(snapshot.tokens).decode()


def test_a_model_is_known_by_what_it_can_do(toy: ToyFactory) -> None:
    parrot: Recogniser = Parrot("polly")
    assert isinstance(source_of(toy("hi")), DrafterSource)
    assert isinstance(source_of(parrot), RecogniserSource)
    assert (source_of(toy("hi")).name, source_of(parrot).name) == ("toy", "parrot")


@pytest.mark.parametrize(
    ("instruction", "drafter", "recogniser"),
    [
        (ENGLISH, True, True),
        (Instruction("transcribe", "fr"), False, True),
        (Instruction("translate", "fr"), False, False),
    ],
)
def test_a_source_drafts_what_it_can(
    toy: ToyFactory, instruction: Instruction, drafter: bool, recogniser: bool
) -> None:
    assert DrafterSource(toy("hi")).can_draft(instruction) is drafter
    assert RecogniserSource(Parrot("")).can_draft(instruction) is recogniser


def test_a_drafter_with_an_encoder_waits_for_nobody(toy: ToyFactory) -> None:
    source = DrafterSource(toy("hi"))
    assert not source.waits(Instruction(language=None))
    assert source.prepare(SAMPLES, no_encoding, 1, Instruction()).samples == len(SAMPLES)


def test_a_drafter_without_encoder_waits_for_the_target_s(toy: ToyFactory) -> None:
    source = source_of(Sharing(toy("hi")))
    assert source.waits(ENGLISH)
    assert source.prepare(SAMPLES, lambda: "encoded", 1, Instruction()) == ("shared", "encoded")


def test_a_recogniser_needs_the_samples_and_a_language() -> None:
    source = RecogniserSource(Parrot(""))
    assert source.prepare(SAMPLES, no_encoding, 1, Instruction()) is SAMPLES
    assert source.waits(Instruction(language=None))
    assert not source.waits(ENGLISH)


def test_a_recogniser_publishes_in_the_target_s_tokens(toy: ToyFactory) -> None:
    parrot = Parrot("and so")
    stream = draft(RecogniserSource(parrot), toy("").vocabulary)
    assert text_of(stream) == " and so"
    assert parrot.opened == "en"


def test_a_recogniser_hears_its_own_language_where_it_lacks_the_one_asked_for(toy: ToyFactory) -> None:
    parrot = Parrot("und so", languages=("fr",))
    draft(RecogniserSource(parrot), toy("").vocabulary, instruction=Instruction("transcribe", "de"))
    assert parrot.opened == "fr"


@pytest.mark.parametrize("same", [True, False])
def test_a_drafter_publishes_in_the_target_s_tokens(toy: ToyFactory, same: bool) -> None:
    drafter = toy("One two three") if same else toy("ONE TWO THREE", vocabulary=Upper())
    target = drafter.vocabulary if same else toy("").vocabulary
    stream = draft(DrafterSource(drafter), target)
    assert text_of(stream).lower() == "one two three"


@pytest.mark.parametrize("same", [True, False])
def test_a_drafter_that_is_asked_goes_on_from_the_committed_text(toy: ToyFactory, same: bool) -> None:
    drafter = toy("One two three") if same else toy("ONE TWO THREE", vocabulary=Upper())
    target = drafter.vocabulary if same else toy("").vocabulary
    stream = draft(DrafterSource(drafter), target, committed=tuple(b"One tw"))
    assert stream.start == len("One tw")
    assert text_of(stream).lower() == "o three"


def test_half_a_character_at_the_end_is_left_out(toy: ToyFactory) -> None:
    heard = []

    def step(prefix: Sequence[int]) -> int:
        heard.append(bytes(prefix))
        return 256

    target = toy("").vocabulary
    draft(DrafterSource(toy(step, vocabulary=Upper())), target, committed=tuple("caf\u00e9".encode()[:-1]))
    assert heard[-1] == b"CAF"


def test_an_audio_model_writes_on_from_a_text_and_a_recogniser_does_not(toy: ToyFactory) -> None:
    vocabulary = toy("").vocabulary
    source = DrafterSource(toy("One two three"))
    prepared = source.prepare(SAMPLES, no_encoding, 1, Instruction())
    draft = source.open(prepared, ENGLISH, vocabulary, 1).draft(tuple(b"One "), 3, lambda _: False)
    assert bytes(draft.tokens) == b"two"
    with pytest.raises(
        InputError, match="the recogniser parrot cannot draft from a given text; use the method as2d"
    ):
        RecogniserSource(Parrot("")).open(SAMPLES, ENGLISH, vocabulary, 1)


def long_samples(clips: Mapping[str, Path]) -> NDArray[np.float32]:
    """Three sentences of 11 s, a second of silence between them."""
    with open_audio(clips["jfk"]) as stream:
        jfk = np.concatenate(list(stream))
    return np.concatenate([jfk, np.zeros(16_000, np.float32)] * 3)


def test_a_window_that_is_too_long_is_drafted_in_parts(clips: Mapping[str, Path], toy: ToyFactory) -> None:
    heard: list[int] = []
    model = toy("One.", longest_s=15.0, on_hear=heard.append)
    source = DrafterSource(model)
    samples = long_samples(clips)
    prepared = source.prepare(samples, no_encoding, 1, ENGLISH)
    buffer = CandidateBuffer()
    source.draft(prepared, Job(ENGLISH, model.vocabulary, "word", None, buffer, Event()))
    assert len(heard) >= 3
    assert max(heard) <= 15 * SAMPLE_RATE < sum(heard) <= len(samples)
    assert text_of(buffer.snapshot()) == "One." * len(heard)


def test_a_stopped_draft_leaves_the_parts_that_are_left(clips: Mapping[str, Path], toy: ToyFactory) -> None:
    opened: list[int] = []
    model = toy("One.", longest_s=15.0, on_open=lambda: opened.append(1))
    source, stop = DrafterSource(model), Event()
    prepared = source.prepare(long_samples(clips), no_encoding, 1, ENGLISH)
    stop.set()
    source.draft(prepared, Job(ENGLISH, model.vocabulary, "word", None, CandidateBuffer(), stop))
    assert not opened


def test_in_turn_nobody_drafts_a_window_that_is_too_long(clips: Mapping[str, Path], toy: ToyFactory) -> None:
    source = DrafterSource(toy("One.", longest_s=15.0))
    prepared = source.prepare(long_samples(clips), no_encoding, 1, ENGLISH)
    with pytest.raises(InputError, match="15 s at most"):
        source.open(prepared, ENGLISH, toy("").vocabulary, 1)


def test_a_drafter_that_takes_no_context_is_given_none(toy: ToyFactory) -> None:
    opened: list[Instruction] = []
    source = DrafterSource(toy("hi", on_instruction=opened.append))
    source.open(
        source.prepare(SAMPLES, no_encoding, 1, ENGLISH),
        replace(ENGLISH, context="names"),
        toy("").vocabulary,
        1,
    )
    assert opened == [ENGLISH]
