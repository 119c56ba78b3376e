"""Text to tokens and back, and vocabularies that are compared by content."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from as2d.errors import InputError, ModelDamagedError
from as2d.models.audio_lm.vocabulary import HubVocabulary


@pytest.fixture(scope="session")
def tokenizer(saved: Any) -> Any:
    return saved("qwen3_asr")[1].tokenizer


@pytest.fixture(scope="session")
def content(tokenizer: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    return loaded


@pytest.fixture(scope="session")
def vocabulary(content: dict[str, Any]) -> HubVocabulary:
    return HubVocabulary(content, 400)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text())
def test_text_is_encoded_as_transformers_does(tokenizer: Any, vocabulary: HubVocabulary, text: str) -> None:
    tokens = vocabulary.encode_prompt(text)
    assert list(tokens) == tokenizer(text, add_special_tokens=False)["input_ids"]
    assert vocabulary.decode(vocabulary.encode(text)) == text


def test_names_of_special_tokens_are_text_in_words_and_tokens_in_prompts(
    tokenizer: Any, vocabulary: HubVocabulary
) -> None:
    (mark,) = vocabulary.encode_prompt("<|im_end|>")
    assert mark == tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert vocabulary.token_bytes(mark) == b""
    words = vocabulary.encode("<|im_end|>")
    assert mark not in words
    assert vocabulary.decode(words) == "<|im_end|>"
    with pytest.raises(InputError, match="special token"):
        vocabulary.require_plain("say <|im_end|>")
    vocabulary.require_plain("say <asr_text> or <|anything|> 🎵")


@pytest.mark.parametrize("code", [0xD83C, 0xDFB5, 0xDCFF])
def test_half_a_character_is_refused(vocabulary: HubVocabulary, code: int) -> None:
    with pytest.raises(InputError, match="UTF-8"):
        vocabulary.require_plain(f"who {chr(code)}?")


def test_added_tokens_that_are_not_special_are_text(vocabulary: HubVocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode_prompt("a<asr_text>b")) == "a<asr_text>b"


def test_marks(vocabulary: HubVocabulary) -> None:
    (town,) = (token for token in range(vocabulary.size) if vocabulary.token_bytes(token) == b" town")
    assert town in vocabulary.word_starts
    assert town not in vocabulary.weak_tokens
    assert vocabulary.encode(",")[0] in vocabulary.weak_tokens - vocabulary.word_starts
    assert 399 in vocabulary.weak_tokens  # padding


def test_every_id_has_bytes_and_no_other(vocabulary: HubVocabulary) -> None:
    assert vocabulary.token_bytes(399) == b""
    for token in (-1, 400):
        with pytest.raises(InputError, match="no token"):
            vocabulary.token_bytes(token)


def test_equal_is_what_has_the_same_tokens(content: dict[str, Any], vocabulary: HubVocabulary) -> None:
    padded = HubVocabulary(content, 512)
    assert padded == vocabulary
    assert hash(padded) == hash(vocabulary)
    vocab = dict(content["model"]["vocab"])
    one, two = list(vocab)[300:302]
    vocab[one], vocab[two] = vocab[two], vocab[one]
    swapped = HubVocabulary({**content, "model": {**content["model"], "vocab": vocab}}, 400)
    assert swapped != vocabulary
    assert vocabulary != "a vocabulary"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"vocab": {}}}, "byte-level"),
        ({"model": {"vocab": {"▁the": 3}}}, "byte-level"),
        ({"model": {"vocab": {"the": "x"}}}, "byte-level"),
        ({"added_tokens": [{"content": "a"}]}, "byte-level"),
        ({"pre_tokenizer": {"type": "nothing"}}, "refused"),
    ],
)
def test_what_is_no_tokenizer_is_refused(
    content: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelDamagedError, match=message):
        HubVocabulary({**content, **change}, 400)


def test_more_tokens_than_the_model_has_are_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ModelDamagedError, match="more than the model's 300"):
        HubVocabulary(content, 300)
