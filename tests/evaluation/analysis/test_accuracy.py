"""Word and character error rates, counted by hand."""

import json
import random
import sys
from collections.abc import Callable

import pytest

from as2d.errors import MissingExtraError
from as2d.evaluation.analysis.accuracy import ErrorRate, Utterance, accuracies, character_errors, word_errors
from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import Row

pytest.importorskip("jiwer", reason='needs pip install "as2d[bench]"')
pytest.importorskip("whisper_normalizer", reason='needs pip install "as2d[bench]"')


def test_substitutions_deletions_and_insertions_count() -> None:
    said = "the cat sat on the mat"
    assert word_errors([Utterance("en", said, "the dog sat the mat now")]) == ErrorRate(3, 6, 1)


def test_errors_are_pooled_over_words() -> None:
    rate = word_errors([Utterance("en", "no", "yes"), Utterance("de", "eins zwei drei", "eins zwei drei")])
    assert rate == ErrorRate(1, 4, 2)
    assert rate.rate == 0.25


def test_english_is_normalised_as_whisper_does() -> None:
    said = "Mister Hale's colour, I'm told, is twenty one"
    assert word_errors([Utterance("en", said, "mr hale is color i am told is 21")]).errors == 0


def test_other_languages_keep_their_words_and_accents() -> None:
    assert word_errors([Utterance("de", "Zwanzig, für mich!", "20 fur mich")]) == ErrorRate(2, 3, 1)


@pytest.mark.parametrize("language", ["ja", "zh", "zh-en", "th"])
def test_languages_without_spaces_are_compared_by_character(language: str) -> None:
    heard = Utterance(language, "復興 努力に、対する", "復興努カに対する。")
    assert character_errors([heard]) == ErrorRate(1, 8, 1)
    assert word_errors([heard]) == ErrorRate()


def test_korean_is_compared_by_word() -> None:
    heard = Utterance("ko", "안녕하세요 여러분", "안녕하세요 여러 분")
    assert word_errors([heard]) == ErrorRate(2, 2, 1)
    assert character_errors([heard]) == ErrorRate()


def test_a_silent_hypothesis_is_all_deletions() -> None:
    assert word_errors([Utterance("en", "one two three", "")]).rate == 1.0


def test_a_reference_without_a_word_is_left_out() -> None:
    assert word_errors([Utterance("en", "(noise)", "thank you"), Utterance("en", "yes", "yes")]) == ErrorRate(
        0, 1, 1
    )


def test_nothing_to_compare_has_no_rate() -> None:
    assert word_errors([]).rate is None
    assert character_errors([]).rate is None


ALONE, AS2D = Contender("target-only", 2), Contender("as2d", 2, "self", 7)


def _part(make_row: Callable[..., Row], contender: Contender, number: int, text: str, clip: str = "a") -> Row:
    return make_row(
        contender,
        clip=clip,
        window=f"{clip}#{number}",
        language="en",
        start_s=10.0 * number,
        text=text,
    )


def test_the_windows_of_a_clip_are_joined_in_order(make_row: Callable[..., Row]) -> None:
    words = list("bcdefghjklmn")
    rows = [_part(make_row, AS2D, number, f" {word}") for number, word in enumerate(words)]
    random.Random(1).shuffle(rows)
    figures = accuracies(rows, {"a": " ".join(words)})
    assert figures[AS2D.key]["wer"] == 0.0
    assert figures[AS2D.key]["wer_words"] == 12


def test_clips_without_a_reference_are_left_out(make_row: Callable[..., Row]) -> None:
    rows = [_part(make_row, AS2D, 0, "yes", clip) for clip in "ab"]
    figures = accuracies(rows, {"a": "no"})
    assert figures[AS2D.key] == {
        "wer": 1.0,
        "wer_clips": 1,
        "wer_words": 1,
        "cer": None,
        "cer_clips": 0,
        "cer_characters": 0,
    }
    assert json.loads(json.dumps(figures)) == figures


def test_a_clip_of_which_a_window_is_missing_is_left_out(make_row: Callable[..., Row]) -> None:
    rows = [
        _part(make_row, ALONE, 0, "yes"),
        _part(make_row, ALONE, 1, "yes"),
        _part(make_row, AS2D, 0, "yes"),
    ]
    figures = accuracies(rows, {"a": "yes yes"})
    assert figures[ALONE.key]["wer_clips"] == 1
    assert figures[AS2D.key]["wer_clips"] == 0
    assert figures[AS2D.key]["wer"] is None


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jiwer", None)
    with pytest.raises(MissingExtraError, match=r"as2d\[bench\]"):
        word_errors([])
