"""What benchmarks have in common: which clips, in which order, and what is said of the machine."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.setting import development_corpus, header, read_samples, spoken_clips

from as2d.errors import AudioError
from as2d.evaluation.corpora import Clip


def clip(name: str, kind: str = "read", language: str = "en") -> Clip:
    return Clip(name, Path(name), kind, language, "", 1.0, doubtful=False)


def test_speech_in_the_languages_is_used() -> None:
    kinds = ("read", "meeting", "phone", "question", "long", "other-lang", "zh")
    clips = [clip(kind, kind) for kind in (*kinds, "format", "noise", "silence", "singing")]
    clips += [clip("mixed", language="zh-en"), clip("unknown", language="")]
    assert sorted(one.name for one in spoken_clips(clips, ("en",))) == sorted(kinds)
    assert [one.name for one in spoken_clips(clips, ("zh-en",))] == ["mixed"]


def test_the_order_is_that_of_the_names_digests() -> None:
    clips = [clip(f"clip-{number}") for number in range(20)]
    found = spoken_clips(clips, ("en",))
    assert [one.name for one in found[:3]] == ["clip-17", "clip-3", "clip-7"]
    assert found == spoken_clips(reversed(clips), ("en",))
    digests = [hashlib.sha256(one.name.encode()).digest() for one in found]
    assert digests == sorted(digests)


def test_a_corpus_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AS2D_CORPUS", raising=False)
    with pytest.raises(SystemExit, match="set AS2D_CORPUS"):
        development_corpus()
    monkeypatch.setenv("AS2D_CORPUS", str(tmp_path))
    with pytest.raises(SystemExit, match=r"cannot read .*manifest"):
        development_corpus()


def test_the_header_names_corpus_and_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "manifest.jsonl").write_text(json.dumps({"id": "a", "path": "a", "kind": "read"}))
    (tmp_path / "a").write_bytes(b"sound")
    monkeypatch.setenv("AS2D_CORPUS", str(tmp_path))
    corpus = development_corpus()
    assert [one.name for one in corpus.clips] == ["a"]
    said = header(corpus)
    assert list(said) == ["date", "commit", "host", "CPU", "versions", "corpus"]
    assert said["corpus"].startswith(f"{corpus.digest}: development data")
    assert "onnxruntime " in said["versions"]
    assert " cores, load " in said["CPU"]


def test_samples_of_a_clip(clips: dict[str, Path], tmp_path: Path) -> None:
    samples = read_samples(Clip("jfk", clips["jfk"], "read", "en", "", 11.0, doubtful=False))
    assert samples.dtype == np.float32
    assert samples.shape == (176_000,)
    (tmp_path / "bad").write_bytes(b"no sound")
    with pytest.raises(AudioError):
        read_samples(Clip("bad", tmp_path / "bad", "read", "en", "", 1.0, doubtful=False))
