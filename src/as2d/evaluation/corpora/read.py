"""A corpus from its folder: its own manifest, or an official layout."""

import errno
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from as2d.errors import InputError
from as2d.evaluation.corpora.asking import heard_once
from as2d.evaluation.corpora.clip import Clip, Corpus, Skipped
from as2d.evaluation.corpora.layouts import LAYOUTS, Layout, layout_of
from as2d.evaluation.corpora.manifest import MANIFEST, read_manifest

Content = str | OSError
"""Tells apart what is heard in a clip, or why nothing is."""


def read_corpus(folder: Path, *, pieces: bool = False) -> Corpus:
    """The clips whose files can be read; of clips with equal files and questions only the first.

    A folder with a manifest is read by that, another by its official layout. Without `pieces`, clips that are cut
    out of recordings are skipped. Raises as `read_manifest`, and InputError for a layout of which something is missing.
    """
    if (folder / MANIFEST).exists():
        return _corpus(read_manifest(folder), _digest_of_file, pieces=pieces)
    layout = layout_of(folder)
    if layout is None:
        raise InputError(
            f"cannot read {folder / MANIFEST} (there is none); name a folder that holds one, or one of "
            f"{', '.join(known.name for known in LAYOUTS)} as they are distributed"
        )
    return _official(folder, layout, pieces=pieces)


def read_speech(folder: Path) -> Corpus:
    """What is spoken in a corpus, each clip once whatever is asked about it. Raises as `read_corpus`."""
    corpus = read_corpus(folder, pieces=True)
    return replace(corpus, clips=tuple(heard_once(corpus.clips)))


def _official(folder: Path, layout: Layout, *, pieces: bool) -> Corpus:
    """Files are told apart by place and size: so much audio is not read for a checksum."""
    corpus = _corpus(layout.read(folder), lambda path: _stamp(path, folder), pieces=pieces)
    if corpus.clips:
        return corpus
    if not corpus.skipped:
        raise InputError(
            f"{folder} looks like {layout.name} but names no recordings; download its texts again"
        )
    raise InputError(
        f"{folder} looks like {layout.name}, but none of its {len(corpus.skipped)} clips can be used: "
        f"{corpus.skipped[0].reason}; unpack the recordings there"
    )


def _corpus(clips: Iterable[Clip], content_of: Callable[[Path], str], *, pieces: bool) -> Corpus:
    contents: dict[str, Content] = {}
    usable: dict[tuple[str, str | None], Clip] = {}
    skipped: list[Skipped] = []
    duplicates: list[str] = []
    every: list[Clip] = []
    for clip in clips:
        every.append(clip)
        content = contents[clip.name] = _content(clip, content_of)
        if isinstance(content, OSError):
            skipped.append(Skipped(clip, f"{clip.path} cannot be read ({content.strerror})"))
        elif clip.pieces and not pieces:
            skipped.append(
                Skipped(clip, "it is cut out of recordings, which is not done here; use as2d bench")
            )
        elif usable.setdefault((content, clip.question), clip) is not clip:
            duplicates.append(clip.name)
    return Corpus(tuple(usable.values()), _digest(every, contents), tuple(skipped), tuple(duplicates))


def _content(clip: Clip, content_of: Callable[[Path], str]) -> Content:
    try:
        if not clip.pieces:
            return content_of(clip.path)
        return json.dumps([(content_of(piece.path), piece.start_s, piece.end_s) for piece in clip.pieces])
    except OSError as error:
        return error
    except ValueError:  # a name with a NUL in it
        return OSError(errno.EINVAL, "no file has such a name")


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(path: Path, folder: Path) -> str:
    return f"{path.relative_to(folder).as_posix()} {path.stat().st_size}"


def _digest(clips: Iterable[Clip], contents: Mapping[str, Content]) -> str:
    digest = hashlib.sha256()
    for clip in sorted(clips, key=lambda clip: clip.name):
        content = contents[clip.name]
        heard = None if isinstance(content, OSError) else content
        digest.update(json.dumps([clip.name, clip.kind, clip.language, heard]).encode())
    return digest.hexdigest()[:16]
