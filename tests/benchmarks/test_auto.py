"""How `auto` is judged."""

import pytest
from benchmarks.auto import METHODS, Answer, report


@pytest.mark.parametrize(
    ("auto_ms", "tokens", "good"), [(104.0, (1,), True), (106.0, (1,), False), (50.0, (2,), False)]
)
def test_auto_must_be_as_fast_and_say_the_same_in_every_group(
    auto_ms: float, tokens: tuple[int, ...], good: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    alone, auto = METHODS
    answers = [
        Answer("English", alone, 200.0, (1,)),
        Answer("English", auto, 100.0, (1,)),
        Answer("other languages", auto, auto_ms, tokens),
        Answer("other languages", alone, 100.0, (1,)),
    ]
    assert report(answers) is good
    assert "English: 1 clips, target-only 0.20 s, auto 0.10 s (2.00 times as fast), tokens identical" in (
        capsys.readouterr().out
    )
