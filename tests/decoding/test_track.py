"""What the loop knows of a source: new streams, switch-off and requests to catch up."""

import pytest

from as2d.decoding.align import Cursor, Marks, candidates_at
from as2d.decoding.evidence import GRACE
from as2d.decoding.track import FAR_BEHIND, LONG_LOST, Track, learn, look
from as2d.drafting.buffer import Snapshot
from as2d.records import Commit

MARKS = Marks()
ALONE = Commit((9,), ("alone",), 0, 0)


def text(start: int, end: int) -> tuple[int, ...]:
    return tuple(range(start, end))


def test_a_new_stream_begins_behind_the_committed_tokens_that_precede_it() -> None:
    track = look(Track(), Snapshot((90, 91, 92)), text(0, 4), MARKS)
    assert track.cursor.lost
    track = look(track, Snapshot(start=4), text(0, 6), MARKS)
    assert track.cursor == Cursor(position=2, seen=6)
    snapshot = Snapshot(text(4, 12), start=4)
    track = look(track, snapshot, text(0, 7), MARKS)
    assert candidates_at(track.cursor, snapshot, 3) == (7, 8, 9)
    assert track.lost_rounds == 0


def test_a_new_stream_that_goes_on_otherwise_is_realigned() -> None:
    snapshot = Snapshot((4, 99, 5, 6, 7), start=4)
    track = look(look(Track(), Snapshot(start=4), text(0, 4), MARKS), snapshot, text(0, 6), MARKS)
    assert candidates_at(track.cursor, snapshot, 2) == (6, 7)


@pytest.mark.parametrize("start", [7, 10**9])
def test_a_stream_that_says_to_start_in_the_future_is_followed_from_its_beginning(start: int) -> None:
    track = look(Track(), Snapshot(text(0, 9), start=start), text(0, 5), MARKS)
    assert track.cursor.position == 0
    assert candidates_at(track.cursor, track.snapshot, 2) == (0, 1)


def rounds(track: Track, count: int, *, resync: bool = False) -> list[Commit]:
    tracks, commits = [track], []
    for index in range(count):
        tracks, commit = learn(tracks, ALONE, index, resync=resync)
        commits.append(commit)
    return commits


def test_a_source_that_brings_nothing_is_switched_off_once() -> None:
    commits = rounds(Track(), 3 * GRACE)
    assert [index for index, commit in enumerate(commits) if commit.switched_off] == [GRACE - 1]
    assert commits[GRACE - 1].switched_off == (0,)


def test_a_source_that_is_switched_off_is_not_looked_at_again() -> None:
    tracks = [Track()]
    for count in range(GRACE):
        tracks, _ = learn(tracks, ALONE, count, resync=False)
    track = look(tracks[0], Snapshot(text(0, 9)), text(0, 3), MARKS)
    assert track is tracks[0]
    assert not track.drafting
    assert candidates_at(track.cursor, track.snapshot, 5) == ()


def test_a_source_that_has_ended_costs_nothing_and_stays() -> None:
    assert not any(commit.switched_off for commit in rounds(Track(Snapshot(closed=True)), 3 * GRACE))


def test_what_is_accepted_counts_for_its_source() -> None:
    commit = Commit((1, 2), ("accepted", "bonus"), 1, 1, source=1)
    tracks = [Track(), Track()]
    named = []
    for count in range(GRACE):
        tracks, told = learn(tracks, commit, count, resync=False)
        named.append(told.switched_off)
    assert named == [()] * (GRACE - 1) + [(0,)]
    assert (tracks[0].off, tracks[1].off) == (True, False)


def late(tokens: int) -> Track:
    return Track(Snapshot((1,)), Cursor(position=1 + tokens))


@pytest.mark.parametrize(
    ("track", "asked"),
    [
        (late(FAR_BEHIND), False),
        (late(FAR_BEHIND + 1), True),
        (Track(lost_rounds=LONG_LOST - 1), False),
        (Track(lost_rounds=LONG_LOST), True),
        (Track(Snapshot((1,), closed=True), lost_rounds=LONG_LOST), True),
        (Track(Snapshot(closed=True), Cursor(position=99)), False),
        (Track(Snapshot(closed=True), off=True, lost_rounds=LONG_LOST), False),
    ],
)
def test_a_source_that_is_late_or_lost_is_asked_to_catch_up(track: Track, asked: bool) -> None:
    assert learn([track], ALONE, 5, resync=True)[1].resync == ((0,) if asked else ())
    assert learn([track], ALONE, 5, resync=False)[1].resync == ()


def test_a_source_whose_guess_was_right_is_not_asked() -> None:
    commit = Commit((1, 2), ("accepted", "bonus"), 1, 1, source=0)
    assert learn([Track(lost_rounds=9)], commit, 5, resync=True)[1].resync == ()


def test_a_source_is_asked_again_when_it_has_answered() -> None:
    tracks, commit = learn([late(20)], ALONE, 7, resync=True)
    assert commit.resync == (0,)
    tracks, commit = learn(tracks, ALONE, 8, resync=True)
    assert commit.resync == ()
    tracks = [look(tracks[0], Snapshot(start=7), text(0, 7 + FAR_BEHIND + 1), MARKS)]
    _, commit = learn(tracks, ALONE, 17, resync=True)
    assert commit.resync == (0,)


def test_nothing_is_decided_with_the_last_commit() -> None:
    last = Commit((0,), ("alone",), 0, 0, finish_reason="stop")
    assert learn([late(20)], last, 5, resync=True) == ([late(20)], last)
