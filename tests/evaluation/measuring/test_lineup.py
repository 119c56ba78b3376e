"""The loaded contenders: who takes part, and what one decode tells."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from as2d.errors import InputError, ModelNotFoundError
from as2d.evaluation.contender import Contender
from as2d.evaluation.measuring.lineup import Lineup, Prepared, load_drafters
from as2d.evaluation.measuring.plan import Wishes, make_plan, reference
from as2d.evaluation.measuring.recorder import busy_ms, overlap_ms
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import WhisperModel
from as2d.records import Instruction
from as2d.runtime.pair import SpeechWindow
from as2d.session.recording import Recording

Toy = Callable[..., AudioModel]
WINDOW = SpeechWindow(0, np.zeros(16_000, np.float32))
TARGET_ONLY = reference(2)
ENGLISH = Instruction(language="en")
END = 256


class Parrot:
    """A peer that says its audio's first samples."""

    name = "parrot"

    def prepare(self, samples: Any) -> Any:
        return samples[:5]

    def decode(self, prepared: Any, instruction: Instruction, limit: int) -> tuple[int, ...]:
        assert instruction == ENGLISH
        return tuple(int(sample) for sample in prepared)[:limit]


def broken() -> None:
    raise RuntimeError("it is broken")


def test_only_drafters_of_the_language_take_part(toy: Toy) -> None:
    drafters = {"english": toy("hello"), "german": toy("hello", languages=("de",))}
    plan = [TARGET_ONLY, *(Contender("as2d", 2, name, 3) for name in ("english", "german", "english+german"))]
    lineup = Lineup(toy("hello", languages=("de", "en")), drafters, (), plan, 2)

    def taking_part(language: str | None) -> list[str | None]:
        window = lineup.prepare(WINDOW, Instruction(language=language))
        return [contender.drafter for contender, one in lineup.entrants.items() if one.takes_part(window)]

    assert taking_part("en") == [None, "english"]
    assert taking_part("de") == [None, "german"]
    assert taking_part(None) == [None, "german"]  # what the toy hears


def test_only_drafters_of_the_task_take_part(toy: Toy) -> None:
    drafters = {"asker": toy("hello", tasks=("ask",)), "typist": toy("hello")}
    plan = [TARGET_ONLY, Contender("as2d", 2, "asker", 3), Contender("as2d", 2, "typist", 3)]
    lineup = Lineup(toy("hello", tasks=("transcribe", "ask")), drafters, (), plan, 2)
    for instruction, able in ((Instruction("ask", "en", question="who?"), "asker"), (ENGLISH, "typist")):
        window = lineup.prepare(WINDOW, instruction)
        taking_part = [one.drafter for one, entrant in lineup.entrants.items() if entrant.takes_part(window)]
        assert taking_part == [None, able]


def test_all_models_are_asked_what_the_window_was_prepared_for(toy: Toy) -> None:
    told: dict[str, list[Instruction]] = {"target": [], "drafter": [], "parrot": []}

    def listening(name: str) -> Any:
        model: Any = toy("hello", tasks=("ask",))
        plain = model.open

        def opened(prepared: Any, instruction: Instruction, threads: int) -> Any:
            told[name].append(instruction)
            return plain(prepared, instruction, threads)

        model.open = opened
        return model

    parrot: Any = Parrot()
    parrot.decode = lambda prepared, instruction, limit: told["parrot"].append(instruction)
    plan = [TARGET_ONLY, Contender("speculative", 2, "drafter", 3)]
    lineup = Lineup(listening("target"), {"drafter": listening("drafter")}, (parrot,), plan, 2)
    window = lineup.prepare(WINDOW, Instruction("ask", question="who?"))
    for entrant in lineup.entrants.values():
        entrant.decode(window)
    asked = Instruction("ask", "en", question="who?")  # in the language that the toy hears
    assert told == {"target": [asked] * 2, "drafter": [asked], "parrot": [asked]}


def slow_hello(prefix: Sequence[int]) -> int:
    """Says hello, no sooner than a drafter's thread has run."""
    sleep(0.05)
    return b"hello"[len(prefix)] if len(prefix) < 5 else END


def test_a_drafter_that_fails_is_told(toy: Toy) -> None:
    for failing in (toy("hello", on_prepare=broken), toy("hello", on_open=broken)):
        plan = [Contender("as2d", 2, "bad", 3), Contender("speculative", 2, "bad", 3)]
        lineup = Lineup(toy(slow_hello), {"bad": failing}, (), plan, 2)
        window = lineup.prepare(WINDOW, ENGLISH)
        for entrant in lineup.entrants.values():
            assert entrant.takes_part(window)
            decoded = entrant.decode(window)
            assert decoded.tokens == tuple(b"hello")
            assert decoded.faults == ("RuntimeError: it is broken",)


def test_a_peer_is_timed_and_never_exact(toy: Toy) -> None:
    lineup = Lineup(toy("hello", limit=4), {}, (Parrot(),), [TARGET_ONLY], 2)
    assert [contender.key for contender in lineup.entrants] == ["target-only 2c", "parrot 2c"]
    window = lineup.prepare(SpeechWindow(0, np.arange(100, 200, dtype=np.float32)), ENGLISH)
    peer = lineup.entrants[Contender("parrot", 2)]
    assert peer.takes_part(window)
    assert not peer.exact
    decoded = peer.decode(window)
    assert decoded.tokens == (100, 101, 102, 103)
    assert decoded.finish_reason == "length"
    assert 0 < decoded.decode_ms == decoded.producer_done_ms == decoded.call_ms
    assert decoded.tally.rounds == 0


@pytest.mark.parametrize("failing", ["prepare", "decode"])
def test_a_peer_that_fails_is_told_once_and_asked_no_more(toy: Toy, failing: str) -> None:
    parrot, calls = Parrot(), []

    def fail(*_: object) -> None:
        calls.append(failing)
        raise RuntimeError("it is broken")

    setattr(parrot, failing, fail)
    lineup = Lineup(toy("hello"), {}, (parrot,), [TARGET_ONLY], 2)
    peer, window = lineup.entrants[Contender("parrot", 2)], lineup.prepare(WINDOW, ENGLISH)
    for _ in range(2):
        assert peer.takes_part(window)
        decoded = peer.decode(window)
        assert (decoded.tokens, decoded.faults) == ((), ("RuntimeError: it is broken",))
    assert calls == [failing]
    later = lineup.prepare(WINDOW, ENGLISH)
    assert [one.takes_part(later) for one in lineup.entrants.values()] == [True, False]


def test_where_an_answer_ends_is_told(toy: Toy) -> None:
    lineup = Lineup(toy("hello", limit=3), {}, (), [TARGET_ONLY], 2)
    decoded = lineup.entrants[TARGET_ONLY].decode(lineup.prepare(WINDOW, ENGLISH))
    assert (decoded.tokens, decoded.finish_reason) == (tuple(b"hel"), "length")


def test_drafters_by_name(toy: Toy, base: WhisperModel) -> None:
    plan = [TARGET_ONLY, *(Contender("as2d", 3, name) for name in ("self", "whisper-tiny.en+self"))]
    assert list(load_drafters(plan, base)) == ["self", "whisper-tiny.en"]
    with pytest.raises(InputError, match="self is made of a Whisper target on onnxruntime, and toy is none"):
        load_drafters(plan, toy("hello"))
    with pytest.raises(ModelNotFoundError, match="nobody"):
        load_drafters([Contender("as2d", 2, "nobody")], base)
    with pytest.raises(InputError, match="no recogniser is named"):
        load_drafters([Contender("as2d", 2, "onnx-asr:")], base)


PLAN = make_plan(Wishes(("self", "whisper-tiny.en"), budgets=(7,)), 2)


@pytest.fixture(scope="module")
def real(base: WhisperModel) -> Lineup:
    return Lineup(base, load_drafters(PLAN, base), (), PLAN, 2)


@pytest.fixture(scope="module")
def jfk(real: Lineup, clips: Mapping[str, Path]) -> Prepared:
    with Recording(clips["jfk"]) as recording:
        (speech,) = recording.windows
    return real.prepare(speech, ENGLISH)


@pytest.mark.parametrize("contender", PLAN, ids=lambda contender: contender.key)
def test_every_method_decodes_and_is_seen_doing_so(real: Lineup, jfk: Prepared, contender: Contender) -> None:
    decoded = real.entrants[contender].decode(jfk)
    assert decoded.tokens == real.entrants[TARGET_ONLY].decode(jfk).tokens
    assert decoded.faults == ()
    assert len(decoded.verifying) == decoded.tally.rounds
    assert Counter(span.width for span in decoded.verifying) == decoded.tally.widths
    assert sum(len(step.origins) for step in decoded.steps) == decoded.tally.tokens
    assert 0 < decoded.verifying[0].start < decoded.verifying[-1].end < decoded.decode_ms + 1
    assert decoded.decode_ms <= decoded.producer_done_ms <= decoded.call_ms
    drafting, verifying = busy_ms(decoded.drafting), busy_ms(decoded.verifying)
    assert (drafting > 0) == (contender.drafter is not None)
    if contender.method in ("speculative", "specasr", "as2d-without-decoupling"):
        assert overlap_ms(decoded.drafting, decoded.verifying) == 0
        assert drafting + verifying <= decoded.decode_ms + 1
    for one, other in zip(decoded.steps, decoded.verifying, strict=True):
        assert one.at >= other.end
    assert max(span.end for span in chain(decoded.drafting, decoded.verifying)) < decoded.call_ms
