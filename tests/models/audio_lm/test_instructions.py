"""Instructions in words, and what is refused."""

import pytest

from as2d.errors import InputError, UnsupportedError
from as2d.models.audio_lm.instructions import checked, request
from as2d.models.audio_lm.languages import code_of, require_language
from as2d.models.contract import Capabilities
from as2d.records import Instruction

KNOWN = Capabilities(
    ("en", "zh"), ("transcribe", "translate", "ask"), detects_language=False, translates_to=("zh", "de")
)


@pytest.mark.parametrize(
    ("instruction", "words"),
    [
        (Instruction(), "Transcribe the audio into text."),
        (Instruction(language="zh"), "Transcribe the Chinese audio into text."),
        (
            Instruction("translate"),
            "Listen to the provided speech and produce a translation in Chinese text.",
        ),
        (
            Instruction("translate", "en", to="de"),
            "Listen to the provided English speech and produce a translation in German text.",
        ),
        (Instruction("ask", question=" Who speaks? "), "Who speaks?"),
    ],
)
def test_words(instruction: Instruction, words: str) -> None:
    assert request(instruction, KNOWN) == words


def test_names_become_codes() -> None:
    asked = checked(Instruction("translate", " English", to="GERMAN"), KNOWN, "it")
    assert (asked.language, asked.to) == ("en", "de")
    assert checked(Instruction(), KNOWN, "it") == Instruction()
    assert (code_of("Filipino"), code_of("yue"), code_of("None")) == ("fil", "yue", None)
    with pytest.raises(UnsupportedError, match="it has en"):
        require_language("nonsense", ["en"], "it")


@pytest.mark.parametrize(
    ("instruction", "error", "message"),
    [
        (Instruction(language="fr"), UnsupportedError, "no language 'fr'; it has en, zh"),
        (Instruction(language=""), UnsupportedError, "no language ''"),
        (Instruction("translate", to=""), UnsupportedError, "no language ''"),
        (Instruction("translate", to="en"), UnsupportedError, "no language 'en'; it has de, zh"),
        (Instruction(context="names"), UnsupportedError, "takes no context"),
        (Instruction("ask"), InputError, "no question"),
        (Instruction("ask", question="  "), InputError, "no question"),
    ],
)
def test_what_the_model_lacks_is_refused(
    instruction: Instruction, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        checked(instruction, KNOWN, "it")
