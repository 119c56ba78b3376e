"""How many candidates are likely enough to be verified; pure."""

from collections.abc import Sequence


def likely(probabilities: Sequence[float], floor: float) -> int:
    """Candidates before the first that makes it less probable than `floor` that all so far are accepted.

    One more where their number is even and there is another: with the root that is an even width, which costs no more
    than the odd one below. A floor of 0 leaves all.
    """
    count, together = 0, 1.0
    for probability in probabilities:
        together *= probability
        if together < floor:
            break
        count += 1
    return min(count + (count % 2 == 0), len(probabilities))
