"""`as2d ask`: a question about a recording in, the answer out."""

from typing import Annotated

import typer

from as2d.cli import options as o
from as2d.cli.answering import Models, Saying, answer_files
from as2d.session import DEFAULT_MODEL
from as2d.session.session import OptionFields

_Audio = Annotated[str, typer.Argument(metavar="AUDIO", help="A file with sound; - is stdin.")]
_Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What to ask about it.")]


def command(
    audio: _Audio,
    question: _Question,
    *,
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
    """Answer a question about what is said: the answer on stdout, all else on stderr.

    It takes an audio language model, such as Qwen/Qwen2.5-Omni-3B. Exit status 0: done. 2: nothing could be done.
    """
    options = OptionFields(
        method=method, language=language, task="ask", question=question, context=context, budget=budget
    )
    models = Models(model, drafter, threads, precision, engine, device, configuration)
    return answer_files([audio], models, options, Saying(output_format, output_dir, quiet, verbose))
