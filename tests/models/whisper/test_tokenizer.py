"""Whisper's vocabulary, on small made-up files and on the real ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2d.errors import InputError, ModelDamagedError, ModelNotFoundError
from as2d.models.contract import Vocabulary
from as2d.models.store import KNOWN, resolve
from as2d.models.text import TextStream
from as2d.models.whisper.tokenizer import WhisperVocabulary

SPECIALS = (
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|en|>",
    "<|haw|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startofprev|>",
    "<|notimestamps|>",
)
BYTES = 256
SIZE = BYTES + 2 + len(SPECIALS) + 3


def byte_characters() -> list[str]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    spelling = {byte: chr(byte) for byte in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
    return [spelling[byte] for byte in range(256)]


def content() -> dict[str, Any]:
    """A byte-level tokenizer.json: 256 bytes, "ab", " a" and the special tokens, without the timestamps."""
    pieces = [*byte_characters(), "ab", "Ġa"]
    return {
        "version": "1.0",
        "added_tokens": [
            {
                "id": BYTES + 2 + index,
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for index, name in enumerate(SPECIALS)
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        },
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {piece: index for index, piece in enumerate(pieces)},
            "merges": ["a b", "Ġ a"],
        },
    }


def vocabulary_of(folder: Path, value: object, size: int = SIZE) -> WhisperVocabulary:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return WhisperVocabulary(path, size)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> WhisperVocabulary:
    return vocabulary_of(tmp_path_factory.mktemp("tokenizer"), content())


@pytest.fixture(scope="module", params=sorted(KNOWN))
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> WhisperVocabulary:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2D_CACHE", str(tmp_path_factory.mktemp("cache")))
        files = resolve(request.param)
    return WhisperVocabulary(files.tokenizer, 51_865 if request.param == "whisper-base" else 51_864)


def test_special_tokens_are_found_by_content(small: WhisperVocabulary) -> None:
    first = BYTES + 2
    assert (small.eot, small.sot, small.notimestamps) == (first, first + 1, first + 7)
    assert (small.translate, small.transcribe) == (first + 4, first + 5)
    assert dict(small.languages) == {"en": first + 2, "haw": first + 3}
    assert small.special_tokens == frozenset(range(first, SIZE))


def test_special_tokens_and_timestamps_give_no_text(small: WhisperVocabulary) -> None:
    assert all(small.token_bytes(token) == b"" for token in small.special_tokens)
    assert small.decode([small.sot, BYTES, small.eot, SIZE - 1]) == "ab"


def test_encodes_merges_and_single_bytes(small: WhisperVocabulary) -> None:
    assert small.encode("ab a") == (BYTES, BYTES + 1)
    assert small.encode("") == ()


def test_the_name_of_a_special_token_is_plain_text(small: WhisperVocabulary) -> None:
    text = "a<|endoftext|> <|en|>"
    tokens = small.encode(text)
    assert not small.special_tokens & set(tokens)
    assert small.decode(tokens) == text


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_text_survives_the_round_trip(small: WhisperVocabulary, text: str) -> None:
    tokens = small.encode(text)
    assert small.decode(tokens) == text
    assert b"".join(map(small.token_bytes, tokens)) == text.encode()


@given(tokens=st.lists(st.integers(0, SIZE - 1)), cuts=st.lists(st.integers(0, 12)))
def test_the_stream_ends_with_the_whole_text(
    small: WhisperVocabulary, tokens: list[int], cuts: list[int]
) -> None:
    stream, position, seen = TextStream(small), 0, ""
    for cut in [*cuts, len(tokens)]:
        seen += stream.feed(tokens[position : position + cut])
        position += cut
        assert small.decode(tokens).startswith(seen)
    seen += stream.finish()
    assert seen == stream.text == small.decode(tokens)


def test_the_stream_holds_half_a_character_back(small: WhisperVocabulary) -> None:
    stream = TextStream(small)
    first, second = "é".encode()
    assert stream.feed([BYTES, first]) == "ab"
    assert stream.feed([second]) == "é"
    assert stream.feed([first]) == ""
    assert stream.finish() == "\ufffd"
    assert stream.text == "abé\ufffd"


def test_weak_tokens_have_no_letter_or_digit(small: WhisperVocabulary) -> None:
    assert {ord("."), ord(" "), 0xC3, small.eot, SIZE - 1} <= small.weak_tokens
    assert not {ord("a"), ord("7"), BYTES, BYTES + 1} & small.weak_tokens


@pytest.mark.parametrize("token", [-1, SIZE])
def test_refuses_ids_outside_the_vocabulary(small: WhisperVocabulary, token: int) -> None:
    with pytest.raises(InputError, match="ids run from 0"):
        small.token_bytes(token)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"added_tokens": []}, "lacks <|startoftranscript|>"),
        ({"added_tokens": None}, "no tokenizer.json of Whisper"),
        ({"model": {"vocab": [1]}}, "no tokenizer.json of Whisper"),
        ({"model": {"vocab": {}}}, "no byte-level vocabulary"),
        ({"model": {"vocab": {"\u4e2d": 0}}}, "no byte-level vocabulary"),
        ({"pre_tokenizer": {"type": "Nonsense"}}, "refused by tokenizers"),
    ],
)
def test_names_what_is_malformed(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelDamagedError) as caught:
        vocabulary_of(tmp_path, content() | change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refuses_a_tokenizer_of_another_model(tmp_path: Path) -> None:
    with pytest.raises(ModelDamagedError, match="take both from one model"):
        vocabulary_of(tmp_path, content(), SIZE - 4)
    with pytest.raises(ModelDamagedError, match="no JSON object"):
        vocabulary_of(tmp_path, [])
    with pytest.raises(ModelNotFoundError, match=r"tokenizer\.json"):
        WhisperVocabulary(tmp_path / "none" / "tokenizer.json", SIZE)


def test_real_vocabularies(real: WhisperVocabulary) -> None:
    contract: Vocabulary = real
    text = " Grüße, 東京 😀 <|endoftext|> it's 12%"
    tokens = contract.encode(text)
    assert contract.decode(tokens) == text
    assert not real.special_tokens & set(tokens)
    assert len(real.languages) == 99
    assert real.size - real.notimestamps - 1 == 1501
    assert real.eot == real.sot - 1


def test_real_single_byte_tokens_cover_every_byte(real: WhisperVocabulary) -> None:
    singles = {real.token_bytes(token) for token in range(256)}
    assert singles == {bytes([byte]) for byte in range(256)}


def test_what_the_models_say_is_encoded_as_they_say_it() -> None:
    """Frequent words are one token; a converter's lost merge would take them apart."""
    text = " the time that they told to two of them, and a thing"
    for name, size in (("whisper-base", 51_865), ("whisper-tiny.en", 51_864)):
        vocabulary = WhisperVocabulary(resolve(name).tokenizer, size)
        words = [vocabulary.decode([token]) for token in vocabulary.encode(text)]
        assert words == [
            " the",
            " time",
            " that",
            " they",
            " told",
            " to",
            " two",
            " of",
            " them",
            ",",
            " and",
            " a",
            " thing",
        ]


def test_vocabularies_are_compared_by_what_ids_stand_for(tmp_path: Path) -> None:
    """Not by file or size: a padded output has ids that stand for nothing."""
    other = content()
    other["model"]["vocab"]["ba"] = other["model"]["vocab"].pop("ab")
    other["model"]["merges"] = ["b a", "\u0120 a"]
    one, padded = vocabulary_of(tmp_path, content()), vocabulary_of(tmp_path, content(), SIZE + 7)
    assert one == padded
    assert hash(one) == hash(padded)
    assert one != vocabulary_of(tmp_path, other)
    assert one != "tokens"
