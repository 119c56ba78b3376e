"""The models that a profile is of, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from as2d.errors import InputError
from as2d.models.contract import AudioModel, SharesEncoder
from as2d.models.whisper.drafter import load_whisper_drafter, load_whisper_self_drafter
from as2d.models.whisper.model import TargetPrecision, WhisperModel, load_whisper
from as2d.records import Instruction

SELF = "self"
"""The drafter made of the target's own decoder."""

_RECOGNISERS = ("pocketsphinx", "onnx-asr", "sherpa-onnx")


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


def load_subjects(target: str, drafters: Sequence[str], precision: TargetPrecision) -> Subjects:
    """The named models. Raises InputError for a name that has no steps to time, else what loading raises."""
    model = load_whisper(target, precision)
    return Subjects(target, model, {name: load_drafter(name, model) for name in drafters})


def load_drafter(name: str, target: WhisperModel) -> AudioModel:
    """A drafter by its name, or a Whisper folder. InputError for a recogniser."""
    if name == SELF:
        return load_whisper_self_drafter(target)
    if name.partition(":")[0] in _RECOGNISERS:
        raise InputError(f"the recogniser {name} gives text and has no steps to time; name an audio model")
    return load_whisper_drafter(name)


def instruction_for(model: AudioModel) -> Instruction:
    """What a model is asked while it is timed: English where it can, else its first language."""
    languages = model.capabilities.languages
    return Instruction(model.capabilities.tasks[0], "en" if "en" in languages else languages[0])
