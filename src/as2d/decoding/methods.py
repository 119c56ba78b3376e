"""What the methods have in common, and what tells them apart; pure."""

from collections.abc import Mapping
from typing import NamedTuple

from as2d.records import UsedMethod


class Traits(NamedTuple):
    """What a method does, and which options mean something to it."""

    drafts: bool = True
    serial: bool = False
    """Target and drafter take turns."""
    writes_on: bool = False
    """It needs a drafter that goes on from the target's text, and only one."""
    budget: bool = True
    batch: bool = False
    resync: bool = False


TRAITS: Mapping[UsedMethod, Traits] = {
    "as2d": Traits(batch=True, resync=True),
    "target-only": Traits(drafts=False, budget=False),
    "speculative": Traits(serial=True, writes_on=True),
    "specasr": Traits(serial=True, writes_on=True, budget=False),
    "lookahead": Traits(writes_on=True, batch=True),
    "as2d-without-decoupling": Traits(serial=True, writes_on=True),
    "as2d-without-budget": Traits(budget=False, batch=True),
}
