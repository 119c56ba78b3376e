"""What a request keeps of the error that ended it."""

from collections.abc import Iterator
from traceback import format_exception


def without_frames(error: BaseException) -> BaseException:
    """The error, with its traceback as a note of text.

    The frames of a traceback keep all that they worked on, audio and what was prepared of it, for as long as somebody
    holds the error.
    """
    where = "".join(format_exception(error)).rstrip()
    for link in _chain(error):
        link.__traceback__ = None
    error.add_note(f"as it was raised where the request was answered:\n{where}")
    return error


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that it came from, each once."""
    found: dict[int, BaseException] = {}
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop()
        if link is not None and id(link) not in found:
            found[id(link)] = link
            waiting += (link.__cause__, link.__context__)
    return iter(found.values())
