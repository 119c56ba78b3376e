"""The loops of all methods against a slow reference, on decoders whose every row depends on the whole cache."""

from collections.abc import Callable, Iterator, Sequence
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
from as2d.decoding.confidence import LONGEST_DRAFT, THRESHOLD
from as2d.decoding.evidence import GRACE
from as2d.decoding.lookahead import continuation, decode_lookahead
from as2d.decoding.specasr import decode_specasr
from as2d.decoding.speculative import Turns, decode_speculative
from as2d.decoding.stop import StopRules
from as2d.decoding.tally import Tally
from as2d.decoding.target_only import decode_alone
from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.prefix import PrefixDrafter
from as2d.errors import InputError
from as2d.models.contract import Rows, Vocabulary
from as2d.records import Commit
from as2d.runtime.serial import SerialDraft

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
    size: int = SIZE
    probability: Model = lambda cache: 50
    """In percent."""
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
        greedy, sure = [], []
        for token in tokens:
            assert 0 <= token < self.size  # an engine would crash on anything else
            self.cache.append(token)
            greedy.append(self.model(self.cache))
            sure.append(self.probability(self.cache) / 100)
        return Rows(tuple(greedy), tuple(sure))

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


def checked(commits: Iterator[Commit], target: Scripted, budget: int) -> Iterator[Commit]:
    """The commits of any method, with the cache checked in every round."""
    committed: list[int] = []
    for rounds, commit in enumerate(commits, 1):
        check_commit(commit, budget)
        committed += commit.tokens
        assert target.cache == [*PROMPT, *committed][:-1]
        assert target.length == len(PROMPT) + len(committed) - 1
        assert target.widths[-1] == commit.width <= budget + 1
        assert len(target.widths) == rounds
        yield commit


def run(
    target: Scripted,
    sources: Sequence[CandidateBuffer],
    limit: int,
    budget: int,
    *,
    resync: Callable[[int, int], None] | None = None,
    threshold: float = 0.0,
    floor: float = 0.0,
) -> list[Commit]:
    """Decode as as2d does, checking the cache, the cores and the candidates' source in every round.

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
        threshold=threshold,
        floor=floor,
    )
    generator = checked(generator, target, budget)
    while not (commits and commits[-1].finish_reason):
        drafting = [i for i, source in enumerate(sources) if i not in off and not source.snapshot().closed]
        commit = next(generator)
        assert target.threads[-1] == CORES.cores_for(len(drafting))
        assert commit.source not in off
        assert off.isdisjoint(commit.switched_off)
        assert off.isdisjoint(commit.resync)
        assert set(commit.switched_off) <= set(drafting)
        committed += commit.tokens
        off |= set(commit.switched_off)
        for source in commit.resync:
            assert resync
            resync(source, len(committed))
        commits.append(commit)
    assert next(generator, None) is None
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
@given(
    cases(),
    st.integers(0, 24),
    st.booleans(),
    st.sampled_from([0.0, THRESHOLD, 0.6]),
    st.sampled_from([0.0, 0.1, 0.9]),
)
def test_any_drafters_give_the_answer_of_the_target(
    case: tuple[Model, int, list[Schedule]], budget: int, resync: bool, threshold: float, floor: float
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
        threshold=threshold,
        floor=floor,
    )
    assert answer(commits) == reference(model, limit)


PIECES = [b"", b"", b",", b".", *(b" " + bytes([token]) for token in b"abcdefghijklmnopqrst")]
PIECES += [bytes([token]) for token in b"ABCDEFGHIJKLMN\xc3\xa9"]


class Pieces:
    """The target's vocabulary: no text for the end ids, words of one letter, more letters, and half characters."""

    size = SIZE
    weak_tokens = MARKS.weak
    word_starts = MARKS.word_starts

    def encode(self, text: str) -> tuple[int, ...]:
        tokens, data = [], text.encode()
        while data:
            token = next((t for t in range(SIZE - 1, 1, -1) if data.startswith(PIECES[t])), None)
            tokens += [] if token is None else [token]
            data = data[1 if token is None else len(PIECES[token]) :]
        return tuple(tokens)

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(PIECES[token] for token in tokens).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes:
        return PIECES[token]


class Bytes:
    """Another vocabulary: bytes, and the end ids behind them."""

    size = 258
    weak_tokens: frozenset[int] = frozenset()
    word_starts: frozenset[int] = frozenset({32})

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.token_bytes, tokens)).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]) if token < 256 else b""


TARGET_WORDS, BYTES = Pieces(), Bytes()


@dataclass
class Follower:
    """A drafter that recites a near copy of the answer behind any beginning, in its own tokens or the target's."""

    stream: list[int]
    vocabulary: Vocabulary = TARGET_WORDS
    sure: list[int] = field(default_factory=lambda: [90])
    """Percent, over and over."""
    limit: int = 1000
    capacity: int = 1000
    fails_at: int | None = None
    """A call, which raises."""
    calls: int = 0
    decoder: Scripted = field(init=False)
    fault: str | None = None

    def __post_init__(self) -> None:
        self.decoder = Scripted(
            self._says,
            capacity=self.capacity,
            before_forward=self._called,
            size=self.vocabulary.size,
            probability=lambda cache: self.sure[len(cache) % len(self.sure)],
        )

    def _called(self) -> None:
        self.calls += 1
        if self.calls == self.fails_at:
            raise ValueError("bad head")

    def _says(self, cache: Sequence[int]) -> int:
        said = len(cache) - len(PROMPT)
        return self.stream[said] if said < len(self.stream) else self.vocabulary.size - 1

    def opened(self) -> PrefixDrafter:
        end_ids = END_IDS if self.vocabulary is TARGET_WORDS else frozenset({256, 257})
        return PrefixDrafter(self.decoder, self.vocabulary, TARGET_WORDS, end_ids=end_ids, limit=self.limit)

    def serial(self) -> SerialDraft:
        return SerialDraft(0, self.opened)


@st.composite
def followers(draw: st.DrawFn, truth: list[int]) -> Follower:
    random = Random(draw(st.integers(0, 2**32)))
    same = draw(st.booleans())
    vocabulary: Vocabulary = TARGET_WORDS if same else BYTES
    own = truth * 2 if same else [*b"".join(PIECES[token] for token in truth * 2)]
    return Follower(
        edited(own, draw(st.sampled_from([0.0, 0.05, 0.2, 0.6, 1.0])), random),
        vocabulary,
        sure=draw(st.lists(st.integers(0, 100), min_size=1, max_size=7)),
        limit=draw(st.sampled_from([0, 5, 1000])),
        capacity=draw(st.sampled_from([3, 20, 1000])),
        fails_at=draw(st.none() | st.integers(1, 30)),
    )


@st.composite
def followed(draw: st.DrawFn) -> tuple[Model, int, int, Follower]:
    """A target, its limit and the room in its cache, and a drafter."""
    model = hashed(
        draw(st.integers(0, 2**32)), draw(st.sampled_from([1, 2, 3, 500])), draw(st.integers(5, 80))
    )
    limit, room = draw(st.integers(1, 90)), draw(st.sampled_from([1, 2, 30, 1000]))
    truth, _ = reference(model, min(limit, room))
    return model, limit, room, draw(followers(truth))


def serial(method: str, target: Scripted, drafter: SerialDraft, limit: int, budget: int) -> list[Commit]:
    """Decode in turns, with the cache checked in every round."""
    turns, rules = Turns(drafter, 0, 3), StopRules(END_IDS, limit)
    if method == "specasr":
        commits = decode_specasr(target, turns, rules, vocabulary_size=SIZE)
        return list(checked(commits, target, LONGEST_DRAFT))
    commits = decode_speculative(target, turns, rules, budget=budget, vocabulary_size=SIZE)
    return list(checked(commits, target, budget))


@pytest.mark.parametrize("method", ["speculative", "specasr"])
@settings(max_examples=300, deadline=None)
@given(followed(), st.integers(0, 24))
def test_any_drafter_that_takes_turns_gives_the_answer_of_the_target(
    method: str, case: tuple[Model, int, int, Follower], budget: int
) -> None:
    model, limit, room, follower = case
    target = Scripted(model, capacity=len(PROMPT) - 1 + room)
    drafter = follower.serial()
    commits = serial(method, target, drafter, limit, budget)
    assert answer(commits) == reference(model, min(limit, room))
    assert target.threads == [3]
    assert (drafter.fault is None) or all(commit.proposed == 0 for commit in commits[follower.calls :])


@pytest.mark.parametrize("vocabulary", [TARGET_WORDS, BYTES])
@pytest.mark.parametrize("budget", [1, 7, 24])
def test_a_perfect_drafter_that_takes_turns_is_asked_once_for_each_block(
    budget: int, vocabulary: Vocabulary
) -> None:
    def model(prefix: Sequence[int]) -> int:
        return 4 + (len(prefix) - len(PROMPT)) % 31  # no punctuation, and no half character

    truth, reason = reference(model, 100)
    own = truth if vocabulary is TARGET_WORDS else [*b"".join(PIECES[token] for token in truth)]
    drafter = Follower(own, vocabulary)
    commits = serial("speculative", Scripted(model), drafter.serial(), 100, budget)
    assert answer(commits) == (truth, reason)
    assert len(commits) == -(-100 // (budget + 1))
    assert sum(drafter.decoder.widths) <= len(own), "nothing is computed twice"


def test_a_rejected_draft_is_rolled_back_to_what_is_committed() -> None:
    truth, _ = reference(counting, 12)
    drafter = Follower([*truth[:4], 39, *truth[5:]])
    commits = serial("speculative", Scripted(counting), drafter.serial(), 12, 5)
    assert [commit.accepted for commit in commits] == [4, 5, 0]
    assert [commit.origins[-1] for commit in commits] == ["corrected", "bonus", "alone"]
    assert drafter.decoder.widths == [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "the correction is one position"


def test_a_drafter_that_fails_is_left_out_from_then_on() -> None:
    truth, _ = reference(counting, 30)
    drafter = Follower(truth, fails_at=4)
    draft = drafter.serial()
    commits = serial("speculative", Scripted(counting), draft, 30, 2)
    assert [commit.proposed for commit in commits] == [2] + [0] * 27
    assert draft.fault == "ValueError: bad head"
    assert drafter.calls == 4


def test_a_drafter_without_text_is_not_heard_for_ever() -> None:
    """256 has no text here, and is no end."""
    drafter = Follower([256] * 1000, BYTES)
    silent = PrefixDrafter(drafter.decoder, BYTES, TARGET_WORDS, end_ids=frozenset({257}), limit=10**9)
    draft = SerialDraft(0, lambda: silent)
    commits = serial("speculative", Scripted(counting), draft, 20, 5)
    assert answer(commits)[0] == reference(counting, 20)[0]
    assert drafter.calls <= 20 * 8


def test_an_unsure_token_ends_a_draft() -> None:
    truth, _ = reference(counting, 40)
    drafter = Follower(truth, sure=[90, 90, 90, 90, 30])
    commits = serial("specasr", Scripted(counting), drafter.serial(), 40, 0)
    assert answer(commits)[0] == truth
    # The first unsure row is that of the cache's fourth token; then one in five, each behind a bonus token.
    assert [commit.proposed for commit in commits[:3]] == [2, 4, 4]


def test_a_sure_draft_is_24_tokens_long() -> None:
    truth, _ = reference(counting, 60)
    commits = serial("specasr", Scripted(counting), Follower(truth).serial(), 60, 0)
    assert [commit.proposed for commit in commits] == [24, 24, 9]


def test_what_was_rejected_is_recycled_without_drafting_it_again() -> None:
    truth, _ = reference(counting, 40)
    drafter = Follower([*truth[:5], 39, *truth[6:]])
    commits = serial("specasr", Scripted(counting), drafter.serial(), 40, 0)
    assert answer(commits)[0] == truth
    assert [(commit.proposed, commit.accepted) for commit in commits[:2]] == [(24, 5), (18, 18)]
    # 24 steps; one that finds the way back behind the correction; then the 17 tokens that were taken over and the
    # bonus in one call.
    assert drafter.decoder.widths[:26] == [1] * 25 + [19]


def lookahead(
    target: Scripted, buffer: CandidateBuffer, limit: int, budget: int, resync: Callable[[list[int]], None]
) -> list[Commit]:
    """Decode, checking the cache and the requests in every round; `resync` is told of these."""
    rules = StopRules(END_IDS, limit)
    rounds = decode_lookahead(
        target, buffer, rules, source=2, budget=budget, cores=CORES, vocabulary_size=SIZE
    )
    commits: list[Commit] = []
    committed: list[int] = []
    asked, off = 0, False
    for commit in checked(rounds, target, budget):
        committed += commit.tokens
        commits.append(commit)
        assert commit.source in ((None,) if off else (None, 2))
        off = off or bool(commit.switched_off)
        if commit.resync:
            assert commit.resync == (2,)
            assert not off
            assert asked <= buffer.snapshot().start, "one request at a time"
            asked = len(committed)
            resync(committed)
    return commits


@settings(max_examples=300, deadline=None)
@given(cases(), st.integers(0, 24))
def test_any_stream_gives_lookahead_the_answer_of_the_target(
    case: tuple[Model, int, list[Schedule]], budget: int
) -> None:
    model, limit, drafters = case
    drafter = drafters[0] if drafters else Schedule([], closes_at=0)
    target = Scripted(model, before_forward=drafter.step)
    commits = lookahead(
        target, drafter.buffer, limit, budget, lambda committed: drafter.resync(len(committed))
    )
    assert answer(commits) == reference(model, limit)


@pytest.mark.parametrize(
    ("stream", "start", "found"),
    [
        ((2, 3, 4, 5, 6), 0, (5, 6)),
        ((2, 3, 9, 5, 6), 0, ()),
        ((2, 3), 0, ()),
        ((4, 5, 6, 7, 8), 2, (5, 6, 7)),
        ((5, 6), 3, (5, 6)),
        ((9, 5, 6), 2, ()),
        ((5, 6), 4, ()),  # it starts behind what nobody has committed
    ],
)
def test_only_what_continues_the_text_exactly_is_proposed(
    stream: tuple[int, ...], start: int, found: tuple[int, ...]
) -> None:
    assert continuation(Snapshot(stream, start=start), [2, 3, 4], 3) == found


@dataclass
class Runner:
    """A drafter that runs ahead of the target by some steps a call, and goes on from what it is told to."""

    drafter: PrefixDrafter
    steps: Callable[[], int]
    buffer: CandidateBuffer = field(default_factory=CandidateBuffer)
    request: list[int] | None = None

    def run(self) -> None:
        if self.request is not None:
            self.buffer.restart(len(self.request))
            self.drafter.rewind(self.request)
            self.request = None
        for _ in range(self.steps()):
            words = self.drafter.step()
            for word in self.drafter.flush() if words is None else words:
                self.buffer.publish(*word)
            if words is None:
                self.buffer.close()
                return

    def resync(self, committed: list[int]) -> None:
        self.request = list(committed)


def run_ahead(runner: Runner, model: Model, limit: int, budget: int, room: int = 1000) -> list[Commit]:
    def step() -> None:
        if not runner.buffer.snapshot().closed or runner.request is not None:
            runner.run()

    target = Scripted(model, capacity=len(PROMPT) - 1 + room, before_forward=step)
    return lookahead(target, runner.buffer, limit, budget, runner.resync)


@settings(max_examples=300, deadline=None)
@given(followed(), st.integers(0, 24), st.integers(0, 2**32), st.integers(0, 12))
def test_any_drafter_that_runs_ahead_gives_the_answer_of_the_target(
    case: tuple[Model, int, int, Follower], budget: int, seed: int, pace: int
) -> None:
    model, limit, room, follower = case
    follower.fails_at = None  # a fault closes the buffer, which every stream here may
    follower.stream = [token for token in follower.stream if 0 <= token < follower.vocabulary.size]
    random = Random(seed)
    runner = Runner(follower.opened(), lambda: random.randint(0, pace))
    commits = run_ahead(runner, model, limit, budget, room)
    assert answer(commits) == reference(model, min(limit, room))


def test_a_drafter_that_runs_ahead_is_rolled_back_on_a_mismatch_and_not_else() -> None:
    truth, _ = reference(counting, 60)
    runner = Runner(Follower([*truth[:10], 39, *truth[11:]]).opened(), lambda: 12)
    commits = run_ahead(runner, counting, 60, 4)
    assert answer(commits)[0] == truth
    assert [index for index, commit in enumerate(commits) if commit.resync] == [2]
    assert commits[2].tokens == tuple(truth[6:11]), "what the target said instead is to be gone on from"
    assert runner.buffer.snapshot().start == 11
    assert sum(commit.accepted for commit in commits[3:]) >= 60 - 11 - len(commits[3:])


def test_a_drafter_that_ends_too_early_is_told_to_go_on() -> None:
    truth, _ = reference(counting, 40)
    runner = Runner(Follower([*truth[:10], 0, *truth[11:]]).opened(), lambda: 20)
    commits = run_ahead(runner, counting, 40, 4)
    assert answer(commits)[0] == truth
    assert sum(len(commit.resync) for commit in commits) == 1
    assert sum(commit.accepted for commit in commits) > 25


def test_a_drafter_that_comes_late_is_told_to_go_on_from_here() -> None:
    truth, _ = reference(counting, 60)
    waits = iter([0] * 12 + [8] * 100)
    runner = Runner(Follower(truth).opened(), lambda: next(waits))
    commits = run_ahead(runner, counting, 60, 4)
    assert [index for index, commit in enumerate(commits) if commit.resync] == [8]
    assert all(commit.proposed == 0 for commit in commits[:12])
    assert sum(commit.accepted for commit in commits) > 30


def test_a_drafter_that_runs_ahead_in_vain_is_switched_off() -> None:
    follower = Follower([39] * 100)
    commits = run_ahead(Runner(follower.opened(), lambda: 3), counting, 60, 4)
    assert [index for index, commit in enumerate(commits) if commit.switched_off] == [GRACE - 1]
    assert all(commit.proposed == 0 and not commit.resync for commit in commits[GRACE:])


def test_the_target_s_cores_beside_a_drafter_that_runs_ahead() -> None:
    truth, _ = reference(counting, 30)
    drafter = Schedule([(0, truth)], closes_at=3)
    target = Scripted(counting, before_forward=drafter.step)
    lookahead(target, drafter.buffer, 30, 4, lambda _: None)
    assert target.threads == [2, 3]


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
