"""Spoken-SQuAD (English, synthetic speech): spoken_*-v1.1.json, and a recording of each sentence of a passage.

Sentences are TOPIC_PARAGRAPH_SENTENCE.wav, counted from 0: of the test set in dev_wav, of the training set in
train_wav. The passages in the JSON file are what a recogniser heard, and so no references.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from as2d.errors import InputError
from as2d.evaluation.corpora.clip import Clip, Piece
from as2d.evaluation.corpora.text_files import read_json

_SETS = {"spoken_test-v1.1.json": ("dev_wav", "test_wav"), "spoken_train-v1.1.json": ("train_wav",)}
"""Each set, and how the folder of its recordings may be called."""
_ABOVE = (".", "Spoken-SQuAD_audio")

Sentences = Mapping[tuple[int, int], tuple[Path, ...]]
"""The recordings of each passage in order, by topic and paragraph."""


def recognises(folder: Path) -> bool:
    """Whether there are the questions of a set."""
    return any((folder / name).is_file() for name in _SETS)


def read(folder: Path) -> Iterator[Clip]:
    """A clip for each question: the whole passage, named SET/QUESTION. InputError without recordings."""
    for name, audio_folders in _SETS.items():
        if (folder / name).is_file():
            yield from _questions(folder / name, _sentences(_audio_folder(folder, name, audio_folders)))


def _audio_folder(folder: Path, name: str, names: tuple[str, ...]) -> Path:
    candidates = [folder / above / audio for above in _ABOVE for audio in names]
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    raise InputError(
        f"{folder} has {name} but no folder {' or '.join(names)} with its sentences; unpack Spoken-SQuAD_audio.zip "
        "there, and what it holds"
    )


def _sentences(audio: Path) -> Sentences:
    found: dict[tuple[int, int], list[tuple[int, Path]]] = defaultdict(list)
    for path in audio.glob("*_*_*.wav"):
        numbers = path.stem.split("_")
        if len(numbers) == 3 and all(number.isdigit() for number in numbers):
            topic, paragraph, sentence = map(int, numbers)
            found[topic, paragraph].append((sentence, path))
    return {passage: tuple(path for _, path in sorted(files)) for passage, files in found.items()}


def _questions(path: Path, sentences: Sentences) -> Iterator[Clip]:
    try:
        topics = read_json(path)["data"]
        for topic, paragraph, entry in _entries(topics):
            yield _question(path, entry, sentences.get((topic, paragraph), ()), f"{topic}_{paragraph}_0.wav")
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is not as SQuAD writes it ({error!r}); download the file again") from error


def _entries(topics: list[Any]) -> Iterator[tuple[int, int, Any]]:
    for topic, article in enumerate(topics):
        for paragraph, passage in enumerate(article["paragraphs"]):
            for entry in passage["qas"]:
                yield topic, paragraph, entry


def _question(path: Path, entry: Any, recordings: tuple[Path, ...], first: str) -> Clip:
    """Without recordings the clip names the first that is missing."""
    return Clip(
        name=f"{path.stem.split('-')[0].removeprefix('spoken_')}/{_text(entry['id'])}",
        path=recordings[0] if recordings else path.parent / first,
        kind="question",
        language="en",
        reference="",
        duration_s=0.0,
        doubtful=False,
        question=_text(entry["question"]),
        answers=tuple(dict.fromkeys(_text(answer["text"]) for answer in entry["answers"])),
        pieces=tuple(map(Piece, recordings)),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value
