"""What every audio model offers, whatever its family and engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from as2d.records import Instruction, Task


class Rows(NamedTuple):
    """The model's answers at K consecutive positions.

    `greedy[i]` is the next token after position i under the model's own logit rules, which are pure functions of the
    prefix; `probability[i]` is that token's probability. A target's probabilities are not computed: nothing reads
    them, and they cost as much as the choice; `probability` is then empty.
    """

    greedy: tuple[int, ...]
    probability: tuple[float, ...]


class Decoder(Protocol):
    """One model's text state over one prepared audio."""

    @property
    def root(self) -> int:
        """The last prompt token: opened, not yet forwarded."""

    @property
    def length(self) -> int:
        """Positions held in the cache."""

    @property
    def capacity(self) -> int:
        """The most positions that the cache can hold."""

    def forward(self, tokens: Sequence[int]) -> Rows:
        """Append K positions and return K rows. K ≥ 1 and `length + K ≤ capacity`, else InputError."""

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Append K positions like `forward`, and return the raw rows [K, n] that it chooses from.

        For the exactness probe; the array may be overwritten by the next call.
        """

    def truncate(self, length: int) -> None:
        """Forget every position from `length` on, without copying."""

    def use_threads(self, threads: int) -> None:
        """Compute the next rows on that many cores, one of the counts that the model was loaded with."""


class Vocabulary(Protocol):
    """Text to tokens and back, of one model."""

    @property
    def size(self) -> int:
        """How many ids there are; every id is below it."""

    @property
    def weak_tokens(self) -> frozenset[int]:
        """Tokens without a letter or digit, on which alone no alignment rests."""

    @property
    def word_starts(self) -> frozenset[int]:
        """Tokens that begin with a space."""

    def encode(self, text: str) -> tuple[int, ...]:
        """Tokens of `text`, without any special token."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of `tokens`; special tokens give no text, incomplete UTF-8 gives U+FFFD."""

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token stands for; empty for a special token."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can be asked for; anything else is refused.

    `translates_to` are the languages of its translations, the usual one first; `context` says whether it takes any;
    `longest_s` seconds of audio are one request, what is longer is cut.
    """

    languages: tuple[str, ...]
    tasks: tuple[Task, ...]
    detects_language: bool
    translates_to: tuple[str, ...] = ()
    context: bool = False
    longest_s: float = 30.0


class AudioModel(Protocol):
    """A model that turns audio and an instruction into text, token by token."""

    @property
    def name(self) -> str:
        """What messages call the model."""

    @property
    def identity(self) -> str:
        """Tells apart what computes differently: weights, precision and form of the decoder."""

    @property
    def capabilities(self) -> Capabilities:
        """What the model can be asked for."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""

    @property
    def end_ids(self) -> frozenset[int]:
        """All tokens that end the text."""

    def prepare(self, samples: NDArray[np.float32], threads: int) -> Any:
        """Encode one window of mono audio at 16 kHz."""

    def detect_language(self, prepared: Any, threads: int) -> str | None:
        """The most probable language of the prepared audio; None from a model that needs not know and does not say."""

    def check(self, instruction: Instruction) -> Instruction:
        """The instruction in the model's own terms; UnsupportedError for a language or task that it lacks."""

    def open(self, prepared: Any, instruction: Instruction, threads: int) -> Decoder:
        """A decoder whose cache holds all but the last prompt token, which is its `root`."""

    def output_limit(self, prepared: Any, instruction: Instruction) -> int:
        """The most useful tokens that the prepared audio can plausibly hold."""


@runtime_checkable
class SharesEncoder(Protocol):
    """A drafter that needs no encoder of its own: it works on what its target has prepared."""

    def share(self, prepared: Any) -> Any:
        """What this model opens decoders on, made of the target's prepared audio, which it leaves unchanged."""


@runtime_checkable
class Storable(Protocol):
    """A model whose prepared audio can be kept as arrays, in a file for example."""

    def pack(self, prepared: Any) -> Mapping[str, NDArray[np.generic]]:
        """What `unpack` needs, by name; what it can compute quickly is left out."""

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], samples: int, threads: int) -> Any:
        """The prepared audio of `samples` samples. InputError for arrays that are not of this model."""


@runtime_checkable
class ReadsContext(Protocol):
    """A model whose prompt has words of the instruction before the audio: what it has prepared is good for those alone.

    A model that is none of these prepares audio for every instruction.
    """

    def prefix(self, instruction: Instruction) -> str:
        """The words before the audio. They do not depend on the language, which may not be known yet."""

    def prepare_after(self, prefix: str, samples: NDArray[np.float32], threads: int) -> Any:
        """Like `prepare`, which is the same after the empty prefix."""


def prefix_of(model: AudioModel, instruction: Instruction) -> str:
    """What of the instruction the model's prepared audio depends on."""
    return model.prefix(instruction) if isinstance(model, ReadsContext) else ""


def prepare_for(
    model: AudioModel, instruction: Instruction, samples: NDArray[np.float32], threads: int
) -> Any:
    """Encode one window of mono audio at 16 kHz so that `open` accepts it with the instruction."""
    if isinstance(model, ReadsContext):
        return model.prepare_after(model.prefix(instruction), samples, threads)
    return model.prepare(samples, threads)
