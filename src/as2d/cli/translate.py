"""`as2d translate`: speech in one language in, text in another out."""

from typing import Annotated

import typer

from as2d.cli import options as o
from as2d.cli.answering import Models, Saying, answer_files
from as2d.session import DEFAULT_MODEL
from as2d.session.session import OptionFields

_To = Annotated[
    str | None,
    typer.Option(
        metavar="LANGUAGE", help="The language of the text. Without: the model's first, mostly English."
    ),
]


def command(
    audio: o.Files,
    *,
    to: _To = None,
    model: o.Model = DEFAULT_MODEL,
    drafter: o.Drafter = None,
    method: o.MethodName = "auto",
    budget: o.Budget = None,
    threads: o.Threads = None,
    language: o.Language = None,
    context: o.Context = "",
    precision: o.Precision = "auto",
    engine: o.EngineName = "auto",
    device: o.DeviceName = "cpu",
    configuration: o.Configuration = None,
    output_format: o.OutputFormat = "txt",
    output_dir: o.OutputDir = None,
    offline: o.Offline = False,  # noqa: ARG001 -- there is nothing to switch off
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> int:
    """Translate what is said: the translation on stdout, all else on stderr. Whisper translates to English only.

    Exit status 0: done. 1: some of several files failed. 2: nothing could be done.
    """
    options = OptionFields(
        method=method, language=language, task="translate", to=to, context=context, budget=budget
    )
    models = Models(model, drafter, threads, precision, engine, device, configuration)
    return answer_files(audio, models, options, Saying(output_format, output_dir, quiet, verbose))
