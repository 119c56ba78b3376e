"""What is said on stderr about a transcription."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from as2d.records import Result


def say(message: str) -> None:
    """One line on stderr, whatever the message holds."""
    typer.echo("as2d: " + " ".join(printable(message).splitlines()), err=True)


class _Saying(logging.Handler):
    """Says what is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        say(record.getMessage())


@contextmanager
def saying_what_is_logged(*, quiet: bool, verbose: bool) -> Iterator[None]:
    """Say what as2d does besides its answers."""
    logger, handler = logging.getLogger("as2d"), _Saying()
    before = logger.level
    logger.setLevel(logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def printable(text: str) -> str:
    """Valid Unicode: bytes of file names that are not UTF-8 become U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def notices(result: Result) -> list[str]:
    """What the user should know about a result besides its text."""
    cut = [f"the text is cut short (finish reason {result.finish_reason})"] if result.truncated else []
    return [*result.warnings, *cut]


def summary(result: Result) -> str:
    """The line that ends each file; `-` where there is nothing to divide by."""
    stats = result.stats
    used = [source.name for source in result.sources if source.windows]
    tuned = f" (tuned: {result.configuration})" if result.configuration else ""
    return ", ".join(
        (
            f"audio {result.duration_s:.1f} s",
            f"wall {stats.wall_ms / 1000:.2f} s",
            f"RTFx {1000 * result.duration_s / stats.wall_ms:.1f}",
            f"encode {stats.encode_ms:.0f} ms",
            f"decode {stats.decode_tok_s:.0f} tok/s",
            f"acceptance {_share(stats.accepted, stats.proposed)}",
            f"coverage {_share(stats.accepted, len(result.tokens))}",
            f"rounds {stats.rounds}",
            f"K=1 share {_share(stats.k1_rounds, stats.rounds)}",
            f"method {result.method}{tuned}",
            f"drafters {'+'.join(used) or '-'}",
        )
    )


def details(result: Result) -> str:
    """The line that `--verbose` adds."""
    stats = result.stats
    return ", ".join(
        (
            f"language {result.language or '-'}",
            f"exact {'yes' if result.exact else 'no'}",
            f"finish {result.finish_reason}",
            f"windows with speech {len(result.segments)}",
            f"tokens {len(result.tokens)}",
            f"proposed {stats.proposed}",
            f"accepted {stats.accepted}",
            f"decode {stats.decode_ms:.0f} ms",
            f"producer done {stats.producer_done_ms:.0f} ms",
        )
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"
