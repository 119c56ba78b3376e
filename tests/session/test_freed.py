"""What a session keeps of a request that has ended: nothing."""

import gc
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import CancelledError
from as2d.models.contract import AudioModel
from as2d.session import Session

ToyFactory = Callable[..., AudioModel]
Floats = NDArray[np.float32]
SOON = 10.0


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
        while self._now() and monotonic() < until:
            sleep(0.01)
        return self._now()

    def _now(self) -> list[str]:
        """As text, which holds nothing."""
        gc.collect()
        return [repr(thing) for reference in self.references if (thing := reference()) is not None]

    def _watching(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any) -> Any:
            heard = prepare(*arguments)
            self.watch(heard)
            return heard

        return watched


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
        assert held.references[1:] or use is cancelled
        assert held.left() == []
