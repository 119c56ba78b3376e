"""Lists in one option."""


def names(text: str | None) -> tuple[str, ...] | None:
    """The parts of a list with commas; None where there is none."""
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip()) or None
