"""The target's side of every method: what a round verifies, commits and forgets."""

from collections.abc import Sequence
from dataclasses import replace

from as2d.decoding.accept import judge
from as2d.decoding.stop import StopRules
from as2d.errors import InputError
from as2d.models.contract import Decoder
from as2d.records import Commit, FinishReason


class Rounds:
    """A target's text, which grows by one commit a round and is the target's own, whatever the candidates are.

    After each round the target's cache holds the prompt and all committed tokens but the last.
    """

    def __init__(self, target: Decoder, rules: StopRules, vocabulary_size: int) -> None:
        """The target has been opened and not used. InputError where its prompt leaves no room for an answer."""
        self._target = target
        self._opening = target.length  # the prompt but its last token, the first root
        self._rules = _within(rules, target.capacity - self._opening)
        self._vocabulary_size = vocabulary_size
        self._threads = 0
        self.committed: list[int] = []
        self.finished: FinishReason | None = None

    def use_threads(self, threads: int) -> None:
        """Verify on that many cores from now on."""
        if threads != self._threads:
            self._target.use_threads(threads)
            self._threads = threads

    def room(self, budget: int) -> int:
        """Candidates that the next round may verify: up to `budget`, less where the answer's limit is near."""
        return min(budget, self._rules.limit - len(self.committed) - 1)

    def usable(self, candidates: tuple[int, ...]) -> tuple[int, ...]:
        """The candidates before the first that no text holds: an id outside the vocabulary, or an end id."""
        for index, token in enumerate(candidates):
            if not 0 <= token < self._vocabulary_size or token in self._rules.end_ids:
                return candidates[:index]
        return candidates

    def verify(self, candidates: Sequence[int] = (), source: int | None = None) -> Commit:
        """One round with candidates that are usable and for which there is room; `source` is where they are from."""
        root = self.committed[-1] if self.committed else self._target.root
        greedy = self._target.forward((root, *candidates)).greedy
        commit = judge(self._rules, self.committed, candidates, greedy, source if candidates else None)
        self.committed += commit.tokens
        self._target.truncate(self._opening + len(self.committed))
        self.finished = commit.finish_reason
        return commit


def _within(rules: StopRules, room: int) -> StopRules:
    """The rules with a limit that the cache has room for: each token given out takes one position."""
    if room < 1:
        raise InputError("the prompt fills the model's context; shorten it")
    return replace(rules, limit=min(rules.limit, room))
