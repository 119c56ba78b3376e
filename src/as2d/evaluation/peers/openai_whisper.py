"""openai-whisper (PyTorch)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from as2d.evaluation.peers.contract import PeerModel
from as2d.evaluation.peers.weights import OPENAI, named_tensors
from as2d.extras import import_optional
from as2d.models.whisper.checkpoint import WhisperConfig
from as2d.records import Instruction

Float32 = NDArray[np.float32]


class OpenaiWhisper:
    """openai-whisper in float32, greedy, without timestamps or fallback."""

    name = "openai-whisper"

    def __init__(self, model: PeerModel, threads: int) -> None:
        self._torch = import_optional("torch", "peers")
        self._library = import_optional("whisper", "peers")
        self._model = model
        self._threads = threads
        self._whisper = self._load()

    def prepare(self, samples: Float32) -> Any:
        """One window encoded."""
        self._torch.set_num_threads(self._threads)
        with self._torch.inference_mode():
            return self._whisper.embed_audio(self._torch.from_numpy(self._model.features(samples)))

    def decode(self, prepared: Any, instruction: Instruction, limit: int) -> tuple[int, ...]:
        """The useful tokens, at most `limit`."""
        self._torch.set_num_threads(self._threads)
        options = self._library.DecodingOptions(
            task=instruction.task,
            language=instruction.language,
            temperature=0.0,
            sample_len=limit,
            without_timestamps=True,
            fp16=False,
        )
        (result,) = self._library.decode(self._whisper, prepared, options)
        return tuple(result.tokens)

    def _load(self) -> Any:
        weights, parts = self._model.weights, self._library.model
        whisper = parts.Whisper(parts.ModelDimensions(**_dimensions(weights.config)))
        whisper.load_state_dict(named_tensors(self._torch, weights, OPENAI), strict=True)
        return whisper.eval()


def _dimensions(config: WhisperConfig) -> dict[str, int]:
    """The sizes under openai-whisper's names."""
    return {
        "n_mels": config.n_mels,
        "n_vocab": config.vocab,
        "n_audio_ctx": config.audio_ctx,
        "n_audio_state": config.d_model,
        "n_audio_head": config.heads,
        "n_audio_layer": config.encoder_layers,
        "n_text_ctx": config.text_ctx,
        "n_text_state": config.d_model,
        "n_text_head": config.heads,
        "n_text_layer": config.decoder_layers,
    }
