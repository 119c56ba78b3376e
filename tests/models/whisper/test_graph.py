"""The decoder's graph against Whisper written down plainly in numpy."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.audio import open_audio
from as2d.models.store import resolve
from as2d.models.whisper.checkpoint import DecoderWeights, LayerNorm, Linear
from as2d.models.whisper.formats import read_weights
from as2d.models.whisper.graph import HEAD_DIM
from as2d.models.whisper.model import WhisperModel, load_whisper
from as2d.records import Instruction

Float32 = NDArray[np.float32]
ENGLISH = Instruction("transcribe", "en")


def linear(x: Float32, layer: Linear) -> Float32:
    return np.asarray(x @ layer.weight.T + layer.bias, np.float32)


def norm(x: Float32, layer: LayerNorm) -> Float32:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(variance + np.float32(1e-5))
    return np.asarray(scaled * layer.gamma + layer.beta, np.float32)


def gelu(x: Float32) -> Float32:
    erf = np.vectorize(math.erf, otypes=[np.float32])
    return np.asarray(x * (1 + erf(x / math.sqrt(2))) / 2, np.float32)


def attend(q: Float32, k: Float32, v: Float32, *, causal: bool) -> Float32:
    """Softmax attention of q [n, d] over k and v [m, d], a head of 64 columns after the other."""
    out = np.empty_like(q)
    for first in range(0, q.shape[1], HEAD_DIM):
        head = slice(first, first + HEAD_DIM)
        scores = q[:, head] @ k[:, head].T / np.float32(math.sqrt(HEAD_DIM))
        if causal:
            scores[np.triu_indices(len(scores), 1)] = -np.inf
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, head] = powers / powers.sum(axis=1, keepdims=True) @ v[:, head]
    return out


def plain_decoder(weights: DecoderWeights, states: Float32, tokens: list[int]) -> Float32:
    """Logits [n, vocabulary] of all tokens at once, without a cache."""
    x = weights.token_embedding[tokens] + weights.position[: len(tokens)]
    for layer in weights.layers:
        q, k, v = np.split(linear(norm(x, layer.self_norm), layer.qkv), 3, axis=1)
        x = x + linear(attend(q, k, v, causal=True), layer.self_out)
        k, v = np.split(linear(states, layer.cross_kv), 2, axis=1)
        q = linear(norm(x, layer.cross_norm), layer.cross_q)
        x = x + linear(attend(q, k, v, causal=False), layer.cross_out)
        x = x + linear(gelu(linear(norm(x, layer.ffn_norm), layer.fc1)), layer.fc2)
    return norm(x, weights.norm) @ weights.token_embedding.T


@pytest.fixture(scope="module")
def float32() -> WhisperModel:
    return load_whisper("whisper-base", "fp32")


@pytest.fixture(scope="module")
def samples(clips: dict[str, Path]) -> Float32:
    return np.concatenate(list(open_audio(clips["jfk"])))


def test_the_float32_graph_computes_what_plain_numpy_computes(
    float32: WhisperModel, samples: Float32
) -> None:
    prepared = float32.prepare(samples, 2)
    text = list(float32.vocabulary.encode(" And so my fellow Americans, ask not"))
    weights = read_weights(resolve("whisper-base"))
    prompt = list(float32._prompt(ENGLISH))
    expected = plain_decoder(weights.decoder, prepared.states, [*prompt, *text])
    decoder = float32.open(prepared, ENGLISH, 1)
    rows = decoder.scores([decoder.root, *text])
    np.testing.assert_allclose(rows, expected[len(prompt) - 1 :, float32._decoder.head.ids], atol=1e-3)


def test_eight_bits_stay_close_to_float32(
    base: WhisperModel, float32: WhisperModel, samples: Float32
) -> None:
    prepared = base.prepare(samples, 2)
    text = base.vocabulary.encode(" And so my fellow Americans, ask not what your country can do for you,")
    rows, expected = (
        (decoder := model.open(prepared, ENGLISH, 1)).scores([decoder.root, *text]).copy()
        for model in (base, float32)
    )
    assert np.abs(rows - expected).max() < 2
    assert np.abs(rows - expected).mean() < 0.3
    assert (rows.argmax(axis=1) == expected.argmax(axis=1)).all()
