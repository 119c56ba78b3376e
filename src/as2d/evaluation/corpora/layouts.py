"""The official corpora that are recognised by how their folders look."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from as2d.evaluation.corpora import ami, covost, fleurs, kespeech, librispeech, m4singer, spoken_squad
from as2d.evaluation.corpora.clip import Clip


@dataclass(frozen=True, slots=True)
class Layout:
    """How a corpus is laid out: whether a folder looks like it, and its clips one by one."""

    name: str
    recognises: Callable[[Path], bool]
    read: Callable[[Path], Iterator[Clip]]


def _layout(name: str, module: ModuleType) -> Layout:
    return Layout(name, module.recognises, module.read)


LAYOUTS = (
    _layout("Spoken-SQuAD", spoken_squad),
    _layout("CoVoST 2", covost),
    _layout("KeSpeech", kespeech),
    _layout("M4Singer", m4singer),
    _layout("AMI", ami),
    _layout("FLEURS", fleurs),
    _layout("LibriSpeech", librispeech),
)
"""The quickest to recognise first."""


def layout_of(folder: Path) -> Layout | None:
    """The layout of a folder; None where it is none of them."""
    return next((layout for layout in LAYOUTS if layout.recognises(folder)), None)
