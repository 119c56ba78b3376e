"""Lists in one option."""

from as2d.errors import InputError


def names(text: str | None) -> tuple[str, ...] | None:
    """The parts of a list with commas; None where there is none."""
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip()) or None


def numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    """The same of whole numbers. InputError, which names the option, for anything else."""
    parts = names(text)
    if parts is None:
        return None
    if not all(part.isdecimal() for part in parts):
        raise InputError(f"{option} {text} is no list of numbers; write them as 1,2")
    return tuple(map(int, parts))
