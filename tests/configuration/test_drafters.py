"""What may be named as drafter."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from as2d.configuration import drafters
from as2d.configuration.drafters import drafters_for
from as2d.errors import InputError, ModelNotFoundError
from as2d.models import load
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import WhisperModel
from as2d.runtime.source import Source

ToyFactory = Callable[..., AudioModel]


def names(target: AudioModel, drafter: Any) -> list[str]:
    return [source.name for source in drafters_for(target, drafter).sources]


def test_auto_is_the_target_itself_and_the_small_whisper(base: WhisperModel) -> None:
    found = drafters_for(base, "auto")
    assert [source.name for source in found.sources] == ["self", "whisper-tiny.en"]
    assert found.compete
    assert found.groups == (frozenset({0}), frozenset({1}))


def test_auto_takes_what_there_is(
    base: WhisperModel, toy: ToyFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names(toy("hi"), "auto") == ["whisper-tiny.en"]
    monkeypatch.setattr(load, "installed", lambda: ())
    assert names(base, "auto") == ["self"]
    assert drafters_for(toy("hi"), "auto").groups == ()


@pytest.mark.parametrize("none", [None, [], ()])
def test_there_need_be_no_drafter(toy: ToyFactory, none: Any) -> None:
    assert drafters_for(toy("hi"), none).groups == ()


def test_several_draft_together_in_the_order_in_which_they_are_named(
    base: WhisperModel, toy: ToyFactory
) -> None:
    drafter = toy("hi")
    named: list[Any] = [
        drafter,
        "sherpa-onnx:/some/folder",
        "self",
        "whisper-tiny.en",
        "onnx-asr:any",
        "pocketsphinx",
    ]
    found = drafters_for(base, named)
    assert [source.name for source in found.sources] == ["toy", *named[1:]]
    assert not found.compete
    assert found.groups == (frozenset(range(6)),)
    assert len({source.identity for source in found.sources}) == 6
    assert [source.writes_on for source in found.sources] == [True, False, True, True, False, False]


@pytest.mark.parametrize(
    ("drafter", "error", "message"),
    [
        ("nobody", ModelNotFoundError, "as2d models list"),
        (Path(__file__).parent, ModelNotFoundError, "lacks config.json"),
        ("self", InputError, "made of a Whisper target"),
        (["auto", "pocketsphinx"], InputError, "name others without it"),
    ],
)
def test_names_that_are_none_are_refused(toy: ToyFactory, drafter: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        drafters_for(toy("hi"), drafter)


def test_a_model_is_loaded_once_and_when_it_is_first_needed(
    base: WhisperModel, toy: ToyFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []

    def load(name: str, **_: object) -> AudioModel:
        loaded.append(name)
        return toy("hi")

    monkeypatch.setattr(drafters, "load_drafter", load)
    (source,) = drafters_for(base, "whisper-tiny.en").sources
    assert loaded == []
    first: Source = source.loaded()
    assert source.loaded() is first
    assert loaded == ["whisper-tiny.en"]


def test_what_is_computed_otherwise_is_another_drafter(base: WhisperModel) -> None:
    def identity(**how: Any) -> str:
        (source,) = drafters_for(base, "whisper-tiny.en", **how).sources
        return source.identity

    assert identity() == identity(engine="onnxruntime") == identity(engine="auto", device="cpu")
    assert len({identity(), identity(engine="torch"), identity(device="cuda")}) == 3
    assert identity(device="cuda") == identity(engine="torch", device="cuda")
