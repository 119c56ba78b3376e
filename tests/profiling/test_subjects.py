"""Models by name, and what they are asked."""

from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import InputError, ModelNotFoundError
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import WhisperModel
from as2d.profiling.memory import peaks_mb
from as2d.profiling.subjects import Subjects, instruction_for, load_subject, load_subjects
from as2d.records import Instruction

ToyFactory = Callable[..., AudioModel]


def test_named_models_are_loaded() -> None:
    subjects = load_subjects("whisper-base", ["self", "whisper-tiny.en"], "int8")
    assert list(subjects.models) == ["whisper-base", "self", "whisper-tiny.en"]
    assert len({model.identity for model in subjects.models.values()}) == 3
    assert subjects.sharing == ("self",)


@pytest.mark.parametrize("name", ["pocketsphinx", "onnx-asr:x", "sherpa-onnx:y"])
def test_a_recogniser_has_no_steps(base: WhisperModel, name: str) -> None:
    with pytest.raises(InputError, match=r"has no steps to time; name an audio model"):
        load_subject(name, base)


def test_an_unknown_drafter_is_told(base: WhisperModel) -> None:
    with pytest.raises(ModelNotFoundError):
        load_subject("whisper-huge", base)


def test_english_is_spoken_where_it_can_be(toy: ToyFactory) -> None:
    assert instruction_for(toy("Hi", languages=("de", "en"))) == Instruction("transcribe", "en")
    assert instruction_for(toy("Hi", languages=("de", "fr"), tasks=("translate",))) == Instruction(
        "translate", "de"
    )


def test_one_name_is_one_model(toy: ToyFactory) -> None:
    with pytest.raises(InputError, match="both target and drafter"):
        Subjects("big", toy("Hi"), {"big": toy("Hi")})


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")
def test_peak_memory_of_a_model_is_between_its_weights_and_a_few_times_that() -> None:
    found = peaks_mb("whisper-tiny.en", "int8", [])
    assert set(found) == {"whisper-tiny.en"}
    assert 40 < found["whisper-tiny.en"] < 600
    assert peaks_mb("whisper-huge", "int8", []) == {}
