"""Requests of toy models: queued, watched, cancelled, refused, and closed."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest

from as2d.audio import open_audio
from as2d.decoding.methods import TRAITS
from as2d.errors import (
    AudioError,
    CancelledError,
    ClosedError,
    InputError,
    ModelNotFoundError,
    UnsupportedError,
)
from as2d.models.contract import AudioModel
from as2d.records import METHODS, SAMPLE_RATE, Event, Instruction, UsedMethod
from as2d.runtime.pair import SpeechWindow
from as2d.session import PreparedRecording, Session

ToyFactory = Callable[..., AudioModel]
TEXT = "Ask not what your country can do for you."
END = 256
SOON = 10.0


def recording(target: AudioModel, drafter: AudioModel | None = None) -> PreparedRecording:
    """One second that both models have heard."""
    with Session(target, drafter, threads=2) as session:
        (window,) = (
            session._pair.prepare(
                SpeechWindow(0, np.zeros(SAMPLE_RATE, np.float32)),
                Instruction(language="en"),
                any_language=False,
            ),
        )
    return PreparedRecording((window,), SAMPLE_RATE, ())


def letter(index: int) -> int:
    """No loop to the guard."""
    return ord("a") + index * index % 25


def slow(prefix: Sequence[int]) -> int:
    """Ten seconds of text; after anything but its own text it is fast."""
    if not prefix or prefix[-1] == letter(len(prefix) - 1):
        sleep(0.01)
    return letter(len(prefix))


def producers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "as2d-producer"]


@pytest.fixture(autouse=True)
def _cache(own_cache: Path) -> None:
    """Toys are probed like any model; keep that out of the user's cache."""


@pytest.fixture
def running(toy: ToyFactory) -> Iterator[tuple[Session, PreparedRecording]]:
    """A session whose answers and drafts take long, and a recording for it."""
    target, drafter = toy(slow, limit=1000), toy(slow, limit=10**9)
    with Session(target, drafter, threads=2) as session:
        session.transcribe((np.zeros(100, np.float32), SAMPLE_RATE), method="as2d")  # probes the models
        yield session, recording(target, drafter)


def test_a_request_is_answered(toy: ToyFactory) -> None:
    target = toy(TEXT)
    with Session(target, toy(TEXT), threads=2) as session:
        result = session.transcribe(recording(target, toy(TEXT)), method="as2d")
    assert result.text == TEXT
    assert result.method == "as2d"
    assert result.tokens == tuple(TEXT.encode())
    assert [(s.start_s, s.end_s, s.text) for s in result.segments] == [(0.0, 1.0, TEXT)]


def test_half_a_character_is_never_shown(toy: ToyFactory) -> None:
    text = "Größe, 日本語, 👋."
    target = toy(text)
    with Session(target, toy(text), threads=2) as session:
        request = session.submit(recording(target, toy(text)), method="as2d")
        events = list(request.events())
    assert "".join(event.text for event in events) == request.result().text == text
    assert "\ufffd" not in "".join(event.text for event in events)


def test_who_watches_again_sees_only_the_end(toy: ToyFactory) -> None:
    target = toy(TEXT)
    with Session(target, None, threads=1) as session:
        request = session.submit(recording(target))
        assert list(request.events())
        again: list[Event] = []
        watcher = threading.Thread(target=lambda: again.extend(request.events()), daemon=True)
        watcher.start()
        watcher.join(SOON)
        assert not watcher.is_alive()
        assert again == []


def test_an_answer_cut_within_a_character_is_marked_as_its_text(toy: ToyFactory) -> None:
    target = toy("ab日本", limit=4)
    with Session(target, None, threads=1) as session:
        request = session.submit(recording(target))
        texts = [event.text for event in request.events()]
    result = request.result()
    assert "".join(texts) == result.text == "ab\ufffd"
    assert (result.finish_reason, result.truncated) == ("length", True)


@pytest.mark.parametrize(
    ("says", "reason", "truncated"),
    [(TEXT, "stop", False), ("la " * 200, "repetition", True), ("", "stop", False)],
)
@pytest.mark.parametrize("method", ["as2d", "target-only"])
def test_the_result_tells_why_the_answer_ended(
    toy: ToyFactory, says: str, reason: str, truncated: bool, method: Any
) -> None:
    target = toy(says, limit=500)
    with Session(target, toy(says), threads=2) as session:
        result = session.transcribe(recording(target, toy(says)), method=method)
    assert (result.finish_reason, result.truncated) == (reason, truncated)


def test_the_weightiest_window_decides_the_reason(toy: ToyFactory) -> None:
    texts = iter([TEXT, "la " * 200, TEXT])
    current: list[str] = []

    def said(prefix: Sequence[int]) -> int:
        answer = (*current[-1].encode(), END)
        return answer[len(prefix)] if len(prefix) < len(answer) else END

    target = toy(said, on_open=lambda: current.append(next(texts)))
    (window,) = recording(target).windows
    with Session(target, None, threads=1) as session:
        result = session.transcribe(PreparedRecording((window,) * 3, 3 * SAMPLE_RATE, ("a warning",)))
    assert (result.finish_reason, result.truncated) == ("repetition", True)
    assert result.warnings == ("a warning",)
    assert len(result.segments) == 3
    assert result.duration_s == 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": -1}, "budget of -1"),
        ({"budget": 25}, "budget of 25"),
        ({"budget": "7"}, "budget of 7"),
        ({"budget": 1.5}, "budget of 1.5"),
        ({"batch": 0}, "batch of 0"),
        ({"batch": -8}, "batch of -8"),
        ({"batch": "sentence"}, "batch of sentence"),
        ({"batch": 2.5}, "batch of 2.5"),
        ({"method": "serial"}, "no method 'serial'; use auto or one of as2d, target-only, speculative"),
        ({"method": "specasr", "budget": 7}, "method specasr has no budget; leave budget out"),
        ({"method": "as2d-without-budget", "budget": 0}, "method as2d-without-budget has no budget"),
        ({"method": "target-only", "budget": 7}, "method target-only has no budget"),
        ({"method": "speculative", "batch": 8}, "method speculative has no batch"),
        ({"method": "as2d-without-decoupling", "batch": 1}, "has no batch"),
        ({"method": "specasr", "batch": 1}, "has no batch"),
        ({"method": "lookahead", "resync": True}, "method lookahead has no resync"),
        ({"method": "as2d-without-budget", "resync": True}, "has no resync"),
        ({"language": "klingon"}, "has no language 'klingon'"),
        ({"task": "summarise"}, "no task 'summarise'"),
        ({"question": 5}, "question is 5; give text"),
        ({"task": "translate", "to": 5}, "to is 5; give text"),
        ({"context": None}, "context is None; give text"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_done(
    base: Any, clips: Mapping[str, Path], options: dict[str, Any], message: str
) -> None:
    with Session(base, "whisper-tiny.en", threads=1) as session:
        for ask in (session.submit, session.transcribe, session.stream):
            with pytest.raises(InputError, match=message):
                ask(clips["jfk"], **options)


def test_an_unknown_option_is_refused(toy: ToyFactory) -> None:
    with Session(toy(TEXT), None, threads=1) as session, pytest.raises(TypeError, match="temperature"):
        session.submit(b"", temperature=1)  # type: ignore[call-arg]


def test_a_model_s_own_refusals_reach_the_caller(toy: ToyFactory) -> None:
    with Session(toy(TEXT), None, threads=1) as session:
        with pytest.raises(UnsupportedError):
            session.submit(b"", language="de")
        with pytest.raises(UnsupportedError):
            session.prepare(b"", language="de")


def test_without_a_drafter_the_target_answers_and_as2d_is_refused(toy: ToyFactory) -> None:
    target = toy(TEXT)
    with Session(target, None, threads=2) as session:
        result = session.transcribe(recording(target))
        assert (result.method, result.text) == ("target-only", TEXT)
        with pytest.raises(InputError, match="needs a drafter"):
            session.submit(recording(target), method="as2d")


@pytest.mark.parametrize("method", [method for method in METHODS if method != "target-only"])
def test_every_method_drafts_and_says_so(toy: ToyFactory, method: UsedMethod) -> None:
    answer = tuple(TEXT.encode())

    def said(prefix: Sequence[int]) -> int:
        if len(prefix) >= len(answer) or tuple(prefix) != answer[: len(prefix)]:
            return END
        sleep(0.001)  # which gives its drafter time
        return answer[len(prefix)]

    target, drafter = toy(said), toy(TEXT)
    with Session(target, drafter, threads=2) as session:
        result = session.transcribe(recording(target, drafter), method=method)
    assert (result.text, result.method, result.exact, result.warnings) == (TEXT, method, True, ())
    assert result.stats.accepted > 0
    assert result.stats.producer_done_ms >= result.stats.decode_ms
    assert [(source.name, source.windows, source.fault) for source in result.sources] == [("toy", 1, None)]
    assert result.sources[0].accepted == result.stats.accepted


@pytest.mark.parametrize("method", METHODS)
def test_without_candidates_every_method_is_the_target_alone(toy: ToyFactory, method: UsedMethod) -> None:
    target, drafter = toy(TEXT), toy(TEXT)
    with Session(target, drafter, threads=2) as session:
        if not TRAITS[method].budget:
            return
        result = session.transcribe(recording(target, drafter), method=method, budget=0)
    assert (result.text, result.method, result.stats.proposed) == (TEXT, "target-only", 0)


@pytest.mark.parametrize("method", [method for method in METHODS if method != "target-only"])
def test_without_a_drafter_every_method_that_drafts_is_refused(toy: ToyFactory, method: UsedMethod) -> None:
    target = toy(TEXT)
    with Session(target, None) as session, pytest.raises(InputError, match=f"{method} needs a drafter; name"):
        session.submit(recording(target), method=method)


@pytest.mark.parametrize("method", [method for method in METHODS if TRAITS[method].writes_on])
def test_methods_that_write_on_refuse_several_drafters_and_recognisers(
    toy: ToyFactory, method: UsedMethod
) -> None:
    target = toy(TEXT)
    with (
        Session(target, [toy(TEXT), toy(TEXT)]) as session,
        pytest.raises(InputError, match=f"the method {method} has one drafter, not 2; name one, or use as2d"),
    ):
        session.submit(recording(target), method=method)
    with (
        Session(target, "pocketsphinx") as session,
        pytest.raises(InputError, match="which pocketsphinx cannot; name an audio model"),
    ):
        session.submit(recording(target), method=method)


@pytest.mark.parametrize("method", [method for method in METHODS if method != "target-only"])
def test_a_window_in_a_language_that_nobody_drafts_is_said_of_every_method(
    toy: ToyFactory, method: UsedMethod
) -> None:
    target = toy(TEXT, languages=("de", "en"))
    heard = PreparedRecording(tuple(replace(w, language="de") for w in recording(target).windows), 16_000, ())
    with Session(target, toy(TEXT), threads=2) as session:
        result = session.transcribe(heard, method=method)
    assert (result.text, result.method, result.stats.proposed) == (TEXT, method, 0)
    assert result.warnings == ("no drafter for de: the target decoded windows alone (1)",)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"model": "whisper-huge"}, ModelNotFoundError),
        ({"drafter": "whisper-huge"}, ModelNotFoundError),
        ({"drafter": ["whisper-tiny.en", "whisper-huge"]}, ModelNotFoundError),
        ({"drafter": "self"}, InputError),
        ({"drafter": ["auto", "pocketsphinx"]}, InputError),
        ({"precision": "int2"}, InputError),
        ({"threads": 0}, InputError),
    ],
)
def test_a_session_that_cannot_be_is_refused(toy: ToyFactory, arguments: dict[str, Any], error: Any) -> None:
    before = set(threading.enumerate())
    with pytest.raises(error):
        Session(**{"model": toy(TEXT), "drafter": None, **arguments})
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("audio", [b"", b"no audio at all", "no-such-file.wav", Path(__file__).parent])
def test_bad_audio_fails_its_own_request_only(toy: ToyFactory, audio: Any) -> None:
    target = toy(TEXT)
    with Session(target, None, threads=1) as session:
        for ask in (session.transcribe, session.prepare):
            with pytest.raises(AudioError):
                ask(audio)
        assert session.transcribe(recording(target)).text == TEXT


def test_a_target_that_fails_fails_its_own_request_only(toy: ToyFactory) -> None:
    calls: list[int] = []

    def said(prefix: Sequence[int]) -> int:
        calls.append(1)
        if len(calls) == 5:
            raise ValueError("broken")
        return ord(TEXT[len(prefix)]) if len(prefix) < len(TEXT) else END

    target = toy(said)
    with Session(target, None, threads=1) as session:
        request = session.submit(recording(target))
        with pytest.raises(ValueError, match="broken"):
            list(request.events())
        with pytest.raises(ValueError, match="broken"):
            request.result()
        assert session.transcribe(recording(target)).text == TEXT


def test_requests_are_answered_in_the_order_of_their_arrival(toy: ToyFactory) -> None:
    gate = threading.Event()
    target = toy(TEXT, on_open=lambda: gate.wait(SOON) and None)
    order: list[int] = []
    with Session(target, None, threads=1) as session:
        heard = recording(target)
        requests = [session.submit(heard) for _ in range(5)]

        def watch(index: int) -> None:
            requests[index].result(SOON)
            order.append(index)

        watchers = [threading.Thread(target=watch, args=(index,)) for index in range(5)]
        for watcher in watchers:
            watcher.start()
        with pytest.raises(TimeoutError, match="no answer within"):
            requests[0].result(0.01)
        gate.set()
        for watcher in watchers:
            watcher.join()
    assert sorted(order) == list(range(5))
    walls = [request.result().stats.wall_ms for request in requests]
    assert len(set(walls)) == 5


def test_cancelling_a_running_request_ends_its_producer(
    running: tuple[Session, PreparedRecording],
) -> None:
    session, heard = running
    request = session.submit(heard, method="as2d")
    next(request.events())
    sleep(0.05)
    began = perf_counter()
    request.cancel()
    with pytest.raises(CancelledError):
        request.result(SOON)
    assert perf_counter() - began < 1
    assert producers() == []


def test_a_cancelled_request_in_the_queue_is_never_begun(toy: ToyFactory) -> None:
    gate, opened = threading.Event(), []

    def wait() -> None:
        opened.append(1)
        gate.wait(SOON)

    target = toy(TEXT, on_open=wait)
    with Session(target, None, threads=1) as session:
        heard = recording(target)
        first, second, third = (session.submit(heard) for _ in range(3))
        second.cancel()
        gate.set()
        assert first.result(SOON).text == third.result(SOON).text == TEXT
        with pytest.raises(CancelledError):
            second.result(SOON)
        with pytest.raises(CancelledError):
            list(second.events())
    assert len(opened) == 2


def test_a_request_that_is_never_begun_frees_its_file(toy: ToyFactory, clips: Mapping[str, Path]) -> None:
    gate = threading.Event()
    target = toy(TEXT, on_open=lambda: gate.wait(SOON) and None)
    with Session(target, None, threads=1) as session:
        heard = recording(target)
        before = set(Path("/proc/self/fd").iterdir())
        first, second = session.submit(heard), session.submit(clips["jfk"])
        assert len(list(Path("/proc/self/fd").iterdir())) == len(before) + 1
        second.cancel()
        gate.set()
        assert first.result(SOON).text == TEXT
        with pytest.raises(CancelledError):
            second.result(SOON)
    with pytest.raises(ClosedError):
        session.submit(clips["jfk"])
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)


def test_cancelling_an_answered_request_changes_nothing(toy: ToyFactory) -> None:
    target = toy(TEXT)
    with Session(target, None, threads=1) as session:
        request = session.submit(recording(target))
        assert request.result(SOON).text == TEXT
        request.cancel()
        assert request.result().text == TEXT


def test_leaving_a_stream_early_cancels_it(running: tuple[Session, PreparedRecording]) -> None:
    session, heard = running
    for event in session.stream(heard, method="as2d"):
        assert event.tokens
        break
    # the next request is begun when the one before has ended
    assert session.prepare((np.zeros(100, np.float32), SAMPLE_RATE)).windows == ()
    assert producers() == []


def _transcribe_and(end: Callable[[], None], session: Session, heard: PreparedRecording) -> None:
    """Transcribe; however that ends, no interrupt comes after it."""
    try:
        session.transcribe(heard, method="as2d")
    finally:
        end()


def test_an_interrupt_cancels_a_request(running: tuple[Session, PreparedRecording]) -> None:
    session, heard = running
    main = threading.main_thread().ident
    assert main is not None
    interrupt = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    interrupt.start()
    began = perf_counter()
    with pytest.raises(KeyboardInterrupt):
        _transcribe_and(interrupt.cancel, session, heard)
    assert perf_counter() - began < 2
    assert session.prepare((np.zeros(100, np.float32), SAMPLE_RATE)).windows == ()
    assert producers() == []


def test_closing_cancels_what_runs_and_what_waits(toy: ToyFactory) -> None:
    target, drafter = toy(slow, limit=1000), toy(slow, limit=10**9)
    before = set(threading.enumerate())
    session = Session(target, drafter, threads=2)
    heard = recording(target, drafter)
    requests = [session.submit(heard, method="as2d") for _ in range(3)]
    next(requests[0].events())
    began = perf_counter()
    session.close()
    assert perf_counter() - began < 2
    for request in requests:
        with pytest.raises(CancelledError):
            request.result(SOON)
    assert set(threading.enumerate()) == before


def test_two_threads_may_close_at_once(running: tuple[Session, PreparedRecording]) -> None:
    session, heard = running
    session.submit(heard, method="as2d")
    closers = [threading.Thread(target=session.close) for _ in range(3)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join(SOON)
        assert not closer.is_alive()


def test_a_closed_session_refuses_everything(toy: ToyFactory, clips: Mapping[str, Path]) -> None:
    session = Session(toy(TEXT), None, threads=1)
    session.close()
    session.close()
    for ask in (session.transcribe, session.submit, session.stream, session.prepare):
        with pytest.raises(ClosedError, match="make a new one"):
            ask(clips["jfk"])


def test_a_context_closes_its_session(toy: ToyFactory, clips: Mapping[str, Path]) -> None:
    with Session(toy(TEXT), None, threads=1) as session:
        pass
    with pytest.raises(ClosedError):
        session.submit(clips["jfk"])


def test_an_error_in_the_context_closes_it_too(toy: ToyFactory) -> None:
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), Session(toy(TEXT), None, threads=1):
        raise ZeroDivisionError
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize(("longest_s", "most"), [(15.0, 15), (120.0, 36)])
def test_audio_is_cut_to_what_the_model_takes_at_once(
    toy: ToyFactory, clips: Mapping[str, Path], longest_s: float, most: int
) -> None:
    """36 s: three sentences with a second of silence behind each."""
    heard: list[int] = []
    with open_audio(clips["jfk"]) as stream:
        jfk = np.concatenate(list(stream))
    audio = np.concatenate([jfk, np.zeros(SAMPLE_RATE, np.float32)] * 3)
    with Session(toy("One.", longest_s=longest_s, on_hear=heard.append), None, threads=1) as session:
        result = session.transcribe((audio, SAMPLE_RATE))
    assert max(heard) <= most * SAMPLE_RATE
    assert (len(heard) == 1) is (longest_s > 36)
    assert len(result.segments) == len(heard)
