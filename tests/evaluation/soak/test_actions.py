import random
from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.evaluation.corpora import Clip
from as2d.evaluation.soak.actions import KINDS, draw_action, every_method
from as2d.models.contract import AudioModel
from as2d.records import METHODS, Options
from as2d.session import Session
from as2d.session.transcription import check_options

CLIPS = [
    Clip(name, Path(name), "read", language, "", 3.0, False) for name, language in (("a", "en"), ("b", ""))
]


@pytest.fixture(autouse=True)
def _cache(own_cache: Path) -> None:
    """Toys are probed like any model."""


def test_whatever_is_drawn_can_be_asked(toy: Callable[..., AudioModel]) -> None:
    draw = random.Random(0)
    actions = [draw_action(draw, CLIPS, ("transcribe", "translate")) for _ in range(600)]
    assert {action.kind for action in actions} == set(KINDS)
    assert {action.options["method"] for action in actions} == {"auto", *METHODS}
    assert {action.options["task"] for action in actions} == {"transcribe", "translate"}
    assert {action.options["language"] for action in actions} == {"en", None}
    both = toy("what it says", tasks=("transcribe", "translate"))
    with Session(both, both, threads=2) as session:
        for action in actions:
            check_options(session._selector, Options(**action.options))


def test_a_warm_up_meets_all_methods() -> None:
    assert [options["method"] for options in every_method(CLIPS[0])] == ["auto", *METHODS]
