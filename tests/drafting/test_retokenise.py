"""Drafter tokens to target tokens by way of the text."""

import re
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from as2d.drafting.retokenise import Retokeniser
from as2d.drafting.words import Word


class Toy:
    """A byte-level vocabulary: 256 bytes, some longer pieces, one special token without bytes.

    Text is split before each space, as GPT-2 does, and each part is covered by the longest pieces that fit.
    """

    special = 10_000

    def __init__(self, *pieces: str) -> None:
        self.bytes = [bytes([value]) for value in range(256)] + [piece.encode() for piece in pieces]
        self.size = self.special + 1
        self.weak_tokens: frozenset[int] = frozenset()
        self.word_starts: frozenset[int] = frozenset()
        self.ids = {data: token for token, data in enumerate(self.bytes)}

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(token for part in re.findall(" ?[^ ]+| ", text) for token in self._cover(part.encode()))

    def _cover(self, data: bytes) -> Iterator[int]:
        while data:
            size = next(size for size in range(len(data), 0, -1) if data[:size] in self.ids)
            yield self.ids[data[:size]]
            data = data[size:]

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.token_bytes, tokens)).decode("utf-8", "replace")

    def token_bytes(self, token: int) -> bytes:
        return b"" if token == self.special else self.bytes[token]


DRAFTER = Toy(" the", " ca", "ts", " And", " so", "né", " é")
TARGET = Toy(" cats", "the", " an", " so", "日本", "é")
TEXTS = st.text(st.sampled_from("aehnost éñ日本語🙂."), max_size=60)


def retokenise(retokeniser: Retokeniser, tokens: Sequence[int]) -> list[Word]:
    words = [word for token in tokens for word in retokeniser.add(token, 0.5)]
    return words + retokeniser.flush()


def joined(words: Sequence[Word]) -> tuple[int, ...]:
    return tuple(token for word in words for token in word.tokens)


@given(TEXTS, st.lists(st.integers(1, 7), max_size=60))
def test_the_text_survives_any_split_into_tokens(text: str, sizes: list[int]) -> None:
    data = text.encode()
    cuts = [0]
    for size in sizes:
        cuts.append(min(cuts[-1] + size, len(data)))
    parts = [data[a:b] for a, b in zip(cuts, [*cuts[1:], len(data)], strict=True)]

    class Split(Toy):
        def token_bytes(self, token: int) -> bytes:
            return parts[token]

    words = retokenise(Retokeniser(Split(), TARGET), range(len(parts)))
    assert TARGET.decode(joined(words)) == text
    assert all(TARGET.decode(word.tokens).encode().decode() for word in words)  # no word is half a character
    assert all("�" not in TARGET.decode(word.tokens) for word in words)


@given(st.lists(st.sampled_from(["the", "cats", "so", "né", "And", "🙂", "a"]), max_size=20), st.booleans())
def test_equal_vocabularies_give_the_tokens_of_the_full_text(spoken: list[str], space: bool) -> None:
    text = (" " if space else "") + " ".join(spoken) if spoken else ""
    tokens = DRAFTER.encode(text)
    assert joined(retokenise(Retokeniser(DRAFTER, DRAFTER), tokens)) == tokens


@given(st.lists(st.sampled_from(["the", "cats", "so", "né", "And", "a"]), min_size=1, max_size=20))
def test_other_vocabularies_give_the_targets_tokens_of_the_full_text(spoken: list[str]) -> None:
    text = "".join(f" {word}" for word in spoken)
    words = retokenise(Retokeniser(DRAFTER, TARGET), DRAFTER.encode(text))
    assert joined(words) == TARGET.encode(text)
    assert len(words) == len(spoken)


@given(st.lists(st.integers(0, 255), max_size=60))
def test_bytes_that_are_not_text_are_dropped(tokens: list[int]) -> None:
    words = retokenise(Retokeniser(DRAFTER, TARGET), tokens)
    assert TARGET.decode(joined(words)) == bytes(tokens).decode("utf-8", "ignore")


def test_words_come_out_when_the_next_begins_and_keep_their_space() -> None:
    retokeniser = Retokeniser(DRAFTER, TARGET)
    and_, so = DRAFTER.encode(" And so")
    assert retokeniser.add(and_, 0.9) == []
    assert retokeniser.add(so, 0.8) == [Word(TARGET.encode(" And"), (0.9,) * 4)]
    assert retokeniser.flush() == [Word(TARGET.encode(" so"), (0.8,))]
    assert retokeniser.flush() == []


def test_a_word_is_as_sure_as_its_least_sure_token() -> None:
    retokeniser = Retokeniser(DRAFTER, TARGET)
    for token, probability in zip(DRAFTER.encode(" cats"), (0.3, 0.9), strict=True):
        assert retokeniser.add(token, probability) == []
    assert retokeniser.flush() == [Word(TARGET.encode(" cats"), (0.3,))]
    retokeniser.add(DRAFTER.encode("a")[0], 0.7)
    assert retokeniser.flush()[0].probabilities == (0.7,)


def test_a_language_without_spaces_is_given_out_between_characters() -> None:
    tokens = tuple("日本語日本語".encode())
    retokeniser = Retokeniser(DRAFTER, TARGET)
    given = [TARGET.decode(joined(retokeniser.add(token, 0.5))) for token in tokens]
    assert {i: text for i, text in enumerate(given) if text} == {8: "日本語", 17: "日本語"}


def test_half_a_character_at_the_end_is_dropped() -> None:
    words = retokenise(Retokeniser(DRAFTER, TARGET), [*b" a", *"語".encode()[:2]])
    assert TARGET.decode(joined(words)) == " a"
    assert retokenise(Retokeniser(DRAFTER, TARGET), "語".encode()[:2]) == []


def test_special_tokens_say_nothing() -> None:
    assert retokenise(Retokeniser(DRAFTER, TARGET), [Toy.special] * 20) == []


def test_words_are_encoded_once() -> None:
    class Counting(Toy):
        calls = 0

        def encode(self, text: str) -> tuple[int, ...]:
            self.calls += 1
            return super().encode(text)

    target = Counting()
    retokenise(Retokeniser(DRAFTER, target), DRAFTER.encode(" so") * 50)
    assert target.calls == 1
