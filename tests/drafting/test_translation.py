"""A target's text for a drafter with other tokens."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2d.drafting.retokenise import Retokeniser
from as2d.drafting.translation import Given, Translation
from as2d.drafting.words import SameVocabulary
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import WhisperModel

ToyFactory = Callable[..., AudioModel]


def test_the_same_vocabulary_needs_no_translation(toy: ToyFactory) -> None:
    vocabulary = toy("").vocabulary
    translation = Translation(vocabulary, vocabulary)
    assert translation.given([1, 2, 0xC3], 5) == Given((1, 2, 0xC3))
    assert isinstance(translation.words(), SameVocabulary)


@pytest.mark.parametrize("cut", range(1, 9))
def test_the_text_is_given_up_to_its_last_whole_character(base: WhisperModel, cut: int) -> None:
    """In a target whose characters have up to several tokens."""
    target = base.vocabulary
    tokens = target.encode("Ja 語 é 🙂!")
    translation = Translation(_Other(base), target)
    given_text = translation.given(tokens[:cut], None)
    text = b"".join(map(target.token_bytes, tokens[: cut - len(given_text.half)])).decode()
    assert given_text.tokens == tuple(target.encode(text))
    half = b"".join(map(target.token_bytes, given_text.half))
    assert "\ufffd" in half.decode(errors="replace") or not half
    assert isinstance(translation.words(), Retokeniser)


class _Other:
    """The same tokens, which nothing says are the same."""

    def __init__(self, model: WhisperModel) -> None:
        self._vocabulary = model.vocabulary
        self.size = model.vocabulary.size
        self.weak_tokens = model.vocabulary.weak_tokens
        self.word_starts = model.vocabulary.word_starts
        self.encode = model.vocabulary.encode
        self.decode = model.vocabulary.decode
        self.token_bytes = model.vocabulary.token_bytes


@given(st.binary(max_size=12))
def test_any_bytes_can_be_given(toy: ToyFactory, data: bytes) -> None:
    one, other = toy("").vocabulary, toy("").vocabulary
    given_text = Translation(one, other).given(tuple(data), None)
    assert len(given_text.half) <= 3
    assert bytes(given_text.tokens).decode() == data[: len(data) - len(given_text.half)].decode(
        errors="replace"
    )
