"""`as2d transcribe`: files in, transcripts out."""

from typing import Annotated

import typer

from as2d.cli import options as o
from as2d.cli.answering import Models, Saying, answer_files
from as2d.records import SpeechTask
from as2d.session import DEFAULT_MODEL
from as2d.session.session import OptionFields

_Task = Annotated[
    SpeechTask, typer.Option(help="translate: as `as2d translate`, to the model's first language.")
]


def command(
    audio: o.Files,
    *,
    model: o.Model = DEFAULT_MODEL,
    drafter: o.Drafter = None,
    method: o.MethodName = "auto",
    budget: o.Budget = None,
    threads: o.Threads = None,
    language: o.Language = None,
    context: o.Context = "",
    task: _Task = "transcribe",
    precision: o.Precision = "auto",
    engine: o.EngineName = "auto",
    device: o.DeviceName = "cpu",
    configuration: o.Configuration = None,
    batch: o.Batch = "word",
    resync: o.Resync = False,
    output_format: o.OutputFormat = "txt",
    output_dir: o.OutputDir = None,
    offline: o.Offline = False,  # noqa: ARG001 -- there is nothing to switch off
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> int:
    """Transcribe or translate audio: the transcript on stdout, all else on stderr.

    Exit status 0: done. 1: some of several files failed. 2: nothing could be done.
    """
    options = OptionFields(
        method=method,
        language=language,
        task=task,
        context=context,
        budget=budget,
        batch=o.batch_size(batch),
        resync=resync,
    )
    models = Models(model, drafter, threads, precision, engine, device, configuration)
    return answer_files(audio, models, options, Saying(output_format, output_dir, quiet, verbose))
