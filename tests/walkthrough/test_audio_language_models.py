"""Every command of docs/audio-language-models.md, in its order, on small models that a hub on this machine has."""

import io
import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.walkthrough.conftest import TESTS, helpers

from as2d.cli import main
from as2d.models.store import OFFICIAL, pulled
from as2d.models.store.official import TRANSFORMERS_LAYOUT
from as2d.session import Session

DOCUMENT = (TESTS.parent / "docs" / "audio-language-models.md").read_text(encoding="utf-8")
CORPUS = ("jfk", "fleurs-de-003")

Command = tuple[str, ...]


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def acceptance(self) -> float:
        """Of the summary; 0 where nothing was proposed."""
        found = re.search(r"acceptance ([\d.]+)", self.err)
        return float(found[1]) if found else 0.0


def blocks(language: str) -> list[str]:
    """The fenced blocks of the document in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)


def commands() -> list[Command]:
    """The arguments of each command of the console blocks."""
    lines = [line for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    split = [tuple(shlex.split(line, comments=True)[1:]) for line in lines]
    assert all(name == "as2d" for name, *_ in split)
    return [tuple(arguments) for _, *arguments in split]


COMMANDS = commands()


def answering(*names: str) -> list[Command]:
    """The commands of these names that answer with a drafter."""
    return [one for one in COMMANDS if one[0] in names and "none" not in one]


def alone(command: Command) -> Command:
    """The same without a drafter."""
    kept = list(command)
    for option in ("--drafter", "--method"):
        if option in kept:
            del kept[kept.index(option) : kept.index(option) + 2]
    return (*kept, "--drafter", "none")


def run(command: Command) -> Outcome:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        status = main(command)
    return Outcome(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    """A folder with `meeting.flac` and `corpus`, and nothing pulled or tuned yet."""
    folder = tmp_path_factory.mktemp("walk")
    _copy_clips(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HUGGINGFACE_HUB_CACHE"):
            patch.delenv(name, raising=False)
        patch.setenv("HF_HUB_CACHE", str(folder / "hub"))
        patch.setenv("AS2D_CONFIG", str(folder / "config"))
        patch.chdir(folder)
        yield patch


def _copy_clips(folder: Path) -> None:
    clips = TESTS / "clips"
    shutil.copy(clips / "jfk.flac", folder / "meeting.flac")
    lines = (clips / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    taken = [line for line in lines if json.loads(line)["id"] in CORPUS]
    (folder / "corpus").mkdir()
    (folder / "corpus" / "manifest.jsonl").write_text("\n".join(taken), encoding="utf-8")
    for line in taken:
        shutil.copy(clips / json.loads(line)["path"], folder / "corpus")


@pytest.fixture(scope="module")
def outcomes(environment: pytest.MonkeyPatch, small_models: Mapping[str, Path]) -> Mapping[Command, Outcome]:
    """What came of each command; all but the pulls ran without a network."""
    found = {}
    for command in COMMANDS:
        if command[:2] == ("models", "pull"):
            found[command] = _pull(command, environment, small_models)
        else:
            environment.setenv("HF_HUB_OFFLINE", "1")
            found[command] = run(command)
            environment.delenv("HF_HUB_OFFLINE")
    environment.setenv("HF_HUB_OFFLINE", "1")
    return found


def _pull(command: Command, environment: pytest.MonkeyPatch, small_models: Mapping[str, Path]) -> Outcome:
    hubs = helpers("models/conftest.py")
    name = TRANSFORMERS_LAYOUT.get(command[2], command[2])
    files = {file.name: file.read_bytes() for file in small_models[name].iterdir()}
    hub = hubs.FakeHub(files, name, model_type=json.loads(files["config.json"])["model_type"])
    with hubs.serving(hub):
        environment.setenv("HF_ENDPOINT", hub.url)
        return run(command)


@pytest.fixture(scope="module")
def outcome_alone(outcomes: Mapping[Command, Outcome]) -> Callable[[Command], Outcome]:
    """What comes of a command without its drafter."""
    found = dict(outcomes)

    def get(command: Command) -> Outcome:
        plain = alone(command)
        if plain not in found:
            found[plain] = run(plain)
        return found[plain]

    return get


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_runs(outcomes: Mapping[Command, Outcome], command: Command) -> None:
    status, out, err = outcomes[command]
    assert status == 0, err
    assert out.strip()
    assert "error" not in err
    assert "failed" not in err


def test_the_document_has_every_step() -> None:
    steps = list(dict.fromkeys(" ".join(one[:2]) if one[0] == "models" else one[0] for one in COMMANDS))
    assert steps == ["models list", "models pull", "profile", "tune", "transcribe", "translate", "ask"]
    (extras,) = re.findall(r"pip install \"as2d\[(.*)\]\"", DOCUMENT)
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*extras.split(",")} <= {*project["optional-dependencies"]}
    named = {one[2] for one in COMMANDS if one[:2] == ("models", "pull")}
    assert {TRANSFORMERS_LAYOUT.get(name, name) for name in named} <= {*OFFICIAL}


def test_what_was_pulled_is_here(
    outcomes: Mapping[Command, Outcome], small_models: Mapping[str, Path]
) -> None:
    assert {*pulled()} == {*small_models}


def test_files_are_written(outcomes: Mapping[Command, Outcome], environment: pytest.MonkeyPatch) -> None:
    assert Path("profile.json").is_file()
    assert len(Path("traces.jsonl").read_text(encoding="utf-8").splitlines()) == 1 + len(CORPUS)
    profile = json.loads(Path("profile.json").read_text(encoding="utf-8"))
    assert len(profile["memory_mb"]) == 2


def test_transcribing_does_what_was_tuned(outcomes: Mapping[Command, Outcome]) -> None:
    first = answering("transcribe")[0]
    assert "--method" not in first
    assert "tuned:" in outcomes[first].err


@pytest.mark.parametrize("command", answering("transcribe", "translate", "ask"), ids=" ".join)
def test_with_a_drafter_the_answer_is_the_same(
    outcomes: Mapping[Command, Outcome], outcome_alone: Callable[[Command], Outcome], command: Command
) -> None:
    assert "method target-only" in outcome_alone(command).err
    assert outcomes[command].out == outcome_alone(command).out


@pytest.mark.parametrize("command", [answering("transcribe")[1], answering("translate")[0]], ids=" ".join)
def test_a_drafter_that_is_alike_is_accepted(outcomes: Mapping[Command, Outcome], command: Command) -> None:
    """In turns, since of two models of one size the drafter is seldom ahead."""
    in_turn = run(tuple("speculative" if word == "as2d" else word for word in command))
    assert in_turn.out == outcomes[command].out
    assert in_turn.acceptance > 0


def test_two_questions_on_one_preparation(
    outcomes: Mapping[Command, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = _counting(monkeypatch)
    (block,) = blocks("python")
    said: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()):
        exec(block, said)
    assert heard == [1], "the audio is encoded once"
    with Session("Qwen/Qwen2.5-Omni-3B", None) as session:
        fresh = [
            session.transcribe("meeting.flac", task="ask", question=question)
            for question in said["QUESTIONS"]
        ]
        assert heard == [3]
        wanted: Any = {"task": "translate", "to": "zh"}
        translations = [
            session.transcribe(audio, **wanted) for audio in (session.prepare("meeting.flac"), "meeting.flac")
        ]
    assert [answer.tokens for answer in said["answers"]] == [answer.tokens for answer in fresh]
    assert translations[0].tokens == translations[1].tokens
    assert len({answer.tokens for answer in (*fresh, translations[0])}) == 3


def _counting(monkeypatch: pytest.MonkeyPatch) -> Sequence[int]:
    """How often Qwen2.5-Omni's encoder computes."""
    from transformers import Qwen2_5OmniThinkerForConditionalGeneration as Thinker

    count = [0]
    really = Thinker.get_audio_features

    def counted(*arguments: Any, **named: Any) -> Any:
        count[0] += 1
        return really(*arguments, **named)

    monkeypatch.setattr(Thinker, "get_audio_features", counted)
    return count
