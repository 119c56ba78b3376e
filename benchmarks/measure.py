"""One window under all contenders, in turn, on prepared audio."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Literal, NamedTuple

from as2d.models.whisper.drafter import load_whisper_drafter
from as2d.models.whisper.model import WhisperModel, WhisperPrepared, load_whisper
from as2d.models.whisper.prompt import prompt_tokens
from as2d.records import SAMPLE_RATE, Instruction
from as2d.runtime.pair import Pair, PreparedWindow, SpeechWindow
from as2d.runtime.window import Decoding, WindowRecord
from as2d.session import DEFAULT_MODEL
from benchmarks.corpus import Clip
from benchmarks.figures import DECODERS, Contender, MeasuredWindow, Timing, median_timing
from benchmarks.peers import FasterWhisper
from benchmarks.runs import CORES, Run, rotated, run_to_end, summed


class Window(NamedTuple):
    """A window of a clip, encoded by our models, and what target-only says."""

    clip: Clip
    speech: SpeechWindow
    prepared: PreparedWindow
    reference: WindowRecord
    tokens: tuple[int, ...]


class Bench:
    """The loaded models and how they are compared."""

    def __init__(self, peer: FasterWhisper, budget: int, repeats: int) -> None:
        """`budget` caps the candidates of AS²D's rounds; each decode is done `repeats` times."""
        self.target = load_whisper(DEFAULT_MODEL)
        self.drafter = load_whisper_drafter("whisper-tiny.en")
        self.repeats = repeats
        self.budget = budget
        self._peer = peer
        self._one_core = Pair(self.target, None, 1)
        self._pair = Pair(self.target, lambda: self.drafter, CORES)
        self._measured = 0

    def look(self, clip: Clip, speech: SpeechWindow) -> Window:
        """Prepare a window and decode it with the target alone, untimed."""
        prepared = self._pair.prepare(speech, clip.language, any_language=False)
        run = self._run(self._pair, prepared, "target-only")
        return Window(clip, speech, prepared, run.record, run.tokens)

    def warm_up(self, window: Window) -> None:
        """Run every contender once, so that nothing is loaded or allocated inside a measurement."""
        encoded = self._peer.encode(window.speech.samples)
        for contender in DECODERS:
            if contender is Contender.PEER:
                self._peer_run(window, encoded)
            else:
                self._our_run(window, contender)

    def measure(self, window: Window) -> MeasuredWindow:
        """Decode a window with all contenders in turn; the order rotates from window to window and repeat to repeat."""
        encoded = self._peer.encode(window.speech.samples)
        ours: dict[Contender, list[Run]] = defaultdict(list)
        peers: list[tuple[tuple[int, ...], float]] = []
        for repeat in range(self.repeats):
            for contender in rotated(DECODERS, self._measured + repeat):
                if contender is Contender.PEER:
                    peers.append(self._peer_run(window, encoded))
                else:
                    ours[contender].append(self._our_run(window, contender))
        self._measured += 1
        return self._measured_window(window, ours, peers)

    def _measured_window(
        self,
        window: Window,
        ours: dict[Contender, list[Run]],
        peers: Sequence[tuple[tuple[int, ...], float]],
    ) -> MeasuredWindow:
        prepared, record = window.prepared, window.reference
        target_cross = self._cross_ms(self.target, prepared.target)
        drafter_audio = prepared.sources[0].audio
        drafter_cross = self._cross_ms(self.drafter, drafter_audio) if drafter_audio else None
        charges = dict.fromkeys(ours, target_cross)
        charges[Contender.AS2D] += drafter_cross or 0.0
        timings = {
            key: median_timing(_timing(run, charges[key]) for run in runs) for key, runs in ours.items()
        }
        peer_tokens = peers[0][0]
        return MeasuredWindow(
            clip=window.clip.name,
            language=prepared.language,
            start_s=record.start / SAMPLE_RATE,
            end_s=record.end / SAMPLE_RATE,
            finish_reason=record.commits[-1].finish_reason or "stop",
            identical=all(run.tokens == window.tokens for runs in ours.values() for run in runs),
            peer_agrees=peer_tokens == window.tokens,
            tokens=dict.fromkeys(ours, len(window.tokens)) | {Contender.PEER: len(peer_tokens)},
            timings=timings | {Contender.PEER: Timing(*[median(time for _, time in peers)] * 4)},
            target_cross_ms=target_cross,
            drafter_cross_ms=drafter_cross,
            drafting=summed(ours[Contender.AS2D]),
        )

    def _our_run(self, window: Window, contender: Contender) -> Run:
        pair = self._one_core if contender is Contender.ONE_CORE else self._pair
        return self._run(pair, window.prepared, "as2d" if contender is Contender.AS2D else "target-only")

    def _run(self, pair: Pair, prepared: PreparedWindow, method: Literal["as2d", "target-only"]) -> Run:
        decoding = Decoding(method, self.budget, "word", any_language=False)
        return run_to_end(pair, prepared, prepared.language, decoding)

    def _peer_run(self, window: Window, encoded: object) -> tuple[tuple[int, ...], float]:
        """Tokens and milliseconds of faster-whisper."""
        instruction = Instruction(language=window.prepared.language)
        prompt = prompt_tokens(self.target.vocabulary, multilingual=True, instruction=instruction)
        limit = self.target.output_limit(window.prepared.target, instruction)
        start = perf_counter()
        tokens = self._peer.decode(encoded, prompt, limit)
        return tokens, _since(start)

    def _cross_ms(self, model: WhisperModel, prepared: WhisperPrepared) -> float:
        """Median milliseconds of a model's cross-attention keys and values."""
        times = []
        for _ in range(self.repeats):
            start = perf_counter()
            model.attend(prepared.states, CORES)
            times.append(_since(start))
        return median(times)


def _timing(run: Run, charge: float) -> Timing:
    record = run.record
    return Timing(record.decode_ms, record.producer_done_ms, run.call_ms, run.call_ms + charge)


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000
