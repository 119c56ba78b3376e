"""The options that choose clips of a corpus, the same in every command."""

from typing import Annotated

import typer

Limit = Annotated[int | None, typer.Option(min=1, help="Clips at most, drawn by the seed.")]
Kinds = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Kinds of clips. Without: all but format, noise, silence and singing."),
]
Languages = Annotated[
    str | None, typer.Option(metavar="A,B", help="Languages (en,de). Without: all that the model has.")
]
Seed = Annotated[int, typer.Option(help="Which clips a limit draws, and the order of clips.")]
