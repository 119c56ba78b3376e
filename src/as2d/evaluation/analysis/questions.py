"""How good answers to questions are: exact match and F1 as SQuAD counts them. Pure.

Answers are compared without case, punctuation and English articles. A question counts as its best accepted answer;
figures are means over questions.
"""

import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from as2d.evaluation.analysis.accuracy import Utterance, whole_clips
from as2d.evaluation.analysis.bootstrap import interval
from as2d.evaluation.rows import Row

_ARTICLES = frozenset({"a", "an", "the"})
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_scores(rows: Iterable[Row], references: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The figures of each contender by its key; ready for JSON.

    References and clips are as for `accuracies`; each line of a reference is an accepted answer. "exact_match" and "f1"
    are fractions, each with its 95% bootstrap interval over questions ("_low", "_high") and questions ("_clips"); None
    where nothing was asked.
    """
    return {contender: _figures(said) for contender, said in whole_clips(rows, references).items()}


def exact_match(answer: str, accepted: Iterable[str]) -> float:
    """1 for an answer that is one of those accepted, else 0."""
    return float(any(_words(answer) == _words(one) for one in accepted))


def f1(answer: str, accepted: Iterable[str]) -> float:
    """The harmonic mean of the share of the answer's words that are right and of the right words that it has."""
    return max((_overlap(_words(answer), _words(one)) for one in accepted), default=0.0)


def _figures(answers: Sequence[Utterance]) -> dict[str, Any]:
    counted = {"exact_match": exact_match, "f1": f1}
    return {
        key: value for name, count in counted.items() for key, value in _mean(name, count, answers).items()
    }


def _mean(
    name: str, count: Callable[[str, list[str]], float], answers: Sequence[Utterance]
) -> dict[str, Any]:
    points = [(count(one.hypothesis, one.reference.splitlines()), 1) for one in answers]
    found = interval(points, lambda sums: sums[:, 0] / sums[:, 1])
    if found is None:
        return {name: None, f"{name}_clips": 0}
    return {
        name: found.value,
        f"{name}_low": found.low,
        f"{name}_high": found.high,
        f"{name}_clips": len(points),
    }


def _words(text: str) -> list[str]:
    """Without case, punctuation and articles."""
    words = text.lower().translate(_NO_PUNCTUATION).split()
    return [word for word in words if word not in _ARTICLES]


def _overlap(answer: Sequence[str], right: Sequence[str]) -> float:
    """F1 of two bags of words; where one has none, whether both have none."""
    if not answer or not right:
        return float(answer == right)
    common = (Counter(answer) & Counter(right)).total()
    return 2 * common / (len(answer) + len(right))
