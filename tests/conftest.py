"""What many tests share: the real models, the kept clips, and toy models that need no weights."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.errors import InputError, UnsupportedError
from as2d.models.contract import AudioModel, Capabilities, Rows, Vocabulary
from as2d.models.whisper.drafter import load_whisper_drafter
from as2d.models.whisper.model import WhisperModel, load_whisper
from as2d.profiling.plan import Plan, Point, points
from as2d.profiling.profile import Machine, Profile, Timing
from as2d.records import Instruction, Task
from as2d.replay.trace import Provenance

CLIPS = Path(__file__).parent / "clips"
END = 256
"""The toy models' end-of-text; the ids below it are bytes."""

Step = Callable[[Sequence[int]], int]
"""The next token after the text so far."""


@pytest.fixture(scope="session", autouse=True)
def _nothing_tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the user has tuned must not change what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2D_CONFIG", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """A shell has what it starts in the background ignore Ctrl-C; tests interrupt themselves and their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def base() -> WhisperModel:
    """The default target on its real weights."""
    return load_whisper("whisper-base")


@pytest.fixture(scope="session")
def tiny() -> WhisperModel:
    """The default drafter on its real weights."""
    return load_whisper_drafter("whisper-tiny.en")


@pytest.fixture(scope="session")
def clips() -> Mapping[str, Path]:
    """The kept clips by id."""
    lines = (CLIPS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return {clip["id"]: CLIPS / clip["path"] for clip in map(json.loads, lines)}


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that only this test uses."""
    monkeypatch.setenv("AS2D_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def provenance() -> Provenance:
    """Of traces of the target "big" and the drafters "one" and "two", which are no real models; 0 ends a text."""
    return Provenance(
        target="big",
        target_digest="big-1",
        drafters={"one": "one-1", "two": "two-1"},
        corpus="c",
        task="transcribe",
        threads=2,
        end_ids=frozenset({0}),
        vocabulary_size=100,
    )


@pytest.fixture(scope="session")
def profile_of(provenance: Provenance) -> Callable[..., Profile]:
    """Makes a profile of the models of `provenance`: `profile_of(milliseconds of a point)`. "two" has no encoder."""

    def make(ms: Callable[[Point], float], threads: int = 2) -> Profile:
        plan = Plan(threads, "big", ("one", "two"), ("two",), contexts=(8,), audio_s=(10.0,))
        machine = Machine("host", 2, "cpu 1", "engine 1", "0.1")
        models = {"big": provenance.target_digest, **provenance.drafters}
        timings = {point: Timing(ms(point), 0.1, 5) for point in points(plan)}
        overheads = {name: Timing(0.01, 0.001, 5) for name in ("publish", "round", "realign", "truncate")}
        memory: Any = {"big": 100.0, "one": 50.0, "two": 10.0}
        return Profile("2026-01-01", machine, models, "noise", plan, timings, overheads, memory)

    return make


@pytest.fixture(scope="session")
def toy() -> Callable[..., AudioModel]:
    """Makes a ToyModel: `toy("what it says")` or `toy(step)`, and its other fields by name."""

    def make(says: str | Step, **fields: Any) -> AudioModel:
        return ToyModel(reciting(says) if isinstance(says, str) else says, **fields)

    return make


def reciting(text: str) -> Step:
    """Says `text`, then the end; a question mark after anything else."""
    answer = (*text.encode(), END)

    def step(prefix: Sequence[int]) -> int:
        said = len(prefix)
        return answer[said] if said < len(answer) and tuple(prefix) == answer[:said] else ord("?")

    return step


class ByteVocabulary:
    """Bytes as tokens, and the end of text. Ids that it does not have are a ValueError."""

    size = END + 1
    weak_tokens = frozenset(token for token in range(END + 1) if not chr(token).isalnum())
    word_starts = frozenset({ord(" ")})

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.token_bytes, tokens)).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes:
        return b"" if token == END else bytes([token])


@dataclass(frozen=True)
class ToyPrepared:
    samples: int


@dataclass
class ToyDecoder:
    """Implements `Decoder`; the prompt is one token, and every row depends on the whole cache."""

    step: Step
    capacity: int
    root: int = END
    cache: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        return len(self.cache)

    def forward(self, tokens: Sequence[int]) -> Rows:
        greedy = self._append(tokens)
        return Rows(greedy, (0.5,) * len(greedy))

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        return np.eye(END + 1, dtype=np.float32)[list(self._append(tokens))]

    def truncate(self, length: int) -> None:
        if length > self.length:
            raise InputError("the cache is shorter")
        del self.cache[length:]

    def use_threads(self, threads: int) -> None:
        if threads < 1:
            raise InputError("no threads")

    def _append(self, tokens: Sequence[int]) -> tuple[int, ...]:
        if not tokens or self.length + len(tokens) > self.capacity:
            raise InputError("no room")
        greedy = []
        for token in tokens:
            self.cache.append(token)
            greedy.append(self.step(self.cache[1:]))
        return tuple(greedy)


def _ignore(_: object) -> None:
    """Do nothing with it."""


def _nothing() -> None:
    """Do nothing."""


@dataclass
class ToyModel:
    """Implements `AudioModel` by a function of the text so far; what it hears does not matter."""

    step: Step
    name: str = "toy"
    identity: str = "toy"
    languages: tuple[str, ...] = ("en",)
    tasks: tuple[Task, ...] = ("transcribe",)
    longest_s: float = 30.0
    limit: int = 400
    capacity: int = 10_000
    vocabulary: Vocabulary = field(default_factory=ByteVocabulary)
    on_prepare: Callable[[], None] = _nothing
    on_hear: Callable[[int], None] = _ignore
    on_open: Callable[[], None] = _nothing
    on_instruction: Callable[[Instruction], None] = _ignore
    end_ids: frozenset[int] = frozenset({END})

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(self.languages, self.tasks, detects_language=True, longest_s=self.longest_s)

    def prepare(self, samples: NDArray[np.float32], threads: int) -> ToyPrepared:
        self.on_prepare()
        self.on_hear(len(samples))
        return ToyPrepared(len(samples))

    def detect_language(self, prepared: ToyPrepared, threads: int) -> str:
        return self.languages[0]

    def check(self, instruction: Instruction) -> Instruction:
        if instruction.language not in (None, *self.languages) or instruction.task not in self.tasks:
            raise UnsupportedError("not a thing of toys")
        return instruction

    def open(self, prepared: ToyPrepared, instruction: Instruction, threads: int) -> ToyDecoder:
        self.on_open()
        self.on_instruction(instruction)
        return ToyDecoder(self.step, self.capacity)

    def output_limit(self, prepared: ToyPrepared, instruction: Instruction) -> int:
        return self.limit
