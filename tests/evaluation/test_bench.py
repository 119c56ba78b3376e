"""A bench of questions from folder to report, on a scripted model and real audio."""

import json
import wave
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from as2d.audio import open_audio
from as2d.errors import InputError, UnsupportedError
from as2d.evaluation.bench import BenchOptions, open_bench
from as2d.evaluation.corpora import Asking, Selection
from as2d.evaluation.measuring.journal import read_clips, read_rows
from as2d.evaluation.measuring.plan import Wishes
from as2d.evaluation.measuring.runner import Procedure
from as2d.evaluation.results import write_results
from as2d.models.contract import AudioModel
from as2d.records import Instruction

Toy = Callable[..., AudioModel]
SAYS = {"Who speaks?": "the president", "What may you ask?": "what you can do"}


def options(task: Any = "ask", to: str | None = None, *, peers: bool = False) -> BenchOptions:
    wishes, once = Wishes(methods=("target-only",), cores=(1,)), Procedure(1, 0)
    return BenchOptions("scripted", "int8", Selection(), wishes, once, peers, Asking(task, to))


@pytest.fixture
def scripted(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of every bench: it answers by the question alone."""
    model: Any = toy("nothing", tasks=("transcribe", "ask"))

    def opened(prepared: Any, instruction: Instruction, threads: int) -> Any:
        return toy(SAYS[instruction.question or ""]).open(prepared, instruction, threads)

    model.open = opened
    monkeypatch.setattr("as2d.evaluation.bench.load_target", lambda name, precision: model)


@pytest.fixture
def corpus(tmp_path: Path, clips: Mapping[str, Path]) -> Path:
    """Spoken-SQuAD with one passage of two sentences, a passage that is damaged and one without recordings."""
    with open_audio(clips["jfk"]) as stream:
        samples = (np.concatenate(list(stream)) * 32767).astype(np.int16)
    folder = tmp_path / "corpus"
    (folder / "dev_wav").mkdir(parents=True)
    for number, part in enumerate(np.array_split(samples, 2)):
        with wave.open(str(folder / "dev_wav" / f"0_0_{number}.wav"), "wb") as file:
            file.setparams((1, 2, 16_000, 0, "NONE", ""))
            file.writeframes(part.tobytes())
    (folder / "dev_wav" / "0_1_0.wav").write_bytes(b"no audio at all")
    accepted = {"Who speaks?": ["kennedy", "The president."], "What may you ask?": ["can do"]}
    asked = [
        {"id": f"q{number}", "question": question, "answers": [{"text": text} for text in answers]}
        for number, (question, answers) in enumerate(accepted.items())
    ]
    passages = [{"qas": asked}, {"qas": [asked[0] | {"id": "damaged"}]}, {"qas": [asked[0] | {"id": "gone"}]}]
    (folder / "spoken_test-v1.1.json").write_text(json.dumps({"data": [{"paragraphs": passages}]}))
    return folder


@pytest.mark.usefixtures("scripted")
def test_questions_are_put_and_their_answers_counted(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_bench(corpus, out, options()) as bench:
        assert {clip for clip, seconds in bench.measure() if seconds is None} == {
            "test/q0",
            "test/q1",
            "test/damaged",
        }
    rows = {(row.clip, row.contender): row for row in read_rows(out, pytest.fail)}
    assert {clip: row.text for (clip, _), row in rows.items()} == {
        "test/q0": "the president",
        "test/q1": "what you can do",
    }
    assert rows["test/q0", "target-only 1c"].end_s == pytest.approx(11)  # both sentences
    faults = {record.clip: record.fault for record in read_clips(out, pytest.fail) if record.fault}
    assert "cannot be cut" in faults["test/damaged"]
    assert "0_2_0.wav cannot be read" in faults["test/gone"]
    report = write_results(out, lambda _: None)
    assert "* Task: ask\n" in report
    figures = json.loads((out / "summary.json").read_text())["accuracies"]["target-only 1c"]
    assert (figures["exact_match"], figures["f1"]) == (0.5, pytest.approx((1 + 2 * 2 / 6) / 2))


@pytest.mark.usefixtures("scripted")
def test_a_bench_goes_on_only_with_the_same_task(corpus: Path, tmp_path: Path) -> None:
    with open_bench(corpus, tmp_path / "out", options()) as bench:
        list(bench.measure())
    with open_bench(corpus, tmp_path / "out", options()) as bench:
        assert not bench.pending
    (corpus / "manifest.jsonl").write_text('{"id": "a", "path": "dev_wav/0_0_0.wav", "kind": "read"}')
    with (
        pytest.raises(InputError, match="task ask then, None now"),
        open_bench(corpus, tmp_path / "out", options("transcribe")),
    ):
        pass


@pytest.mark.usefixtures("scripted")
def test_a_task_that_the_model_lacks(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError), open_bench(corpus, tmp_path / "out", options("translate", "en")):
        pass
    assert not (tmp_path / "out").exists()


class Ear:
    """A recogniser."""

    name = "ear"
    languages = ("en",)
    open: Any = None


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize("able", [False, True])
def test_a_drafter_that_cannot_do_the_task(
    corpus: Path, tmp_path: Path, toy: Toy, monkeypatch: pytest.MonkeyPatch, able: bool
) -> None:
    drafters = {"able": toy("x", tasks=("ask",))} | ({} if able else {"ear": Ear(), "typist": toy("x")})
    monkeypatch.setattr("as2d.evaluation.bench.load_drafters", lambda plan, target: drafters)
    refused = pytest.raises(InputError, match="the drafter ear cannot ask; leave it out, or name another")
    with nullcontext() if able else refused, open_bench(corpus, tmp_path / "out", options()) as bench:
        assert able
        assert bench.pending


def test_peers_cannot_be_asked() -> None:
    with pytest.raises(InputError, match="cannot ask, only transcribe and translate; leave out --peers"):
        options("ask", peers=True)
    assert options("translate", "en", peers=True).peers
