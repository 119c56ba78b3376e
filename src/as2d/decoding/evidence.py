"""Whether a source that still drafts is worth its core; pure."""

from typing import NamedTuple

GRACE = 16
"""Rounds that every source has; it may need some of them to publish anything."""
SPAN = 12
"""Rounds that are looked at: the last ones."""
FEWEST_ACCEPTED = 0.35
"""Accepted tokens a round that pay for a core. A round commits these and one more, and takes the target 1.2 to 1.35
times as long on one core as on two: so 0.35 pay for the core that a drafter takes. A third core and more would matter
less to the target, and one core must be shared; there the same is asked."""


class Evidence(NamedTuple):
    """What a source brought in the rounds in which it was drafting; rounds after its end cost nothing."""

    rounds: int = 0
    recent: tuple[int, ...] = ()
    """Tokens accepted from it in each of the last rounds, up to SPAN."""


def observe(evidence: Evidence, accepted: int) -> Evidence:
    """The evidence after one more round, which accepted that many tokens of the source."""
    return Evidence(evidence.rounds + 1, (*evidence.recent, accepted)[-SPAN:])


def is_worth_its_core(evidence: Evidence) -> bool:
    """Whether the source may go on: it is new, or brings enough. What is not published yet counts as nothing."""
    return evidence.rounds < GRACE or sum(evidence.recent) >= FEWEST_ACCEPTED * len(evidence.recent)
