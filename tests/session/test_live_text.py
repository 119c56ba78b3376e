"""Stable and tentative text: what comes when, and that every closed window says what the target alone says."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import ClosedError, InputError, UnsupportedError
from as2d.evaluation.measuring.alone import TargetAlone
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import WhisperModel
from as2d.records import Instruction
from as2d.runtime.window import PREVIOUS_TEXT
from as2d.session import Session
from as2d.session.live_text import LiveEvent, LiveText

Floats = NDArray[np.float32]
ToyFactory = Callable[..., AudioModel]
CLIPS = Path(__file__).parents[1] / "clips"
TEXT = "Ask not what your country can do for you."
SECOND = 16_000


def samples_of(*clips: str) -> Floats:
    parts: list[Floats] = []
    for clip in clips:
        with open_audio(CLIPS / clip) as stream:
            parts += [*stream, np.zeros(SECOND, np.float32)]
    return np.concatenate(parts)


@pytest.fixture(scope="module")
def speech() -> Floats:
    return samples_of("jfk.flac")


@pytest.fixture(autouse=True)
def _cache(request: pytest.FixtureRequest) -> None:
    """Toys are probed like any model; keep that out of the user's cache."""
    if "base" not in request.fixturenames:
        request.getfixturevalue("own_cache")


@pytest.fixture
def session(toy: ToyFactory) -> Iterator[Session]:
    with Session(toy(TEXT), None, threads=2) as session:
        yield session


def pushed(live: LiveText, samples: Floats, size: int = 4 * SECOND) -> list[LiveEvent]:
    """Everything, in blocks."""
    events: list[LiveEvent] = []
    for first in range(0, len(samples), size):
        events += live.push(samples[first : first + size])
    return [*events, *live.finish()]


def of(kind: str, events: Sequence[LiveEvent]) -> list[LiveEvent]:
    return [event for event in events if event.kind == kind]


def test_texts_are_tentative_and_then_stable(session: Session, speech: Floats) -> None:
    events = pushed(session.live(), speech)
    stable = of("stable", events)
    assert [event.window for event in stable] == [0, 1]
    assert {event.text for event in events} == {TEXT}
    assert {event.tokens for event in events} == {tuple(TEXT.encode())}
    assert {event.finish_reason for event in events} == {"stop"}
    assert all(one.end_s <= other.start_s for one, other in pairwise(stable))
    done: set[int] = set()
    for event in events:
        assert event.window not in done, "a stable text never changes"
        if event.kind == "stable":
            done.add(event.window)
    assert {event.window for event in of("tentative", events)} == {0, 1}


def test_a_tentative_text_comes_before_those_of_the_windows_that_have_closed(
    session: Session, speech: Floats
) -> None:
    (tentative, stable) = session.live().push(speech[: 8 * SECOND])
    assert (tentative.kind, tentative.window) == ("tentative", 1)
    assert (stable.kind, stable.window) == ("stable", 0)
    assert tentative.start_s >= stable.end_s


def test_the_previous_text_drafts_the_next_and_the_stable_one(session: Session, speech: Floats) -> None:
    events = pushed(session.live(), speech, 2 * SECOND)
    first, *later = (event for event in events if event.window == 0)
    assert first.sources == ()
    assert first.method == "target-only"
    assert later[-1].kind == "stable"
    for event in later:
        assert event.method == "as2d"
        assert [source.name for source in event.sources] == [PREVIOUS_TEXT]
        assert event.sources[0].accepted > len(TEXT) * 3 // 4


def test_target_only_has_no_previous_text(session: Session, speech: Floats) -> None:
    for event in pushed(session.live(method="target-only"), speech):
        assert event.sources == ()
        assert event.method == "target-only"
        assert event.stats.proposed == 0


def test_a_target_that_changes_its_mind_is_not_held_to_its_words(toy: ToyFactory, speech: Floats) -> None:
    heard: list[int] = []

    def step(prefix: Sequence[int]) -> int:
        said = (*f"It is the {len(heard)}. time that I hear this, and I say so.".encode(), 256)
        return said[len(prefix)] if tuple(prefix) == said[: len(prefix)] else ord("?")

    with Session(toy(step, on_prepare=lambda: heard.append(1)), None, threads=2) as session:
        live = session.live()
        heard.clear()
        events = pushed(live, speech, SECOND)
    assert len(events) > 10
    for number, event in enumerate(events, 1):
        assert event.text == f"It is the {number}. time that I hear this, and I say so."


def test_silence_has_no_text(session: Session) -> None:
    live = session.live()
    assert pushed(live, np.zeros(60 * SECOND, np.float32)) == []


def test_an_open_window_to_which_nothing_was_added_is_not_decoded_again(
    session: Session, speech: Floats
) -> None:
    live = session.live()
    word = np.concatenate([speech[: 2 * SECOND], np.zeros(int(1.5 * SECOND), np.float32)])
    assert len([*live.push(word)]) == 1
    assert [*live.push(np.zeros(1600, np.float32))] == []


def test_a_text_that_nobody_took_comes_with_the_next_block(session: Session, speech: Floats) -> None:
    live = session.live()
    live.push(speech[: 8 * SECOND])
    first, second = live.finish(speech[8 * SECOND :])
    assert [first.window, second.window] == [0, 1]
    assert second.end_s > 10.5


@pytest.mark.parametrize(
    "block",
    [
        np.zeros(100, np.float64),
        np.zeros((100, 2), np.float32),
        np.full(100, np.nan, np.float32),
        np.full(100, np.inf, np.float32),
        [0.0] * 100,
    ],
    ids=["float64", "stereo", "nan", "infinity", "list"],
)
def test_what_is_no_block_is_refused_and_changes_nothing(
    session: Session, speech: Floats, block: Floats
) -> None:
    live = session.live()
    [*live.push(speech[:SECOND])]
    with pytest.raises(InputError, match="the block"):
        live.push(block)
    assert pushed(live, speech[SECOND:])[-1].text == TEXT


def test_bad_options_are_refused_at_once(session: Session) -> None:
    with pytest.raises(InputError, match="use 5 to 30"):
        session.live(max_window_s=60)
    with pytest.raises(InputError, match="nan; give seconds, 5 to 30"):
        session.live(max_window_s=float("nan"))
    with pytest.raises(UnsupportedError):
        session.live(language="de")
    with pytest.raises(InputError, match="needs a drafter"):
        session.live(method="as2d")


def test_a_closed_session_decodes_nothing(toy: ToyFactory, speech: Floats) -> None:
    with Session(toy(TEXT), None, threads=2) as session:
        live = session.live()
    with pytest.raises(ClosedError):
        [*live.push(speech)]


def test_requests_of_the_session_are_answered_between_texts(toy: ToyFactory, speech: Floats) -> None:
    with Session(toy(TEXT, on_prepare=lambda: sleep(0.05)), None, threads=2) as session:
        live = session.live()
        events = live.push(np.concatenate([speech] * 5))
        next(events)
        request = session.submit((speech[:SECOND], SECOND))
        assert request.result(5).text == TEXT
        assert len([*events]) >= 5


def test_stable_text_is_what_the_target_alone_says_of_the_window(
    base: WhisperModel, tiny: WhisperModel
) -> None:
    samples = samples_of("jfk.flac")
    with Session(base, tiny, threads=2) as session:
        events = pushed(session.live(method="as2d"), samples, 3 * SECOND)
    stable, alone = of("stable", events), TargetAlone(base, 2)
    assert len(stable) == 2
    assert {event.language for event in stable} == {"en"}
    for event in stable:
        first, last = round(event.start_s * SECOND), round(event.end_s * SECOND)
        assert event.tokens == alone.tokens(samples[first:last], Instruction())
        assert event.text == base.vocabulary.decode(event.tokens).strip()
    accepted = {source.name: source.accepted for event in events for source in event.sources}
    assert accepted.keys() == {"whisper-tiny.en", PREVIOUS_TEXT}
    assert any(
        source.accepted for event in stable for source in event.sources if source.name == PREVIOUS_TEXT
    )
