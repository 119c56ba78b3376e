"""Live recordings of toy models: fed, prepared in the background, and asked about meanwhile."""

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio, windows
from as2d.errors import AudioError, CancelledError, ClosedError, DeadlineError, InputError, UnsupportedError
from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE, Instruction, Result, View
from as2d.session import LiveRecording, Request, Session

ToyFactory = Callable[..., AudioModel]
Floats = NDArray[np.float32]
CLIPS = Path(__file__).parents[1] / "clips"
TEXT = "Ask not."
SOON = 20.0
WINDOW_BYTES = 1000


@pytest.fixture(autouse=True)
def _cache(own_cache: Path) -> None:
    """Toys are probed like any model; keep that out of the user's cache."""


@pytest.fixture(scope="module")
def speech() -> Floats:
    """86 s with five clips: three windows that are complete, and one that stays open."""
    clips = [
        np.concatenate(list(open_audio(CLIPS / f"{name}.flac"))) for name in ("jfk", "ls-3080-5032-0007")
    ]
    pause = np.zeros(SAMPLE_RATE // 2, np.float32)
    return np.concatenate([part for clip in clips * 3 + clips[:1] for part in (clip, pause)])


@dataclass(frozen=True)
class Heard:
    """What a toy prepares: some memory, and the sum of the samples."""

    samples: int
    memory: NDArray[np.uint8]
    total: float
    prefix: str = ""


class Listener:
    """Makes a toy a model that keeps memory, counts what it encodes, and may read context first."""

    def __init__(self, toy: AudioModel, wait: Callable[[], object] = lambda: None) -> None:
        self.toy = toy
        self.encoded: list[float] = []
        self.wait = wait

    def __getattr__(self, name: str) -> Any:
        return getattr(self.toy, name)

    def prefix(self, instruction: Instruction) -> str:
        return instruction.context

    def prepare_after(self, prefix: str, samples: Floats, threads: int) -> Heard:
        self.wait()
        total = float(samples.sum(dtype=np.float64))
        self.encoded.append(total)
        return Heard(len(samples), np.zeros(WINDOW_BYTES, np.uint8), total, prefix)

    def prepare(self, samples: Floats, threads: int) -> Heard:
        return self.prepare_after("", samples, threads)


def spans(audio: Floats) -> list[tuple[float, float]]:
    return [(w.start / SAMPLE_RATE, w.end / SAMPLE_RATE) for w in windows([audio]) if w.speech]


def feed_slowly(recording: LiveRecording, audio: Floats, pieces: int = 20) -> None:
    for piece in np.array_split(audio, pieces):
        recording.feed(piece)


@pytest.fixture
def listener(toy: ToyFactory) -> Listener:
    return Listener(toy(TEXT))


@pytest.fixture
def recording(listener: Listener) -> Iterator[LiveRecording]:
    with Session(listener, None, threads=1) as session, session.listen() as recording:
        yield recording


def viewed(view: View | None) -> tuple[int, int]:
    assert view
    return view.reused, view.prepared


def test_complete_windows_are_prepared_while_nobody_asks(
    recording: LiveRecording, listener: Listener, speech: Floats
) -> None:
    feed_slowly(recording, speech)
    assert recording.wait(SOON)
    complete = len(listener.encoded)
    assert complete == len(spans(speech)) - 1 >= 2
    assert recording.duration_s == len(speech) / SAMPLE_RATE
    assert spans(speech)[-2][1] <= recording.prepared_s <= spans(speech)[-1][0]
    result = recording.request()
    assert viewed(result.view) == (complete, 1)
    assert [(s.start_s, s.end_s) for s in result.segments] == spans(speech)
    assert result.text == TEXT * len(spans(speech))
    again = recording.request()
    assert (again.tokens, viewed(again.view)) == (result.tokens, (complete + 1, 0))
    assert len(listener.encoded) == complete + 1
    recording.finish()
    assert recording.wait(SOON)
    assert recording.prepared_s == recording.duration_s
    assert len(listener.encoded) == complete + 1, "the open window was prepared already"


def test_only_what_is_looked_at_is_prepared(
    recording: LiveRecording, listener: Listener, speech: Floats
) -> None:
    recording.feed(speech)
    recording.wait(SOON)
    first = spans(speech)[0]
    result = recording.request(since=first[0] + 1, until=first[1] - 1)
    assert result.view == View(first[0] + 1, first[1] - 1, *first, reused=1)
    assert result.duration_s == first[1] - first[0]
    assert len(listener.encoded) == len(spans(speech)) - 1
    last = recording.request(last=2)
    assert [(s.start_s, s.end_s) for s in last.segments] == spans(speech)[-1:]
    assert last.view
    assert (last.view.start_s, last.view.end_s) == spans(speech)[-1]


def test_the_view_is_fixed_when_the_request_arrives(toy: ToyFactory, speech: Floats) -> None:
    gate = threading.Event()
    half = speech[: len(speech) // 2]
    with Session(toy(TEXT), None, threads=1) as session, session.listen() as recording:
        recording.feed(half)
        session.run(lambda: gate.wait(SOON))
        request = recording.submit()
        recording.feed(speech[len(half) :])
        gate.set()
        result = request.result(SOON)
        assert [(s.start_s, s.end_s) for s in result.segments] == spans(half)
        assert [(s.start_s, s.end_s) for s in recording.request().segments] == spans(speech)


def test_an_open_window_that_grew_is_forgotten(toy: ToyFactory, speech: Floats) -> None:
    listener = Listener(toy(TEXT))
    with Session(listener, None, threads=1) as session, session.listen() as recording:
        for second in range(3, 12, 2):
            recording.feed(speech[(second - 3) * SAMPLE_RATE : (second - 1) * SAMPLE_RATE])
            assert viewed(recording.request().view) == (0, 1)
            assert recording.prepared_bytes == WINDOW_BYTES


def test_feeding_never_waits_for_encoding_or_decoding(toy: ToyFactory, speech: Floats) -> None:
    gate = threading.Event()
    target = toy(TEXT, on_prepare=lambda: gate.wait(SOON) and None)
    with Session(target, None, threads=1) as session, session.listen() as recording:
        request = None
        began = perf_counter()
        for piece in np.array_split(speech, 40):
            recording.feed(piece)
            request = request or recording.submit()
            if request is not None and recording.duration_s < 6:
                request.cancel()
                request = None
        assert perf_counter() - began < 5
        assert not recording.wait(0.01)
        assert request
        gate.set()
        assert request.result(SOON).text.startswith(TEXT)
        assert recording.wait(SOON)


def test_a_request_comes_before_what_is_left_for_the_background(toy: ToyFactory, speech: Floats) -> None:
    begun, gate = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gate.wait(SOON)

    listener = Listener(toy(TEXT), wait)
    with Session(listener, None, threads=1) as session, session.listen() as recording:
        recording.feed(speech)
        begun.wait(SOON)
        request = session.run(lambda: len(listener.encoded))
        gate.set()
        assert request.result(SOON) == 1


def test_the_background_makes_way_and_goes_on_later(toy: ToyFactory, speech: Floats) -> None:
    gate = threading.Event()
    listener = Listener(toy(TEXT))
    with Session(listener, None, threads=1) as session, session.listen() as recording:
        session.run(lambda: gate.wait(SOON))
        recording.feed(speech)
        with recording._background._changed:
            gate.set()
            sleep(0.05)  # the background has begun, and waits for the lock
            request = session.run(lambda: len(listener.encoded))
        assert request.result(SOON) == 0
        assert recording.wait(SOON)
        assert len(listener.encoded) == len(spans(speech)) - 1


def test_recordings_and_the_session_take_turns(toy: ToyFactory, speech: Floats) -> None:
    gate = threading.Event()
    short = speech[: 5 * SAMPLE_RATE]
    with Session(toy(TEXT), None, threads=1) as session, session.listen() as one, session.listen() as other:
        for recording in (one, other):
            recording.feed(short)
        session.run(lambda: gate.wait(SOON))
        many = [one.submit() for _ in range(100)]
        few = [other.submit(), session.submit((short, SAMPLE_RATE)), other.submit()]
        gate.set()
        assert {request.result(SOON).text for request in many + few} == {TEXT}

    def begun(request: Request[Result]) -> float:
        return request.arrived + (request.queued_ms or 0) / 1000

    order = sorted(many + few, key=begun)
    assert [order.index(request) for request in few] == [1, 2, 4]
    assert [request for request in order if request in many] == many


def test_a_request_for_another_context_rebuilds_and_says_so(
    recording: LiveRecording, listener: Listener, speech: Floats
) -> None:
    recording.feed(speech)
    recording.wait(SOON)
    first = recording.request(until=1)
    other = recording.request(until=1, context="Names: Kennedy")
    assert other.view
    assert viewed(other.view) == (0, 1)
    (rebuilt,) = other.view.rebuilt
    assert (rebuilt.start_s, rebuilt.end_s) == spans(speech)[0]
    assert "another text before the audio" in rebuilt.why
    assert other.tokens == first.tokens
    for context in ("", "Names: Kennedy"):
        assert recording.request(until=1, context=context).view == replace(
            other.view, reused=1, prepared=0, rebuilt=()
        )


def test_the_context_and_language_of_the_recording_are_those_of_its_requests(
    toy: ToyFactory, speech: Floats
) -> None:
    listener = Listener(toy(TEXT, languages=("en", "de")))
    with Session(listener, None, threads=1) as session:
        with session.listen(language="de", context="Namen") as recording:
            recording.feed(speech)
            recording.wait(SOON)
            result = recording.request(until=1)
            assert (result.language, viewed(result.view)) == ("de", (1, 0))
            assert recording.request(until=1, language="en").language == "en"
            assert recording.request(until=1).language == "de"
        with pytest.raises(UnsupportedError):
            session.listen(language="fr")


def test_what_one_request_says_of_the_language_does_not_reach_the_next(
    toy: ToyFactory, speech: Floats
) -> None:
    with (
        Session(toy(TEXT, languages=("en", "de")), None, threads=1) as session,
        session.listen() as recording,
    ):
        recording.feed(speech[: 5 * SAMPLE_RATE])
        assert recording.request(language="de").language == "de"
        assert recording.request().language == "en", "which the toy detects"


def test_memory_is_bounded_and_what_was_dropped_is_encoded_again(toy: ToyFactory, speech: Floats) -> None:
    listener = Listener(toy(TEXT))
    with Session(listener, None, threads=1) as session:
        with session.listen(memory=2 * WINDOW_BYTES + 500) as recording:
            feed_slowly(recording, speech)
            recording.finish()
            recording.wait(SOON)
            assert recording.prepared_bytes == 2 * WINDOW_BYTES
            result = recording.request(until=1)
            assert result.view
            assert ["`memory`" in rebuilt.why for rebuilt in result.view.rebuilt] == [True]
            assert recording.request().text == TEXT * len(spans(speech))
            assert recording.prepared_bytes == 2 * WINDOW_BYTES
        listener.encoded.clear()
        with session.listen(memory=0) as recording:
            recording.feed(speech)
            assert recording.wait(SOON)
            assert listener.encoded == [], "nothing is prepared that could not be kept"
            assert (recording.prepared_bytes, recording.request().text) == (0, TEXT * len(spans(speech)))


def test_old_audio_is_forgotten(toy: ToyFactory, speech: Floats) -> None:
    with Session(toy(TEXT), None, threads=1) as session, session.listen(keep_s=20) as recording:
        feed_slowly(recording, speech)
        recording.wait(SOON)
        result = recording.request()
        left = [span for span in spans(speech) if span[1] > recording.duration_s - 20]
        assert [(s.start_s, s.end_s) for s in result.segments] == left
        assert "has been forgotten" in result.warnings[0]
        assert recording.request(last=15).warnings == ()


@pytest.mark.parametrize("fed", [0, 1, 70 * SAMPLE_RATE])
def test_a_view_without_speech_is_answered_at_once(toy: ToyFactory, fed: int) -> None:
    gate = threading.Event()
    with Session(toy(TEXT), None, threads=1) as session, session.listen() as recording:
        recording.feed(np.zeros(fed, np.float32))
        session.run(lambda: gate.wait(SOON))
        result = recording.request(method="target-only", deadline_s=5)
        gate.set()
    assert (result.text, result.tokens, result.segments, result.finish_reason) == ("", (), (), "no_speech")
    assert result.view == View(0, fed / SAMPLE_RATE, 0, fed / SAMPLE_RATE)
    assert result.timing
    assert result.timing.first_token_ms is None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"since": 5, "until": 1}, InputError),
        ({"last": -1}, InputError),
        ({"last": 1, "since": 1}, InputError),
        ({"deadline_s": 0}, DeadlineError),
        ({"method": "as2d"}, InputError),
        ({"language": "fr"}, UnsupportedError),
    ],
)
def test_what_cannot_be_is_refused_at_once(
    recording: LiveRecording, speech: Floats, arguments: dict[str, Any], error: type[Exception]
) -> None:
    recording.feed(speech)
    for ask in (recording.submit, recording.request):
        with pytest.raises(error):
            ask(**arguments)
    with pytest.raises(TypeError):
        recording.submit(temperature=1)  # type: ignore[call-arg]


def test_bad_samples_are_refused_and_the_recording_goes_on(recording: LiveRecording, speech: Floats) -> None:
    first, second = np.array_split(speech[: 5 * SAMPLE_RATE], 2)
    recording.feed(first)
    with pytest.raises(InputError, match="NaN"):
        recording.feed(np.full(SAMPLE_RATE, np.nan, np.float32))
    with pytest.raises(InputError, match="sample rate changed"):
        recording.feed(second, 44_100)
    with pytest.raises(InputError, match="channels"):
        recording.feed(np.zeros((10, 2), np.float32))
    with pytest.raises(AudioError):
        recording.feed_file(b"no audio")
    recording.feed(second, 16_000)
    assert recording.duration_s == 5
    assert recording.request().text == TEXT


@pytest.mark.parametrize(
    "limits", [{"memory": -1}, {"memory": 1.5}, {"keep_s": 0}, {"keep_s": 10**400}, {"sample_rate": 0}]
)
def test_limits_that_cannot_be_are_refused(toy: ToyFactory, limits: dict[str, Any]) -> None:
    with Session(toy(TEXT), None, threads=1) as session, pytest.raises(InputError, match="give"):
        session.listen(**limits)


def test_files_and_other_rates_are_the_same_audio(toy: ToyFactory, clips: Mapping[str, Path]) -> None:
    path = clips["jfk"]
    samples = np.concatenate(list(open_audio(path)))
    twice = np.repeat(samples, 2)
    with (
        Session(toy(TEXT), None, threads=1) as session,
        session.listen() as one,
        session.listen(32_000) as two,
    ):
        one.feed_file(path)
        feed_slowly(two, twice)
        assert two.duration_s < one.duration_s, "the resampler holds some back"
        two.feed_file(path.read_bytes())
        assert (one.duration_s, two.duration_s) == (11, 22)
        one.finish()
        assert one.request().duration_s == 11


def test_a_finished_or_closed_recording_takes_no_more(recording: LiveRecording, speech: Floats) -> None:
    recording.feed(speech[: 5 * SAMPLE_RATE])
    recording.finish()
    recording.finish()
    with pytest.raises(ClosedError, match="listen again"):
        recording.feed(speech)
    assert recording.request().text == TEXT
    recording.close()
    recording.close()
    recording.finish()
    assert recording.prepared_bytes == 0
    for ask in (recording.submit, recording.request):
        with pytest.raises(ClosedError, match="listen again"):
            ask()
    with pytest.raises(ClosedError):
        recording.feed_file(CLIPS / "jfk.flac")


def test_closing_a_recording_cancels_its_requests_alone(toy: ToyFactory, speech: Floats) -> None:
    gate = threading.Event()
    with Session(toy(TEXT), None, threads=1) as session:
        one, other = session.listen(), session.listen()
        for recording in (one, other):
            recording.feed(speech[: 5 * SAMPLE_RATE])
        session.run(lambda: gate.wait(SOON))
        mine, theirs = one.submit(), other.submit()
        one.close()
        gate.set()
        with pytest.raises(CancelledError):
            mine.result(SOON)
        assert theirs.result(SOON).text == TEXT


def test_closing_the_session_closes_its_recordings_and_leaves_no_thread(
    toy: ToyFactory, speech: Floats
) -> None:
    before = set(threading.enumerate())
    session = Session(toy(TEXT, on_prepare=lambda: sleep(0.05)), toy(TEXT), threads=2)
    recording = session.listen()
    recording.feed(speech)
    request = recording.submit()
    session.close()
    with pytest.raises(CancelledError):
        request.result(SOON)
    with pytest.raises(ClosedError):
        recording.feed(speech)
    assert recording.wait(1)
    with pytest.raises(ClosedError, match="make a new one"):
        session.listen()
    assert set(threading.enumerate()) == before


def test_a_model_that_fails_in_the_background_fails_who_asks(toy: ToyFactory, speech: Floats) -> None:
    broken = [True]

    def fail() -> None:
        if broken[0]:
            raise RuntimeError("no luck")

    with Session(toy(TEXT, on_prepare=fail), None, threads=1) as session, session.listen() as recording:
        recording.feed(speech)
        assert recording.wait(SOON)
        assert recording.prepared_s == pytest.approx(0, abs=3)
        with pytest.raises(RuntimeError, match="no luck"):
            recording.request()
        broken[0] = False
        assert recording.request().text == TEXT * len(spans(speech))


@pytest.mark.parametrize("method", ["as2d", "target-only", "speculative"])
def test_the_answer_is_that_of_the_same_audio_at_once(toy: ToyFactory, speech: Floats, method: Any) -> None:
    def said(prefix: Sequence[int]) -> int:
        sleep(0.001)
        return (*TEXT.encode(), 256)[len(prefix)] if len(prefix) <= len(TEXT) else 256

    with Session(toy(said), toy(TEXT), threads=2) as session, session.listen() as recording:
        feed_slowly(recording, speech)
        recording.wait(SOON)
        live = recording.request(method=method)
        once = session.transcribe((speech, SAMPLE_RATE), method=method)
    assert (live.tokens, live.segments, live.method) == (once.tokens, once.segments, method)
    assert live.warnings == once.warnings == ()
    assert (live.stats.accepted > 0) == (method != "target-only")


def test_the_target_alone_prepares_for_itself_and_drafters_are_prepared_when_asked(
    toy: ToyFactory, speech: Floats
) -> None:
    heard: list[str] = []
    target = toy(TEXT, on_prepare=lambda: heard.append("target"))
    drafter = toy(TEXT, on_prepare=lambda: heard.append("drafter"))
    with Session(target, drafter, threads=2) as session, session.listen() as recording:
        session.transcribe((speech[:100], SAMPLE_RATE), method="as2d")  # probes the target
        heard.clear()
        recording.feed(speech[: 5 * SAMPLE_RATE])
        assert viewed(recording.request(method="target-only").view) == (0, 1)
        assert heard == ["target"]
        assert viewed(recording.request(method="as2d").view) == (1, 0)
        assert heard == ["target", "drafter"]


def test_requests_cancels_and_feeding_at_random(toy: ToyFactory, speech: Floats) -> None:
    draw = random.Random(6)
    listener = Listener(toy(TEXT))
    memory = 3 * WINDOW_BYTES
    with Session(listener, toy(TEXT), threads=2) as session:
        recordings = [session.listen(memory=memory) for _ in range(2)]
        requests = []
        for piece in np.array_split(speech, 60):
            recording = draw.choice(recordings)
            recording.feed(piece)
            request = draw.choice(recordings).submit(
                last=draw.uniform(0, 40),
                method=draw.choice(["as2d", "target-only"]),
                context=draw.choice(["", "Names"]),
            )
            if draw.random() < 0.4:
                request.cancel()
            requests.append(request)
            assert all(recording.prepared_bytes <= memory for recording in recordings)
        for request in requests:
            try:
                result = request.result(SOON)
            except CancelledError:
                continue
            assert result.text == TEXT * len(result.segments)
            assert result.view
            assert sum(viewed(result.view)) == len(result.segments)
