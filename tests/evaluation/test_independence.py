"""The probe of independence on toys whose answer is known, and on real models."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from as2d.configuration.drafters import drafters_for
from as2d.errors import InputError
from as2d.evaluation.independence import (
    Comparison,
    Independence,
    PairedBlocks,
    ProbeWindow,
    as_dict,
    compare,
    compare_groups,
    markdown,
    probe,
)
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import WhisperModel
from as2d.runtime.source import source_of
from as2d.session.recording import Recording

Toy = Callable[..., AudioModel]

TEXT = "the quick brown fox jumps over a lazy dog"


def _windows(count: int, language: str | None = "en") -> list[ProbeWindow]:
    return [ProbeWindow(f"clip#{index}", language, np.zeros(16_000, np.float32)) for index in range(count)]


def _needs_context(prefix: Sequence[int]) -> int:
    """From nothing it says only x; after the target's words it goes on as the target does."""
    text = TEXT.encode()
    told = bytes(prefix)
    return text[len(told)] if told and text.startswith(told) and len(told) < len(text) else ord("x")


def test_a_drafter_that_says_the_same_needs_no_context(toy: Toy) -> None:
    found = probe(toy(TEXT), source_of(toy(TEXT)), _windows(2), 10, block=4)
    assert [pair.with_context for pair in found.pairs] == [4] * 10
    assert [pair.without_context for pair in found.pairs] == [4] * 10
    assert not any(pair.lost for pair in found.pairs)


def test_one_vocabulary_for_both(toy: Toy) -> None:
    target = toy(TEXT)
    found = probe(target, source_of(toy(TEXT, vocabulary=target.vocabulary)), _windows(1), 10, block=4)
    assert compare(found.pairs).accepted_with_context == 4
    assert compare(found.pairs).unchanged == 1


def test_a_drafter_that_needs_the_context(toy: Toy) -> None:
    found = probe(toy(TEXT), source_of(toy(_needs_context)), _windows(1), 5, block=4)
    assert all(pair.with_context == 4 for pair in found.pairs)
    assert all(pair.without_context == 0 and pair.lost for pair in found.pairs)
    assert compare(found.pairs).better_with_context == 1


def test_a_drafter_that_the_context_confuses(toy: Toy) -> None:
    """It leaves out the first word, and says nothing but question marks after a text that has it."""
    rest = TEXT.partition(" ")[2]
    found = probe(toy(TEXT), source_of(toy(rest)), _windows(1), 20, block=3)
    settled = [pair for pair in found.pairs if pair.position > len(TEXT) - len(rest) + 4]
    assert len(settled) > 3
    assert all(pair.with_context == 0 and pair.without_context == 3 for pair in settled)
    assert compare(settled).worse_with_context == 1


def test_places_are_seeded_even_and_inside_the_transcript(toy: Toy) -> None:
    def places(seed: int) -> list[tuple[str, int]]:
        found = probe(toy(TEXT), source_of(toy(TEXT)), _windows(3), 12, seed=seed, block=5)
        return [(pair.window, pair.position) for pair in found.pairs]

    assert places(1) == places(1)
    assert places(1) != places(2)
    assert len(set(places(1))) == 12
    assert sorted(window for window, _ in places(1)) == [f"clip#{n}" for n in range(3) for _ in range(4)]
    assert all(1 <= place <= len(TEXT) - 5 for _, place in places(1))


def test_every_place_is_used_when_there_are_too_few(toy: Toy) -> None:
    found = probe(toy("abcdefgh"), source_of(toy("abcdefgh")), _windows(1), 480, block=5)
    assert [pair.position for pair in found.pairs] == [1, 2, 3]


def test_languages_that_the_drafter_lacks_are_left_out(toy: Toy) -> None:
    target = toy(TEXT, languages=("de", "en"))
    windows = [*_windows(2, "en"), ProbeWindow("german#0", "de", np.zeros(16_000, np.float32))]
    found = probe(target, source_of(toy(TEXT)), windows, 100, block=4)
    assert {pair.window for pair in found.pairs} == {"clip#0", "clip#1"}


@pytest.mark.parametrize("language", [None, "none"])
def test_a_language_that_is_not_known_is_detected(toy: Toy, language: str | None) -> None:
    models = [toy(TEXT, languages=("de", "en")) for _ in range(2)]
    found = probe(models[0], source_of(models[1]), _windows(1, language), 3, block=4)
    assert {pair.language for pair in found.pairs} == {"de"}


def test_a_transcript_that_never_ends_says_nothing(toy: Toy) -> None:
    with pytest.raises(InputError, match="longer clips"):
        probe(toy(lambda _: ord("a")), source_of(toy(TEXT)), _windows(1), 5, block=4)


@pytest.mark.parametrize(("pairs", "block"), [(0, 7), (5, 0)])
def test_nothing_to_compare(toy: Toy, pairs: int, block: int) -> None:
    with pytest.raises(InputError, match="use 1 or more"):
        probe(toy(TEXT), source_of(toy(TEXT)), _windows(1), pairs, block=block)


def _pair(language: str, with_context: int, without_context: int, *, lost: bool = False) -> PairedBlocks:
    return PairedBlocks("a#0", language, 3, with_context, without_context, lost)


PAIRS = (_pair("en", 7, 7), _pair("en", 3, 3), _pair("en", 5, 1, lost=True), _pair("de", 0, 2))


def test_what_pairs_come_to() -> None:
    assert compare(PAIRS) == Comparison(4, 0.5, 0.25, 0.25, 3.75, 3.25, 0.25)


def test_groups_without_pairs_are_left_out() -> None:
    assert {name: group.pairs for name, group in compare_groups(PAIRS).items()} == {
        "English": 3,
        "other languages": 1,
        "all": 4,
    }
    assert list(compare_groups(PAIRS[3:])) == ["other languages", "all"]


def test_ready_for_json() -> None:
    whole = as_dict(Independence("base", "self", 7, 0, PAIRS))
    read = json.loads(json.dumps(whole))
    assert read["groups"]["all"]["unchanged"] == 0.5
    assert read["pairs"][2] == {
        "window": "a#0",
        "language": "en",
        "position": 3,
        "with_context": 5,
        "without_context": 1,
        "lost": True,
    }


def test_the_table() -> None:
    lines = markdown([Independence("base", "self", 7, 0, PAIRS)]).splitlines()
    assert "| self | other languages | 7 | 1 | 0.0% | 0.0% | 100.0% | 0.00 | 2.00 | 0.0% |" in lines
    assert "| self | all | 7 | 4 | 50.0% | 25.0% | 25.0% | 3.75 | 3.25 | 25.0% |" in lines


def test_real_models(base: WhisperModel, clips: Mapping[str, Path]) -> None:
    windows = []
    for clip, language in (("jfk", "en"), ("fleurs-fr-005", "fr")):
        with Recording(clips[clip]) as recording:
            windows += [ProbeWindow(clip, language, window.samples) for window in recording.windows]
    own, tiny = (drafters_for(base, name).sources[0] for name in ("self", "whisper-tiny.en"))
    both = probe(base, own, windows, 6)
    assert {pair.language for pair in both.pairs} == {"en", "fr"}
    assert compare(both.pairs).accepted_with_context > 3
    english = probe(base, tiny, windows, 6)
    assert {pair.window for pair in english.pairs} == {"jfk"}
    assert compare(english.pairs).accepted_with_context > 3
    assert compare(english.pairs).accepted_without_context > 3
