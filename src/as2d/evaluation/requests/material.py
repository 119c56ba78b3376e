"""What the benches of requests work on: a loaded target, clips, and what a reader must know of both."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from as2d.evaluation.corpora import Clip, Selection, read_speech, select
from as2d.evaluation.host import Host, describe_host
from as2d.models.contract import AudioModel
from as2d.models.load import Precision, load_target, told_precision


@dataclass(frozen=True, slots=True)
class Material:
    """The target, the clips that were chosen, in a random order, and the machine. `header` names it all."""

    target: AudioModel
    clips: tuple[Clip, ...]
    host: Host
    header: Mapping[str, str]


def load_material(corpus_folder: Path, model: str, precision: Precision, selection: Selection) -> Material:
    """Load and choose. Raises InputError, and what loading the model raises."""
    corpus, host = read_speech(corpus_folder), describe_host()
    target = load_target(model, precision=precision)
    clips = select(corpus.clips, target.capabilities.languages, selection)
    header = {
        "Host": f"{host.name}, {host.cpu}, {host.cores} cores, load {host.load:.2f} at the start",
        "Date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Commit": host.commit,
        "Versions": ", ".join(f"{name} {version}" for name, version in host.versions.items()),
        "Target": f"{target.name}, {told_precision(target, precision)}",
        "Corpus": f"{corpus.digest}, {len(clips)} clips to choose from, seed {selection.seed}",
    }
    return Material(target, tuple(clips), host, header)
