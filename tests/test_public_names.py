"""What `import as2d` offers, and nothing else."""

import inspect

import pytest

import as2d

NAMES = [
    "As2dError",
    "Commit",
    "Event",
    "LiveRecording",
    "Options",
    "PreparedRecording",
    "Request",
    "Result",
    "Segment",
    "Session",
    "SourceStats",
    "Stats",
    "__version__",
    "transcribe",
]


def test_the_public_names_are_the_listed_ones() -> None:
    assert as2d.__all__ == NAMES


def test_star_import_gives_the_listed_names() -> None:
    found: dict[str, object] = {}
    exec("from as2d import *", found)  # the statement itself is what is tested
    assert set(NAMES) <= set(found)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "__version__"])
def test_every_public_object_says_what_it_is(name: str) -> None:
    public = getattr(as2d, name)
    assert inspect.getdoc(public)
    assert not (public.__doc__ or "").startswith(f"{name}("), "dataclasses write that one themselves"


@pytest.mark.parametrize("name", ["Session", "Request", "PreparedRecording", "LiveRecording"])
def test_every_public_method_says_what_it_does(name: str) -> None:
    members = vars(getattr(as2d, name)).items()
    public = [member for key, member in members if not key.startswith("_") and callable(member)]
    assert all(inspect.getdoc(member) for member in public)


def test_the_version_is_a_version() -> None:
    assert as2d.__version__.split(".")[0].isdigit()
