"""Whisper's weights under other names."""

import numpy as np
import pytest

from as2d.evaluation.peers.weights import OPENAI, TRANSFORMERS, Names, named_weights
from as2d.models.store import resolve
from as2d.models.whisper.checkpoint import WhisperWeights
from as2d.models.whisper.formats import read_weights


@pytest.fixture(scope="module")
def weights() -> WhisperWeights:
    return read_weights(resolve("whisper-tiny.en"))


@pytest.mark.parametrize("names", [OPENAI, TRANSFORMERS])
def test_every_weight_has_one_name(weights: WhisperWeights, names: Names) -> None:
    config = weights.config
    d, ffn = config.d_model, config.ffn
    attention, norm, feed_forward = 4 * d * d + 3 * d, 2 * d, 2 * d * ffn + ffn + d
    encoder = config.encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.decoder_layers * (2 * attention + feed_forward + 3 * norm)
    ends = 3 * d * config.n_mels + d + 3 * d * d + d + 2 * norm
    embeddings = (config.audio_ctx + config.text_ctx + config.vocab) * d
    named = named_weights(weights, names)
    assert sum(array.size for array in named.values()) == encoder + decoder + ends + embeddings


def test_joint_projections_are_split(weights: WhisperWeights) -> None:
    named = named_weights(weights, TRANSFORMERS)
    prefix = "model.decoder.layers.2"
    parts = [named[f"{prefix}.self_attn.{part}_proj.weight"] for part in "qkv"]
    np.testing.assert_array_equal(np.concatenate(parts), weights.decoder.layers[2].qkv.weight)
    bias = named[f"{prefix}.encoder_attn.v_proj.bias"]
    np.testing.assert_array_equal(bias, weights.decoder.layers[2].cross_kv.bias[-len(bias) :])


@pytest.mark.parametrize("names", [OPENAI, TRANSFORMERS])
def test_keys_have_no_bias(weights: WhisperWeights, names: Names) -> None:
    named = named_weights(weights, names)
    keys = [name for name in named if f".{names.attention.key}." in name]
    assert len(keys) == weights.config.encoder_layers + 2 * weights.config.decoder_layers
    assert all(name.endswith(".weight") for name in keys)
