"""The options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from as2d.cli.formats import Format
from as2d.errors import InputError
from as2d.models import load
from as2d.records import Method, SpeechTask

Files = Annotated[list[str], typer.Argument(metavar="AUDIO...", help="Files with sound; - is stdin.")]
Model = Annotated[
    str, typer.Option(help="A name from `as2d models list`, a Hugging Face name, or a model folder.")
]
Drafter = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A model, as for --model; self, pocketsphinx, onnx-asr:NAME or sherpa-onnx:FOLDER; auto (the best one) or "
        "none. May be repeated: they draft together. Without: auto.",
    ),
]
MethodName = Annotated[
    Method,
    typer.Option(
        "--method",
        help="How to decode; the tokens are the same. auto: as2d or target-only, whichever is faster. All others are "
        "there to be compared with.",
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        help="Most drafted tokens a round, 0 to 24; speculative decoding with K = budget + 1. Without: 7, or as tuned."
    ),
]
Threads = Annotated[int | None, typer.Option(help="Cores to use. Without: all that the process may use.")]
Language = Annotated[str | None, typer.Option(help="The language spoken (en, french). Without: detected.")]
Context = Annotated[
    str, typer.Option(metavar="TEXT", help="What helps to hear, such as names, for models that take it.")
]
Precision = Annotated[
    load.Precision, typer.Option(help="Of Whisper's decoder weights on onnxruntime; auto: int8.")
]
EngineName = Annotated[
    load.Engine,
    typer.Option("--engine", help="What computes. auto: onnxruntime for Whisper, torch for all others."),
]
DeviceName = Annotated[load.Device, typer.Option("--device", help="Where torch computes.")]
Configuration = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="What `as2d tune` wrote, on whatever machine. Without: your own, where it fits."
    ),
]
Batch = Annotated[
    str,
    typer.Option(
        metavar="word|N", help="Publish drafts word by word, unless tuned otherwise, or N tokens at once."
    ),
]
Resync = Annotated[
    bool, typer.Option("--resync", help="as2d: let drafters that are lost go on from the committed text.")
]
OutputFormat = Annotated[
    Format, typer.Option(help="txt: a line a window; json: a line a file; jsonl: a line a commit.")
]
OutputDir = Annotated[Path | None, typer.Option(help="Write one file each there, nothing on stdout.")]
Offline = Annotated[
    bool,
    typer.Option("--offline", help="Never use the network. Always so: only `as2d models pull` uses it."),
]
SpokenTask = Annotated[
    SpeechTask, typer.Option("--task", help="translate: to the model's first language, mostly English.")
]
ProfileFile = Annotated[
    Path, typer.Option("--profile", metavar="FILE", help="What `as2d profile` wrote, on whatever machine.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Nothing on stderr but errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="More about each file on stderr.")]


def batch_size(text: str) -> Literal["word"] | int:
    """What `--batch` says. Raises InputError."""
    if text == "word":
        return "word"
    if not text.isdecimal():
        raise InputError(f"there is no batch {text!r}; use word or a number of tokens")
    return int(text)
