"""What of a recording a request looks at."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2d.audio import Window
from as2d.errors import InputError
from as2d.records import SAMPLE_RATE
from as2d.session.view import Asked, LiveView, view_of

EDGES = (0, 25, 27, 50, 64)
"""Seconds between windows; the second has no speech."""


def window(start: int, end: int, *, speech: bool = True) -> Window:
    return Window(start * SAMPLE_RATE, end * SAMPLE_RATE, np.zeros(0, np.float32), speech)


WINDOWS = [window(0, 25), window(25, 27, speech=False), window(27, 50), window(50, 64)]
LENGTH = 64 * SAMPLE_RATE


def seconds(view: LiveView) -> tuple[float, float]:
    return view.start / SAMPLE_RATE, view.end / SAMPLE_RATE


@pytest.mark.parametrize(
    ("asked", "asked_s", "found"),
    [
        (Asked(), (0, 64), (0, 64)),
        (Asked(last=10), (54, 64), (50, 64)),
        (Asked(last=14), (50, 64), (50, 64)),
        (Asked(last=14.001), (49.999, 64), (27, 64)),
        (Asked(since=30), (30, 64), (27, 64)),
        (Asked(since=np.float64(30)), (30, 64), (27, 64)),
        (Asked(until=30), (0, 30), (0, 50)),
        (Asked(since=26, until=27), (26, 27), (25, 27)),
        (Asked(since=30, until=31), (30, 31), (27, 50)),
        (Asked(last=2, until=26), (24, 26), (0, 27)),
        (Asked(since=30, until=30), (30, 30), (30, 30)),
        (Asked(last=0), (64, 64), (64, 64)),
    ],
)
def test_a_view_is_widened_to_whole_windows(asked: Asked, asked_s: Any, found: Any) -> None:
    view = view_of(WINDOWS, LENGTH, asked, ["noisy"])
    assert (view.asked_start_s, view.asked_end_s) == pytest.approx(asked_s)
    assert seconds(view) == found
    assert view.warnings == ("noisy",)
    assert view.samples == view.end - view.start
    assert all(its.speech for its in view.speech)


@pytest.mark.parametrize(
    ("asked", "found", "named"),
    [
        (Asked(last=100), (0, 64), "`last` is 100.00 s"),
        (Asked(until=65), (0, 64), "`until` is 65.00 s"),
        (Asked(since=60, until=100), (50, 64), "`until` is 100.00 s"),
        (Asked(since=70), (64, 64), "`since` is 70.00 s"),
        (Asked(last=10, until=100), (50, 64), "`until` is 100.00 s"),
    ],
)
def test_a_view_beyond_the_recording_is_clipped_with_a_warning(asked: Asked, found: Any, named: str) -> None:
    view = view_of(WINDOWS, LENGTH, asked)
    assert seconds(view) == found
    assert view.warnings == (
        f"the view reaches beyond the recording, which had 64.00 s when the request arrived: {named}",
    )


def test_what_has_been_forgotten_is_said() -> None:
    view = view_of(WINDOWS[2:], LENGTH, Asked(since=20))
    assert seconds(view) == (27, 64)
    assert view.warnings == (
        "audio before 27.00 s has been forgotten; listen with a larger `keep_s` to keep more",
    )
    assert view_of(WINDOWS[2:], LENGTH, Asked(since=27)).warnings == ()
    assert view_of(WINDOWS[2:], LENGTH, Asked(until=5)).windows == ()


def test_an_empty_recording_has_an_empty_view() -> None:
    view = view_of([], 0, Asked())
    assert (view.windows, view.samples, view.warnings) == ((), 0, ())


@given(st.floats(0, 80), st.floats(0, 80))
def test_what_was_asked_for_is_inside(one: float, other: float) -> None:
    since, until = sorted((one, other))
    view = view_of(WINDOWS, LENGTH, Asked(since=since, until=until))
    start, end = seconds(view)
    assert start <= min(since, 64) + 1e-4
    assert end >= min(until, 64) - 1e-4
    assert (start in EDGES and end in EDGES) or not view.windows


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"last": -1}, "`last` is -1; give seconds of the recording, from 0 up"),
        ({"since": float("nan")}, "`since` is nan"),
        ({"until": float("inf")}, "`until` is inf"),
        ({"until": "5"}, "`until` is '5'"),
        ({"since": True}, "`since` is True"),
        ({"last": 10**400}, "`last` is 1000"),
        ({"until": 1e308}, "`until` is 1e"),
        ({"last": 1, "since": 1}, "give one of them"),
        ({"since": 5, "until": 4}, "give `until` above `since`"),
    ],
)
def test_an_impossible_view_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Asked(**asked)
