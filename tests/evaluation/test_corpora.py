"""Manifests: what is read, what is refused, which clips are chosen."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, Selection, read_corpus, read_manifest, select

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a manifest of these entries (or raw lines), and a file for each that has `sound`."""

    def write(*entries: dict[str, Any] | str) -> Path:
        lines = []
        for entry in entries:
            if isinstance(entry, str):
                lines.append(entry)
                continue
            sound = entry.pop("sound", None)
            full = {
                "path": f"{entry.get('id')}.wav",
                "kind": "read",
                "language": "en",
                "reference": "a",
            } | entry
            lines.append(json.dumps({name: value for name, value in full.items() if value != "-"}))
            if sound:
                (tmp_path / full["path"]).write_bytes(sound)
        (tmp_path / "manifest.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path

    return write


def clip(name: str, kind: str = "read", language: str = "en") -> Clip:
    return Clip(name, Path(name), kind, language, "", 1.0, doubtful=False)


def test_all_that_a_manifest_says(write: Write) -> None:
    folder = write(
        {"id": "a", "reference": "été", "duration_s": 2, "flag": "cut"}, "", {"id": "b", "kind": "phone"}
    )
    assert read_manifest(folder) == [
        Clip("a", folder / "a.wav", "read", "en", "été", 2.0, doubtful=True),
        Clip("b", folder / "b.wav", "phone", "en", "a", 0.0, doubtful=False),
    ]


@pytest.mark.parametrize("unknown", [None, "-"])
def test_what_is_not_known_is_null_or_left_out(write: Write, unknown: str | None) -> None:
    [found] = read_manifest(
        write({"id": "a", "language": unknown, "reference": unknown, "duration_s": unknown})
    )
    assert (found.language, found.reference, found.duration_s) == ("", "", 0.0)


def test_no_language_is_not_known(write: Write) -> None:
    assert read_manifest(write({"id": "a", "language": "none"}))[0].language == ""


@pytest.mark.parametrize("doubt", ["flag", "reference_quality", "reference_approx", "likely_synthetic"])
def test_every_doubt_counts(write: Write, doubt: str) -> None:
    assert read_manifest(write({"id": "a", doubt: "x"}))[0].doubtful


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
        ("{", "is not JSON"),
        ("[1]", "is no JSON object"),
    ],
)
def test_a_bad_line_is_named(write: Write, entry: Any, says: str) -> None:
    with pytest.raises(InputError, match=rf"manifest\.jsonl, line 2 .*{says}"):
        read_manifest(write({"id": "a"}, entry))


def test_two_clips_of_one_name(write: Write) -> None:
    with pytest.raises(InputError, match="names a more than once"):
        read_manifest(write({"id": "a"}, {"id": "b"}, {"id": "a"}))


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name a folder that holds one"):
        read_manifest(tmp_path)


def test_a_manifest_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "manifest.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="save it as UTF-8"):
        read_manifest(tmp_path)


def test_missing_files_and_equal_ones_are_left_out(write: Write) -> None:
    corpus = read_corpus(
        write(
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


def test_the_digest_tells_names_languages_and_contents_apart(write: Write) -> None:
    digests = [
        read_corpus(write(entry)).digest
        for entry in (
            {"id": "a", "path": "x", "sound": b"1"},
            {"id": "a", "path": "x", "sound": b"2"},
            {"id": "b", "path": "x", "sound": b"1"},
            {"id": "a", "path": "x", "sound": b"1", "language": "de"},
        )
    ]
    assert len(set(digests)) == 4
    again = read_corpus(write({"id": "a", "path": "x", "sound": b"1", "reference": "other", "note": "n"}))
    assert again.digest == digests[0]


def test_kinds_and_languages() -> None:
    clips = [
        clip("a"),
        clip("b", "noise", ""),
        clip("c", language="de"),
        clip("d", language="xx"),
        clip("e", "phone"),
    ]

    def names(selection: Selection) -> list[str]:
        return sorted(found.name for found in select(clips, {"en", "de"}, selection))

    assert names(Selection()) == ["a", "c", "e"]
    assert names(Selection(kinds=("noise", "phone"))) == ["b", "e"]
    assert names(Selection(languages=("de", "xx"))) == ["c"]


def test_nothing_chosen_is_an_error() -> None:
    with pytest.raises(InputError, match="of the kinds phone and in the languages all"):
        select([clip("a")], {"en"}, Selection(kinds=("phone",)))


def test_the_order_is_random_seeded_and_mixes_kinds() -> None:
    clips = [clip(f"r{n}") for n in range(80)] + [clip(f"p{n}", "phone") for n in range(20)]

    def names(limit: int | None = None, seed: int = 0) -> list[str]:
        return [found.name for found in select(clips, {"en"}, Selection(limit=limit, seed=seed))]

    assert names() == names(seed=0)
    assert names() != names(seed=1)
    assert sorted(names()) == sorted(found.name for found in clips)
    assert names(limit=7) == names()[:7]
    for first in range(10, 100, 10):
        phones = Counter(name[0] for name in names(limit=first))["p"]
        assert abs(phones - first / 5) <= 1
