"""Which sources draft a request: as asked for, or as what was tuned for or measured on this machine says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from logging import getLogger
from threading import Event

from as2d.configuration.deployed import Deployed
from as2d.configuration.drafters import Drafters, LazySource
from as2d.configuration.measure import evidence_of
from as2d.configuration.method import DEFAULT_BUDGET, Evidence, choose, describe
from as2d.configuration.tuned import Entry
from as2d.decoding.methods import TRAITS
from as2d.drafting.publication import BatchSize
from as2d.errors import InputError
from as2d.models.contract import AudioModel
from as2d.records import Instruction, Method, UsedMethod
from as2d.runtime.cores import MOST_DRAFTER_THREADS
from as2d.runtime.pair import Chosen, Pair

_log = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Selection:
    """Who drafts the windows of a request, and why somebody that could have does not.

    `budget` and `batch` are for requests that do not say them, `floor` for those that do not say a budget; `tuned`
    names the configuration that all this is from.
    """

    pair: Pair
    chosen: Chosen
    warnings: tuple[str, ...] = ()
    budget: int = DEFAULT_BUDGET
    batch: BatchSize = "word"
    floor: float = 0.0
    tuned: str | None = None


class Selector:
    """Selects among the drafters of a session. Used by one thread at a time."""

    def __init__(
        self, target: AudioModel, drafters: Drafters, threads: int, deployed: Deployed | None = None
    ) -> None:
        """`deployed` is what was tuned, if anything."""
        self.target = target
        self.drafters = drafters
        loads = [partial(_unloaded, source) for source in drafters.sources]
        self._pair_with: Callable[[int], Pair] = cache(partial(Pair, target, loads, threads))
        self.pair = self._pair_with(1)
        self._in_turn = self._pair_with(min(threads, MOST_DRAFTER_THREADS))
        self._deployed = deployed
        self._evidence: Evidence | None = None

    def check(self, method: UsedMethod) -> None:
        """InputError where the method has other drafters than there are."""
        traits, drafters = TRAITS[method], self.drafters
        if traits.drafts and not drafters.sources:
            raise InputError(f"the method {method} needs a drafter; name one, or use target-only")
        if not traits.writes_on:
            return
        if len(drafters.groups[0]) > 1:
            raise InputError(
                f"the method {method} has one drafter, not {len(drafters.sources)}; name one, or use as2d"
            )
        for source in drafters.sources:
            if not source.writes_on:
                raise InputError(
                    f"the method {method} needs a drafter that goes on from a given text, which {source.name} cannot; "
                    "name an audio model such as whisper-tiny.en, or use as2d"
                )

    def pair_for(self, method: Method) -> Pair:
        """The target and its sources. Where they only take turns, the drafter has as many cores as serve it.

        Not so in as2d-without-decoupling, which is to be as2d in all else.
        """
        return self._in_turn if method in ("speculative", "specasr") else self.pair

    def select(
        self, method: Method, instruction: Instruction, *, prepared: bool, cancelled: Event
    ) -> Selection:
        """Who drafts. For auto, what was tuned, if anything; otherwise measures the machine where that decides and is
        not known yet, which it does not where no drafter can do what is asked.

        The drafter that is best for as2d drafts in all other methods, too. Raises what loading a drafter raises where a
        method that drafts is asked for with drafters by name; CancelledError; CacheError.
        """
        pair = self.pair_for(method)
        if method == "target-only" or not self.drafters.sources:
            return Selection(pair, _nobody)
        always = method != "auto"
        if not always and (tuned := self._tuned(instruction, prepared=prepared)):
            return tuned
        if always and not self._is_a_choice:
            return Selection(pair, self._all_loaded())
        ignored = frozenset() if prepared or always else self._costly(instruction)

        def choice(evidence: Evidence, resolved: Instruction) -> frozenset[int]:
            return choose(evidence.without(ignored), resolved, prepared=prepared, always=always)

        def worth_measuring() -> bool:
            return always or self._may_draft(instruction, ignored)

        evidence = self._loadable(lambda known: choice(known, instruction), cancelled, worth_measuring)
        one = method != "auto" and TRAITS[method].writes_on

        def chosen(resolved: Instruction) -> frozenset[int]:
            found = choice(evidence, resolved)
            return self._one_of(found, resolved) if one else found

        return Selection(
            pair,
            chosen,
            tuple(self._warning(index, fault) for index, fault in evidence.faults.items()),
        )

    def to_prepare(self, cancelled: Event) -> Chosen:
        """Who may draft prepared audio: by whatever method. Raises CancelledError or CacheError."""
        if not self._is_a_choice:
            everybody = frozenset(range(len(self.drafters.sources)))
            return lambda _: everybody
        evidence = self._known(cancelled, lambda: True)

        def chosen(instruction: Instruction) -> frozenset[int]:
            best = choose(evidence, instruction, prepared=True, always=True)
            return best | self._drafters_of(self._entry(instruction, prepared=True))

        return chosen

    def _tuned(self, instruction: Instruction, *, prepared: bool) -> Selection | None:
        """What was tuned for such a request; nothing where its drafter cannot be loaded."""
        entry = self._entry(instruction, prepared=prepared)
        sources = self._drafters_of(entry)
        if entry is None or self._failing(sources):
            return None
        choice = entry.choice
        return Selection(
            self._pair_with(min(choice.drafter_threads, self.pair.cores.alone)),
            lambda _: sources,
            budget=choice.budget,
            batch=choice.batch,
            floor=choice.floor,
            tuned=choice.label,
        )

    def _entry(self, instruction: Instruction, *, prepared: bool) -> Entry | None:
        return self._deployed.find(instruction, prepared=prepared) if self._deployed else None

    def _drafters_of(self, entry: Entry | None) -> frozenset[int]:
        if entry is None or entry.drafter is None:
            return frozenset()
        identities = [source.identity for source in self.drafters.sources]
        return frozenset({identities.index(entry.drafter)})

    @property
    def _is_a_choice(self) -> bool:
        """Whether there are several ways to draft."""
        return len(self.drafters.groups) > 1

    def _costly(self, instruction: Instruction) -> frozenset[int]:
        """Drafters that encode while the language is not known: a core lost in each that they are not chosen for."""
        if instruction.language or len(self.pair.target.capabilities.languages) == 1:
            return frozenset()
        return frozenset(index for index, source in enumerate(self.drafters.sources) if source.encodes)

    def _one_of(self, sources: frozenset[int], instruction: Instruction) -> frozenset[int]:
        """The first that speaks the language once that is known: none was measured, and several may."""
        speakers = (i for i in sorted(sources) if self.drafters.sources[i].can_draft(instruction))
        return frozenset(islice(speakers, 1)) if instruction.language else sources

    def _all_loaded(self) -> Chosen:
        for source in self.drafters.sources:
            source.loaded()
        (everybody,) = self.drafters.groups
        return lambda _: everybody

    def _may_draft(self, instruction: Instruction, ignored: frozenset[int]) -> bool:
        """Whether any other source can draft it; what cannot be loaded is for the measurement to find and to tell."""
        asked = frozenset(range(len(self.drafters.sources))) - ignored
        return bool(self._failing(asked)) or any(
            self.drafters.sources[index].can_draft(instruction) for index in asked
        )

    def _known(self, cancelled: Event, worth_measuring: Callable[[], bool]) -> Evidence:
        """What is known of this machine; nothing, for now, where it is not worth being measured."""
        if self._evidence is None:
            found = evidence_of(self.pair, self.drafters, cancelled, worth_measuring)
            if not found.trials:
                return found
            self._evidence = found
            _log.debug("measured on this machine: %s", describe(self._evidence, self._names))
        return self._evidence

    def _loadable(
        self,
        wanted: Callable[[Evidence], frozenset[int]],
        cancelled: Event,
        worth_measuring: Callable[[], bool],
    ) -> Evidence:
        """The evidence without the trials of wanted sources that can no longer be loaded."""
        evidence = self._known(cancelled, worth_measuring)
        while failed := self._failing(wanted(evidence)):
            evidence = self._evidence = evidence.failing(failed)
        return evidence

    def _failing(self, sources: frozenset[int]) -> Mapping[int, str]:
        faults = {}
        for index in sorted(sources):
            try:
                self.drafters.sources[index].loaded()
            except Exception as error:  # whatever a drafter does, the target answers
                faults[index] = f"{type(error).__name__}: {error}"
        return faults

    @property
    def _names(self) -> list[str]:
        return [source.name for source in self.drafters.sources]

    def _warning(self, index: int, fault: str) -> str:
        return f"the drafter {self._names[index]} is not used: {fault}"


def _unloaded(source: LazySource) -> LazySource:
    return source


def _nobody(_: Instruction) -> frozenset[int]:
    return frozenset()
