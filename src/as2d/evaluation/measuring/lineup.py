"""The loaded contenders, and one decode by one of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from as2d.configuration.method import DEFAULT_BUDGET
from as2d.decoding.tally import Tally
from as2d.evaluation.contender import Contender
from as2d.evaluation.measuring.plan import drafters_of
from as2d.evaluation.measuring.recorder import Notes, computing, recorded_drafter, recorded_target
from as2d.evaluation.peers.contract import Float32, Peer
from as2d.evaluation.rows import Span, Step
from as2d.models.contract import AudioModel
from as2d.models.load import load_drafter
from as2d.models.recognisers.contract import Recogniser
from as2d.models.recognisers.load import load_recogniser, names_recogniser
from as2d.records import Commit, FinishReason, Instruction, UsedMethod
from as2d.runtime.exactness import is_exact
from as2d.runtime.pair import Pair, PreparedWindow, SpeechWindow
from as2d.runtime.source import Source
from as2d.runtime.window import Decoding, WindowRecord, run_window
from as2d.session.answer import useful_tokens

Drafter = AudioModel | Recogniser

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decoded:
    """One decode: the useful tokens, the clocks in milliseconds, and what happened. See `rows.Run`."""

    tokens: tuple[int, ...]
    finish_reason: FinishReason
    decode_ms: float
    producer_done_ms: float
    call_ms: float
    tally: Tally
    drafting: tuple[Span, ...] = ()
    verifying: tuple[Span, ...] = ()
    steps: tuple[Step, ...] = ()
    faults: tuple[str, ...] = ()


class Prepared(NamedTuple):
    """A window encoded once for all, and what is asked about it, in a language that is no longer open.

    Our contenders take their drafters' part of `ours`; `peers` go by name.
    """

    ours: PreparedWindow
    peers: Mapping[str, Any]
    instruction: Instruction


class Entrant(Protocol):
    """A contender, loaded."""

    def takes_part(self, window: Prepared) -> bool:
        """Whether it has something to decode that is not another contender's: a drafter of the language and task."""

    def decode(self, window: Prepared) -> Decoded:
        """Decode from the prompt to the end."""

    @property
    def exact(self) -> bool:
        """Whether it gives the reference's tokens whatever happens; probed at the first call on a machine."""


class Lineup:
    """All contenders of a plan, loaded once: they share the target, the drafters and their weights."""

    def __init__(
        self,
        target: AudioModel,
        drafters: Mapping[str, Drafter],
        peers: Sequence[Peer],
        plan: Sequence[Contender],
        cores: int,
    ) -> None:
        """`drafters` are those that the plan names, by name; windows are prepared on the reference's `cores`."""
        notes = Notes()
        self.target = target
        self._recorded = recorded_target(target, notes)
        self._names = tuple(drafters)
        loads = [_giving(recorded_drafter(drafter, notes)) for drafter in drafters.values()]
        self._whole = Pair(self._recorded, loads, cores)
        self._notes = notes
        self._peers = [_PeerEntrant(peer, target) for peer in peers]
        self.entrants: Mapping[Contender, Entrant] = {
            **{contender: self._entrant(contender) for contender in plan},
            **{peer_contender(peer, cores): one for peer, one in zip(peers, self._peers, strict=True)},
        }

    @property
    def longest_s(self) -> float:
        """The longest window that the target takes at once, in seconds."""
        return self._recorded.capabilities.longest_s

    def prepare(self, window: SpeechWindow, instruction: Instruction) -> Prepared:
        """Encode a window with every model, each once; without a language it is detected."""
        everybody = frozenset(range(len(self._names)))

        def of_the_task(asked: Instruction) -> frozenset[int]:
            return everybody if asked.task == instruction.task else frozenset()

        ours = self._whole.prepare(window, instruction, any_language=False, chosen=of_the_task)
        heard = {peer.name: peer.prepare(window.samples) for peer in self._peers if not peer.fault}
        return Prepared(ours, heard, replace(instruction, language=ours.language))

    def _entrant(self, contender: Contender) -> Entrant:
        indices = tuple(self._names.index(name) for name in drafters_of(contender))
        sources: list[Callable[[], Source]] = [_giving(self._whole.sources[index]) for index in indices]
        pair = Pair(self._recorded, sources, contender.cores, contender.drafter_cores)
        return _OwnEntrant(pair, _decoding(contender), indices, self._notes, self._whole.cores.alone)


class _OwnEntrant:
    """One of our methods with its own core split."""

    def __init__(
        self, pair: Pair, decoding: Decoding, sources: tuple[int, ...], notes: Notes, reference_cores: int
    ) -> None:
        self._reference_cores = reference_cores
        self._pair = pair
        self._decoding = decoding
        self._sources = sources
        self._notes = notes

    @property
    def exact(self) -> bool:
        """Probed on all numbers of cores that it and the reference use."""
        own = self._pair.cores.counts(len(self._sources))
        return is_exact(self._pair.target, {*own, self._reference_cores})

    def takes_part(self, window: Prepared) -> bool:
        """A drafter that failed takes part: the target then decodes alone, and its fault is told."""
        parts = [window.ours.sources[index] for index in self._sources]
        return all(part.audio is not None or part.fault for part in parts)

    def decode(self, window: Prepared) -> Decoded:
        ours = replace(window.ours, sources=tuple(window.ours.sources[index] for index in self._sources))
        self._notes.clear()
        start = perf_counter()
        commits, moments, record = self._run(ours, window.instruction)
        call_ms = _since(start)
        first_root = moments[-1] - record.decode_ms / 1000  # the last commit ends the decode
        drafting, verifying = computing(self._notes, first_root)
        return Decoded(
            tokens=useful_tokens(self._pair.target, record),
            finish_reason=commits[-1].finish_reason or "stop",
            decode_ms=record.decode_ms,
            producer_done_ms=record.producer_done_ms,
            call_ms=call_ms,
            tally=Tally.of(commits),
            drafting=drafting,
            verifying=verifying,
            steps=_steps(commits, moments, first_root),
            faults=record.faults,
        )

    def _run(
        self, window: PreparedWindow, instruction: Instruction
    ) -> tuple[list[Commit], list[float], WindowRecord]:
        """The commits, when each came, and the record."""
        run = run_window(self._pair, window, instruction, self._decoding, Event())
        commits: list[Commit] = []
        moments: list[float] = []
        while True:
            try:
                commits.append(next(run))
            except StopIteration as stop:
                return commits, moments, stop.value
            moments.append(perf_counter())


class _PeerEntrant:
    """Another project's decoder, which tells nothing but its tokens.

    Once it has raised something it is asked no more: that is the fault of its runs of that window, its last one.
    """

    exact = False

    def __init__(self, peer: Peer, target: AudioModel) -> None:
        self.name = peer.name
        self.fault: str | None = None
        self._peer = peer
        self._target = target

    def takes_part(self, window: Prepared) -> bool:
        return self.name in window.peers

    def prepare(self, samples: Float32) -> Any:
        """A window encoded."""
        return self._tried(self._peer.prepare, samples)

    def decode(self, window: Prepared) -> Decoded:
        limit = self._target.output_limit(window.ours.target, window.instruction)
        start = perf_counter()
        tokens = self._tried(self._peer.decode, window.peers[self.name], window.instruction, limit) or ()
        spent = _since(start)
        reason: FinishReason = "length" if len(tokens) >= limit else "stop"
        faults = (self.fault,) if self.fault else ()
        return Decoded(tokens, reason, spent, spent, spent, Tally.of(()), faults=faults)

    def _tried(self, call: Callable[..., T], *arguments: Any) -> T | None:
        """What the call gives; None once something was raised."""
        if self.fault is None:
            try:
                return call(*arguments)
            except Exception as error:  # strangers' code, in any state
                self.fault = f"{type(error).__name__}: {error}"
        return None


def peer_contender(peer: Peer, cores: int) -> Contender:
    """What a peer is called in files and tables."""
    return Contender(peer.name, cores)


def load_drafters(plan: Sequence[Contender], target: AudioModel) -> dict[str, Drafter]:
    """The drafters that a plan names, each once. Raises what loading them raises."""
    names = dict.fromkeys(name for contender in plan for name in drafters_of(contender))
    return {name: _load_drafter(name, target) for name in names}


def _load_drafter(name: str, target: AudioModel) -> Drafter:
    return load_recogniser(name) if names_recogniser(name) else load_drafter(name, target)


def _decoding(contender: Contender) -> Decoding:
    method = cast(UsedMethod, contender.method)
    budget = DEFAULT_BUDGET if contender.budget is None else contender.budget
    return Decoding(method, budget, "word", any_language=False)


def _giving(value: Any) -> Callable[[], Any]:
    return lambda: value


def _steps(commits: Sequence[Commit], moments: Sequence[float], zero: float) -> tuple[Step, ...]:
    return tuple(
        Step(round((at - zero) * 1000, 4), commit.origins)
        for commit, at in zip(commits, moments, strict=True)
    )


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000
