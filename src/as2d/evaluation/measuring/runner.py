"""Measure: every contender on every window, in turn, on the same prepared audio."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from as2d.errors import AudioError
from as2d.evaluation.contender import Contender
from as2d.evaluation.corpora import Clip, open_clip
from as2d.evaluation.host import Machine
from as2d.evaluation.measuring.condense import Source, Window, make_row, make_run
from as2d.evaluation.measuring.journal import ClipRecord, Journal
from as2d.evaluation.measuring.lineup import Entrant, Lineup, Prepared
from as2d.evaluation.rows import Row, Run
from as2d.records import SAMPLE_RATE, Instruction
from as2d.runtime.pair import SpeechWindow

DRAWN_WINDOWS = 10
"""Windows that keep their time lines, so that the rows stay small."""
DRAWN_TOKENS = 30
"""Tokens that a window worth a picture has."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Procedure:
    """How often each contender decodes a window, and the fewest tokens of a window that is measured."""

    repetitions: int
    min_tokens: int


class Runner:
    """Measures clips one by one, one window in memory at a time, and writes down every run as it ends."""

    def __init__(
        self, lineup: Lineup, reference: Contender, source: Source, procedure: Procedure, journal: Journal
    ) -> None:
        """`reference` is the contender of the line-up whose tokens the others are to give."""
        self._lineup = lineup
        self._reference = reference
        self._source = source
        self._procedure = procedure
        self._journal = journal
        self._machine = Machine()
        self._warm: set[Contender] = set()

    def measure(self, clip: Clip, instruction: Instruction) -> Iterator[float]:
        """Ask this of a clip as far as that is missing, and tell after each window how many seconds are done.

        Audio that cannot be cut or decoded, at all or from some place on, is written down as the clip's fault.
        """
        rows: dict[str, int] = {}
        short: list[str] = []
        fault = None
        try:
            with open_clip(clip, self._lineup.longest_s) as recording:
                for index, speech in enumerate(recording.windows):
                    name = f"{clip.name}#{index}"
                    if count := self._measure_window(clip, instruction, name, speech):
                        rows[name] = count
                    else:
                        short.append(name)
                    yield speech.end / SAMPLE_RATE
        except AudioError as error:
            fault = str(error)
        reference = "" if clip.doubtful else clip.reference
        self._journal.finish(ClipRecord(clip.name, rows, tuple(short), reference, fault))

    def _measure_window(self, clip: Clip, instruction: Instruction, name: str, speech: SpeechWindow) -> int:
        """The number of rows; none when the window has too few tokens."""
        prepared = self._lineup.prepare(speech, instruction)
        if self._is_short(name, prepared):
            return 0
        entrants = {
            contender: entrant
            for contender, entrant in self._lineup.entrants.items()
            if entrant.takes_part(prepared)
        }
        runs = self._complete(name, entrants, prepared)
        window = Window(
            name,
            clip.name,
            clip.kind,
            prepared.instruction.language or "",
            speech.start / SAMPLE_RATE,
            speech.end / SAMPLE_RATE,
        )
        self._journal.add_rows(name, self._rows(window, runs))
        return len(runs)

    def _is_short(self, name: str, prepared: Prepared) -> bool:
        if not self._procedure.min_tokens or self._journal.runs(name):
            return False
        decoded = self._lineup.entrants[self._reference].decode(prepared)
        return len(decoded.tokens) < self._procedure.min_tokens

    def _complete(
        self, window: str, entrants: Mapping[Contender, Entrant], prepared: Prepared
    ) -> dict[Contender, list[Run]]:
        """All runs of a window; those that are missing are measured.

        The order begins with another contender for each window and repetition.
        """
        known = {(run.contender, run.repetition): run for run in self._journal.runs(window)}
        turn = self._journal.windows
        for repetition in range(self._procedure.repetitions):
            for contender in rotated(list(entrants), turn + repetition):
                if (contender.key, repetition) not in known:
                    run = self._run(window, contender, entrants[contender], prepared, repetition)
                    self._journal.add_run(run)
                    known[contender.key, repetition] = run
        repetitions = range(self._procedure.repetitions)
        return {contender: [known[contender.key, index] for index in repetitions] for contender in entrants}

    def _run(
        self, window: str, contender: Contender, entrant: Entrant, prepared: Prepared, repetition: int
    ) -> Run:
        """One timed decode; before a contender's first, one that is not, so that nothing is loaded while it counts."""
        if contender not in self._warm:
            entrant.decode(prepared)
            self._warm.add(contender)
        measuring = self._machine.start()
        decoded = entrant.decode(prepared)
        readings = measuring.stop()
        return make_run(
            decoded,
            readings,
            window=window,
            contender=contender.key,
            repetition=repetition,
            time_line=self._is_drawn(window, repetition, len(decoded.tokens)),
        )

    def _is_drawn(self, window: str, repetition: int, tokens: int) -> bool:
        drawn = self._journal.drawn
        last = repetition == self._procedure.repetitions - 1
        return last and tokens >= DRAWN_TOKENS and (window in drawn or len(drawn) < DRAWN_WINDOWS)

    def _rows(self, window: Window, runs: Mapping[Contender, Sequence[Run]]) -> list[Row]:
        expected = runs[self._reference][0].tokens
        decode = self._lineup.target.vocabulary.decode
        return [
            make_row(
                self._source, window, contender, of, expected=expected, text=decode(of[0].tokens).strip()
            )
            for contender, of in runs.items()
        ]


def rotated(items: Sequence[T], by: int) -> list[T]:
    """The items, beginning with another one for each `by`."""
    first = by % len(items)
    return [*items[first:], *items[:first]]
