"""Drafters of Whisper on real weights: what they share, what they leave out, and what the target accepts of them."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.decoding.align import Marks
from as2d.decoding.as2d import CoreSplit, decode
from as2d.decoding.stop import StopRules
from as2d.decoding.tally import Tally
from as2d.drafting.buffer import CandidateBuffer
from as2d.models.contract import SharesEncoder
from as2d.models.whisper.decoder import WhisperDecoder
from as2d.models.whisper.drafter import WhisperDrafter, WhisperSelfDrafter, load_whisper_self_drafter
from as2d.models.whisper.graph import HEAD_DIM
from as2d.models.whisper.model import WhisperModel, WhisperPrepared
from as2d.records import SAMPLE_RATE, Instruction
from as2d.runtime.source import Job, source_of

Float32 = NDArray[np.float32]
ENGLISH = Instruction("transcribe", "en")


@pytest.fixture(scope="module")
def own(base: WhisperModel) -> WhisperSelfDrafter:
    return load_whisper_self_drafter(base)


@pytest.fixture(scope="module")
def speech(clips: Mapping[str, Path]) -> Float32:
    return np.concatenate(list(open_audio(clips["jfk"])))


@pytest.fixture(scope="module")
def heard(base: WhisperModel, speech: Float32) -> WhisperPrepared:
    """What the target prepared."""
    return base.prepare(speech, 2)


def checksums(prepared: WhisperPrepared) -> list[int]:
    return [crc32(array.data) for array in (prepared.states, *prepared.cross.keys, *prepared.cross.values)]


def text(model: WhisperModel, decoder: WhisperDecoder) -> str:
    """What it says on its own."""
    said = [decoder.root]
    while said[-1] not in model.end_ids and len(said) < 100:
        said += decoder.forward(said[-1:]).greedy
    return model.vocabulary.decode(said)


# The target's own decoder.


def test_it_shares_the_encoder_and_keeps_every_third_position(
    own: WhisperSelfDrafter, heard: WhisperPrepared
) -> None:
    shared = own.share(heard)
    assert shared.states is heard.states
    assert shared.samples == heard.samples
    positions = slice(0, 11 * 50 + 250, 3)
    for mine, theirs in zip(shared.cross.keys, heard.cross.keys, strict=True):
        np.testing.assert_array_equal(mine, theirs[:, positions])
    for mine, theirs in zip(shared.cross.values, heard.cross.values, strict=True):
        np.testing.assert_array_equal(mine, theirs[:, :, positions])
        assert mine.flags.c_contiguous  # bound by address
    everything = zip(
        (*shared.cross.keys, *shared.cross.values), (*heard.cross.keys, *heard.cross.values), strict=True
    )
    assert not any(np.shares_memory(mine, theirs) for mine, theirs in everything)


def test_it_leaves_the_target_s_arrays_unchanged(own: WhisperSelfDrafter, heard: WhisperPrepared) -> None:
    before = checksums(heard)
    shared = own.share(heard)
    untouched = checksums(shared)
    text(own, own.open(shared, ENGLISH, 1))
    assert checksums(heard) == before
    assert checksums(shared) == untouched


def test_prepared_alone_it_hears_the_same(
    own: WhisperSelfDrafter, heard: WhisperPrepared, speech: Float32
) -> None:
    assert checksums(own.prepare(speech, 2)) == checksums(own.share(heard))


def test_it_is_a_part_of_its_target(own: WhisperSelfDrafter, base: WhisperModel) -> None:
    assert isinstance(own, SharesEncoder)
    assert own.vocabulary is base.vocabulary
    assert own.end_ids == base.end_ids
    assert own.identity != base.identity
    for part in ("encoder", "cross", "vocabulary", "files", "config"):
        assert getattr(own.parts, part) is getattr(base.parts, part)
    assert own.parts.decoder.embedding is base.parts.decoder.embedding


def test_it_speaks_all_that_its_target_speaks(own: WhisperSelfDrafter, base: WhisperModel) -> None:
    assert own.capabilities == base.capabilities
    assert len(own.capabilities.languages) == 99
    source = source_of(own)
    for task in base.capabilities.tasks:
        assert all(source.can_draft(Instruction(task, code)) for code in base.capabilities.languages)


def test_it_translates(own: WhisperSelfDrafter, base: WhisperModel, clips: Mapping[str, Path]) -> None:
    prepared = own.share(base.prepare(np.concatenate(list(open_audio(clips["fleurs-fr-005"]))), 2))
    assert "lost" in text(own, own.open(prepared, Instruction("translate", "fr"), 1))
    assert "perdu" in text(own, own.open(prepared, Instruction("transcribe", "fr"), 1))


MEASURE = """
import gc, sys
from pathlib import Path
from threading import Event
import numpy as np
from as2d.audio import open_audio
from as2d.drafting.buffer import CandidateBuffer
from as2d.models.whisper.drafter import load_whisper_self_drafter
from as2d.models.whisper.model import load_whisper
from as2d.records import Instruction
from as2d.runtime.source import Job, source_of

def resident():
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])

def run(model, prepared):
    decoder = model.open(prepared, english, 1)
    token = decoder.root
    for _ in range(60):
        token = decoder.forward([token]).greedy[0]
    return decoder

english = Instruction("transcribe", "en")
target = load_whisper("whisper-base")
prepared = target.prepare(np.concatenate(list(open_audio(sys.argv[1]))), 1)
kept = [run(target, prepared)]
before = resident()
drafter = load_whisper_self_drafter(target)
shared = drafter.share(prepared)
kept.append(run(drafter, shared))
print(before, resident())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux' /proc")
@pytest.mark.usefixtures("own")  # built before
def test_it_adds_at_most_a_quarter_to_the_target_s_memory(clips: Mapping[str, Path]) -> None:
    command = [sys.executable, "-c", MEASURE, str(clips["jfk"])]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    alone, both = map(int, output.split())
    assert alone < both <= 1.25 * alone


# A smaller model.


@pytest.mark.parametrize(("seconds", "positions"), [(2, 500), (9.9, 520), (12, 750), (20, 1050), (30, 1500)])
def test_a_smaller_model_pads_little_and_pools_pairs(
    tiny: WhisperDrafter, monkeypatch: pytest.MonkeyPatch, seconds: float, positions: int
) -> None:
    random, asked = np.random.default_rng(0), []

    def encode(samples: Float32, threads: int, positions: int) -> Float32:
        asked.append(random.standard_normal((positions, tiny.config.d_model)).astype(np.float32))
        return asked[-1]

    monkeypatch.setattr(tiny, "encode", encode)
    prepared = tiny.prepare(np.zeros(int(seconds * SAMPLE_RATE), np.float32), 1)
    (states,) = asked
    assert len(states) == positions
    kept = min(positions, round(seconds * 50) + 50) // 2
    assert prepared.samples == int(seconds * SAMPLE_RATE)
    np.testing.assert_allclose(
        prepared.states, (states[: 2 * kept : 2] + states[1 : 2 * kept : 2]) / 2, atol=1e-6
    )
    assert {keys.shape for keys in prepared.cross.keys} == {(tiny.config.heads, kept, HEAD_DIM)}


# Both.


def accepted(
    base: WhisperModel, heard: WhisperPrepared, drafter: WhisperModel, prepared: WhisperPrepared
) -> float:
    """The accepted part of what is proposed when everything has been published."""
    words, buffer = base.vocabulary, CandidateBuffer()
    source_of(drafter).draft(prepared, Job(ENGLISH, words, "word", None, buffer, Event()))
    buffer.close()
    tally = Tally.of(
        decode(
            base.open(heard, ENGLISH, 1),
            [buffer],
            StopRules(base.end_ids, base.output_limit(heard, ENGLISH)),
            budget=7,
            cores=CoreSplit(1),
            marks=Marks(words.weak_tokens, words.word_starts),
            vocabulary_size=words.size,
        )
    )
    return tally.accepted / tally.proposed


@pytest.mark.parametrize("which", ["own", "tiny"])
def test_much_of_a_draft_is_accepted(
    base: WhisperModel,
    heard: WhisperPrepared,
    speech: Float32,
    which: str,
    request: pytest.FixtureRequest,
) -> None:
    drafter: WhisperModel = request.getfixturevalue(which)
    prepare: Callable[[], WhisperPrepared] = (
        (lambda: drafter.share(heard))
        if isinstance(drafter, WhisperSelfDrafter)
        else (lambda: drafter.prepare(speech, 2))
    )
    assert accepted(base, heard, drafter, prepare()) > 0.4
