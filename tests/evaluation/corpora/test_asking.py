from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import Asking, Clip, asked_clips, task_of, task_options
from as2d.records import Instruction

GERMAN = Clip(
    "de", Path("x"), "read", "de", "eins", 1.0, doubtful=False, translations={"en": "one", "fr": "un"}
)
ENGLISH = Clip("en", Path("x"), "read", "en", "one", 1.0, doubtful=False, translations={"de": "eins"})
UNKNOWN = Clip("any", Path("x"), "read", "", "", 1.0, doubtful=False)
QUESTION = Clip(
    "q", Path("x"), "read", "en", "", 1.0, doubtful=False, question="who?", answers=("a\n man", "he")
)
CLIPS = (GERMAN, ENGLISH, UNKNOWN, QUESTION)


@pytest.mark.parametrize(
    ("asking", "references"),
    [
        (Asking(), {"de": "eins", "en": "one", "any": ""}),
        (Asking("translate", "en"), {"de": "one", "any": ""}),
        (Asking("translate", "de"), {"en": "eins", "any": ""}),
        (Asking("ask"), {"q": "a man\nhe"}),
    ],
)
def test_which_clips_a_task_is_for_and_what_is_right(asking: Asking, references: dict[str, str]) -> None:
    assert {clip.name: clip.reference for clip in asked_clips(CLIPS, asking)} == references


def test_what_models_are_asked() -> None:
    assert Asking("translate", "en").instruction == Instruction("translate", to="en")
    assert Asking("translate", "en").about(GERMAN) == Instruction("translate", "de", to="en")
    assert Asking("ask").about(QUESTION) == Instruction("ask", "en", question="who?")
    assert Asking().about(UNKNOWN) == Instruction()


@pytest.mark.parametrize(
    ("task", "to", "says"),
    [("translate", None, "add --to en"), ("ask", "en", "add --task translate, or leave it out")],
)
def test_tasks_that_are_not_whole(task: str, to: str | None, says: str) -> None:
    with pytest.raises(InputError, match=says):
        task_of({"task": task} | ({"to": to} if to else {}))


@pytest.mark.parametrize("asking", [Asking(), Asking("translate", "en"), Asking("ask")])
def test_a_task_as_options_and_back(asking: Asking) -> None:
    assert task_of(task_options(asking)) == asking


def test_a_transcription_has_the_options_that_it_had_before_there_were_tasks() -> None:
    assert task_options(Asking()) == {}


def test_an_unknown_task() -> None:
    with pytest.raises(InputError, match="there is no task 'sing'"):
        task_of({"task": "sing"})
