"""BLEU and chrF: against values worked out by hand and by their definitions."""

import json
import math
import sys
from collections.abc import Callable

import pytest

from as2d.errors import MissingExtraError
from as2d.evaluation.analysis import translation
from as2d.evaluation.analysis.translation import scores, tokenizer, translation_scores
from as2d.evaluation.contender import Contender
from as2d.evaluation.rows import Row

pytest.importorskip("sacrebleu", reason='needs pip install "as2d[bench]"')

SAID = "the cat sat on the mat"


@pytest.fixture(autouse=True)
def _forget() -> None:
    scores.cache_clear()


def test_a_perfect_translation() -> None:
    found = scores(((SAID, SAID),), "en")
    assert (found["bleu"], found["chrf"]) == (pytest.approx(100), pytest.approx(100))
    assert (found["bleu_clips"], found["bleu_low"], found["bleu_high"]) == (
        1,
        pytest.approx(100),
        pytest.approx(100),
    )


def test_bleu_is_of_the_corpus_and_not_a_mean_over_clips() -> None:
    """5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples in one clip; all 5, 4, 3, 2 in the other."""
    pairs = (("the dog sat on the mat", SAID), ("one two three four five", "one two three four five"))
    precisions = [(5 + 5) / 11, (3 + 4) / 9, (2 + 3) / 7, (1 + 2) / 5]
    expected = 100 * math.exp(sum(math.log(precision) for precision in precisions) / 4)
    found = scores(pairs, "en")
    assert found["bleu"] == pytest.approx(expected)
    assert found["bleu_low"] < found["bleu"] < found["bleu_high"]
    assert scores(pairs, "en") is found  # contenders with the same text need it once


@pytest.mark.parametrize(("language", "name"), [("en", "13a"), ("de", "13a"), ("zh", "zh"), ("yue", "zh")])
def test_words_are_counted_as_the_language_has_them(language: str, name: str) -> None:
    assert tokenizer(language) == name
    assert f"tok:{name}|" in scores((("a", "a"),), language)["bleu_signature"]


@pytest.mark.parametrize(
    ("installed", "name"), [((), "char"), (("MeCab",), "char"), (("MeCab", "ipadic"), "ja-mecab")]
)
def test_japanese_words_need_a_dictionary(
    installed: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation, "find_spec", lambda module: module in installed)
    assert tokenizer("ja") == name


def test_chinese_counts_characters() -> None:
    assert scores((("今天天气很好吗", "今天天气很好吗"),), "zh")["bleu"] == pytest.approx(100)


def test_figures_of_each_contender(make_row: Callable[..., Row]) -> None:
    good, bad = Contender("target-only", 2), Contender("as2d", 2, "self", 7)
    rows = [
        make_row(good, text=SAID),
        make_row(bad, text="a dog"),
        make_row(good, window="other#0", text="x"),
    ]
    found = translation_scores(rows, {"clip0": SAID}, "en")
    assert (found[good.key]["chrf"], found[good.key]["chrf_clips"]) == (pytest.approx(100), 1)
    assert found[bad.key]["chrf"] < 20
    assert json.loads(json.dumps(found)) == found


def test_nothing_to_compare(make_row: Callable[..., Row]) -> None:
    [found] = translation_scores([make_row(text=SAID)], {}, "en").values()
    assert found == {"bleu": None, "bleu_clips": 0, "chrf": None, "chrf_clips": 0}


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(MissingExtraError, match=r"as2d\[bench\]"):
        scores(((SAID, SAID),), "en")
