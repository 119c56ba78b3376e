"""The loop against a slow reference, on decoders whose every row depends on the whole cache."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from as2d.decoding.align import Marks
from as2d.decoding.as2d import CoreSplit, decode
from as2d.decoding.evidence import GRACE
from as2d.decoding.stop import StopRules
from as2d.decoding.tally import Tally
from as2d.decoding.target_only import decode_alone
from as2d.drafting.buffer import CandidateBuffer
from as2d.errors import InputError
from as2d.models.contract import Rows
from as2d.records import Commit

SIZE = 40
END_IDS = frozenset({0, 1})
PROMPT = (37, 38, 39)
CORES = CoreSplit(3)
MARKS = Marks(weak=frozenset({2, 3}), word_starts=frozenset(range(4, 24)))
Model = Callable[[Sequence[int]], int]


@dataclass
class Scripted:
    """A decoder without weights: the cache is a list of tokens, and a row is a function of all of it."""

    model: Model
    prompt: Sequence[int] = PROMPT
    capacity: int = 10_000
    before_forward: Callable[[], None] = lambda: None
    cache: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cache = list(self.prompt[:-1])

    @property
    def root(self) -> int:
        return self.prompt[-1]

    @property
    def length(self) -> int:
        return len(self.cache)

    def forward(self, tokens: Sequence[int]) -> Rows:
        if not tokens or self.length + len(tokens) > self.capacity:
            raise InputError("no room")
        self.before_forward()
        self.widths.append(len(tokens))
        greedy = []
        for token in tokens:
            assert 0 <= token < SIZE  # an engine would crash on anything else
            self.cache.append(token)
            greedy.append(self.model(self.cache))
        return Rows(tuple(greedy), (0.5,) * len(greedy))

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        raise AssertionError("for the exactness probe only")

    def truncate(self, length: int) -> None:
        assert length <= self.length
        del self.cache[length:]

    def use_threads(self, threads: int) -> None:
        self.threads.append(threads)


def hashed(seed: int, memory: int, mean_length: int) -> Model:
    """A random function of the last `memory` tokens (few: it falls into loops; many: it never does)."""

    def model(prefix: Sequence[int]) -> int:
        value = crc32(repr((seed, list(prefix[-memory:]))).encode())
        if value % mean_length == 0:
            return value // mean_length % 2
        return 2 + value // mean_length % (SIZE - 2)

    return model


def counting(prefix: Sequence[int]) -> int:
    """Says 2, 3, … over and over; its period of 36 is no loop to the guard."""
    return 2 + (len(prefix) - len(PROMPT)) % 36


def slow_stop(tokens: list[int], limit: int) -> str | None:
    if tokens[-1] in END_IDS:
        return "stop"
    for period in range(1, 25):
        tail = tokens[-max(4 * period, 24) :]
        if len(tail) >= max(4 * period, 24) and tail[period:] == tail[:-period]:
            return "repetition"
    return "length" if len(tokens) >= limit else None


def reference(model: Model, limit: int) -> tuple[list[int], str]:
    """The plain greedy answer, without a cache."""
    tokens: list[int] = []
    while True:
        tokens.append(model([*PROMPT, *tokens]))
        reason = slow_stop(tokens, limit)
        if reason:
            return tokens, reason


def answer(commits: Sequence[Commit]) -> tuple[list[int], str | None]:
    assert all(commit.finish_reason is None for commit in commits[:-1])
    return [token for commit in commits for token in commit.tokens], commits[-1].finish_reason


def check_commit(commit: Commit, budget: int) -> None:
    assert len(commit.origins) == len(commit.tokens) > 0
    assert commit.origins.count("accepted") == commit.accepted <= commit.proposed <= max(budget, 0)
    assert (commit.source is None) == (commit.proposed == 0)
    assert len(commit.tokens) <= commit.accepted + 1
    own = commit.origins[commit.accepted :]
    if commit.proposed == 0:
        assert own == ("alone",)
    elif own:
        assert own == (("bonus",) if commit.accepted == commit.proposed else ("corrected",))
    else:
        assert commit.finish_reason in ("repetition", "length")


def run(
    target: Scripted,
    sources: Sequence[CandidateBuffer],
    limit: int,
    budget: int,
    *,
    resync: Callable[[int, int], None] | None = None,
) -> list[Commit]:
    """Decode, checking the cache, the cores and the candidates' source in every round.

    `resync(source, committed)` is told of each source that is asked to catch up.
    """
    commits: list[Commit] = []
    committed: list[int] = []
    off: set[int] = set()
    generator = decode(
        target,
        sources,
        StopRules(END_IDS, limit),
        budget=budget,
        cores=CORES,
        marks=MARKS,
        vocabulary_size=SIZE,
        resync=resync is not None,
    )
    while not (commits and commits[-1].finish_reason):
        drafting = [i for i, source in enumerate(sources) if i not in off and not source.snapshot().closed]
        commit = next(generator)
        assert target.threads[-1] == CORES.cores_for(len(drafting))
        assert commit.source not in off
        assert off.isdisjoint(commit.switched_off)
        assert off.isdisjoint(commit.resync)
        assert set(commit.switched_off) <= set(drafting)
        check_commit(commit, budget)
        committed += commit.tokens
        assert target.cache == [*PROMPT, *committed][:-1]
        assert target.length == len(PROMPT) + len(committed) - 1
        assert target.widths[-1] == commit.width
        off |= set(commit.switched_off)
        for source in commit.resync:
            assert resync
            resync(source, len(committed))
        commits.append(commit)
    assert next(generator, None) is None
    assert len(target.widths) == len(commits)
    assert max(target.widths) <= budget + 1
    return commits


def published(tokens: Sequence[int], *, closed: bool = True) -> CandidateBuffer:
    buffer = CandidateBuffer()
    buffer.publish(tokens, [0.9] * len(tokens))
    if closed:
        buffer.close()
    return buffer


@dataclass
class Schedule:
    """Publishes batches or begins new streams before given calls of the target, and perhaps closes the buffer."""

    acts: list[tuple[int, list[int] | int]]
    """When to do what: publish tokens, or begin a stream there."""
    closes_at: int | None
    answer: list[int] | None = None
    """What the stream says when it is asked to catch up; None: it does not answer."""
    buffer: CandidateBuffer = field(default_factory=CandidateBuffer)
    calls: int = 0

    def step(self) -> None:
        if self.calls == self.closes_at:
            self.buffer.close()
        while self.acts and self.acts[0][0] <= self.calls:
            self.act(self.acts.pop(0)[1])
        self.calls += 1

    def act(self, what: list[int] | int) -> None:
        if isinstance(what, int):
            with suppress(InputError):  # a stream that does not start later is refused
                self.buffer.restart(what)
        elif not self.buffer.snapshot().closed:
            self.buffer.publish(what, [0.5] * len(what))

    def resync(self, committed: int) -> None:
        if self.answer is not None:
            self.acts = [act for act in self.acts if isinstance(act[1], int)]
            self.acts.insert(0, (self.calls + 2, self.answer[committed:]))
            self.acts.insert(0, (self.calls + 1, committed))


def edited(tokens: Sequence[int], rate: float, random: Random) -> list[int]:
    """A near copy: tokens left out, added and replaced, some by ids that no vocabulary has."""
    strange = [-1, SIZE, 10**12, -(10**12), 0, 1, *range(2, SIZE)]
    out: list[int] = []
    for token in tokens:
        edit = random.random()
        if edit < rate / 3:
            continue
        if edit < rate * 2 / 3:
            out += [random.choice(strange), token]
        else:
            out.append(random.choice(strange) if edit < rate else token)
    return out


@st.composite
def schedules(draw: st.DrawFn, truth: list[int]) -> Schedule:
    random = Random(draw(st.integers(0, 2**32)))
    rates = st.sampled_from([0.0, 0.05, 0.2, 0.6, 1.0])
    stream = edited(truth * 2, draw(rates), random)
    acts: list[tuple[int, list[int] | int]] = []
    at = draw(st.integers(0, 10))
    while stream:
        size = random.randint(1, 8)
        acts.append((at, stream[:size]))
        stream = stream[size:]
        at += random.randint(0, draw(st.integers(0, 6)))
    for _ in range(draw(st.integers(0, 3))):  # unasked, at any place, perhaps one that is not committed yet
        acts.insert(random.randint(0, len(acts)), (random.randint(0, at), random.randint(-3, 2 * len(truth))))
    answer = edited(truth, draw(rates), random) if draw(st.booleans()) else None
    return Schedule(acts, draw(st.none() | st.integers(0, 40)), answer)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Model, int, list[Schedule]]:
    model = hashed(
        draw(st.integers(0, 2**32)), draw(st.sampled_from([1, 2, 3, 500])), draw(st.integers(5, 80))
    )
    limit = draw(st.integers(1, 90))
    truth, _ = reference(model, limit)
    return model, limit, [draw(schedules(truth)) for _ in range(draw(st.integers(0, 3)))]


@settings(max_examples=400, deadline=None)
@given(cases(), st.integers(0, 24), st.booleans())
def test_any_drafters_give_the_answer_of_the_target(
    case: tuple[Model, int, list[Schedule]], budget: int, resync: bool
) -> None:
    model, limit, drafters = case

    def publish() -> None:
        for drafter in drafters:
            drafter.step()

    target = Scripted(model, before_forward=publish)
    commits = run(
        target,
        [drafter.buffer for drafter in drafters],
        limit,
        budget,
        resync=(lambda source, committed: drafters[source].resync(committed)) if resync else None,
    )
    assert answer(commits) == reference(model, limit)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 60), st.integers(0, 12))
def test_a_full_cache_ends_every_method_at_the_same_token(
    seed: int, room: int, limit: int, budget: int
) -> None:
    model = hashed(seed, 500, 40)
    truth, _ = reference(model, 200)
    capacity = len(PROMPT) - 1 + room
    target = Scripted(model, capacity=capacity)
    commits = run(target, [published([t for t in truth if t not in END_IDS])], limit, budget)
    assert answer(commits) == reference(model, min(limit, room))
    alone = list(decode_alone(Scripted(model, capacity=capacity), StopRules(END_IDS, limit), 1))
    assert answer(alone) == answer(commits)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 10), min_size=1, max_size=10))
def test_rows_after_rejections_are_those_of_a_fresh_decoder(seed: int, wrong_at: list[int]) -> None:
    model = hashed(seed, 500, 10_000)
    truth, _ = reference(model, 60)
    stream = [2 + token % (SIZE - 2) if i % 11 in wrong_at else token for i, token in enumerate(truth)]
    target = Scripted(model)
    rules = StopRules(END_IDS, 40)
    generator = decode(
        target, [published(stream)], rules, budget=6, cores=CORES, marks=MARKS, vocabulary_size=SIZE
    )
    committed: list[int] = []
    for commit in generator:
        committed += commit.tokens
        kept = target.length
        rows = target.forward(committed[-1:])
        fresh = Scripted(model, prompt=(*PROMPT, *committed))
        assert rows == fresh.forward([fresh.root])
        target.truncate(kept)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 100), st.integers(0, 24))
def test_a_perfect_drafter_needs_one_round_for_each_full_block(limit: int, budget: int) -> None:
    target = Scripted(counting)
    truth, reason = reference(counting, limit)
    commits = run(target, [published(truth)], limit, budget)
    assert answer(commits) == (truth, reason)
    assert len(commits) == -(-limit // (budget + 1))


@pytest.mark.parametrize("edit", ["inserted", "missing", "replaced"])
def test_one_wrong_token_costs_a_few_rounds(edit: str) -> None:
    truth, _ = reference(counting, 60)
    stream = {
        "inserted": [*truth[:10], 39, *truth[10:]],
        "missing": truth[:10] + truth[11:],
        "replaced": [*truth[:10], 39, *truth[11:]],
    }[edit]
    commits = run(Scripted(counting), [published(stream)], 60, 5)
    tally = Tally.of(commits)
    assert answer(commits)[0] == truth
    assert tally.rounds <= 10 + 3
    assert tally.proposed - tally.accepted <= 5
    assert tally.k1_rounds <= 1


def test_a_late_drafter_is_waited_for_by_nobody_and_used_when_it_comes() -> None:
    truth, _ = reference(counting, 60)
    drafter = Schedule([(4, truth[:5]), (9, truth[5:])], closes_at=None)
    commits = run(Scripted(counting, before_forward=drafter.step), [drafter.buffer], 60, 5)
    assert answer(commits)[0] == truth
    assert [commit.width for commit in commits[:10]] == [1] * 10
    assert all(commit.accepted == commit.proposed > 0 for commit in commits[10:-1])


def test_the_source_that_agrees_the_longest_is_used() -> None:
    truth, _ = reference(counting, 40)
    worse = [*truth[:8], *(39 for _ in truth[8:])]
    commits = run(Scripted(counting), [published(worse), published(truth)], 40, 4)
    assert {commit.source for commit in commits[:1]} == {0}
    assert {commit.source for commit in commits[3:-1]} == {1}


def test_nothing_is_proposed_from_an_end_id_or_a_strange_id_on() -> None:
    for strange in (0, 1, -1, SIZE, 10**15):
        commits = run(Scripted(counting), [published([2, 3, strange, 5, 6])], 20, 8)
        assert commits[0].proposed == 2
        assert commits[0].accepted == 2


def test_an_end_id_ends_inside_a_block() -> None:
    def model(prefix: Sequence[int]) -> int:
        return 1 if len(prefix) == len(PROMPT) + 4 else counting(prefix)

    commits = run(Scripted(model), [published([2, 3, 4, 5, 6, 7, 8])], 50, 7)
    assert answer(commits) == ([2, 3, 4, 5, 1], "stop")
    assert len(commits) == 1
    assert commits[0].origins == ("accepted",) * 4 + ("corrected",)


def test_a_loop_ends_inside_an_accepted_run() -> None:
    commits = run(Scripted(lambda prefix: 5), [published([5] * 100)], 90, 6)
    assert answer(commits) == ([5] * 24, "repetition")
    assert commits[-1].origins == ("accepted",) * 3
    assert commits[-1].proposed == 6


def test_the_target_takes_a_core_back_at_each_end_of_a_source() -> None:
    truth, _ = reference(counting, 30)
    drafters = [Schedule([(0, truth[:9])], closes_at=4), Schedule([], closes_at=8)]

    def publish() -> None:
        for drafter in drafters:
            drafter.step()

    target = Scripted(counting, before_forward=publish)
    run(target, [drafter.buffer for drafter in drafters], 30, 0)
    assert target.threads == [1, 2, 3]


def test_a_source_that_is_no_use_is_switched_off_and_ignored() -> None:
    truth, _ = reference(counting, 60)
    useless = Schedule([(0, [39] * 30), (20, truth)], closes_at=None)
    useful = Schedule([(at, truth[4 * at : 4 * at + 4]) for at in range(15)], closes_at=None)

    def publish() -> None:
        useless.step()
        useful.step()

    target = Scripted(counting, before_forward=publish)
    commits = run(target, [useless.buffer, useful.buffer], 60, 1)
    assert answer(commits)[0] == truth
    off = [index for index, commit in enumerate(commits) if commit.switched_off]
    assert off == [GRACE - 1]
    assert commits[GRACE - 1].switched_off == (0,)
    assert target.threads == [1, 2]
    assert {commit.source for commit in commits[GRACE:]} <= {None, 1}


def test_a_lost_source_is_right_again_when_it_has_caught_up() -> None:
    truth, _ = reference(counting, 60)
    drafter = Schedule([(0, [39] * 40)], closes_at=None, answer=truth)
    asked: list[int] = []

    def resync(source: int, committed: int) -> None:
        asked.append(committed)
        drafter.resync(committed)

    commits = run(Scripted(counting, before_forward=drafter.step), [drafter.buffer], 60, 5, resync=resync)
    assert answer(commits)[0] == truth
    assert asked == [3]
    assert [commit.accepted for commit in commits[8:-1]] == [5] * len(commits[8:-1])


def test_a_source_that_does_not_answer_is_asked_once() -> None:
    drafter = Schedule([(0, [39] * 40)], closes_at=1)
    asked: list[int] = []
    run(
        Scripted(counting, before_forward=drafter.step),
        [drafter.buffer],
        60,
        5,
        resync=lambda source, committed: asked.append(committed),
    )
    assert len(asked) == 1


def test_target_only_is_one_token_a_round() -> None:
    target = Scripted(counting)
    commits = list(decode_alone(target, StopRules(END_IDS, 30), threads=2))
    assert answer(commits) == reference(counting, 30)
    assert target.widths == [1] * 30
    assert target.threads == [2]


def test_an_early_close_leaves_a_consistent_cache() -> None:
    target = Scripted(counting)
    rules = StopRules(END_IDS, 30)
    commits = decode(
        target, [published([2, 3, 39])], rules, budget=5, cores=CORES, marks=MARKS, vocabulary_size=SIZE
    )
    assert next(commits).tokens == (2, 3, 4)
    commits.close()  # type: ignore[attr-defined]
    assert target.cache == [*PROMPT, 2, 3]


def test_a_prompt_that_fills_the_cache_is_refused() -> None:
    with pytest.raises(InputError, match="shorten it"):
        next(decode_alone(Scripted(counting, capacity=2), StopRules(END_IDS, 5), threads=1))
