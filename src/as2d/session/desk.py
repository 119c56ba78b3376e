"""Who answers: what a session shares with its live recordings and texts."""

from typing import NamedTuple

from as2d.configuration.selection import Selector
from as2d.session.worker import Worker


class Desk(NamedTuple):
    """Who selects what computes, and the thread that computes."""

    selector: Selector
    worker: Worker
