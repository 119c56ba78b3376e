"""Run a soak: warm up, then let clients do random things for minutes, and look at what is left at settled moments."""

import random
import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from time import monotonic, sleep
from typing import cast

from as2d.configuration.drafters import Drafter
from as2d.evaluation.corpora import Clip
from as2d.evaluation.process import give_back_memory, holdings, memory_mb
from as2d.evaluation.soak.actions import KINDS, Action, draw_action, every_method
from as2d.evaluation.soak.client import Client
from as2d.evaluation.soak.faults import Faults, FaultySource
from as2d.evaluation.soak.reference import Reference
from as2d.evaluation.soak.tally import Tally
from as2d.evaluation.soak.watch import Reading, more_than
from as2d.models.contract import AudioModel
from as2d.runtime.source import Source
from as2d.session import Session

_PRODUCER = "as2d-producer"
_WINDOW_S = 30.0
_SETTLING_S = 10.0
"""The longest time that threads which were left behind may need to end."""
_SLICE_S, _FEWEST_SLICES, _MOST_SLICES = 30.0, 6, 60


@dataclass(frozen=True, slots=True)
class SoakOptions:
    """How long, how many requests at a time, which share of a drafter's calls is faulty, and what draws all that.

    The minutes are those after warm-up.
    """

    minutes: float
    clients: int = 3
    fault_share: float = 0.25
    seed: int = 0


class Soak:
    """A soak and what is known of it so far. `readings` begin with the first settled moment after warm-up."""

    def __init__(
        self,
        target: AudioModel,
        sources: Sequence[Source],
        clips: Sequence[Clip],
        options: SoakOptions,
        cores: int,
    ) -> None:
        """Each source, loaded, drafts in a session of its own; all sessions share the target."""
        self.readings: list[Reading] = []
        self.tally = Tally()
        self.faults = Faults(options.seed, options.fault_share)
        self._tasks = tuple(task for task in target.capabilities.tasks if task != "ask")
        self._clips = clips
        self._options = options
        reference = Reference(target, cores)
        self._openers = [
            partial(Session, target, cast(Drafter, FaultySource(source, self.faults)), threads=cores)
            for source in sources  # a session takes a source as it is
        ]
        self._client = partial(Client, reference=reference, tally=self.tally)

    def run(self) -> Generator[Reading, None, None]:
        """Soak, and give the reading of each settled moment, the first after warm-up. Once, to the end or not."""
        began = monotonic()
        seconds = 60 * self._options.minutes
        slices = min(_MOST_SLICES, max(_FEWEST_SLICES, int(seconds // _SLICE_S)))
        with ExitStack() as closing:
            clients = [self._client(closing.enter_context(opened()), opened) for opened in self._openers]
            self._warm_up(clients)
            self._let_loose(clients, warm_up_s(seconds))
            yield self._settled(began)
            for number in range(slices):
                self._let_loose(clients, seconds / slices)
                yield self._settled(began, last=number == slices - 1)

    def _warm_up(self, clients: Sequence[Client]) -> None:
        """Each kind of request, so that whatever is loaded or grows at first has done so.

        On a clip that fills a window, if there is one: longer ones only take longer.
        """
        clip = min(self._clips, key=lambda clip: abs(clip.duration_s - _WINDOW_S))
        for client in clients:
            for options in every_method(clip):
                client.do(Action("answer", clip, options, 0.0, 0))
            for kind in KINDS:
                client.do(Action(kind, clip, {"method": "as2d", "language": None}, 0.3, 0))

    def _let_loose(self, clients: Sequence[Client], seconds: float) -> None:
        """Random actions from several threads for so long; the last ones are done to the end."""
        enough = Event()
        draws = [
            random.Random(f"{self._options.seed} {len(self.readings)} {number}")
            for number in range(self._options.clients)
        ]
        threads = [Thread(target=self._act, args=(clients, draw, enough), name="as2d-soak") for draw in draws]
        for thread in threads:
            thread.start()
        try:
            sleep(seconds)
        finally:
            enough.set()
            for thread in threads:
                thread.join()

    def _act(self, clients: Sequence[Client], draw: random.Random, enough: Event) -> None:
        while not enough.is_set():
            draw.choice(clients).do(draw_action(draw, self._clips, self._tasks))

    def _settled(self, began: float, *, last: bool = False) -> Reading:
        """Wait for drafters that were left behind and, at last, for whatever was not there at first; or long enough."""
        until = monotonic() + _SETTLING_S
        while monotonic() < until and (_drafters_run() or (last and self._has_more())):
            sleep(0.05)
        kept_mb = memory_mb()
        give_back_memory()
        reading = Reading((monotonic() - began) / 60, holdings(), kept_mb)
        self.readings.append(reading)
        return reading

    def _has_more(self) -> bool:
        return bool(more_than(self.readings[0].held, holdings()))


def warm_up_s(seconds: float) -> float:
    """A tenth of the time, but a minute where that is half of it or less, and three at most."""
    return min(180.0, max(0.1 * seconds, min(60.0, 0.5 * seconds)))


def _drafters_run() -> bool:
    return any(thread.name == _PRODUCER for thread in threading.enumerate())
