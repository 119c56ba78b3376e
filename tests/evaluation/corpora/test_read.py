"""Corpora: which clips are usable, and what tells two corpora apart."""

from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import read_corpus, read_speech

WriteManifest = Callable[..., Path]


def test_missing_files_and_equal_ones_are_left_out(write_manifest: WriteManifest) -> None:
    corpus = read_corpus(
        write_manifest(
            {"id": "a", "sound": b"1"},
            {"id": "gone"},
            {"id": "same", "sound": b"1"},
            {"id": "b", "sound": b"2"},
        )
    )
    assert [clip.name for clip in corpus.clips] == ["a", "b"]
    assert corpus.duplicates == ("same",)
    [(skipped, reason)] = corpus.skipped
    assert skipped.name == "gone"
    assert "gone.wav cannot be read (No such file or directory)" in reason


def test_a_name_that_no_file_can_have_is_skipped(write_manifest: WriteManifest) -> None:
    found = read_corpus(write_manifest({"id": "a", "sound": b"x"}, {"id": "b", "path": "\0.wav"}))
    assert [clip.name for clip in found.clips] == ["a"]
    assert "no file has such a name" in found.skipped[0].reason


def test_the_digest_tells_names_languages_and_contents_apart(write_manifest: WriteManifest) -> None:
    digests = [
        read_corpus(write_manifest(entry)).digest
        for entry in (
            {"id": "a", "path": "x", "sound": b"1"},
            {"id": "a", "path": "x", "sound": b"2"},
            {"id": "b", "path": "x", "sound": b"1"},
            {"id": "a", "path": "x", "sound": b"1", "language": "de"},
        )
    ]
    assert len(set(digests)) == 4
    again = read_corpus(
        write_manifest({"id": "a", "path": "x", "sound": b"1", "reference": "other", "note": "n"})
    )
    assert again.digest == digests[0]


def test_questions_about_one_recording_are_no_duplicates(write_manifest: WriteManifest) -> None:
    corpus = read_corpus(
        write_manifest(
            {"id": "a", "sound": b"1", "question": "who?"},
            {"id": "b", "sound": b"1", "question": "what?"},
            {"id": "c", "sound": b"1", "question": "who?"},
        )
    )
    assert [clip.name for clip in corpus.clips] == ["a", "b"]
    assert corpus.duplicates == ("c",)


def test_what_is_spoken_comes_once_whatever_is_asked_about_it(write_manifest: WriteManifest) -> None:
    folder = write_manifest(
        {"id": "a", "sound": b"1", "question": "who?"},
        {"id": "b", "path": "a.wav", "question": "what?"},
        {"id": "c", "sound": b"2"},
    )
    assert [clip.name for clip in read_corpus(folder).clips] == ["a", "b", "c"]
    assert [clip.name for clip in read_speech(folder).clips] == ["a", "c"]
    assert read_speech(folder).digest == read_corpus(folder).digest


def test_neither_a_manifest_nor_a_known_layout(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"cannot read .*manifest\.jsonl .*LibriSpeech as they are distributed"
    ):
        read_corpus(tmp_path)


def test_official_corpora_are_told_apart_by_size_and_read_no_audio(
    tmp_path: Path, sound: Callable[..., None], lines: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines(tmp_path / "1" / "2" / "1-2.trans.txt", "1-2-0000 ONE", "1-2-0001 ONE")
    for number in range(2):
        sound(tmp_path / "1" / "2" / f"1-2-000{number}.flac")
    monkeypatch.setattr("hashlib.file_digest", pytest.fail)
    first = read_corpus(tmp_path)
    assert len(first.clips) == 2  # of equal contents
    sound(tmp_path / "1" / "2" / "1-2-0001.flac", 5)
    assert read_corpus(tmp_path).digest != first.digest
