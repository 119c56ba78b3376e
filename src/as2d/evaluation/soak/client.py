"""Does what was drawn, and compares every answer with what the target alone says."""

import random
from collections.abc import Callable, Sequence
from time import sleep

import numpy as np
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import CancelledError, DeadlineError
from as2d.evaluation.corpora import Clip
from as2d.evaluation.soak.actions import Action, Kind
from as2d.evaluation.soak.reference import Reference, said
from as2d.evaluation.soak.tally import Tally
from as2d.records import SAMPLE_RATE, Options, Result
from as2d.session.live import LiveRecording
from as2d.session.session import Session

Open = Callable[[], Session]

PATIENCE_S = 300.0
"""An answer that takes longer never comes."""
_BLOCKS_S = (0.2, 5.0)


class Client:
    """Uses a session; what it should not have given is noted. Any thread may be one."""

    def __init__(self, session: Session, open_session: Open, reference: Reference, tally: Tally) -> None:
        """`open_session` opens another session like the first."""
        self._session = session
        self._open = open_session
        self._reference = reference
        self._tally = tally
        self._do: dict[Kind, Callable[[Action], None]] = {
            "answer": self._answer,
            "prepared": self._prepared,
            "cancel": self._cancel,
            "leave": self._leave,
            "deadline": self._deadline,
            "live": self._live,
            "session": self._own_session,
        }

    def do(self, action: Action) -> None:
        """Do it to the end. Nothing is raised; what should not have been is an error of the tally."""
        self._tally.count(action.kind)
        try:
            self._do[action.kind](action)
        except CancelledError:
            self._tally.count("cancelled")
        except DeadlineError:
            self._tally.count("overdue")
        except Exception as error:  # whatever it is, the soak is to tell of it
            self._tally.note_error(f"{_told(action)}: {type(error).__name__}: {error}")

    def _answer(self, action: Action) -> None:
        request = self._session.submit(action.clip.path, **action.options)
        self._check(action, request.result(PATIENCE_S))

    def _prepared(self, action: Action) -> None:
        prepared = self._session.prepare(
            action.clip.path,
            language=action.options["language"],
            any_language=action.options.get("any_language", False),
        )
        request = self._session.submit(prepared, **action.options)
        self._check(action, request.result(PATIENCE_S))

    def _cancel(self, action: Action) -> None:
        """Too late, it is an answer like any other."""
        request = self._session.submit(action.clip.path, **action.options)
        sleep(action.delay_s)
        request.cancel()
        self._check(action, request.result(PATIENCE_S))

    def _leave(self, action: Action) -> None:
        for number, _ in enumerate(self._session.stream(action.clip.path, **action.options)):
            if number == action.seed % 5:
                break
        self._tally.count("left")

    def _deadline(self, action: Action) -> None:
        request = self._session.submit(
            action.clip.path, deadline_s=max(0.001, action.delay_s), **action.options
        )
        self._check(action, request.result(PATIENCE_S))

    def _live(self, action: Action) -> None:
        """Feed it bit by bit and ask now and then; once it is complete, all of it is asked for."""
        draw = random.Random(action.seed)
        with self._session.listen(language=action.options["language"]) as recording:
            for block in _blocks(action.clip, draw):
                recording.feed(block)
                if draw.random() < 0.2:
                    self._ask_midway(action, recording, draw)
            recording.finish()
            result = recording.submit(**action.options).result(PATIENCE_S)
        self._check(action, result)

    def _ask_midway(self, action: Action, recording: LiveRecording, draw: random.Random) -> None:
        request = recording.submit(last=draw.uniform(1, 40), **action.options)
        if draw.random() < 0.3:
            request.cancel()
        try:
            result = request.result(PATIENCE_S)
        except CancelledError:
            self._tally.count("cancelled")
        else:
            expected = self._reference.of_windows(action.clip, _options(action), result.segments)
            self._compare(action, result, expected)

    def _own_session(self, action: Action) -> None:
        with self._open() as session:
            result = session.transcribe(action.clip.path, **action.options)
        self._check(action, result)

    def _check(self, action: Action, result: Result) -> None:
        self._compare(action, result, self._reference.of_clip(action.clip, _options(action)))

    def _compare(self, action: Action, result: Result, expected: Sequence[object]) -> None:
        self._tally.count("answers")
        if list(said(result.segments)) == list(expected):
            return
        if not result.exact:
            self._tally.count("inexact")
            return
        self._tally.note_wrong(f"{_told(action)}: {said(result.segments)} instead of {tuple(expected)}")


def _options(action: Action) -> Options:
    return Options(**action.options)


def _told(action: Action) -> str:
    options = ", ".join(f"{name} {value}" for name, value in action.options.items())
    return f"{action.kind} of {action.clip.name} ({options})"


def _blocks(clip: Clip, draw: random.Random) -> list[NDArray[np.float32]]:
    with open_audio(clip.path) as stream:
        samples = np.concatenate(list(stream))
    blocks = []
    while len(samples):
        length = round(draw.uniform(*_BLOCKS_S) * SAMPLE_RATE)
        blocks.append(samples[:length])
        samples = samples[length:]
    return blocks
