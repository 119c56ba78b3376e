"""What `--help` shows in a terminal of 80 columns."""

from itertools import pairwise

import pytest
from tests.cli.conftest import Run

COMMANDS = (
    "transcribe",
    "translate",
    "ask",
    "live",
    "tune",
    "soak",
    "models pull",
    "models calibrate",
    "bench run",
    "bench independence",
    "bench ondemand",
    "bench stream",
    "profile run",
    "replay record",
    "replay run",
    "replay check",
)


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def prose(shown: str) -> list[list[str]]:
    """The lines of each paragraph between the usage and the first box."""
    lines = [line.strip() for line in shown.partition("╭")[0].splitlines()]
    paragraphs = "\n".join(lines).strip().split("\n\n")[1:]
    return [paragraph.splitlines() for paragraph in paragraphs]


@pytest.mark.parametrize("command", COMMANDS)
def test_paragraphs_fill_the_lines(run_fresh: Run, command: str) -> None:
    for paragraph in prose(run_fresh(*command.split(), "--help").out):
        for line, following in pairwise(paragraph):
            assert len(f"{line} {following.split()[0]}") > 78


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("transcribe", "Without: auto."),
        ("transcribe", "Without: 7, or as tuned."),
        ("live", "[default: 16000]"),
        ("profile run", "Without: those that come with as2d."),
        ("replay run", "Without: 0 to 24."),
    ],
)
def test_what_holds_without_an_option_is_told(run_fresh: Run, command: str, says: str) -> None:
    shown = run_fresh(*command.split(), "--help").out
    assert says in " ".join(shown.replace("│", " ").split())


@pytest.mark.parametrize("group", ["bench", "profile"])
def test_a_group_says_where_its_options_are(run_fresh: Run, group: str) -> None:
    assert f"as2d {group} run --help" in " ".join(run_fresh(group, "--help").out.split())
