"""Words of a shared vocabulary, and their grouping to batches."""

from collections.abc import Sequence

import pytest

from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.publication import BatchSize, Publisher
from as2d.drafting.words import SameVocabulary, Word
from as2d.errors import InputError


class Pieces:
    """A vocabulary that is a list of texts."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces
        self.size = len(pieces)
        self.weak_tokens: frozenset[int] = frozenset()
        self.word_starts: frozenset[int] = frozenset()

    def encode(self, text: str) -> tuple[int, ...]:
        return (self.pieces.index(text),)

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.pieces[token] for token in tokens)

    def token_bytes(self, token: int) -> bytes:
        return self.pieces[token].encode()


class Log(CandidateBuffer):
    """Keeps the batches apart."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[int]] = []

    def publish(self, tokens: Sequence[int], probabilities: Sequence[float]) -> None:
        super().publish(tokens, probabilities)
        self.batches.append(list(tokens))


def test_a_word_is_complete_when_the_next_begins() -> None:
    words = SameVocabulary(Pieces(" the", " cat", "s", "."))
    assert words.add(0, 0.9) == []
    assert words.add(1, 0.8) == [Word((0,), (0.9,))]
    assert words.add(2, 0.7) == []
    assert words.add(3, 0.6) == []
    assert words.flush() == [Word((1, 2, 3), (0.8, 0.7, 0.6))]
    assert words.flush() == []


def test_text_without_spaces_is_given_out_after_eight_tokens() -> None:
    words = SameVocabulary(Pieces("a"))
    given = [words.add(0, 0.5) for _ in range(20)]
    assert [len(word.tokens) for complete in given for word in complete] == [8, 8]
    assert given[7]
    assert [len(word.tokens) for word in words.flush()] == [4]


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ("word", [[1, 2, 3], [4], [5, 6, 7, 8, 9]]),
        (1, [[1], [2], [3], [4], [5], [6], [7], [8], [9]]),
        (4, [[1, 2, 3, 4], [5, 6, 7, 8], [9]]),
        (8, [[1, 2, 3, 4, 5, 6, 7, 8], [9]]),
        (100, [[1, 2, 3, 4, 5, 6, 7, 8, 9]]),
    ],
)
def test_batches(batch: BatchSize, expected: list[list[int]]) -> None:
    buffer = Log()
    publisher = Publisher(buffer, batch)
    for word in ((1, 2, 3), (4,), (5, 6, 7, 8, 9)):
        publisher.add(word, tuple(token / 10 for token in word))
    publisher.finish()
    publisher.finish()
    assert buffer.batches == expected
    assert buffer.snapshot().probabilities == tuple(token / 10 for token in range(1, 10))
    assert not buffer.snapshot().closed


def test_an_empty_word_is_no_batch() -> None:
    buffer = Log()
    Publisher(buffer, "word").add((), ())
    assert buffer.batches == []


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="from 1 up"):
        Publisher(CandidateBuffer(), 0)
