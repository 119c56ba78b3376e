"""The probe that the method rests on: does a drafter need the transcript so far to write what comes next?

At a place in the target's own transcript the drafter writes one block with the transcript before it as its history.
Another is taken from what it wrote freely, from nothing, where as2d's alignment expects the transcript to go on. Where
audio alone decides what is said next, as many candidates of both are accepted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from as2d.decoding.accept import accept
from as2d.decoding.align import Cursor, Marks, candidates_at, follow
from as2d.decoding.stop import StopRules
from as2d.decoding.target_only import decode_alone
from as2d.drafting.buffer import CandidateBuffer, Snapshot
from as2d.drafting.prefix import PrefixDrafter
from as2d.drafting.producer import free_run
from as2d.drafting.publication import Publisher
from as2d.errors import InputError
from as2d.evaluation.analysis.metrics import groups
from as2d.models.contract import AudioModel, Vocabulary
from as2d.records import Instruction
from as2d.runtime.source import Source

Float32 = NDArray[np.float32]

PAIRS = 480
"""As many as in the paper, where 72.3% were unchanged."""
BLOCK = 7
"""Candidates a block: the budget that as2d has unless told otherwise."""

_HEAD = (
    "| drafter | language | block | pairs | unchanged | better | worse | accepted with | without | lost |",
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
)
_LEGEND = (
    "A pair is two blocks of candidates for the same place of the target's transcript: one that the drafter writes "
    "with the transcript before it as its history, and one of its free draft, at the place that alignment expects. "
    "Unchanged: as many candidates accepted of both; better, worse: with the transcript. Accepted: mean candidates of "
    "a block. Lost: alignment had only a guess, where one candidate is tried. In the paper 72.3% of 480 pairs were "
    "unchanged."
)


class ProbeWindow(NamedTuple):
    """One window of mono audio at 16 kHz. Without a language that the target has, it is detected."""

    name: str
    language: str | None
    samples: Float32


@dataclass(frozen=True, slots=True)
class PairedBlocks:
    """The candidates accepted of both blocks after the first `position` tokens of a window's transcript.

    `lost` says that alignment had no place in the free stream but a guess, where as2d tries one candidate.
    """

    window: str
    language: str
    position: int
    with_context: int
    without_context: int
    lost: bool


@dataclass(frozen=True, slots=True)
class Independence:
    """All pairs of one probe, with blocks of `block` candidates."""

    target: str
    drafter: str
    block: int
    seed: int
    pairs: tuple[PairedBlocks, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What some pairs come to: shares of the pairs, and mean candidates accepted of a block."""

    pairs: int
    unchanged: float
    better_with_context: float
    worse_with_context: float
    accepted_with_context: float
    accepted_without_context: float
    lost: float


def probe(
    target: AudioModel,
    drafter: Source,
    windows: Sequence[ProbeWindow],
    pairs: int = PAIRS,
    *,
    seed: int = 0,
    block: int = BLOCK,
    threads: int = 1,
) -> Independence:
    """Compare that many pairs of blocks, fewer where the windows hold no more. See `paired_blocks`.

    Raises InputError when they hold none.
    """
    found = tuple(paired_blocks(target, drafter, windows, pairs, seed=seed, block=block, threads=threads))
    if not found:
        raise InputError(
            f"no window that {drafter.name} can draft has a transcript of more than {block} tokens; "
            "use longer clips, other languages or a smaller block"
        )
    return Independence(target.name, drafter.name, block, seed, found)


def paired_blocks(
    target: AudioModel,
    drafter: Source,
    windows: Sequence[ProbeWindow],
    pairs: int,
    *,
    seed: int,
    block: int,
    threads: int,
) -> Iterator[PairedBlocks]:
    """Pairs at seeded random places, as evenly as possible from all windows, in a random order.

    A place has text before it and a whole block behind it. Windows that the drafter does not speak, and transcripts
    that do not end by themselves, have none. Raises InputError for a block or number of pairs below 1.
    """
    if block < 1 or pairs < 1:
        raise InputError(
            f"{pairs} pairs of blocks of {block} tokens cannot be compared; use 1 or more of both"
        )
    random = Random(seed)
    order = random.sample(windows, len(windows))
    missing = pairs
    for index, window in enumerate(order):
        wanted = -(-missing // (len(order) - index))
        for pair in _pairs_of(window, target, drafter, (block, threads), wanted, random):
            missing -= 1
            yield pair
        if not missing:
            return


def compare(pairs: Sequence[PairedBlocks]) -> Comparison:
    """What these pairs, at least one, come to."""
    gains = [pair.with_context - pair.without_context for pair in pairs]
    return Comparison(
        pairs=len(pairs),
        unchanged=fmean(gain == 0 for gain in gains),
        better_with_context=fmean(gain > 0 for gain in gains),
        worse_with_context=fmean(gain < 0 for gain in gains),
        accepted_with_context=fmean(pair.with_context for pair in pairs),
        accepted_without_context=fmean(pair.without_context for pair in pairs),
        lost=fmean(pair.lost for pair in pairs),
    )


def compare_groups(pairs: Sequence[PairedBlocks]) -> dict[str, Comparison]:
    """English, other languages, and all, as far as there are any."""
    return {name: compare(group) for name, group in groups(pairs).items()}


def as_dict(independence: Independence) -> dict[str, Any]:
    """Ready for JSON: the comparisons by group, and every pair."""
    compared = compare_groups(independence.pairs)
    return {**asdict(independence), "groups": {name: asdict(group) for name, group in compared.items()}}


def markdown(probes: Iterable[Independence]) -> str:
    """The comparisons of all probes as a table, and what its columns mean."""
    rows = [_row(one, name, group) for one in probes for name, group in compare_groups(one.pairs).items()]
    return "\n".join([*_HEAD, *rows, "", _LEGEND])


def _row(independence: Independence, language: str, group: Comparison) -> str:
    shares = (group.unchanged, group.better_with_context, group.worse_with_context)
    accepted = (group.accepted_with_context, group.accepted_without_context)
    cells = [
        independence.drafter,
        language,
        str(independence.block),
        str(group.pairs),
        *(f"{share:.1%}" for share in shares),
        *(f"{mean:.2f}" for mean in accepted),
        f"{group.lost:.1%}",
    ]
    return f"| {' | '.join(cells)} |"


def _pairs_of(
    window: ProbeWindow,
    target: AudioModel,
    drafter: Source,
    size: tuple[int, int],
    wanted: int,
    random: Random,
) -> Iterator[PairedBlocks]:
    """Up to `wanted` pairs of one window. `size` is the block's, and the cores'."""
    block, threads = size
    prepared = target.prepare(window.samples, threads)
    instruction = Instruction(language=_language(window, target, prepared, threads))
    if not drafter.can_draft(instruction):
        return
    transcript = _transcript(target, prepared, instruction, threads)
    places = range(1, len(transcript) - block + 1)
    chosen = sorted(random.sample(places, min(wanted, len(places))))
    if not chosen:
        return
    heard = drafter.prepare(window.samples, lambda: prepared, threads, instruction)
    writer = drafter.open(heard, instruction, target.vocabulary, threads)
    stream = _free_stream(writer)
    cursors = _cursors(transcript, stream.tokens, target.vocabulary)
    for place in chosen:
        said, rest, cursor = transcript[:place], transcript[place:], cursors[place]
        yield PairedBlocks(
            window.name,
            str(instruction.language),
            place,
            with_context=accept(writer.draft(said, block, lambda _: False).tokens, rest),
            without_context=accept(candidates_at(cursor, stream, block), rest),
            lost=cursor.lost,
        )


def _language(window: ProbeWindow, target: AudioModel, prepared: Any, threads: int) -> str | None:
    if window.language in target.capabilities.languages:
        return window.language
    return target.detect_language(prepared, threads)


def _transcript(target: AudioModel, prepared: Any, instruction: Instruction, threads: int) -> tuple[int, ...]:
    """The target's useful tokens; none where it had to be stopped, since a loop says nothing about speech."""
    rules = StopRules(target.end_ids, target.output_limit(prepared, instruction))
    commits = list(decode_alone(target.open(prepared, instruction, threads), rules, threads))
    if commits[-1].finish_reason != "stop":
        return ()
    return tuple(token for commit in commits for token in commit.tokens)[:-1]


def _free_stream(writer: PrefixDrafter) -> Snapshot:
    """What a producer would publish, to its end."""
    buffer = CandidateBuffer()
    free_run(writer, Publisher(buffer, "word"), lambda: False)
    return buffer.snapshot()


def _cursors(committed: Sequence[int], stream: tuple[int, ...], vocabulary: Vocabulary) -> list[Cursor]:
    """The place in the stream after 0, 1, … committed tokens, each committed alone."""
    marks = Marks(vocabulary.weak_tokens, vocabulary.word_starts)
    cursors = [Cursor()]
    for count in range(1, len(committed) + 1):
        cursors.append(follow(cursors[-1], committed[:count], stream, marks))
    return cursors
