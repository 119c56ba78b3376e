"""The models that a profile is of, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from as2d.errors import InputError
from as2d.models.contract import AudioModel, SharesEncoder
from as2d.models.load import Precision, load_drafter, load_target
from as2d.models.recognisers.load import names_recogniser
from as2d.records import Instruction


@dataclass(frozen=True, slots=True)
class Subjects:
    """A target and its drafters by name. InputError where two have one name."""

    target_name: str
    target: AudioModel
    drafters: Mapping[str, AudioModel]

    def __post_init__(self) -> None:
        if self.target_name in self.drafters:
            raise InputError(f"{self.target_name} is both target and drafter; name another drafter")

    @property
    def models(self) -> Mapping[str, AudioModel]:
        """All of them, the target first."""
        return {self.target_name: self.target, **self.drafters}

    @property
    def sharing(self) -> tuple[str, ...]:
        """The drafters without an encoder."""
        return tuple(name for name, model in self.drafters.items() if isinstance(model, SharesEncoder))


def load_subjects(target: str, drafters: Sequence[str], precision: Precision) -> Subjects:
    """The named models. Raises InputError for a name that has no steps to time, else what loading raises."""
    model = load_target(target, precision=precision)
    return Subjects(target, model, {name: load_subject(name, model) for name in drafters})


def load_subject(name: str, target: AudioModel) -> AudioModel:
    """A drafter by its name or folder. InputError for a recogniser."""
    if names_recogniser(name):
        raise InputError(f"the recogniser {name} gives text and has no steps to time; name an audio model")
    return load_drafter(name, target)


def instruction_for(model: AudioModel) -> Instruction:
    """What a model is asked while it is timed: English where it can, else its first language."""
    languages = model.capabilities.languages
    first = next(iter(languages), None)
    return Instruction(model.capabilities.tasks[0], "en" if "en" in languages else first)
