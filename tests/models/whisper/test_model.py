"""Whisper as an AudioModel, on the real weights."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.errors import InputError, UnsupportedError
from as2d.models.whisper.build import DecoderPlan, assemble
from as2d.models.whisper.drafter import HEAD_SIZE
from as2d.models.whisper.model import WhisperModel, load_whisper
from as2d.records import SAMPLE_RATE, Instruction

Float32 = NDArray[np.float32]
OTHER_LANGUAGES = ("de", "fr", "es", "ja")
CLIP_OF = {
    "en": "jfk",
    "de": "fleurs-de-003",
    "fr": "fleurs-fr-005",
    "es": "fleurs-es-008",
    "ja": "fleurs-ja-1837",
}


def heard(clips: dict[str, Path], language: str) -> Float32:
    return np.concatenate(list(open_audio(clips[CLIP_OF[language]])))


def said(model: WhisperModel, samples: Float32, instruction: Instruction) -> str:
    """The plain greedy answer."""
    prepared = model.prepare(samples, 2)
    decoder = model.open(prepared, instruction, 2)
    tokens: list[int] = []
    token = decoder.root
    for _ in range(model.output_limit(prepared, instruction)):
        (token,) = decoder.forward([token]).greedy
        if token in model.end_ids:
            break
        tokens.append(token)
    return model.vocabulary.decode(tokens).strip()


@pytest.mark.parametrize("language", ["en", *OTHER_LANGUAGES])
def test_the_language_is_detected(base: WhisperModel, clips: dict[str, Path], language: str) -> None:
    assert base.detect_language(base.prepare(heard(clips, language), 2), 2) == language


def test_an_english_only_model_knows_one_language(tiny: WhisperModel, clips: dict[str, Path]) -> None:
    assert tiny.detect_language(tiny.prepare(heard(clips, "de"), 2), 2) == "en"
    assert tiny.capabilities.languages == ("en",)
    assert tiny.capabilities.tasks == ("transcribe",)
    assert not tiny.capabilities.detects_language


def test_a_multilingual_model_transcribes_and_translates_99_languages(base: WhisperModel) -> None:
    assert len(base.capabilities.languages) == 99
    assert set(CLIP_OF) <= set(base.capabilities.languages)
    assert base.capabilities.tasks == ("transcribe", "translate")
    assert base.capabilities.detects_language


def test_a_transcript(base: WhisperModel, clips: dict[str, Path]) -> None:
    text = said(base, heard(clips, "en"), Instruction("transcribe", "en"))
    assert text == (
        "And so my fellow Americans, ask not what your country can do for you, "
        "ask what you can do for your country."
    )


def test_german_is_written_in_german_and_translated_to_english(
    base: WhisperModel, clips: dict[str, Path]
) -> None:
    samples = heard(clips, "de")
    german = said(base, samples, Instruction("transcribe", "de")).lower().split()
    english = said(base, samples, Instruction("translate", "de")).lower().split()
    assert {"noch", "männer", "und", "ihre"} <= set(german)
    assert {"and", "men", "women"} <= set(english)
    assert not {"und", "noch"} & set(english)


def test_a_language_that_was_asked_for_is_used(base: WhisperModel, clips: dict[str, Path]) -> None:
    samples = heard(clips, "en")
    german = said(base, samples, Instruction("transcribe", "de"))
    assert german != said(base, samples, Instruction("transcribe", "en"))


@pytest.mark.parametrize("language", ["klingon", "xx", "", " "])
def test_an_unknown_language_is_refused(base: WhisperModel, language: str) -> None:
    with pytest.raises(UnsupportedError, match="has no language"):
        base.check(Instruction("transcribe", language))


def test_a_language_that_only_newer_models_have_is_refused(base: WhisperModel) -> None:
    with pytest.raises(UnsupportedError, match="this model has no language 'yue'"):
        base.check(Instruction("transcribe", "cantonese"))


def test_an_unknown_task_is_refused(base: WhisperModel, tiny: WhisperModel) -> None:
    for model in (base, tiny):
        with pytest.raises(UnsupportedError, match="Whisper cannot summarise"):
            model.check(Instruction("summarise"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "instruction",
    [Instruction("translate"), Instruction("translate", "en"), Instruction("transcribe", "de")],
)
def test_an_english_only_model_refuses_the_rest(tiny: WhisperModel, instruction: Instruction) -> None:
    with pytest.raises(UnsupportedError, match="English-only"):
        tiny.check(instruction)


def test_an_instruction_is_put_in_the_model_s_terms(base: WhisperModel, tiny: WhisperModel) -> None:
    assert base.check(Instruction("translate", "German")) == Instruction("translate", "de")
    assert base.check(Instruction("transcribe")) == Instruction("transcribe")
    assert tiny.check(Instruction("transcribe", "English")) == Instruction("transcribe", "en")


def test_a_multilingual_decoder_needs_a_language(base: WhisperModel, clips: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="detect it first"):
        base.open(base.prepare(heard(clips, "fr"), 2), Instruction(), 1)


def test_the_output_limit_grows_with_the_audio(base: WhisperModel) -> None:
    english = Instruction("transcribe", "en")
    second, window = (base.prepare(np.zeros(seconds * SAMPLE_RATE, np.float32), 2) for seconds in (1, 30))
    assert base.output_limit(second, english) == 32 + 15
    assert base.output_limit(window, english) == 448 - 4


def test_the_end_of_text_is_the_only_special_token_that_can_be_said(
    base: WhisperModel, tiny: WhisperModel
) -> None:
    for model in (base, tiny):
        head = model._decoder.head
        sayable = set(head.ids[: head.speakable].tolist())
        assert sayable & model.vocabulary.special_tokens == model.end_ids == {model.vocabulary.eot}


def test_a_drafter_says_the_most_frequent_tokens_only(tiny: WhisperModel) -> None:
    head = tiny._decoder.head
    assert max(set(head.ids[: head.speakable].tolist()) - tiny.end_ids) < HEAD_SIZE
    assert head.with_probability


def test_identity_tells_apart_what_computes_differently(base: WhisperModel, tiny: WhisperModel) -> None:
    float32 = load_whisper("whisper-base", "fp32")
    short = WhisperModel(assemble("whisper-base", DecoderPlan("int8", head_ids=range(1000))))
    assert len({model.identity for model in (base, tiny, float32, short)}) == 4
    assert load_whisper("whisper-base").identity == base.identity


def test_float32_and_eight_bits_write_the_same_english(base: WhisperModel, clips: dict[str, Path]) -> None:
    float32, english = load_whisper("whisper-base", "fp32"), Instruction("transcribe", "en")
    samples = heard(clips, "en")
    assert said(float32, samples, english) == said(base, samples, english)
