"""Every family against transformers' own processor and `generate`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from as2d.errors import InputError, UnsupportedError
from as2d.models.contract import AudioModel, Decoder, prepare_for
from as2d.records import Instruction, Task

ASK = Instruction("ask", question="What was decided in the end?")
TRANSLATE = Instruction("translate", "en", to="de")
CASES = [
    ("qwen3_asr", Instruction(language="en"), ("en",)),
    ("qwen3_asr", Instruction(language="yue", context="the town"), ("Cantonese", "the town")),
    *(
        (family, instruction, (words,))
        for family in ("qwen2_5_omni", "qwen2_audio")
        for instruction, words in (
            (Instruction(), "Transcribe the audio into text."),
            (
                TRANSLATE,
                "Listen to the provided English speech and produce a translation in German text.",
            ),
            (ASK, "What was decided in the end?"),
        )
    ),
    ("voxtral", Instruction(language="en"), ("", "lang:en")),
    ("voxtral", ASK, ("What was decided in the end?",)),
    ("granite_speech", Instruction(), ("can you transcribe the speech into a written format?",)),
    ("granite_speech", TRANSLATE, ("can you translate the speech to German?",)),
]


def greedy(decoder: Decoder, end_ids: frozenset[int], count: int) -> list[int]:
    """What the decoder says, one token a call, with the end."""
    said: list[int] = []
    while len(said) < count and not (said and said[-1] in end_ids):
        said += decoder.forward([said[-1] if said else decoder.root]).greedy
    return said


def follows(decoder: Decoder, said: Sequence[int]) -> None:
    """Every row chooses what was said, or has it so near the best that another machine may choose so."""
    rows = decoder.scores([decoder.root, *said[:-1]])
    best = rows.max(axis=1) - rows[np.arange(len(said)), said]
    assert best.max() < 1e-3


def prompt_ids(model: Any, prepared: Any, instruction: Instruction, audio_token: int) -> list[int]:
    """All tokens of the prompt; the audio's stand where it was heard."""
    prompt = model.prompt(instruction)
    before, closing = (model.vocabulary.encode_prompt(text) for text in (prompt.before, prompt.closing))
    heard = prepared.held.length - len(before) - len(closing)
    return [*before, *[audio_token] * heard, *closing, *model.vocabulary.encode_prompt(prompt.after)]


@pytest.mark.parametrize(("family", "instruction", "words"), CASES)
@pytest.mark.parametrize("seconds", [0.5, 2.37])
def test_prompt_and_rows_are_those_of_transformers(
    saved: Any,
    loaded: Callable[..., AudioModel],
    noise: Any,
    family: str,
    instruction: Instruction,
    words: Sequence[str],
    seconds: float,
) -> None:
    _, reference = saved(family)
    model, samples = loaded(family), noise(seconds)
    inputs = reference.inputs(samples, *words)
    prepared = prepare_for(model, instruction, samples, 1)
    audio_token = reference.model.config.audio_token_id
    assert prompt_ids(model, prepared, instruction, audio_token) == inputs["input_ids"][0].tolist()
    said = greedy(model.open(prepared, instruction, 1), model.end_ids, 32)
    assert len(set(said)) > 8
    follows(model.open(prepared, instruction, 1), reference.generate(inputs, 32))


@pytest.mark.parametrize(
    ("family", "words"),
    [("qwen3_asr", "en"), ("qwen2_5_omni", "x"), ("voxtral", "x"), ("granite_speech", "x")],
)
def test_what_is_heard_is_what_transformers_hears(
    saved: Any, loaded: Callable[..., Any], noise: Any, family: str, words: str
) -> None:
    """Also what is next to silent, and the last frames."""
    _, reference = saved(family)
    samples = noise(2.37)
    samples[: len(samples) // 2] *= 1e-6
    inputs = dict(reference.inputs(samples, words))
    del inputs["input_ids"]
    inputs.pop("attention_mask", None)
    heard = loaded(family)._family.listen(samples)
    output = reference.model.get_audio_features(**inputs)
    expected = output.last_hidden_state if family == "qwen2_5_omni" else output.pooler_output
    found, wanted = heard.numpy(), expected.detach().reshape(heard.shape).numpy()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-3 * np.abs(wanted).max())


@pytest.mark.parametrize(("family", "words", "most"), [("qwen3_asr", "en", 6400), ("voxtral", "x", 3000)])
def test_long_audio_is_heard_in_pieces(
    saved: Any, loaded: Callable[..., Any], noise: Any, family: str, words: str, most: int
) -> None:
    """As if it were heard at once, which would need memory without bounds."""
    _, reference = saved(family)
    model, samples = loaded(family), noise(66.3)
    frames: list[int] = []

    def count(_: Any, positional: Sequence[Any], named: Mapping[str, Any]) -> None:
        features = named["input_features"] if named.get("input_features") is not None else positional[0]
        frames.append(features.shape[0] * features.shape[-1])

    hook = model._family._parts.model.model.audio_tower.register_forward_pre_hook(count, with_kwargs=True)
    heard = model._family.listen(samples).numpy()
    hook.remove()
    assert max(frames) == most
    assert len(frames) > 1
    inputs = dict(reference.inputs(samples, words))
    del inputs["input_ids"]
    inputs.pop("attention_mask", None)
    wanted = reference.model.get_audio_features(**inputs).pooler_output.detach().reshape(heard.shape).numpy()
    np.testing.assert_allclose(heard, wanted, rtol=0, atol=1e-3 * np.abs(wanted).max())


def test_voxtral_hears_every_30_s_by_themselves(
    saved: Any, loaded: Callable[..., AudioModel], noise: Any
) -> None:
    _, reference = saved("voxtral")
    model, samples = loaded("voxtral"), noise(31.0)
    prepared, inputs = model.prepare(samples, 1), reference.inputs(samples, "", "lang:en")
    instruction = Instruction(language="en")
    audio_token = reference.model.config.audio_token_id
    assert prompt_ids(model, prepared, instruction, audio_token) == inputs["input_ids"][0].tolist()
    follows(model.open(prepared, instruction, 1), reference.generate(inputs, 8))


@pytest.mark.parametrize(("task", "language"), [("transcribe", "de"), ("translate", "en")])
def test_whisper_says_what_transformers_says(
    saved: Any, loaded: Callable[..., AudioModel], noise: Any, task: Task, language: str
) -> None:
    _, reference = saved("whisper")
    model, samples = loaded("whisper"), noise(2.37)
    instruction = Instruction(task, language)
    decoder = model.open(model.prepare(samples, 1), instruction, 1)
    said = reference.generate(reference.inputs(samples, language, task), 32)
    assert len(set(said)) > 8
    assert decoder.forward([decoder.root, *said[:-1]]).greedy == tuple(said)


def test_whisper_detects_a_language_that_it_has(loaded: Callable[..., AudioModel], noise: Any) -> None:
    model = loaded("whisper")
    assert model.detect_language(model.prepare(noise(0.5), 1), 1) in model.capabilities.languages
    assert model.check(Instruction("translate", "German")).language == "de"
    with pytest.raises(UnsupportedError, match="to ask about audio"):
        model.check(Instruction("ask", question="Why?"))
    with pytest.raises(InputError, match="another model"):
        model.open(loaded("qwen2_audio").prepare(noise(0.5), 1), Instruction(language="en"), 1)
