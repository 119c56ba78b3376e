import wave
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from as2d.audio import open_audio
from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, Piece
from as2d.evaluation.requests.long import PAUSES_S, Part, joined, long_recording, recipe
from as2d.records import SAMPLE_RATE

DURATIONS = {f"clip{number}": 3.0 + number for number in range(10)}


def test_clips_follow_each_other_with_short_pauses() -> None:
    parts = recipe(DURATIONS, 60, seed=0)
    assert parts[0].start_s == 0
    assert 60 - PAUSES_S[1] < parts[-1].end_s <= 60
    assert len({part.clip for part in parts}) == len(parts)
    for part, following in pairwise(parts):
        assert part.end_s - part.start_s == pytest.approx(DURATIONS[part.clip], abs=1e-3)
        assert PAUSES_S[0] - 1e-3 <= following.start_s - part.end_s <= PAUSES_S[1] + 1e-3


def test_the_seed_decides_and_the_order_of_the_corpus_does_not() -> None:
    backwards = dict(reversed(DURATIONS.items()))
    assert recipe(DURATIONS, 60, seed=1) == recipe(backwards, 60, seed=1) != recipe(DURATIONS, 60, seed=2)


def test_a_clip_that_is_long_enough_is_used_alone() -> None:
    assert recipe({**DURATIONS, "long": 90.0}, 60, seed=0) == (Part("long", 0, 60),)


def test_too_little_audio_is_refused() -> None:
    with pytest.raises(InputError, match=r"hold 75 s, and 600 s are needed; choose more kinds"):
        recipe({**DURATIONS, "unknown": 0.0}, 600, seed=0)


def test_the_audio_is_where_the_recipe_says(clips: Mapping[str, Path]) -> None:
    parts = (Part("jfk", 0.0, 11.0), Part("jfk", 12.0, 15.0))
    samples = joined(parts, clips, 15)
    with open_audio(clips["jfk"]) as stream:
        jfk = np.concatenate(list(stream))
    assert samples.shape == (15 * SAMPLE_RATE,)
    np.testing.assert_array_equal(samples[: len(jfk)], jfk)
    assert not samples[len(jfk) : 12 * SAMPLE_RATE].any()
    np.testing.assert_array_equal(samples[12 * SAMPLE_RATE :][: 2 * SAMPLE_RATE], jfk[: 2 * SAMPLE_RATE])
    assert samples[-1] == 0  # cut in mid-speech, it fades


def test_a_clip_that_is_shorter_than_it_says_is_followed_by_silence(clips: Mapping[str, Path]) -> None:
    samples = joined((Part("jfk", 0.0, 14.0),), clips, 14)
    assert samples[: 11 * SAMPLE_RATE].any()
    assert not samples[12 * SAMPLE_RATE :].any()


def test_clips_that_are_cut_out_of_recordings_are_joined_as_they_were_cut(
    clips: Mapping[str, Path], tmp_path: Path
) -> None:
    with open_audio(clips["jfk"]) as stream:
        jfk = np.concatenate(list(stream))
    whole = tmp_path / "whole.wav"
    with wave.open(str(whole), "wb") as file:
        file.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
        file.writeframes((jfk * 32_768).astype("<i2").tobytes())
    clip = Clip("cut", whole, "read", "en", "", 4.0, False, pieces=(Piece(whole, 5.0, 9.0),))
    parts, samples = long_recording([clip], 4, seed=0)
    assert parts == (Part("cut", 0, 4),)
    np.testing.assert_allclose(samples, jfk[5 * SAMPLE_RATE : 9 * SAMPLE_RATE], atol=1e-4)
