"""An error without its frames: all that can be read of it stays."""

import pytest

from as2d.session.failure import without_frames

NOTHING: dict[str, int] = {}


def fail() -> None:
    try:
        NOTHING["the cause"]
    except KeyError as cause:
        raise ValueError("the error") from cause


def failed() -> BaseException:
    """A ValueError that came of a KeyError."""
    with pytest.raises(ValueError, match="the error") as caught:
        fail()
    return caught.value


def test_no_error_of_the_chain_keeps_its_frames() -> None:
    error = without_frames(failed())
    assert isinstance(error.__cause__, KeyError)
    assert error.__traceback__ is None
    assert error.__cause__.__traceback__ is None


def test_where_it_was_raised_is_a_note() -> None:
    (note,) = without_frames(failed()).__notes__
    assert 'NOTHING["the cause"]' in note
    assert "test_failure.py" in note
    assert note.endswith("ValueError: the error")


def test_a_chain_that_is_a_ring_ends() -> None:
    error = failed()
    assert error.__cause__
    error.__cause__.__context__ = error
    assert without_frames(error).__traceback__ is None


def test_it_is_the_same_error() -> None:
    error = failed()
    with pytest.raises(ValueError, match="the error") as caught:
        raise without_frames(error)
    assert caught.value is error
