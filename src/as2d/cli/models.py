"""`as2d models`: which models are known and where their files are."""

import sys

import typer
from rich.console import Console
from rich.table import Table

from as2d.models.store import KNOWN, installed, resolve

app = typer.Typer(help="List models and find their files.", no_args_is_help=True)

_HEADER = ("name", "licence", "size", "installed", "packages")


@app.command("list")
def list_models() -> None:
    """List the models that have a name: a table on a terminal, tab-separated lines elsewhere."""
    if sys.stdout.isatty():
        Console().print(_table(_rows()))
    else:
        for row in (_HEADER, *_rows()):
            typer.echo("\t".join(row))


@app.command("path")
def path_of_model(
    name: str = typer.Argument(help="A name from `as2d models list`, or a model folder."),
) -> None:
    """Print the files of a model, one a line, once they are checked."""
    files = resolve(name)
    for path in (*files.model_bin, files.config, files.tokenizer):
        typer.echo(path)


def _rows() -> list[tuple[str, ...]]:
    present = installed()
    return [
        (
            source.name,
            source.licence,
            f"{source.size / 1e6:.0f} MB",
            "yes" if source.name in present else "no",
            " ".join(source.packages),
        )
        for source in KNOWN.values()
    ]


def _table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(*_HEADER, box=None)
    for row in rows:
        table.add_row(*row)
    return table
