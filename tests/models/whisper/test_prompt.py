"""Prompts, languages, suppressed tokens and the output limit."""

import pytest

from as2d.errors import InputError, ModelDamagedError, UnsupportedError
from as2d.models.store import Files, read_json, resolve
from as2d.models.whisper.prompt import (
    LANGUAGES,
    end_ids,
    normalise_language,
    output_limit,
    prompt_tokens,
    suppression,
)
from as2d.models.whisper.tokenizer import WhisperVocabulary
from as2d.records import Instruction

SIZES = {"whisper-base": 51_865, "whisper-tiny.en": 51_864}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2D_CACHE", str(tmp_path_factory.mktemp("cache")))
        return {name: resolve(name) for name in SIZES}


def load(files: Files) -> WhisperVocabulary:
    return WhisperVocabulary(files.tokenizer, SIZES[files.name])


@pytest.fixture(scope="module")
def base(models: dict[str, Files]) -> WhisperVocabulary:
    return load(models["whisper-base"])


@pytest.fixture(scope="module")
def english(models: dict[str, Files]) -> WhisperVocabulary:
    return load(models["whisper-tiny.en"])


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("de", "de"),
        (" German ", "de"),
        ("EN", "en"),
        ("burmese", "my"),
        ("jv", "jw"),
        ("Haitian Creole", "ht"),
        ("haw", "haw"),
    ],
)
def test_languages_by_code_and_name(given: str, code: str) -> None:
    assert normalise_language(given) == code


@pytest.mark.parametrize("given", ["", "klingon", "xx", "<|de|>"])
def test_unknown_languages_are_refused_with_examples(given: str) -> None:
    with pytest.raises(UnsupportedError, match="such as en, de"):
        normalise_language(given)


def test_every_language_of_the_table_maps_to_itself() -> None:
    assert len(LANGUAGES) == 100
    for code, name in LANGUAGES.items():
        assert normalise_language(code) == normalise_language(name) == code


def test_the_table_is_the_models(base: WhisperVocabulary) -> None:
    assert set(LANGUAGES) - set(base.languages) == {"yue"}
    assert set(base.languages) <= set(LANGUAGES)


def test_multilingual_prompt(base: WhisperVocabulary) -> None:
    german = prompt_tokens(base, multilingual=True, instruction=Instruction("translate", "german"))
    assert german == (base.sot, base.languages["de"], base.translate, base.notimestamps)
    assert german == (50258, 50261, 50358, 50363)
    plain = prompt_tokens(base, multilingual=True, instruction=Instruction(language="en"))
    assert plain == (50258, 50259, 50359, 50363)


def test_english_only_prompt(english: WhisperVocabulary) -> None:
    for language in (None, "en", "English"):
        instruction = Instruction(language=language)
        assert prompt_tokens(english, multilingual=False, instruction=instruction) == (50257, 50362)


@pytest.mark.parametrize("instruction", [Instruction("translate"), Instruction("transcribe", "de")])
def test_english_only_models_refuse_the_rest(english: WhisperVocabulary, instruction: Instruction) -> None:
    with pytest.raises(UnsupportedError, match="whisper-base"):
        prompt_tokens(english, multilingual=False, instruction=instruction)


def test_multilingual_models_need_a_language_they_have(base: WhisperVocabulary) -> None:
    with pytest.raises(InputError, match="detect it first"):
        prompt_tokens(base, multilingual=True, instruction=Instruction())
    with pytest.raises(UnsupportedError, match="it has af, am"):
        prompt_tokens(base, multilingual=True, instruction=Instruction(language="yue"))


@pytest.mark.parametrize("name", sorted(SIZES))
def test_suppressed_tokens_of_the_real_models(name: str, models: dict[str, Files]) -> None:
    vocabulary, config = load(models[name]), read_json(models[name].config)
    rules = suppression(config, vocabulary)
    assert set(config["suppress_ids"]) <= rules.always
    assert {vocabulary.sot, vocabulary.notimestamps, vocabulary.size - 1} <= rules.always
    assert set(vocabulary.languages.values()) <= rules.always
    assert end_ids(vocabulary) == {vocabulary.eot}
    assert vocabulary.eot not in rules.always
    assert rules.begin == {vocabulary.eot, *vocabulary.encode(" ")}


@pytest.mark.parametrize("ids", [None, "1", [1.5], [True], [-1], [51_865]])
def test_malformed_suppress_lists_are_refused(base: WhisperVocabulary, ids: object) -> None:
    with pytest.raises(ModelDamagedError, match="suppress_ids"):
        suppression({"suppress_ids": ids, "suppress_ids_begin": []}, base)


@pytest.mark.parametrize(
    ("seconds", "prompt", "limit"),
    [(0.0, 4, 32), (1.0, 4, 47), (1.01, 4, 48), (10.0, 4, 182), (30.0, 4, 444), (30.0, 447, 1)],
)
def test_output_limit(seconds: float, prompt: int, limit: int) -> None:
    assert output_limit(seconds, prompt, 448) == limit


def test_a_prompt_that_fills_the_context_is_refused() -> None:
    with pytest.raises(InputError, match="shorten it"):
        output_limit(1.0, 448, 448)
