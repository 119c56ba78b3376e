"""A drafter that goes on from the target's text, in the same tokens and in others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from as2d.drafting.prefix import NOTHING, PrefixDrafter
from as2d.drafting.words import Word
from as2d.models.contract import AudioModel, Vocabulary
from as2d.records import Instruction

ToyFactory = Callable[..., AudioModel]
END = 256


class Pairs:
    """A target's vocabulary: bytes, and some pairs of them behind the end id."""

    pairs = (b" a", b"nd", b" s", b"o ")
    size = END + 1 + len(pairs)
    weak_tokens: frozenset[int] = frozenset()
    word_starts: frozenset[int] = frozenset()

    def encode(self, text: str) -> tuple[int, ...]:
        tokens, data = [], text.encode()
        while data:
            pair = data[:2] in self.pairs
            tokens.append(END + 1 + self.pairs.index(data[:2]) if pair else data[0])
            data = data[2 if pair else 1 :]
        return tuple(tokens)

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.token_bytes, tokens)).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes:
        if token == END:
            return b""
        return bytes([token]) if token < END else self.pairs[token - END - 1]


PAIRS = Pairs()
TEXT = " and so on"


def never(_: Word) -> bool:
    return False


def opened(model: AudioModel, target: Vocabulary) -> PrefixDrafter:
    prepared = model.prepare(np.zeros(100, np.float32), 1)
    decoder = model.open(prepared, Instruction(), 1)
    return PrefixDrafter(decoder, model.vocabulary, target, end_ids=model.end_ids, limit=1000)


@pytest.fixture(params=["same", "other"])
def target(request: pytest.FixtureRequest, toy: ToyFactory) -> Vocabulary:
    return toy("").vocabulary if request.param == "same" else PAIRS


@pytest.fixture
def drafter(toy: ToyFactory, target: Vocabulary) -> PrefixDrafter:
    same: dict[str, Any] = {} if target is PAIRS else {"vocabulary": target}
    return opened(toy(TEXT, **same), target)


def test_a_draft_goes_on_from_the_text(drafter: PrefixDrafter, target: Vocabulary) -> None:
    for begun in ("", " an", " and", " and so on", " and so"):
        draft = drafter.draft(target.encode(begun), 100, never)
        assert target.decode(draft.tokens) == TEXT[len(begun) :]
        assert len(draft.probabilities) == len(draft.tokens)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_draft_has_as_many_target_tokens_as_are_wanted(
    drafter: PrefixDrafter, target: Vocabulary, limit: int
) -> None:
    draft = drafter.draft((), limit, never)
    assert len(draft.tokens) == limit
    assert TEXT.startswith(target.decode(draft.tokens))


@pytest.mark.parametrize("limit", [0, -1])
def test_where_nothing_is_wanted_nothing_is_computed(toy: ToyFactory, limit: int) -> None:
    def never_asked(prefix: Sequence[int]) -> int:
        raise AssertionError("no room")

    assert opened(toy(never_asked), PAIRS).draft((), limit, never) == NOTHING


def test_an_unfinished_word_is_given_out_as_it_is(drafter: PrefixDrafter, target: Vocabulary) -> None:
    seen: list[str] = []

    def enough(draft: Word) -> bool:
        seen.append(target.decode(draft.tokens))
        return len(seen) == 3

    assert target.decode(drafter.draft((), 100, enough).tokens) == " an"
    assert seen == [" ", " a", " an"]


def test_a_draft_of_a_draft_is_no_different(drafter: PrefixDrafter, target: Vocabulary) -> None:
    first = drafter.draft((), 3, never)
    again = drafter.draft((), 3, never)
    rest = drafter.draft(first.tokens, 100, never)
    assert again == first
    assert target.decode([*first.tokens, *rest.tokens]) == TEXT


def test_a_character_that_is_cut_in_two_is_completed(toy: ToyFactory) -> None:
    text = "le café noir"
    drafter, cut = opened(toy(text), PAIRS), "le café".encode()[:-1]
    draft = drafter.draft(tuple(cut), 100, never)
    assert cut + bytes(draft.tokens) == text.encode()
    assert PAIRS.decode(drafter.draft(PAIRS.encode("le café"), 100, never).tokens) == " noir"


@pytest.mark.parametrize(("own", "given"), [(" so be it", "so be"), ("so be it", " so be")])
def test_a_text_begins_as_the_drafter_begins_its_own(toy: ToyFactory, own: str, given: str) -> None:
    """One with a space, the other without: known once it has begun a text."""
    drafter = opened(toy(own), PAIRS)
    assert PAIRS.decode(drafter.draft((), 1, never).tokens) == own[:1]
    assert PAIRS.decode(drafter.draft(PAIRS.encode(given), 100, never).tokens) == " it"


def test_a_drafter_without_text_is_heard_for_eight_tokens(toy: ToyFactory) -> None:
    heard: list[int] = []

    def half(prefix: Sequence[int]) -> int:
        heard.append(1)
        return 0xC3  # the first half of a character, over and over

    assert opened(toy(half), PAIRS).draft((), 100, never).tokens == ()
    assert len(heard) == 8
