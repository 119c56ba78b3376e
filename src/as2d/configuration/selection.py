"""Which sources draft a request: as asked for, or as what was measured on this machine says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from logging import getLogger
from threading import Event

from as2d.configuration.drafters import Drafters, LazySource
from as2d.configuration.measure import evidence_of
from as2d.configuration.method import Evidence, choose, describe
from as2d.decoding.methods import TRAITS
from as2d.errors import InputError
from as2d.models.contract import AudioModel
from as2d.records import Instruction, Method, UsedMethod
from as2d.runtime.cores import MOST_DRAFTER_THREADS
from as2d.runtime.pair import Chosen, Pair

_log = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Selection:
    """Who drafts the windows of a request, and why somebody that could have does not."""

    chosen: Chosen
    warnings: tuple[str, ...] = ()


class Selector:
    """Selects among the drafters of a session. Used by one thread at a time."""

    def __init__(self, target: AudioModel, drafters: Drafters, threads: int) -> None:
        self.target = target
        self.drafters = drafters
        loads = [partial(_unloaded, source) for source in drafters.sources]
        self.pair = Pair(target, loads, threads)
        self._in_turn = Pair(target, loads, threads, min(threads, MOST_DRAFTER_THREADS))
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
        """Who drafts. Measures the machine where that decides and is not known yet.

        The drafter that is best for as2d drafts in all other methods, too. Raises what loading a drafter raises where a
        method that drafts is asked for with drafters by name; CancelledError; CacheError.
        """
        if method == "target-only" or not self.drafters.sources:
            return Selection(_nobody)
        always = method != "auto"
        if always and not self._is_a_choice:
            return Selection(self._all_loaded())
        ignored = frozenset() if prepared or always else self._costly(instruction)

        def choice(evidence: Evidence, resolved: Instruction) -> frozenset[int]:
            return choose(evidence.without(ignored), resolved, prepared=prepared, always=always)

        evidence = self._loadable(lambda known: choice(known, instruction), cancelled)
        one = method != "auto" and TRAITS[method].writes_on

        def chosen(resolved: Instruction) -> frozenset[int]:
            found = choice(evidence, resolved)
            return self._one_of(found, resolved) if one else found

        return Selection(
            chosen,
            tuple(self._warning(index, fault) for index, fault in evidence.faults.items()),
        )

    def to_prepare(self, cancelled: Event) -> Chosen:
        """Who may draft prepared audio: by whatever method. Raises CancelledError or CacheError."""
        if not self._is_a_choice:
            everybody = frozenset(range(len(self.drafters.sources)))
            return lambda _: everybody
        evidence = self._known(cancelled)
        return lambda instruction: choose(evidence, instruction, prepared=True, always=True)

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

    def _known(self, cancelled: Event) -> Evidence:
        if self._evidence is None:
            self._evidence = evidence_of(self.pair, self.drafters, cancelled)
            _log.debug("measured on this machine: %s", describe(self._evidence, self._names))
        return self._evidence

    def _loadable(self, wanted: Callable[[Evidence], frozenset[int]], cancelled: Event) -> Evidence:
        """The evidence without the trials of wanted sources that can no longer be loaded."""
        evidence = self._known(cancelled)
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
