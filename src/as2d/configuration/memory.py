"""Which drafters fit into memory beside their target, and what stands for those that do not."""

from collections.abc import Callable
from logging import getLogger
from typing import Any, NoReturn, TypeVar

from as2d.drafting.prefix import PrefixDrafter
from as2d.errors import InputError, NoMemoryError
from as2d.records import Instruction

T = TypeVar("T")

_log = getLogger(__name__)


class Room:
    """Free memory that drafters are given one after the other. They are loaded later, when they are needed."""

    def __init__(self, free: int | None) -> None:
        """Bytes; None where nobody knows: then there is room for all."""
        self._free = free

    def takes(self, name: str, needed: int) -> bool:
        """Whether there is still room for so many bytes, which are then given away; says so once where there is not."""
        if self._free is None:
            return True
        if needed <= self._free:
            self._free -= needed
            return True
        _log.warning(
            "the drafter %s needs about %.0f MB of memory and %.0f MB are free: it does not draft; free memory, or "
            "choose a smaller drafter or target",
            name,
            needed / 1e6,
            self._free / 1e6,
        )
        return False


ABSENT = "absent"
"""The identity of a source that there is no memory for."""


class Absent:
    """A source that there is no memory for. It never drafts, so that the target answers alone."""

    def __init__(self, name: str) -> None:
        self.name = name

    def can_draft(self, instruction: Instruction) -> bool:  # noqa: ARG002 -- nothing at all
        """Never."""
        return False

    def waits(self, instruction: Instruction) -> bool:  # noqa: ARG002 -- for nothing, ever
        """Always: it takes no core."""
        return True

    def prepare(self, *_: object) -> NoReturn:
        """Refused with InputError."""
        raise InputError(f"there is no memory for the drafter {self.name}; free some")

    def draft(self, prepared: Any, job: object) -> NoReturn:  # noqa: ARG002 -- refused
        """Refused with InputError."""
        self.prepare()

    def open(self, *_: object) -> PrefixDrafter:
        """Refused with InputError."""
        self.prepare()


def if_room(name: str, load: Callable[[], T]) -> T | Absent:
    """What is loaded, or what stands for it where by now there is no memory for it; says so once."""
    try:
        return load()
    except NoMemoryError as error:
        _log.warning("the drafter %s does not draft: %s", name, error)
        return Absent(name)
