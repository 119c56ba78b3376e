"""What a verified block commits; pure."""

from collections.abc import Sequence

from as2d.decoding.stop import StopRules, cut
from as2d.records import Commit, Origin


def accept(candidates: Sequence[int], greedy: Sequence[int]) -> int:
    """Length of the longest prefix in which each candidate is the target's own greedy token."""
    for accepted, (candidate, token) in enumerate(zip(candidates, greedy, strict=False)):
        if candidate != token:
            return accepted
    return min(len(candidates), len(greedy))


def judge(
    rules: StopRules,
    committed: Sequence[int],
    candidates: Sequence[int],
    greedy: Sequence[int],
    source: int | None,
) -> Commit:
    """The commit of one round: the accepted candidates and the target's next token, up to the first stop.

    `greedy` has one token more than `candidates`. Candidates behind a stop do not count as accepted.
    """
    agreed = accept(candidates, greedy)
    tokens, reason = cut(
        rules, committed, greedy[: agreed + 1]
    )  # equal to the candidates, then the target's own
    accepted = min(agreed, len(tokens))
    origins: list[Origin] = ["accepted"] * accepted
    if len(tokens) > agreed:
        origins.append(_origin(agreed, len(candidates)))
    return Commit(tokens, tuple(origins), len(candidates), accepted, source, reason)


def _origin(accepted: int, proposed: int) -> Origin:
    if not proposed:
        return "alone"
    return "bonus" if accepted == proposed else "corrected"
