"""What a bench asks of the clips of a corpus, and with what it compares the answers. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, get_args

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip, Piece
from as2d.records import Instruction, Task


@dataclass(frozen=True, slots=True)
class Asking:
    """The task, and the language of translations. InputError for a translation without one, or one without that."""

    task: Task = "transcribe"
    to: str | None = None

    def __post_init__(self) -> None:
        if self.task == "translate" and not self.to:
            raise InputError("a translation needs its language; add --to en, or another that the model has")
        if self.task != "translate" and self.to:
            raise InputError(
                f"--to {self.to} is the language of a translation; add --task translate, or leave it out"
            )

    @property
    def told(self) -> str:
        """What is asked, in words: "translate to en"."""
        return f"{self.task} to {self.to}" if self.to else self.task

    @property
    def instruction(self) -> Instruction:
        """What models are asked as far as it is the same for all clips."""
        return Instruction(self.task, to=self.to)

    def about(self, clip: Clip) -> Instruction:
        """What models are asked about a clip, in its language if that is stated."""
        return replace(self.instruction, language=clip.language or None, question=clip.question)


def task_options(asking: Asking) -> dict[str, str]:
    """The task as a bench's options; nothing for a transcription, which benches did before there were tasks."""
    named = {"task": asking.task, "to": asking.to}
    return {} if asking.task == "transcribe" else {name: value for name, value in named.items() if value}


def task_of(options: Mapping[str, str]) -> Asking:
    """The task that a bench's options name. InputError for one that there is not."""
    task = options.get("task", "transcribe")
    if task not in get_args(Task):
        raise InputError(f"there is no task {task!r}; measure again with one of {', '.join(get_args(Task))}")
    return Asking(cast(Task, task), options.get("to"))


def asked_clips(clips: Iterable[Clip], asking: Asking) -> Iterator[Clip]:
    """The clips that the task is for, whose `reference` is what a right answer says.

    Questions are for those that have one: any line of the reference is a right answer. Translations are for speech in
    another language, or one that is not stated. A passage with a question is not transcribed: it comes once for each.
    """
    for clip in clips:
        if asking.task == "ask" and clip.question:
            yield replace(clip, reference="\n".join(_lines(clip.answers)))
        elif asking.task == "translate" and not clip.question and clip.language != asking.to:
            yield replace(clip, reference=clip.translations.get(asking.to or "", ""))
        elif asking.task == "transcribe" and not clip.question:
            yield clip


def heard_once(clips: Iterable[Clip]) -> list[Clip]:
    """The clips without those that others already bring to the ear: a passage comes once, not for each question."""
    heard: dict[tuple[Path, tuple[Piece, ...]], Clip] = {}
    for clip in clips:
        heard.setdefault((clip.path, clip.pieces), clip)
    return list(heard.values())


def _lines(answers: Iterable[str]) -> Iterator[str]:
    """Each answer as one line."""
    return (" ".join(answer.split()) for answer in answers)
