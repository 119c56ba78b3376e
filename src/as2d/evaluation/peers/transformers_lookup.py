"""transformers' assisted generation (PyTorch), with prompt lookup.

Of the three assistants that transformers has for Whisper, prompt lookup is the one that pays least badly. A smaller
Whisper with another vocabulary (universal assisted generation) drafts and verifies correctly, but each round is a whole
`generate` call of the assistant, whose encoder also runs inside the clock: several times slower than no assistant.
Early exit does not run: it takes the encoder's output for features.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from as2d.evaluation.peers.contract import PeerModel
from as2d.evaluation.peers.weights import TRANSFORMERS, named_tensors
from as2d.extras import import_optional
from as2d.models.whisper.formats import suppression_lists
from as2d.models.whisper.prompt import suppression
from as2d.records import Instruction

Float32 = NDArray[np.float32]

LOOKED_UP = 5
"""Tokens that are proposed after a pair of tokens that occurred before."""


class TransformersLookup:
    """transformers' Whisper in float32, greedy, without timestamps, assisted by prompt lookup.

    Calls the generation loop below Whisper's own `generate`, which would cut the audio to windows again.
    """

    name = "transformers prompt-lookup"

    def __init__(self, model: PeerModel, threads: int) -> None:
        self._torch = import_optional("torch", "peers")
        self._library = import_optional("transformers", "peers")
        self._model = model
        self._threads = threads
        self._whisper = self._load()
        self._rules = self._suppressed()

    def prepare(self, samples: Float32) -> Any:
        """One window encoded."""
        self._torch.set_num_threads(self._threads)
        with self._torch.inference_mode():
            features = self._torch.from_numpy(self._model.features(samples))
            return self._whisper.model.encoder(features)

    def decode(self, prepared: Any, instruction: Instruction, limit: int) -> tuple[int, ...]:
        """The useful tokens, at most `limit`."""
        self._torch.set_num_threads(self._threads)
        prompt = self._model.prompt(instruction)
        with self._torch.inference_mode():
            (tokens,) = self._library.GenerationMixin.generate(
                self._whisper,
                encoder_outputs=prepared,
                decoder_input_ids=self._torch.tensor([prompt]),
                generation_config=self._generation(limit),
            ).tolist()
        end = self._model.vocabulary.eot
        return tuple(token for token in tokens[len(prompt) :] if token != end)

    def _generation(self, limit: int) -> Any:
        return self._library.GenerationConfig(
            do_sample=False,
            num_beams=1,
            max_new_tokens=limit,
            prompt_lookup_num_tokens=LOOKED_UP,
            **self._special_tokens(),
            **self._rules,
        )

    def _suppressed(self) -> dict[str, list[int]]:
        rules = suppression(suppression_lists(self._model.files), self._model.vocabulary)
        return {"suppress_tokens": sorted(rules.always), "begin_suppress_tokens": sorted(rules.begin)}

    def _special_tokens(self) -> dict[str, int]:
        vocabulary = self._model.vocabulary
        ends = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), vocabulary.eot)
        return {**ends, "decoder_start_token_id": vocabulary.sot}

    def _load(self) -> Any:
        tensors = named_tensors(self._torch, self._model.weights, TRANSFORMERS)
        tensors["proj_out.weight"] = tensors["model.decoder.embed_tokens.weight"]
        whisper = self._library.WhisperForConditionalGeneration(self._configuration())
        whisper.load_state_dict(tensors, strict=True)
        return whisper.eval()

    def _configuration(self) -> Any:
        config = self._model.weights.config
        return self._library.WhisperConfig(
            vocab_size=config.vocab,
            num_mel_bins=config.n_mels,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.ffn,
            decoder_ffn_dim=config.ffn,
            max_source_positions=config.audio_ctx,
            max_target_positions=config.text_ctx,
            **self._special_tokens(),
        )
