"""Qwen3-ASR's header, context and windows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.errors import InputError, UnsupportedError
from as2d.models.audio_lm.qwen3_asr import Header, hear_header
from as2d.models.contract import AudioModel, ReadsContext, Rows, prefix_of, prepare_for
from as2d.records import Instruction


class Scripted:
    """A decoder that says given tokens, whatever it is told."""

    root, length, capacity = 0, 0, 100

    def __init__(self, script: Sequence[int]) -> None:
        self._script = iter(script)
        self.told: list[int] = []

    def forward(self, tokens: Sequence[int]) -> Rows:
        self.told += tokens
        return Rows((next(self._script),), (1.0,))

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        raise NotImplementedError

    def truncate(self, length: int) -> None:
        raise NotImplementedError

    def use_threads(self, threads: int) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("said", "language"),
    [("language English<asr_text>", "en"), ("language None<asr_text>", None), ("English<asr_text>", "en")],
)
def test_the_header_says_the_language(
    loaded: Callable[..., AudioModel], said: str, language: str | None
) -> None:
    model: Any = loaded("qwen3_asr")
    tokens = model.vocabulary.encode_prompt(said)
    decoder = Scripted([*tokens, 5, 5, 5])
    assert hear_header(decoder, model.vocabulary, model.end_ids) == Header(tokens, language)
    assert decoder.told == [0, *tokens[:-1]]


def test_a_text_without_a_header_has_none(loaded: Callable[..., AudioModel]) -> None:
    model: Any = loaded("qwen3_asr")
    assert hear_header(Scripted([5] * 40), model.vocabulary, model.end_ids) == Header((), None)
    ended = Scripted([5, min(model.end_ids), 5])
    assert hear_header(ended, model.vocabulary, model.end_ids) == Header((), None)
    assert ended.told == [0, 5]


def test_what_follows_a_header_is_what_transformers_says(
    saved: Any, loaded: Callable[..., AudioModel], noise: Any
) -> None:
    """The header is heard once, and then part of the prompt."""
    _, reference = saved("qwen3_asr")
    model: Any = loaded("qwen3_asr")
    samples = noise(1.2)
    prepared = model.prepare(samples, 1)
    assert model.detect_language(prepared, 1) is None  # the weights are random
    plain = model.open(prepared, Instruction(), 1).length
    encode = model.vocabulary.encode_prompt
    header = encode("language English<asr_text>")
    prepared.headers[:] = [Header(header, "en")]
    assert model.detect_language(prepared, 1) == "en"
    forced = reference.generate(reference.inputs(samples, "en"), 12)
    for instruction in (Instruction(), Instruction(language="en")):
        decoder = model.open(prepared, instruction, 1)
        assert decoder.length == plain + len(header)
        assert decoder.forward([decoder.root, *forced[:-1]]).greedy == tuple(forced)
    other = model.open(prepared, Instruction(language="zh"), 1)
    assert other.length == plain + len(encode("language Chinese<asr_text>"))
    spelled = tuple(token for letter in "language English" for token in encode(letter))
    prepared.headers[:] = [Header((*spelled, *encode("<asr_text>")), "en")]
    as_heard = model.open(prepared, Instruction(language="en"), 1)
    assert as_heard.length == plain + len("language English") + 1


def test_without_a_language_the_text_is_as_transformers_says_it(
    saved: Any, loaded: Callable[..., AudioModel], noise: Any
) -> None:
    _, reference = saved("qwen3_asr")
    model, samples = loaded("qwen3_asr"), noise(1.2)
    decoder = model.open(model.prepare(samples, 1), Instruction(), 1)
    said = reference.generate(reference.inputs(samples, None), 12)
    assert decoder.forward([decoder.root, *said[:-1]]).greedy == tuple(said)


def test_a_language_that_is_not_on_the_card_is_not_detected(
    loaded: Callable[..., AudioModel], noise: Any
) -> None:
    model: Any = loaded("qwen3_asr")
    prepared = model.prepare(noise(0.5), 1)
    prepared.headers.append(Header((5, 6), "la"))
    assert model.detect_language(prepared, 1) is None
    assert model.open(prepared, Instruction(), 1).root == 6


def test_audio_is_good_for_its_context_only(loaded: Callable[..., AudioModel], noise: Any) -> None:
    model = loaded("qwen3_asr")
    assert isinstance(model, ReadsContext)
    named = Instruction(language="en", context="the town")
    assert prefix_of(model, named) == "the town"
    prepared = prepare_for(model, named, noise(0.5), 1)
    model.open(prepared, named, 1)
    with pytest.raises(InputError, match="another context"):
        model.open(prepared, Instruction(language="en"), 1)
    with pytest.raises(InputError, match="another context"):
        model.output_limit(prepared, Instruction(language="en", context="the people"))
    with pytest.raises(InputError, match="special token"):
        prepare_for(model, Instruction(context="<|im_end|>"), noise(0.5), 1)
    with pytest.raises(InputError, match="another model"):
        model.open(loaded("qwen2_audio").prepare(noise(0.5), 1), Instruction(), 1)


def test_what_it_cannot_do_is_refused(loaded: Callable[..., AudioModel]) -> None:
    model = loaded("qwen3_asr")
    for instruction in (Instruction("translate", to="de"), Instruction("ask", question="Why?")):
        with pytest.raises(UnsupportedError, match="only transcribe"):
            model.check(instruction)
    with pytest.raises(UnsupportedError, match="language"):
        model.check(Instruction(language="latin"))
    assert model.check(Instruction(language="Cantonese", context="x")).language == "yue"


def test_hears_beyond_a_window_of_its_encoder(
    saved: Any, loaded: Callable[..., AudioModel], noise: Any
) -> None:
    """The encoder attends within 8 s."""
    _, reference = saved("qwen3_asr")
    model, samples = loaded("qwen3_asr"), noise(17.3)
    decoder = model.open(model.prepare(samples, 1), Instruction(language="en"), 1)
    said = reference.generate(reference.inputs(samples, "en"), 16)
    assert len(set(said)) > 4
    assert decoder.forward([decoder.root, *said[:-1]]).greedy == tuple(said)
