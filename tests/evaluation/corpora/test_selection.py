"""Which clips are chosen."""

from collections import Counter
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, Selection, select


def clip(name: str, kind: str = "read", language: str = "en") -> Clip:
    return Clip(name, Path(name), kind, language, "", 1.0, doubtful=False)


def test_kinds_and_languages() -> None:
    clips = [
        clip("a"),
        clip("b", "noise", ""),
        clip("c", language="de"),
        clip("d", language="xx"),
        clip("e", "phone"),
    ]

    def names(selection: Selection) -> list[str]:
        return sorted(found.name for found in select(clips, {"en", "de"}, selection))

    assert names(Selection()) == ["a", "c", "e"]
    assert names(Selection(kinds=("noise", "phone"))) == ["b", "e"]
    assert names(Selection(languages=("de", "xx"))) == ["c"]


def test_nothing_chosen_is_an_error() -> None:
    with pytest.raises(InputError, match="of the kinds phone and in the languages all"):
        select([clip("a")], {"en"}, Selection(kinds=("phone",)))


def test_the_order_is_random_seeded_and_mixes_kinds() -> None:
    clips = [clip(f"r{n}") for n in range(80)] + [clip(f"p{n}", "phone") for n in range(20)]

    def names(limit: int | None = None, seed: int = 0) -> list[str]:
        return [found.name for found in select(clips, {"en"}, Selection(limit=limit, seed=seed))]

    assert names() == names(seed=0)
    assert names() != names(seed=1)
    assert sorted(names()) == sorted(found.name for found in clips)
    assert names(limit=7) == names()[:7]
    for first in range(10, 100, 10):
        phones = Counter(name[0] for name in names(limit=first))["p"]
        assert abs(phones - first / 5) <= 1
