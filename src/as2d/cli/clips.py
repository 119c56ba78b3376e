"""A corpus, and the options that choose clips of it, the same in every command."""

from pathlib import Path
from typing import Annotated

import typer

CorpusFolder = Annotated[
    Path,
    typer.Argument(
        metavar="CORPUS",
        help="A folder with manifest.jsonl (id, path, language, kind, reference), or of LibriSpeech, FLEURS, KeSpeech, "
        "M4Singer, AMI, CoVoST 2 or Spoken-SQuAD as they are distributed.",
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Clips at most, drawn by the seed.")]
Kinds = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Kinds of clips. Without: all but format, noise, silence and singing."),
]
Languages = Annotated[
    str | None, typer.Option(metavar="A,B", help="Languages (en,de). Without: all that the model has.")
]
Seed = Annotated[int, typer.Option(help="Which clips are drawn, and their order.")]
