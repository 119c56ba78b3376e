"""The cursor: in step, late, lost and found again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from as2d.decoding.align import AHEAD, BACK, GUESSES, Cursor, Marks, candidates_at, follow, matching_tail
from as2d.drafting.buffer import Snapshot

NONE = Marks()
WEAK = Marks(weak=frozenset({13}))
SMALL = st.lists(st.integers(0, 3), max_size=40)


def text(start: int, end: int) -> list[int]:
    """Distinct tokens."""
    return list(range(start, end))


def test_agreement_advances_in_step() -> None:
    cursor = follow(Cursor(), text(0, 5), tuple(text(0, 9)), NONE)
    assert cursor == Cursor(position=5, seen=5, checked=5, agreed=5)


def test_a_late_drafter_is_not_searched() -> None:
    # Token 2 is published at index 2 and was just committed again as token 6: a search would lock on to it.
    committed = [0, 1, 2, 3, 4, 5, 2]
    cursor = follow(Cursor(), committed, (0, 1, 2), NONE)
    assert cursor == Cursor(position=7, seen=7, checked=3, agreed=3)
    assert candidates_at(cursor, Snapshot((0, 1, 2)), 8) == ()


def test_a_late_drafter_catches_up() -> None:
    cursor = follow(Cursor(), text(0, 7), (0, 1, 2), NONE)
    cursor = follow(cursor, text(0, 7), tuple(text(0, 10)), NONE)
    assert cursor == Cursor(position=7, seen=7, checked=7, agreed=7)
    assert candidates_at(cursor, Snapshot(tuple(text(0, 10))), 2) == (7, 8)


def test_late_publications_that_differ_are_found_out() -> None:
    cursor = follow(Cursor(), text(0, 7), (0, 1, 2), NONE)
    published = (0, 1, 2, 90, 91, 3, 4, 5, 6, 7)  # two more tokens than were committed
    assert follow(cursor, text(0, 7), published, NONE) == Cursor(position=9, seen=7, checked=9, agreed=3)


def test_inserted_tokens_are_skipped_up_to_the_window() -> None:
    for inserted, found in ((1, True), (AHEAD, True), (AHEAD + 1, False)):
        published = (*text(0, 5), *text(100, 100 + inserted), *text(5, 20))
        cursor = follow(Cursor(), text(0, 6), published, NONE)
        assert cursor.lost != found
        assert not found or candidates_at(cursor, Snapshot(published), 2) == (6, 7)


@pytest.mark.parametrize("missing", [1, 4, 5, 30])
def test_any_number_of_missing_tokens_is_passed(missing: int) -> None:
    published = (*text(0, 5), *text(5 + missing, 60))
    cursor = Cursor()
    for count in range(5, 6 + missing + 1):
        cursor = follow(cursor, text(0, count), published, NONE)
    assert candidates_at(cursor, Snapshot(published), 1) == (6 + missing,)


def test_a_wrong_realignment_is_undone() -> None:
    # The 3 in the third place is replaced, and its only likeness lies far ahead of where the text goes on.
    published = (0, 1, 2, 99, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 3, 50)
    wrong = follow(Cursor(), text(0, 4), published, NONE)
    assert wrong.position == 16
    right = follow(wrong, text(0, 5), published, NONE)
    assert candidates_at(right, Snapshot(published), 2) == (5, 6)


def test_what_lies_before_the_last_agreement_is_retired() -> None:
    for back, found in ((BACK, True), (BACK + 1, False)):
        published = tuple(text(0, 20))
        cursor = follow(Cursor(), text(0, 20), published, NONE)
        again = published[20 - back - 1]
        cursor = follow(cursor, [*text(0, 20), again], (*published, 99), NONE)
        assert cursor.lost != found


def test_a_replaced_token_loses_one_round() -> None:
    published = (0, 1, 2, 99, 4, 5, 6)
    cursor = follow(Cursor(), text(0, 4), published, NONE)
    assert cursor.lost
    cursor = follow(cursor, text(0, 5), published, NONE)
    assert cursor == Cursor(position=5, seen=5, checked=5, agreed=3)


WORDS = Marks(weak=frozenset({50, 51}), word_starts=frozenset(range(100, 200)))
"""Words begin with 100 and up, go on with tokens below 50; 50 and 51 are punctuation."""


@pytest.mark.parametrize(
    ("said", "published", "guess"),
    [
        ([101, 102], (101, 103, 7, 104, 105, 106, 107), (104, 105, 106)),  # one word for another
        ([101, 102, 8], (101, 103, 7, 104, 105), (104, 105)),  # ... of more tokens
        ([101, 102, 110], (101, 103, 7, 104, 105), (105,)),  # ... and the next one too
        ([101, 50], (101, 103, 7, 104), (103, 7, 104)),  # punctuation that the drafter lacks
        ([101, 50], (101, 51, 103, 7), (103, 7)),  # other punctuation
        ([101, 50, 102], (101, 103, 7, 104), (104,)),  # punctuation, then one word for another
        ([101, 9], (101, 8, 7, 51, 104), (51, 104)),  # another end of the same word
        ([101, 102], (101, 103), ()),  # nothing published behind the difference
    ],
)
def test_a_lost_cursor_stands_at_a_guess(
    said: list[int], published: tuple[int, ...], guess: tuple[int, ...]
) -> None:
    cursor = Cursor()
    for count in range(1, len(said) + 1):
        cursor = follow(cursor, said[:count], published, WORDS)
    assert cursor.lost
    assert candidates_at(cursor, Snapshot(published), 8) == guess[:GUESSES]


def test_a_right_guess_ends_being_lost() -> None:
    published = (101, 103, 7, 104, 105, 106)
    cursor = follow(Cursor(), [101, 102], published, WORDS)
    cursor = follow(cursor, [101, 102, 104, 105], published, WORDS)
    assert not cursor.lost
    assert candidates_at(cursor, Snapshot(published), 8) == (106,)


def test_where_no_word_begins_the_guess_is_one_token_further() -> None:
    cursor = follow(Cursor(), [0, 1, 99], tuple(text(0, 30)), NONE)
    assert candidates_at(cursor, Snapshot(tuple(text(0, 30))), 8) == (3, 4, 5)[:GUESSES]


def test_weak_tokens_alone_are_no_place_to_realign() -> None:
    published = (0, 1, 99, 13, 4, 5)
    committed = [0, 1, 7, 13]
    lost = follow(Cursor(), committed, published, WEAK)
    assert lost.lost
    assert follow(Cursor(), committed, published, NONE).position == 4
    assert follow(lost, [*committed, 4], published, WEAK).position == 5


def test_the_longest_match_wins_over_the_nearest() -> None:
    published = (0, 1, 8, 5, 6, 4, 5, 7)
    assert follow(Cursor(), [0, 1, 4, 5], published, NONE).position == 7


def test_the_nearest_of_equals_wins_and_the_forward_one_of_equally_near() -> None:
    committed = [0, 1, 2, 9]
    assert follow(Cursor(), committed, (0, 1, 2, 8, 9, 6, 9), NONE).position == 5
    # Lost at 3; the 9s at index 0 and 4 give the places 1 and 5.
    assert follow(Cursor(), [9, 1, 2, 9], (9, 1, 5, 6, 9), NONE).position == 5


def test_a_lost_cursor_searches_again_after_each_publication() -> None:
    committed = text(0, 4)
    cursor = follow(Cursor(), committed, (0, 1, 2, 90), NONE)
    assert cursor.lost
    assert follow(cursor, committed, (0, 1, 2, 90), NONE) is cursor
    assert follow(cursor, committed, (0, 1, 2, 90, 91, 3, 4), NONE).position == 6


def test_no_more_candidates_than_asked_for() -> None:
    snapshot = Snapshot((1, 2, 3))
    assert candidates_at(Cursor(), snapshot, 2) == (1, 2)
    assert candidates_at(Cursor(), snapshot, 0) == ()
    assert candidates_at(Cursor(), snapshot, -1) == ()


def test_matching_tail_counts_back_from_the_cursor() -> None:
    assert matching_tail(Cursor(), [], (1, 2)) == 0
    assert matching_tail(Cursor(position=3), [9, 2, 3], (1, 2, 3, 4)) == 2
    assert matching_tail(Cursor(position=30), text(0, 30), tuple(text(0, 30))) == 16
    assert matching_tail(Cursor(position=5), text(0, 5), (0, 1)) == 0


@settings(max_examples=500, deadline=None)
@given(SMALL, st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=12), st.data())
def test_a_cursor_that_is_not_lost_stands_behind_a_match(
    stream: list[int], blocks: list[list[int]], data: st.DataObject
) -> None:
    """Everything published since the last realignment was compared and agrees, or the cursor is lost."""
    cursor = Cursor()
    committed: list[int] = []
    ready = 0
    for block in blocks:
        committed += block
        ready = data.draw(st.integers(ready, len(stream)))
        before, published = cursor, tuple(stream[:ready])
        cursor = follow(before, committed, published, Marks(frozenset({3}), frozenset({1, 2})))
        assert cursor.seen == len(committed)
        assert cursor == follow(cursor, committed, published, Marks(frozenset({3}), frozenset({1, 2})))
        counted = before.position + len(block)
        assert (
            cursor.agreed - BACK <= cursor.position <= max(counted, before.position + 8 * len(block)) + AHEAD
        )
        assert cursor.agreed >= before.agreed - BACK
        if not cursor.lost and committed and 0 < cursor.position <= ready:
            assert published[cursor.position - 1] == committed[-1]
