"""Whisper's text state over one prepared audio: caches that grow by writing and shrink by forgetting."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from as2d.engines.onnxruntime import Binding, Graph
from as2d.errors import InputError
from as2d.models.contract import Rows
from as2d.models.whisper.embedding import Embedding
from as2d.models.whisper.graph import HEAD_DIM, MAX_ROWS
from as2d.models.whisper.rules import Head

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DecoderGraph:
    """The decoder's graph and sizes. `even_rows` pads odd calls to an even width, which row invariance needs:
    onnxruntime computes one row with other kernels than several."""

    graph: Graph
    embedding: Embedding
    layers: int
    heads: int
    text_ctx: int
    head: Head
    even_rows: bool


@dataclass(frozen=True, slots=True)
class CrossAttention:
    """For each decoder layer the keys [H, A, 64] and values [H, 65, A] of one audio; read only, shared freely."""

    keys: tuple[Float32, ...]
    values: tuple[Float32, ...]


class WhisperDecoder:
    """Implements `Decoder`. Forwarding appends to preallocated caches, truncating only sets the length.

    One decoder belongs to one thread; several may share a CrossAttention.
    """

    def __init__(
        self, spec: DecoderGraph, cross: CrossAttention, prompt: Sequence[int], threads: int
    ) -> None:
        self._spec = spec
        self._cross = cross
        self._begin = len(prompt) - 1
        self._length = 0
        rows = spec.text_ctx + MAX_ROWS
        shape = (2, spec.layers, rows, spec.heads, HEAD_DIM)
        self._memory = np.empty(shape, np.float32)
        self._caches = [
            (f"past_{kind}{layer}", f"new_{kind}{layer}", self._memory[index, layer].ctypes.data)
            for index, kind in enumerate("kv")
            for layer in range(spec.layers)
        ]
        self._logits = np.empty((MAX_ROWS, len(spec.head.ids)), np.float32)
        self._embedded, self._hidden = np.zeros((2, MAX_ROWS, spec.heads * HEAD_DIM), np.float32)
        self._future = np.triu(np.full((MAX_ROWS, MAX_ROWS), -np.inf, np.float32), 1)
        self._bindings: dict[int, Binding] = {}
        self.use_threads(threads)
        self.root = prompt[-1]
        if self._begin:
            self.scores(prompt[:-1])

    @property
    def length(self) -> int:
        """Positions held in the cache."""
        return self._length

    @property
    def capacity(self) -> int:
        """The model's text context in positions."""
        return self._spec.text_ctx

    def use_threads(self, threads: int) -> None:
        """Compute the next rows on that many cores; the first use of a count loads its session."""
        if threads not in self._bindings:
            self._bindings[threads] = self._bind(threads)
        self._binding = self._bindings[threads]

    def truncate(self, length: int) -> None:
        """Forget every position from `length` on. InputError when the cache is shorter."""
        if not 0 <= length <= self._length:
            raise InputError(f"cannot truncate a cache of {self._length} positions to {length}")
        self._length = length

    def forward(self, tokens: Sequence[int]) -> Rows:
        """Append K positions; the greedy token and its probability at each. See `Decoder`."""
        rows = [self._pick(chunk) for chunk in self._chunks(tokens)]
        if len(rows) == 1:
            return rows[0]
        return Rows(*(tuple(chain.from_iterable(column)) for column in zip(*rows, strict=True)))

    def scores(self, tokens: Sequence[int]) -> Float32:
        """Append K positions and return their logits [K, columns of the head] before any rule.

        The array may be overwritten by the next call.
        """
        chunks = self._chunks(tokens)
        if len(chunks) == 1:
            return self._call(tokens)
        return np.concatenate([self._call(chunk).copy() for chunk in chunks])

    def hidden(self, tokens: Sequence[int]) -> Float32:
        """Append K positions and return their final states [K, D], which only a low-rank head lets out."""
        return np.concatenate([self._states(chunk) for chunk in self._chunks(tokens)])

    def _states(self, tokens: Sequence[int]) -> Float32:
        self._call(tokens)
        return self._hidden[: len(tokens)].copy()

    def _chunks(self, tokens: Sequence[int]) -> list[Sequence[int]]:
        """The tokens of each graph call. InputError when they do not fit the context."""
        if not tokens or self._length + len(tokens) > self.capacity:
            raise InputError(
                f"{self._length} + {len(tokens)} positions do not fit a context of {self.capacity}"
            )
        return [tokens[i : i + MAX_ROWS] for i in range(0, len(tokens), MAX_ROWS)]

    def _pick(self, tokens: Sequence[int]) -> Rows:
        first_row = self._begin - self._length
        logits = self._call(tokens)
        hidden = None if self._spec.head.projection is None else self._hidden[: len(tokens)]
        return self._spec.head.pick(logits, first_row, hidden)

    def _bind(self, threads: int) -> Binding:
        binding = self._spec.graph.bind(threads)
        for layer in range(self._spec.layers):
            binding.input(f"cross_k{layer}", self._cross.keys[layer])
            binding.input(f"cross_v{layer}", self._cross.values[layer])
        return binding

    def _call(self, tokens: Sequence[int]) -> Float32:
        """One graph call of at most MAX_ROWS rows; a padding row is computed and forgotten."""
        count = len(tokens)
        rows = count + count % 2 if self._spec.even_rows else count
        start, end = self._length, self._length + rows
        self._embedded[:count] = self._spec.embedding.rows(tokens, start)
        self._embedded[count:rows] = 0
        mask = np.zeros((rows, end), np.float32)
        mask[:, start:] = self._future[:rows, :rows]
        self._binding.input("embedded", self._embedded[:rows])
        self._binding.input("mask", mask)
        self._binding.output("logits", self._logits[:rows])
        if self._spec.head.projection is not None:
            self._binding.output("hidden", self._hidden[:rows])
        for past, new, address in self._caches:
            self._binding.cache(past, new, address, (start, rows), (self._spec.heads, HEAD_DIM))
        self._binding.run()
        self._length += count
        return self._logits[:count]
