"""PocketSphinx on its own model and real speech."""

import os
import signal
from collections.abc import Sequence
from threading import Event, Thread, Timer
from time import perf_counter, sleep

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.decoding.align import Marks
from as2d.decoding.as2d import CoreSplit, decode
from as2d.decoding.stop import StopRules
from as2d.decoding.target_only import decode_alone
from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.chunks import free_run_chunks
from as2d.drafting.producer import Producer
from as2d.models.recognisers.contract import Recogniser
from as2d.models.recognisers.load import load_recogniser
from as2d.models.recognisers.pocketsphinx import PocketSphinx
from as2d.models.whisper.model import WhisperModel
from as2d.records import Commit, Instruction

pytest.importorskip("pocketsphinx", reason='needs pip install "as2d[pocketsphinx]"')

LONG = 60.0
CHUNK = 40_960


@pytest.fixture(scope="module")
def pocketsphinx() -> Recogniser:
    return load_recogniser("pocketsphinx")


def heard(recogniser: Recogniser, samples: NDArray[np.float32]) -> str:
    stream = recogniser.open("en", Event())
    text = stream.accept(samples, last=True)
    stream.close()
    return text


def test_it_hears_english(pocketsphinx: Recogniser, speech: NDArray[np.float32]) -> None:
    text = heard(pocketsphinx, speech[:CHUNK])
    assert text.startswith("and")
    assert heard(pocketsphinx, speech[:CHUNK]) == text  # nothing is left of the last window


def test_silence_is_no_text(pocketsphinx: Recogniser) -> None:
    assert heard(pocketsphinx, np.zeros(16_000, np.float32)) == ""


def test_streams_do_not_share_a_decoder(pocketsphinx: Recogniser, speech: NDArray[np.float32]) -> None:
    text = heard(pocketsphinx, speech[:CHUNK])
    left = pocketsphinx.open("en", Event())
    left.accept(speech[CHUNK : 2 * CHUNK], last=False)
    assert heard(pocketsphinx, speech[:CHUNK]) == text
    left.close()


def test_it_stops_inside_a_chunk(pocketsphinx: Recogniser, speech: NDArray[np.float32]) -> None:
    text = heard(pocketsphinx, speech[:CHUNK])
    stop = Event()
    Timer(0.1, stop.set).start()
    began = perf_counter()
    stream = pocketsphinx.open("en", stop)
    assert stream.accept(np.tile(speech, 4), last=True) == ""
    stream.close()
    assert perf_counter() - began < 2.0
    assert heard(pocketsphinx, speech[:CHUNK]) == text


def test_the_target_is_not_held_up_meanwhile(pocketsphinx: Recogniser, speech: NDArray[np.float32]) -> None:
    hearing = Thread(target=heard, args=(pocketsphinx, speech[:CHUNK]))
    hearing.start()
    turns = 0
    while hearing.is_alive():
        sleep(0.001)
        turns += 1
    assert turns > 50  # one or two where this process computes the chunk


def test_a_worker_that_dies_is_a_fault_and_is_replaced(speech: NDArray[np.float32]) -> None:
    recogniser = PocketSphinx()
    (worker,) = recogniser._idle
    stream = recogniser.open("en", Event())
    stream.accept(speech[:1600], last=False)
    os.kill(worker.process.pid, signal.SIGKILL)
    with pytest.raises((EOFError, OSError)):
        stream.accept(speech[:1600], last=False)
    with pytest.raises((EOFError, OSError)):
        stream.close()
    assert recogniser._idle == []
    assert heard(recogniser, speech[:CHUNK]).startswith("and")


def test_a_worker_that_hangs_is_not_kept(speech: NDArray[np.float32]) -> None:
    recogniser = PocketSphinx()
    (worker,) = recogniser._idle
    stream = recogniser.open("en", Event())
    os.kill(worker.process.pid, signal.SIGSTOP)
    stream.close()
    assert recogniser._idle == []


def test_the_answer_is_the_target_s_own(
    pocketsphinx: Recogniser, speech: NDArray[np.float32], base: WhisperModel
) -> None:
    instruction = base.check(Instruction(language="en"))
    prepared = base.prepare(speech, 1)
    rules = StopRules(base.end_ids, base.output_limit(prepared, instruction))
    alone = [*decode_alone(base.open(prepared, instruction, 1), rules, 1)]

    def draft(buffer: CandidateBuffer, stop: Event) -> None:
        free_run_chunks(pocketsphinx, "en", speech, base.vocabulary, buffer, stop)

    def answer(buffer: CandidateBuffer) -> list[Commit]:
        words = base.vocabulary
        return [
            *decode(
                base.open(prepared, instruction, 1),
                [buffer],
                rules,
                budget=7,
                cores=CoreSplit(1),
                marks=Marks(words.weak_tokens, words.word_starts),
                vocabulary_size=words.size,
            )
        ]

    buffer = CandidateBuffer()
    producer = Producer(draft, buffer)
    producer.start()
    beside = answer(buffer)
    assert producer.join(LONG)
    assert buffer.fault is None
    assert len(buffer.snapshot().tokens) > 0
    behind = answer(buffer)
    assert tokens(beside) == tokens(behind) == tokens(alone)
    assert sum(commit.proposed for commit in behind) > 0


def tokens(commits: Sequence[Commit]) -> list[int]:
    return [token for commit in commits for token in commit.tokens]
