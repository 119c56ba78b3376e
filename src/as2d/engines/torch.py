"""Causal language models of transformers on torch: rows that do not depend on a call's width, caches that forget.

A row has the same bits whatever else is in its call because every call has the same shapes: the cache is read at its
whole, fixed length, what is not to be seen is masked to exact zeros, and the width is padded to a multiple of
ROWS_STEP (docs/audio-models.md says what was measured).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from as2d.errors import InputError, UnsupportedError

Float32 = NDArray[np.float32]

ROWS_STEP = 4
"""Widths are padded to a multiple of it. 1 and 2 rows are computed with other kernels than 4 and more."""
MAX_ROWS = 32
"""The most rows of one call; longer ones are cut."""
_PREFILL_ROWS = 256
"""Rows of a call that needs no row invariance, since a prefix is always computed in the same pieces."""


class KeyValues:
    """The keys and values [1, heads, length, dim] of all layers, in buffers of a fixed length.

    What transformers' attention modules take for a cache: they call `update`. Rows from `start` on are written, and
    the first `read` positions are seen.
    """

    is_sliding = is_linear = is_dummy = (False,)  # which transformers asks where it could make masks

    def __init__(self, length: int) -> None:
        self.length = length
        self.start = 0
        self.read = length
        self._layers: list[tuple[torch.Tensor, torch.Tensor]] = []

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new rows of one layer, and give all that may be seen."""
        if layer == len(self._layers):
            self._layers.append((self._zeros(keys), self._zeros(values)))
        end = self.start + keys.shape[2]
        buffers = self._layers[layer]
        for buffer, new in zip(buffers, (keys, values), strict=True):
            buffer[:, :, self.start : end] = new
        return buffers[0][:, :, : self.read], buffers[1][:, :, : self.read]

    def get_seq_length(self, layer: int = 0) -> int:  # noqa: ARG002 (all layers have the same)
        """Positions before the new rows."""
        return self.start

    def copied(self, length: int, into: int) -> "KeyValues":
        """The first `length` positions, in new buffers of `into` positions."""
        copy = KeyValues(into)
        for buffers in self._layers:
            new = (copy._zeros(buffers[0]), copy._zeros(buffers[1]))
            for target, source in zip(new, buffers, strict=True):
                target[:, :, :length] = source[:, :, :length]
            copy._layers.append(new)
        return copy

    def _zeros(self, like: torch.Tensor) -> torch.Tensor:
        """Zeros, since masked positions are multiplied by 0 and must be finite."""
        batch, heads, _, dim = like.shape
        return like.new_zeros((batch, heads, self.length, dim))


class CausalModel:
    """A language model of transformers: `body` is its text model, and `head` makes logits of final states."""

    def __init__(self, body: Any, head: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.body = body
        self.head = head
        self.device: torch.device = body.device
        self.dtype: torch.dtype = body.dtype
        self.longest = int(body.config.max_position_embeddings)
        self.kinds = frozenset(getattr(body.config, "layer_types", None) or ("full_attention",))
        self.window = getattr(body.config, "sliding_window", None)

    @torch.inference_mode()
    def embed(self, tokens: Sequence[int]) -> torch.Tensor:
        """The embeddings [K, D] of tokens."""
        ids = torch.tensor(list(tokens), dtype=torch.long, device=self.device)
        embedded: torch.Tensor = self.body.get_input_embeddings()(ids)
        return embedded

    def states(self, embedded: torch.Tensor, cache: KeyValues) -> torch.Tensor:
        """The final states [K, D] of K embedded rows behind the cache's start."""
        positions = torch.arange(cache.start, cache.start + len(embedded), device=self.device)
        output = self.body(
            inputs_embeds=embedded[None],
            attention_mask=self._masks(positions, cache.read),
            position_ids=positions[None],
            cache=cache,
            use_cache=True,
        )
        states: torch.Tensor = output.last_hidden_state[0]
        return states

    def _masks(self, positions: torch.Tensor, read: int) -> Any:
        """What each row may not see, for all kinds of layers that the model has: a mask, or one by kind."""
        if self.kinds == {"full_attention"}:
            return self._mask(positions, read, None)
        return {
            kind: self._mask(positions, read, self.window if kind == "sliding_attention" else None)
            for kind in self.kinds
        }

    def _mask(self, positions: torch.Tensor, read: int, window: int | None) -> torch.Tensor:
        """0 for what a row sees, -inf for the rest, [1, 1, K, read]."""
        behind = positions[:, None] - torch.arange(read, device=self.device)
        unseen = behind < 0 if window is None else (behind < 0) | (behind >= window)
        mask = torch.zeros(unseen.shape, dtype=self.dtype, device=self.device)
        return mask.masked_fill_(unseen, float("-inf"))[None, None]


class TextState:
    """What one decoder holds: a cache that grows by writing and shrinks by forgetting. It belongs to one thread."""

    def __init__(self, model: CausalModel, cache: KeyValues, length: int, threads: int) -> None:
        """The first `length` positions of the cache are filled. InputError when the model has fewer than it holds."""
        if cache.length > model.longest + MAX_ROWS:
            raise InputError(
                f"{cache.length - MAX_ROWS} positions do not fit the model's context of {model.longest}; use shorter "
                "audio, a shorter context or a shorter question"
            )
        self._model = model
        self._cache = cache
        self._threads = threads
        self.length = length

    @property
    def capacity(self) -> int:
        """The most positions that the cache can hold; the rest of its buffers is for padding."""
        return self._cache.length - MAX_ROWS

    def use_threads(self, threads: int) -> None:
        """Compute the next rows on that many cores."""
        self._threads = threads

    def truncate(self, length: int) -> None:
        """Forget every position from `length` on. InputError when the cache is shorter."""
        if not 0 <= length <= self.length:
            raise InputError(f"cannot truncate a cache of {self.length} positions to {length}")
        self.length = length

    @torch.inference_mode()
    def prefill(self, embedded: torch.Tensor) -> None:
        """Append embedded rows [P, D] without asking what comes next."""
        self._require_room(len(embedded))
        use_threads(self._threads)
        for rows in torch.split(embedded, _PREFILL_ROWS):
            self._cache.start, self._cache.read = self.length, self.length + len(rows)
            self._model.states(rows, self._cache)
            self.length += len(rows)

    @torch.inference_mode()
    def logits(self, tokens: Sequence[int]) -> Float32:
        """Append K positions and return their logits [K, n]. InputError when they do not fit."""
        self._require_room(len(tokens))
        use_threads(self._threads)
        calls = [self._call(tokens[i : i + MAX_ROWS]) for i in range(0, len(tokens), MAX_ROWS)]
        return calls[0] if len(calls) == 1 else np.concatenate(calls)

    def kept(self) -> KeyValues:
        """All that is held, in buffers that are no longer than that."""
        return self._cache.copied(self.length, self.length)

    def _call(self, tokens: Sequence[int]) -> Float32:
        padding = -len(tokens) % ROWS_STEP
        self._cache.start, self._cache.read = self.length, self._cache.length
        embedded = self._model.embed([*tokens, *[0] * padding])
        logits = self._model.head(self._model.states(embedded, self._cache))
        self.length += len(tokens)
        rows: Float32 = logits[: len(tokens)].float().cpu().numpy()
        return rows

    def _require_room(self, rows: int) -> None:
        if rows < 1 or self.length + rows > self.capacity:
            raise InputError(f"{self.length} + {rows} positions do not fit a cache of {self.capacity}")


def opened(model: CausalModel, beginning: KeyValues, capacity: int, threads: int) -> TextState:
    """A state that begins with a copy of what is kept, and can hold `capacity` positions."""
    cache = beginning.copied(beginning.length, capacity + MAX_ROWS)
    return TextState(model, cache, beginning.length, threads)


def empty(model: CausalModel, capacity: int, threads: int) -> TextState:
    """A state that holds nothing and can hold `capacity` positions."""
    return TextState(model, KeyValues(capacity + MAX_ROWS), 0, threads)


def use_threads(threads: int) -> None:
    """Compute on that many cores in the calling thread.

    torch counts the threads of its own loops for each calling thread, but those of the matrix library for the whole
    process: the last caller decides. That costs speed at most, since the rows do not depend on it.
    """
    torch.set_num_threads(threads)


def device_of(name: str) -> torch.device:
    """The device of that name, cpu or cuda. UnsupportedError where this machine, or this torch, has none."""
    if name == "cuda" and not torch.cuda.is_available():
        raise UnsupportedError(
            "torch finds no CUDA device here; use the device cpu, or install a CUDA build of torch and the driver"
        )
    return torch.device(name)
