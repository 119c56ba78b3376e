"""One window under target-only and every drafter, in turn."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from threading import Event
from time import perf_counter
from typing import Any, Literal, NamedTuple

from as2d.configuration.method import DEFAULT_BUDGET
from as2d.decoding.tally import Tally
from as2d.evaluation.corpora import Clip
from as2d.evaluation.measuring.runner import rotated
from as2d.models.contract import AudioModel
from as2d.models.whisper.model import WhisperModel, load_whisper
from as2d.records import SAMPLE_RATE, Instruction
from as2d.runtime.pair import Pair, PreparedSource, PreparedWindow, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord, run_window
from as2d.session import DEFAULT_MODEL
from as2d.session.answer import useful_tokens
from benchmarks.drafter_table import DraftedWindow, Drafting, RowFigures
from benchmarks.setting import CORES
from benchmarks.variants import Variant, extra_bytes, load_variants

_ONE_CORE, _TWO_CORES = "target-only, 1 core", "target-only, 2 cores"


class Run(NamedTuple):
    """One decode: its record, the tokens without the end, and the milliseconds of the whole call."""

    record: WindowRecord
    tokens: tuple[int, ...]
    call_ms: float


class Looked(NamedTuple):
    """An encoded window, and what the target alone says of it."""

    prepared: PreparedWindow
    reference: Run


class _Contender(NamedTuple):
    """What decodes a window."""

    pair: Pair
    decoding: Decoding
    prepared: PreparedWindow


class DrafterBench:
    """The target, the rows of the table, and how they are compared."""

    def __init__(self, repeats: int) -> None:
        self.target = load_whisper(DEFAULT_MODEL)
        self.variants = load_variants(self.target)
        self._repeats = repeats
        self._pairs = {row.name: Pair(self.target, _loaded(row), CORES) for row in self.variants}
        self._alone = {_ONE_CORE: Pair(self.target, None, 1), _TWO_CORES: Pair(self.target, None, CORES)}
        self._warm: set[tuple[str, str, bool]] = set()
        self._measured = 0

    def look(self, clip: Clip, speech: SpeechWindow) -> Looked:
        """Encode a window and decode it with the target alone, untimed."""
        pair = self._alone[_TWO_CORES]
        prepared = pair.prepare(speech, Instruction(language=clip.language), any_language=False)
        return Looked(prepared, _run(pair, prepared, clip.language, _decoding("target-only")))

    def measure(self, clip: Clip, speech: SpeechWindow, looked: Looked, *, whole: bool) -> DraftedWindow:
        """Decode a window with target-only and all drafters in turn; `whole`: from samples to text as well."""
        contenders = self._contenders(speech, looked.prepared)
        drafters = [row for row in self.variants if row.name in contenders]
        # First, since it makes what a drafter makes once for a language.
        alone = {row.name: _drafter_alone(row, contenders[row.name].prepared) for row in drafters}
        runs = self._in_turn(contenders, speech, prepared=True)
        wholes = self._in_turn(contenders, speech, prepared=False) if whole else {}
        self._measured += 1

        def figures(row: Variant) -> RowFigures:
            ours, our_wholes = runs[row.name], wholes.get(row.name, [])
            alone_ms, alone_tokens = alone[row.name]
            return RowFigures(
                alone_ms=alone_ms,
                alone_tokens=alone_tokens,
                extra_bytes=self._extra_bytes(row, contenders[row.name].prepared),
                decode_ms=_decode_ms(ours),
                whole_ms=_whole_ms(our_wholes),
                drafting=_summed(ours),
                identical=all(run.tokens == looked.reference.tokens for run in (*ours, *our_wholes)),
            )

        return DraftedWindow(
            clip=clip.name,
            language=clip.language,
            start_s=speech.start / SAMPLE_RATE,
            tokens=len(looked.reference.tokens),
            one_core_ms=_decode_ms(runs[_ONE_CORE]),
            two_cores_ms=_decode_ms(runs[_TWO_CORES]),
            whole_one_core_ms=_whole_ms(wholes.get(_ONE_CORE, [])),
            whole_ms=_whole_ms(wholes.get(_TWO_CORES, [])),
            identical=all(
                run.tokens == looked.reference.tokens
                for name in self._alone
                for run in (*runs[name], *wholes.get(name, []))
            ),
            rows={row.name: figures(row) for row in drafters},
        )

    def _contenders(self, speech: SpeechWindow, prepared: PreparedWindow) -> dict[str, _Contender]:
        """Target-only, and the drafters all of whose sources draft the language."""
        alone = _decoding("target-only")
        found = {name: _Contender(pair, alone, prepared) for name, pair in self._alone.items()}
        instruction = Instruction(language=prepared.language)
        for row in self.variants:
            pair = self._pairs[row.name]
            if all(source.can_draft(instruction) for source in pair.sources):
                audio = tuple(
                    PreparedSource(
                        source.prepare(speech.samples, lambda: prepared.target, CORES, instruction)
                    )
                    for source in pair.sources
                )
                window = PreparedWindow(
                    prepared.start, prepared.end, prepared.target, prepared.language, audio
                )
                found[row.name] = _Contender(pair, _decoding("as2d", resync=row.resync), window)
        return found

    def _in_turn(
        self, contenders: Mapping[str, _Contender], speech: SpeechWindow, *, prepared: bool
    ) -> dict[str, list[Run]]:
        """The runs of each contender; the order rotates from window to window and repeat to repeat."""
        runs: dict[str, list[Run]] = defaultdict(list)
        language = contenders[_TWO_CORES].prepared.language or ""
        for repeat in range(self._repeats):
            for name in rotated(list(contenders), self._measured + repeat):
                pair, decoding, window = contenders[name]
                audio = window if prepared else speech
                if (name, language, prepared) not in self._warm:
                    # Nothing is to be loaded or allocated inside a measurement.
                    _run(pair, audio, language, decoding)
                    self._warm.add((name, language, prepared))
                runs[name].append(_run(pair, audio, language, decoding))
        return runs

    def _extra_bytes(self, row: Variant, prepared: PreparedWindow) -> int | None:
        """That of all models of a row; None where nobody can tell."""
        total = 0
        for model, source in zip(row.models, prepared.sources, strict=True):
            size = extra_bytes(model, source.audio, prepared.language or "", self.target)
            if size is None:
                return None
            total += size
        return total


def _drafter_alone(row: Variant, prepared: PreparedWindow) -> tuple[float | None, int]:
    """Milliseconds and number of the tokens that a row's only model says by itself on one core."""
    model = row.models[0]
    if len(row.models) > 1 or not isinstance(model, WhisperModel):
        return None, 0
    return _free_run(model, prepared.sources[0].audio, Instruction(language=prepared.language))


def _run(pair: Pair, window: SpeechWindow | PreparedWindow, language: str, decoding: Decoding) -> Run:
    """Decode a window of that language to its end."""
    start = perf_counter()
    run = run_window(pair, window, Instruction(language=language), decoding, Event())
    while True:
        try:
            next(run)
        except StopIteration as stop:
            record: WindowRecord = stop.value
            return Run(record, useful_tokens(pair.target, record), (perf_counter() - start) * 1000)


def _summed(runs: Sequence[Run]) -> Drafting:
    """What the sources did in all the runs."""
    tally = Tally.of(commit for run in runs for commit in run.record.commits)
    return Drafting(
        committed=tally.tokens,
        useful=tally.useful,
        proposed=tally.proposed,
        accepted=tally.accepted,
        rounds=tally.rounds,
        faults=tuple(fault for run in runs for fault in run.record.faults),
    )


def _loaded(row: Variant) -> list[Any]:
    return [lambda model=model: model for model in row.models]


def _decoding(method: Literal["as2d", "target-only"], *, resync: bool = False) -> Decoding:
    return Decoding(method, DEFAULT_BUDGET, "word", any_language=False, resync=resync)


def _decode_ms(runs: Sequence[Run]) -> float:
    return median(run.record.decode_ms for run in runs)


def _whole_ms(runs: Sequence[Run]) -> float | None:
    return median(run.call_ms for run in runs) if runs else None


def _free_run(model: AudioModel, audio: Any, instruction: Instruction) -> tuple[float, int]:
    decoder = model.open(audio, instruction, 1)
    token, said = decoder.root, 0
    limit = model.output_limit(audio, instruction)
    start = perf_counter()
    while said < limit and (said == 0 or token not in model.end_ids):
        token = decoder.forward([token]).greedy[0]
        said += 1
    return (perf_counter() - start) * 1000, said
