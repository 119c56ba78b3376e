"""Manifests: what is read, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, read_manifest

WriteManifest = Callable[..., Path]


def test_all_that_a_manifest_says(write_manifest: WriteManifest) -> None:
    folder = write_manifest(
        {"id": "a", "reference": "été", "duration_s": 2, "flag": "cut"}, "", {"id": "b", "kind": "phone"}
    )
    assert read_manifest(folder) == [
        Clip("a", folder / "a.wav", "read", "en", "été", 2.0, doubtful=True),
        Clip("b", folder / "b.wav", "phone", "en", "a", 0.0, doubtful=False),
    ]


@pytest.mark.parametrize("unknown", [None, "-"])
def test_what_is_not_known_is_null_or_left_out(write_manifest: WriteManifest, unknown: str | None) -> None:
    [found] = read_manifest(
        write_manifest({"id": "a", "language": unknown, "reference": unknown, "duration_s": unknown})
    )
    assert (found.language, found.reference, found.duration_s) == ("", "", 0.0)


def test_no_language_is_not_known(write_manifest: WriteManifest) -> None:
    assert read_manifest(write_manifest({"id": "a", "language": "none"}))[0].language == ""


@pytest.mark.parametrize("doubt", ["flag", "reference_quality", "reference_approx", "likely_synthetic"])
def test_every_doubt_counts(write_manifest: WriteManifest, doubt: str) -> None:
    assert read_manifest(write_manifest({"id": "a", doubt: "x"}))[0].doubtful


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"id": "-"}, "needs the text 'id'"),
        ({"id": "b", "path": "-"}, "needs the text 'path'"),
        ({"id": "b", "path": ""}, "needs the text 'path'"),
        ({"id": "b", "kind": "-"}, "needs the text 'kind'"),
        ({"id": "b", "kind": 3}, "needs the text 'kind'"),
        ({"id": "b", "language": 3}, "'language' that is no text"),
        ({"id": "b", "reference": ["x"]}, "'reference' that is no text"),
        ({"id": "b", "duration_s": "long"}, "'duration_s' that is no number"),
        ({"id": "b", "duration_s": -1}, "'duration_s' that is no number"),
        ({"id": "b", "duration_s": float("nan")}, "'duration_s' that is no number"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "is no JSON object"),
    ],
)
def test_a_bad_line_is_named(write_manifest: WriteManifest, entry: Any, says: str) -> None:
    with pytest.raises(InputError, match=rf"manifest\.jsonl, line 2 .*{says}"):
        read_manifest(write_manifest({"id": "a"}, entry))


def test_two_clips_of_one_name(write_manifest: WriteManifest) -> None:
    with pytest.raises(InputError, match="names a more than once"):
        read_manifest(write_manifest({"id": "a"}, {"id": "b"}, {"id": "a"}))


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name a folder that holds one"):
        read_manifest(tmp_path)


def test_a_manifest_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "manifest.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="save it as UTF-8"):
        read_manifest(tmp_path)


def test_translations_and_questions(write_manifest: WriteManifest) -> None:
    translated, asked = read_manifest(
        write_manifest(
            {"id": "a", "translations": {"de": "eins"}},
            {"id": "b", "question": "who?", "answers": ["he", "him"]},
        )
    )
    assert translated.translations == {"de": "eins"}
    assert (translated.question, translated.answers) == (None, ())
    assert (asked.question, asked.answers) == ("who?", ("he", "him"))


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"translations": ["eins"]}, "'translations' that are no texts by language"),
        ({"translations": {"de": 1}}, "'translations' that are no texts by language"),
        ({"answers": "he"}, "'answers' that are no list of texts"),
        ({"answers": [1]}, "'answers' that are no list of texts"),
        ({"question": 3}, "'question' that is no text"),
    ],
)
def test_bad_translations_and_questions(write_manifest: WriteManifest, entry: Any, says: str) -> None:
    with pytest.raises(InputError, match=rf"line 1 .*{says}"):
        read_manifest(write_manifest({"id": "a", **entry}))
