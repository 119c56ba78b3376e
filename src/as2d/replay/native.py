"""Native runs that note everything: the same loop and the same producers as always, around models that are timed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event

from as2d.drafting.buffer import CandidateBuffer
from as2d.drafting.producer import Producer
from as2d.errors import InputError
from as2d.records import Commit
from as2d.replay.configuration import Configuration
from as2d.replay.loop import native_loop
from as2d.replay.models import Heard, Models
from as2d.replay.timed import Log, TimedBuffer, TimedDecoder, now_ms, timed
from as2d.runtime.source import Job, source_of

_JOIN_S = 5.0


@dataclass(frozen=True, slots=True)
class NativeRun:
    """One decode of a prepared window. Times are `time.perf_counter()` in milliseconds.

    `first_root` is when the target was opened, `ended` when its answer was complete, `done` when every drafter had
    stopped too. `target` holds its calls, `drafters` what each drafter did, in the order of `names`.
    """

    window: str
    audio_s: float
    configuration: Configuration
    names: tuple[str, ...]
    commits: tuple[Commit, ...]
    arrived: float
    first_root: float
    ended: float
    done: float
    target: Log
    drafters: tuple[Log, ...]

    @property
    def decode_ms(self) -> float:
        """From the first root ready to the target's end."""
        return self.ended - self.first_root

    @property
    def producer_done_ms(self) -> float:
        """From the first root ready until every drafter has stopped too."""
        return self.done - self.first_root


def run_native(models: Models, heard: Heard, configuration: Configuration) -> NativeRun:
    """Decode a window under a configuration.

    Raises what a model raises; what a drafter raises only ends its draft. InputError for methods that take turns.
    """
    if configuration.in_turn:
        raise InputError(
            f"only methods that draft ahead are noted, not {configuration.method}; use `as2d bench`"
        )
    names = tuple(name for name in configuration.drafted if name in heard.drafters)
    lanes = [_Lane(models, heard, configuration, name) for name in names]
    log, commits = Log(), []
    arrived = now_ms()
    with _drafting(lanes):
        cores = configuration.cores.cores_for(len(names))
        opened = models.target.open(heard.target.audio, heard.instruction, cores)
        first_root = now_ms()
        target = TimedDecoder(opened, log, cores)
        buffers = [lane.buffer for lane in lanes]
        for commit in native_loop(configuration, models.answering(heard), target, buffers):
            for source in commit.switched_off:
                lanes[source].producer.stop()
            commits.append(commit)
        ended = now_ms()
    return NativeRun(
        window=heard.window,
        audio_s=heard.audio_s,
        configuration=configuration,
        names=names,
        commits=tuple(commits),
        arrived=arrived,
        first_root=first_root,
        ended=ended,
        done=max([ended, *(lane.log.closed for lane in lanes)]),
        target=log,
        drafters=tuple(lane.log for lane in lanes),
    )


class _Lane:
    """A drafter's producer, as in `runtime`, and what it notes."""

    def __init__(self, models: Models, heard: Heard, configuration: Configuration, name: str) -> None:
        self.log = Log()
        self.buffer = TimedBuffer(self.log)
        source = source_of(timed(models.drafters[name], self.log))

        def draft(buffer: CandidateBuffer, stop: Event) -> None:
            vocabulary, cores = models.target.vocabulary, configuration.drafter_threads
            job = Job(heard.instruction, vocabulary, configuration.batch, None, buffer, stop, cores)
            source.draft(heard.drafters[name].audio, job)

        self.producer = Producer(draft, self.buffer)


@contextmanager
def _drafting(lanes: Sequence[_Lane]) -> Iterator[None]:
    """The producers at work; stopped and joined behind."""
    for lane in lanes:
        lane.producer.start()
    try:
        yield
    finally:
        for lane in lanes:
            lane.producer.stop()
        for lane in lanes:
            lane.producer.join(_JOIN_S)
