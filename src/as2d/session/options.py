"""The options of a request, as keyword arguments."""

from typing import Literal, TypedDict

from as2d.records import Method, Task


class OptionFields(TypedDict, total=False):
    """The fields of `Options`, as keyword arguments."""

    method: Method
    language: str | None
    task: Task
    to: str | None
    question: str | None
    context: str
    budget: int | None
    batch: Literal["word"] | int
    any_language: bool
    resync: bool
