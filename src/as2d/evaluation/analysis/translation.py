"""How good translations are: BLEU and chrF by sacrebleu. Needs the extra `bench`.

Both are of the whole corpus, with one reference a clip, and go with the signature that sacrebleu gives them: figures
with different signatures cannot be compared. Intervals are sacrebleu's own bootstrap over clips, which is seeded.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from as2d.evaluation.analysis.accuracy import whole_clips
from as2d.evaluation.rows import Row
from as2d.extras import import_optional

RESAMPLES = 1000

Pairs = tuple[tuple[str, str], ...]
"""Translations and references."""


def translation_scores(
    rows: Iterable[Row], references: Mapping[str, str], to: str
) -> dict[str, dict[str, Any]]:
    """The figures of each contender by its key; ready for JSON. The translations are into the language `to`.

    References and clips are as for `accuracies`. "bleu" and "chrf" are from 0 to 100, each with its 95% interval
    ("_low", "_high"), clips ("_clips") and "_signature"; None where there is nothing to compare. MissingExtraError.
    """
    heard = whole_clips(rows, references)
    pairs = {
        contender: tuple((one.hypothesis, one.reference) for one in said) for contender, said in heard.items()
    }
    return {contender: scores(of, to) for contender, of in pairs.items()}


@lru_cache(maxsize=16)
def scores(pairs: Pairs, to: str) -> dict[str, Any]:
    """The figures of translations into the language `to`. Contenders with the same tokens need them once."""
    metrics = import_optional("sacrebleu.metrics", "bench")
    named = {"bleu": metrics.BLEU(tokenize=tokenizer(to), force=True), "chrf": metrics.CHRF()}
    return {
        key: value for name, metric in named.items() for key, value in _score(name, metric, pairs).items()
    }


def tokenizer(language: str) -> str:
    """The tokenizer of sacrebleu with which BLEU counts words of a language."""
    if language in {"zh", "yue"}:
        return "zh"
    if language == "ja":
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    return "13a"


def _score(name: str, metric: Any, pairs: Pairs) -> dict[str, Any]:
    if not pairs:
        return {name: None, f"{name}_clips": 0}
    translations, references = (list(column) for column in zip(*pairs, strict=True))
    score = metric.corpus_score(translations, [references], n_bootstrap=RESAMPLES)
    middle, margin = float(score._mean), float(score._ci)  # otherwise they are told as text only
    return {
        name: float(score.score),
        f"{name}_low": middle - margin,
        f"{name}_high": middle + margin,
        f"{name}_clips": len(pairs),
        f"{name}_signature": str(metric.get_signature()),
    }
