"""`as2d translate` and `as2d ask` on real speech: what Whisper can do of it, and how it refuses the rest."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run


def test_a_translation_is_that_of_transcribe(run: Run, clips: Path) -> None:
    clip = clips / "fleurs-fr-005.ogg"
    outcome = run("translate", clip, "--to", "en")
    assert outcome.status == 0
    assert "race" in outcome.out
    assert outcome.out == run("transcribe", clip, "--task", "translate").out


@pytest.mark.parametrize("method", ["as2d", "target-only"])
def test_the_method_does_not_change_a_translation(run: Run, clips: Path, method: str) -> None:
    clip = clips / "fleurs-de-003.ogg"
    said = run("translate", clip, "--method", method, "--language", "de", "--output-format", "json").objects
    alone = run("translate", clip, "--method", "target-only", "--output-format", "json").objects
    assert said[0]["tokens"] == alone[0]["tokens"]
    assert said[0]["language"] == "de"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("translate", "CLIP", "--to", "zh"), "Whisper translates to English only"),
        (("translate", "CLIP", "--to", "klingon"), "no language 'klingon'"),
        (("translate", "CLIP", "--context", "names"), "Whisper takes no context"),
        (("ask", "CLIP", "What was decided?"), "Whisper cannot ask"),
        (("ask", "CLIP", "  "), "needs a question"),
        (("transcribe", "CLIP", "--device", "cuda"), "CTranslate2"),
        (("transcribe", "CLIP", "--engine", "onnxruntime", "--device", "cuda"), "use the engine torch"),
    ],
)
def test_what_the_model_cannot_do_is_refused(
    run_fresh: Run, jfk: Path, arguments: tuple[str, ...], message: str
) -> None:
    outcome = run_fresh(*(str(jfk) if argument == "CLIP" else argument for argument in arguments))
    assert outcome.status == 2
    assert outcome.out == ""
    assert message in outcome.err
    assert len(outcome.lines) == 1
