"""What is said to models that are asked in words, and what is refused."""

from dataclasses import replace

from as2d.errors import InputError, UnsupportedError
from as2d.models.audio_lm.languages import NAMES, require_language
from as2d.models.contract import Capabilities
from as2d.records import SAMPLE_RATE, Instruction


def checked(instruction: Instruction, known: Capabilities, model: str) -> Instruction:
    """The instruction with language codes in place of names.

    UnsupportedError for a task, language or context that the model lacks, InputError for a question that is missing.
    """
    if instruction.task not in known.tasks:
        raise UnsupportedError(f"{model} cannot {instruction.task}, only {', '.join(known.tasks)}")
    if instruction.context and not known.context:
        raise UnsupportedError(f"{model} takes no context; leave it out, or name a model such as Qwen3-ASR")
    if instruction.task == "ask" and not (instruction.question or "").strip():
        raise InputError("there is no question; say what you want to know")
    spoken, to = instruction.language, instruction.to
    return replace(
        instruction,
        language=require_language(spoken, known.languages, model) if spoken is not None else None,
        to=require_language(to, known.translates_to, model) if to is not None else None,
    )


def require_length(samples: int, known: Capabilities, model: str) -> None:
    """InputError for more audio than is heard at once; feature extractors would cut it without a word."""
    if samples > known.longest_s * SAMPLE_RATE:
        raise InputError(
            f"{model} hears {known.longest_s:g} s at most, not {samples / SAMPLE_RATE:.1f} s; cut the audio in windows"
        )


def request(instruction: Instruction, known: Capabilities) -> str:
    """The instruction in words, for models that follow any."""
    if instruction.task == "ask":
        return (instruction.question or "").strip()
    spoken = f"{NAMES[instruction.language]} " if instruction.language else ""
    if instruction.task == "translate":
        to = NAMES[instruction.to or known.translates_to[0]]
        return f"Listen to the provided {spoken}speech and produce a translation in {to} text."
    return f"Transcribe the {spoken}audio into text."
