"""A source that takes turns with the target: it drafts when it is asked, and the target waits."""

from collections.abc import Callable

from as2d.drafting.prefix import NOTHING, Enough, PrefixDrafter
from as2d.drafting.words import Word


class SerialDraft:
    """Drafts one window from the target's text. The first fault ends it, and from then on it says nothing.

    It runs in the target's thread, so that one that hangs holds up the answer: nothing can be done about that.
    """

    def __init__(self, source: int, open_drafter: Callable[[], PrefixDrafter]) -> None:
        """`source` is its index in the pair. What opening it raises is its fault."""
        self.source = source
        self.fault: str | None = None
        self._drafter: PrefixDrafter | None = None
        try:
            self._drafter = open_drafter()
        except (Exception, SystemExit) as error:  # whatever a drafter does, the target answers
            self._end(error)

    def draft(self, committed: list[int], limit: int, enough: Enough) -> Word:
        """As `PrefixDrafter.draft`; nothing after a fault."""
        if self._drafter is None:
            return NOTHING
        try:
            return self._drafter.draft(committed, limit, enough)
        except (Exception, SystemExit) as error:
            self._end(error)
            return NOTHING

    def _end(self, error: BaseException) -> None:
        self._drafter = None
        self.fault = f"{type(error).__name__}: {error}"
