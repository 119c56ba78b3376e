"""Whisper tiny.en on onnxruntime drafts for a Qwen3-ASR on torch, and so does whoever knows what it will say."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.walkthrough.conftest import TARGET

from as2d.models.contract import AudioModel
from as2d.models.load import load_target
from as2d.models.whisper.model import WhisperModel
from as2d.records import Result
from as2d.session import Session

CLIPS = ("jfk", "ls-3080-5032-0007")
ENGLISH: Any = {"language": "en"}


@pytest.fixture(scope="module")
def target(small_models: Mapping[str, Path]) -> AudioModel:
    """The small Qwen3-ASR, on torch."""
    return load_target(small_models[TARGET])


@pytest.fixture(scope="module")
def alone(target: AudioModel, clips: Mapping[str, Path]) -> Mapping[str, Result]:
    """What it says by itself."""
    with Session(target, None) as session:
        return {name: session.transcribe(clips[name], **ENGLISH) for name in CLIPS}


@pytest.mark.parametrize("method", ["as2d", "speculative", "as2d-without-decoupling"])
@pytest.mark.parametrize("clip", CLIPS)
def test_whisper_drafts_for_a_model_on_torch(
    target: AudioModel,
    tiny: WhisperModel,
    alone: Mapping[str, Result],
    clips: Mapping[str, Path],
    clip: str,
    method: Any,
) -> None:
    with Session(target, tiny) as session:
        result = session.transcribe(session.prepare(clips[clip], **ENGLISH), method=method, **ENGLISH)
    assert result.tokens == alone[clip].tokens
    assert result.exact
    assert [source.name for source in result.sources] == [tiny.name]
    assert result.sources[0].fault is None
    assert result.sources[0].windows == 1
    assert method != "speculative" or result.stats.proposed > 0


@pytest.mark.parametrize("method", ["as2d", "speculative"])
@pytest.mark.parametrize("clip", CLIPS)
def test_what_the_target_says_is_accepted_from_another_vocabulary(
    target: AudioModel,
    toy: Callable[..., AudioModel],
    alone: Mapping[str, Result],
    clips: Mapping[str, Path],
    clip: str,
    method: Any,
) -> None:
    """Bytes in place of tokens: words are put into the target's tokens."""
    drafter = toy(alone[clip].text)
    assert drafter.vocabulary != target.vocabulary
    with Session(target, drafter) as session:
        result = session.transcribe(session.prepare(clips[clip], **ENGLISH), method=method, **ENGLISH)
    assert result.tokens == alone[clip].tokens
    assert result.stats.accepted > 0
