"""What is kept of a request that has ended, or a recording that is closed: nothing."""

import gc
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event as Flag
from time import monotonic, sleep
from traceback import format_exception
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import CancelledError
from as2d.models.contract import AudioModel
from as2d.records import Result
from as2d.session import Request, Session

ToyFactory = Callable[..., AudioModel]
Floats = NDArray[np.float32]
SOON = 10.0
NOTHING: Mapping[str, int] = {}


class Held:
    """Refers weakly to audio, and to all that is prepared of it."""

    def __init__(self, *models: AudioModel) -> None:
        self.references: list[weakref.ref[Any]] = []
        for model in models:
            model.prepare = self._watching(model.prepare)  # type: ignore[method-assign]

    def watch(self, thing: Any) -> None:
        self.references.append(weakref.ref(thing))

    def left(self) -> list[str]:
        """What is still there after a moment in which threads may end."""
        until = monotonic() + SOON
        while self.now() and monotonic() < until:
            sleep(0.1)
        return self.now()

    def now(self) -> list[str]:
        """As text, which holds nothing."""
        gc.collect()
        return [repr(thing) for reference in self.references if (thing := reference()) is not None]

    def _watching(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any) -> Any:
            heard = prepare(*arguments)
            self.watch(heard)
            self.watch(arguments[0])
            return heard

        return watched


def until_idle(session: Session) -> None:
    """Wait for the work of those who have left, such as a probe, which many collections of garbage would slow down."""
    session.run(lambda: None).result(SOON)


Use = Callable[[Session, Floats, Held], None]


def answer(session: Session, audio: Floats, _: Held) -> None:
    session.transcribe((audio, 16_000), method="as2d")


def prepared(session: Session, audio: Floats, _: Held) -> None:
    session.transcribe(session.prepare((audio, 16_000)), method="as2d")


def cancelled(session: Session, audio: Floats, _: Held) -> None:
    request = session.submit((audio, 16_000), method="as2d")
    request.cancel()
    with pytest.raises(CancelledError):
        request.result(SOON)


def left(session: Session, audio: Floats, _: Held) -> None:
    for _event in session.stream((audio, 16_000), method="as2d"):
        break


def live(session: Session, audio: Floats, held: Held) -> None:
    with session.listen() as recording:
        held.watch(recording)
        recording.feed(audio)
        assert recording.request().text
        recording.finish()
        assert recording.wait(SOON)


def live_text(session: Session, audio: Floats, _: Held) -> None:
    text = session.live()
    assert [*text.push(audio), *text.finish()]


@pytest.mark.parametrize("use", [answer, prepared, cancelled, left, live, live_text])
def test_an_idle_session_keeps_no_audio_and_nothing_prepared(
    toy: ToyFactory, own_cache: Path, clips: Mapping[str, Path], use: Use
) -> None:
    target, drafter = toy("Ask not."), toy("Ask what.")
    held = Held(target, drafter)
    with Session(target, drafter, threads=2) as session:
        audio = np.concatenate(list(open_audio(clips["jfk"])))
        held.watch(audio)
        use(session, audio, held)
        del audio
        until_idle(session)
        assert held.references[1:] or use is cancelled
        assert held.left() == []


def test_a_closed_recording_keeps_nothing(
    toy: ToyFactory, own_cache: Path, clips: Mapping[str, Path]
) -> None:
    target, drafter = toy("Ask not."), toy("Ask what.")
    held = Held(target, drafter)
    with Session(target, drafter, threads=2) as session:
        recording = session.listen()
        recording.feed(np.tile(np.concatenate(list(open_audio(clips["jfk"]))), 3))
        assert recording.wait(SOON)
        assert recording.request().text
        assert held.now()
        recording.close()
        assert held.left() == []
        assert recording.duration_s == 33.0


def test_what_is_being_prepared_when_a_recording_is_closed_is_not_kept(
    toy: ToyFactory, own_cache: Path, clips: Mapping[str, Path]
) -> None:
    begun, closed = Flag(), Flag()

    def prepare() -> None:
        begun.set()
        assert closed.wait(SOON)

    target = toy("Ask not.", on_prepare=prepare)
    held = Held(target)
    with Session(target, None, threads=1) as session:
        recording = session.listen()
        recording.feed(np.tile(np.concatenate(list(open_audio(clips["jfk"]))), 3))
        assert begun.wait(SOON)
        recording.close()
        closed.set()
        until_idle(session)
        assert held.references
        assert held.left() == []


def interrupted(request: Request[Result]) -> None:
    for _event in request.events():
        break


def failing(request: Request[Result]) -> None:
    for _event in request.events():
        pass


def slowly(prefix: Sequence[int]) -> int:
    sleep(0.01)
    return ord("a") + len(prefix) % 26


def at_the_fifth_token(prefix: Sequence[int]) -> int:
    if len(prefix) == 4:
        try:
            NOTHING["the first reason"]
        except LookupError as error:
            raise MemoryError("the second reason") from error
    return ord("?")


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize(
    ("says", "use", "error"),
    [(slowly, interrupted, CancelledError), (at_the_fifth_token, failing, MemoryError)],
)
def test_a_request_that_has_failed_keeps_no_audio_and_nothing_prepared(
    toy: ToyFactory,
    own_cache: Path,
    clips: Mapping[str, Path],
    says: Callable[[Sequence[int]], int],
    use: Callable[[Request[Result]], None],
    error: type[Exception],
    listening: bool,
) -> None:
    target = toy(says)
    held = Held(target)
    with Session(target, None, threads=1) as session:
        request = submitted(session, clips["jfk"], held, listening=listening)
        with suppress(MemoryError):
            use(request)
        with pytest.raises(error):
            request.result(SOON)
        until_idle(session)
        assert held.references[1:]
        assert held.left() == []


def submitted(session: Session, clip: Path, held: Held, *, listening: bool) -> Request[Result]:
    """A request about the clip, which nobody else keeps."""
    audio = np.concatenate(list(open_audio(clip)))
    held.watch(audio)
    if not listening:
        return session.submit((audio, 16_000))
    recording = session.listen()
    held.watch(recording)
    recording.feed(audio)
    return recording.submit()


def test_where_a_request_failed_can_still_be_read(
    toy: ToyFactory, own_cache: Path, clips: Mapping[str, Path]
) -> None:
    with (
        Session(toy(at_the_fifth_token), None, threads=1) as session,
        pytest.raises(MemoryError) as caught,
    ):
        session.transcribe(clips["jfk"])
    said = "".join(format_exception(caught.value))
    assert "in at_the_fifth_token" in said
    assert "the first reason" in said
    assert isinstance(caught.value.__cause__, LookupError)
