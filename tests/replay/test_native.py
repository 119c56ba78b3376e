"""Recording, and the reproduction of native runs: what each round verified and committed, and where it stood."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any, cast

import numpy as np
import pytest
from tests.replay import reproduce

from as2d.drafting.buffer import CandidateBuffer
from as2d.errors import InputError
from as2d.models.contract import AudioModel, Decoder
from as2d.models.recognisers.load import load_recogniser
from as2d.models.whisper.drafter import load_whisper_self_drafter
from as2d.models.whisper.model import WhisperModel
from as2d.records import SAMPLE_RATE, Commit, Instruction, UsedMethod
from as2d.replay import native
from as2d.replay.configuration import Configuration
from as2d.replay.loop import Answering, KnownTarget, native_loop
from as2d.replay.models import Heard, Models
from as2d.replay.native import NativeRun, run_native
from as2d.replay.record import record
from as2d.replay.simulator import Simulator
from as2d.replay.timed import Drafter
from as2d.replay.trace import WindowTrace
from as2d.runtime.pair import Pair, SpeechWindow
from as2d.runtime.window import Decoding, run_window
from as2d.session.recording import Recording

SPEECH = SpeechWindow(0, np.zeros(2 * SAMPLE_RATE, np.float32))
ENGLISH = Instruction("transcribe", "en")
IN_TURN: tuple[UsedMethod, ...] = ("speculative", "as2d-without-decoupling")
SAID = "one two three four five six seven"
HEARD = "one too three five six, and seven"
Toy = Callable[..., AudioModel]


def text_of(window: WindowTrace, name: str) -> list[str]:
    """The words of a stream, by step."""
    return [
        "|".join(bytes(word.tokens).decode() for word in step.words) for step in window.streams[name].steps
    ]


@pytest.fixture
def toys(toy: Toy) -> Models:
    return Models(
        "big", toy(SAID), {"small": toy(HEARD, name="small"), "mute": toy("", languages=("de",))}, 2
    )


def heard_by(models: Models) -> Heard:
    return models.hear("clip#0", SPEECH, "en", "transcribe")


def test_the_target_is_recorded(toys: Models) -> None:
    window = record(toys, heard_by(toys))
    assert bytes(window.tokens[:-1]).decode() == SAID
    assert window.tokens[-1] in toys.target.end_ids
    assert (window.window, window.language, window.audio_s) == ("clip#0", "en", 2.0)
    assert (window.finish_reason, window.useful) == ("stop", len(SAID))
    assert len(window.token_ms) == len(window.tokens)
    assert min(window.token_ms) > 0
    assert window.limit == 400


def test_a_drafter_is_recorded_step_by_step(toys: Models) -> None:
    window = record(toys, heard_by(toys))
    assert set(window.streams) == {"small"}  # mute does not speak English
    stream = window.streams["small"]
    assert (stream.chunks, stream.waits) == (False, False)
    steps = text_of(window, "small")
    assert len(steps) == len(HEARD) + 1
    assert steps[3] == "one"  # its fourth token is the space that ends the word
    assert steps[-1] == " seven"
    assert "".join(steps) == HEARD
    assert all(step.ms > 0 for step in stream.steps)


def test_only_the_marks_of_what_occurs_are_kept(toys: Models) -> None:
    marks = record(toys, heard_by(toys)).marks
    assert marks.word_starts == {ord(" ")}
    assert marks.weak == {ord(" "), ord(",")}


def test_the_limit_is_what_the_cache_has_room_for(toy: Toy) -> None:
    models = Models("big", toy(SAID, capacity=10), {}, 1)
    window = record(models, heard_by(models))
    assert (window.limit, len(window.tokens), window.finish_reason) == (10, 10, "length")


def test_a_detected_language_is_kept(toy: Toy) -> None:
    models = Models("big", toy(SAID, languages=("fr", "en")), {"small": toy(HEARD)}, 1)
    heard = models.hear("clip#0", SPEECH, None, "transcribe")
    assert (heard.instruction, dict(heard.drafters)) == (Instruction("transcribe", "fr"), {})


def test_a_drafter_without_a_step_cannot_be_recorded(toy: Toy) -> None:
    models = Models("big", toy(SAID), {"small": toy(HEARD, capacity=0)}, 1)
    with pytest.raises(InputError, match="small ended without a step"):
        record(models, heard_by(models))


@dataclass
class Hears:
    """A recogniser that hears a word a chunk."""

    name: str = "hears"
    languages: tuple[str, ...] = ("en",)

    def open(self, language: str, stop: Event) -> "HearsStream":
        return HearsStream()


@dataclass
class HearsStream:
    chunks: int = 0

    def accept(self, chunk: Any, *, last: bool) -> str:
        self.chunks += 1
        return " ".join(SAID.split()[: self.chunks])

    def close(self) -> None: ...


def test_a_recogniser_is_recorded_chunk_by_chunk(toy: Toy) -> None:
    models = Models("big", toy(SAID), {"hears": Hears()}, 2)
    speech = SpeechWindow(0, np.zeros(3 * 40_960, np.float32))
    window = record(models, models.hear("clip#0", speech, "en", "transcribe"))
    assert window.streams["hears"].chunks
    assert text_of(window, "hears") == ["", " one", " two three"]  # the last word is held back, it may be cut


def test_a_drafter_that_shares_the_encoder_waits(base: WhisperModel) -> None:
    models = Models("whisper-base", base, {"self": load_whisper_self_drafter(base)}, 1)
    heard = models.hear("noise", SpeechWindow(0, np.zeros(SAMPLE_RATE, np.float32)), "en", "transcribe")
    assert record(models, heard).streams["self"].waits


class Slow:
    """A model whose calls take time, so that both sides are at work at once."""

    def __init__(self, model: AudioModel, ms: float) -> None:
        self._model = model
        self._ms = ms

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def open(self, prepared: Any, instruction: Instruction, threads: int) -> Decoder:
        decoder, ms = self._model.open(prepared, instruction, threads), self._ms

        class SlowDecoder:
            def __getattr__(self, name: str) -> Any:
                return getattr(decoder, name)

            def forward(self, tokens: Sequence[int]) -> Any:
                sleep(ms / 1000)
                return decoder.forward(tokens)

        return SlowDecoder()


Cursors = list[Any]


@pytest.fixture
def cursors(monkeypatch: pytest.MonkeyPatch) -> Cursors:
    """Where the loop stands after each round, natively or not: read from its own variables."""
    found: Cursors = []

    def spied(
        configuration: Configuration,
        answering: Answering,
        target: Decoder,
        buffers: Sequence[CandidateBuffer],
    ) -> Iterator[Commit]:
        loop: Any = native_loop(configuration, answering, target, buffers)
        for commit in loop:
            found.append([track.cursor for track in loop.gi_frame.f_locals["tracks"]])
            yield commit

    monkeypatch.setattr(native, "native_loop", spied)
    monkeypatch.setattr(reproduce, "native_loop", spied)
    return found


def check_reproduced(run: NativeRun, answering: Answering, cursors: Cursors) -> None:
    known = list(cursors)
    cursors.clear()
    replayed, rounds = reproduce.reproduce(run, answering), reproduce.rounds_of(run)
    assert [each.commit for each in replayed] == [each.commit for each in rounds]
    assert [each.verified for each in replayed][1:] == [each.verified for each in rounds][1:]
    assert replayed[0].verified[1:] == rounds[0].verified[1:]  # the first root is not known
    assert cursors == known
    cursors.clear()


@pytest.mark.parametrize("drafter_ms", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("batch", ["word", 1, 8])
def test_a_native_run_is_reproduced(toy: Toy, cursors: Cursors, drafter_ms: float, batch: Any) -> None:
    drafters: Mapping[str, Drafter] = {
        "small": Slow(toy(HEARD), drafter_ms),
        "other": Slow(toy(SAID.replace("four", "for")), 2 * drafter_ms),
    }
    target: Any = Slow(toy(SAID), 1.0)
    models = Models("big", target, drafters, 2)
    heard = heard_by(models)
    for names in (("small",), ("small", "other")):
        for budget in (1, 7):
            configuration = Configuration(2, names, budget, batch=batch)
            run = run_native(models, heard, configuration)
            said = [token for commit in run.commits for token in commit.tokens]
            assert bytes(said[:-1]).decode() == SAID
            check_reproduced(run, models.answering(heard), cursors)


def test_a_switched_off_drafter_is_stopped_and_reproduced(toy: Toy, cursors: Cursors) -> None:
    target: Any = Slow(toy(SAID), 1.0)
    endless: Any = Slow(toy(lambda prefix: ord("A") + len(prefix) ** 2 % 26, limit=10_000), 0.5)
    models = Models("big", target, {"small": endless}, 2)
    heard = heard_by(models)
    run = run_native(models, heard, Configuration(2, ("small",), 7))
    assert any(commit.switched_off for commit in run.commits)
    assert run.drafters[0].closed < run.ended
    check_reproduced(run, models.answering(heard), cursors)


def test_the_clocks_of_a_native_run(toy: Toy) -> None:
    target: Any = Slow(toy("ab"), 5.0)
    slow: Any = Slow(toy(HEARD), 30.0)
    models = Models("big", target, {"small": slow}, 2)
    run = run_native(models, heard_by(models), Configuration(2, ("small",), 7))
    assert run.arrived <= run.first_root <= run.ended <= run.done
    assert 15.0 <= run.decode_ms < run.producer_done_ms  # the drafter ends the step that it is in
    assert [call.context for call in run.target.calls] == [0, 1, 2]
    assert {call.threads for call in run.target.calls} == {1}


@pytest.fixture(scope="module")
def whispers(base: WhisperModel, tiny: WhisperModel) -> Models:
    drafters: dict[str, Drafter] = {"self": load_whisper_self_drafter(base), "tiny": tiny}
    if find_spec("pocketsphinx"):
        drafters["pocketsphinx"] = load_recogniser("pocketsphinx")
    return Models("whisper-base", base, drafters, 2)


@pytest.mark.parametrize("clip", ["jfk", "ls-3080-5032-0007", "fleurs-fr-005", "fleurs-ja-1837"])
def test_real_runs_are_reproduced(
    whispers: Models, clips: Mapping[str, Path], cursors: Cursors, clip: str
) -> None:
    with Recording(clips[clip]) as recording:
        heard = whispers.hear(clip, next(recording.windows), None, "transcribe")
    for names in (("self",), ("tiny",), ("pocketsphinx",), ("self", "tiny")):
        if set(names) & heard.drafters.keys():
            for budget in (1, 7, 24):
                run = run_native(whispers, heard, Configuration(2, names, budget))
                assert run.target.calls[0].context == 0  # the prompt does not count
                check_reproduced(run, whispers.answering(heard), cursors)


def test_traces_of_real_models_replay_to_the_targets_tokens(
    whispers: Models, clips: Mapping[str, Path], flat_costs: Callable[..., Any]
) -> None:
    with Recording(clips["jfk"]) as recording:
        heard = whispers.hear("jfk", next(recording.windows), "en", "transcribe")
    window = record(whispers, heard)
    provenance = whispers.provenance("c", "transcribe")
    assert window.streams.keys() == whispers.drafters.keys()
    simulator = Simulator(window, provenance, flat_costs(verify=4.0, a_token=0.3, step=2.0, slower=1.1))
    for name in whispers.drafters:
        simulated = simulator.run(Configuration(2, (name,), 7))
        assert tuple(token for commit in simulated.commits for token in commit.tokens) == window.tokens
    assert sum(c.accepted for c in simulator.run(Configuration(2, ("self",), 7)).commits) > 5


def test_what_a_drafter_writes_on_is_recorded(toys: Models) -> None:
    window = record(toys, heard_by(toys))
    continuations = window.streams["small"].continuations
    assert len(continuations) == len(window.tokens)
    assert continuations[0] == (len("one t"), False)  # "one too"
    assert continuations[4] == (1, False)
    assert continuations[5] == (0, False)


def test_a_drafter_that_agrees_to_the_end(toy: Toy) -> None:
    models = Models("big", toy("one two"), {"small": toy("one two")}, 1)
    continuations = record(models, heard_by(models)).streams["small"].continuations
    assert continuations == tuple((7 - place, True) for place in range(8))


def test_methods_that_take_turns_are_replayed_as_they_run(
    whispers: Models, clips: Mapping[str, Path], flat_costs: Callable[..., Any]
) -> None:
    """No time decides what they do, so that every round is known."""
    with Recording(clips["ls-3080-5032-0007"]) as recording:
        speech = next(recording.windows)
    models = replace(whispers, drafters={"self": whispers.drafters["self"]})
    window = record(models, models.hear("clip", speech, "en", "transcribe"))
    simulator = Simulator(window, models.provenance("c", "transcribe"), flat_costs())
    pair = Pair(models.target, [lambda: cast(AudioModel, models.drafters["self"])], 2)
    prepared = pair.prepare(speech, Instruction(language="en"), any_language=False)
    for method, budget in product(IN_TURN, (1, 4, 7)):
        decoding = Decoding(method, budget, "word", any_language=False)
        native = list(run_window(pair, prepared, ENGLISH, decoding, Event()))
        simulated = simulator.run(Configuration(2, ("self",), budget, method=method))
        assert simulated.commits == tuple(native)
        assert sum(commit.accepted for commit in native) > 10


def test_methods_that_take_turns_are_not_noted(toys: Models) -> None:
    with pytest.raises(InputError, match="use `as2d bench`"):
        run_native(toys, heard_by(toys), Configuration(2, ("small",), 3, method="speculative"))


def test_a_known_target_has_no_scores() -> None:
    target = KnownTarget((1, 2), 5, lambda tokens, context, cores: None)
    with pytest.raises(InputError, match="ask the model itself"):
        target.scores((1,))
