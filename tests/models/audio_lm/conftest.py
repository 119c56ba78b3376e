"""Small models of every family with random weights, saved in the hub's layout by transformers itself."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE

try:
    import torch
    import transformers
except ImportError:  # the extra torch is not installed
    collect_ignore_glob = ["test_*.py"]

_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_TEXT = (
    "language English language Chinese transcribe the audio into text. You are a helpful assistant. system user what "
    "was decided in the end? Listen to the provided speech and produce a translation in German text. the people of "
    "the town decided that they were there"
)
_QWEN3_ASR_TEMPLATE = (
    "<|im_start|>system\n{% for m in messages %}{% if m.role == 'system' %}{% for part in m.content %}"
    "{{ part.text }}{% endfor %}{% endif %}{% endfor %}<|im_end|>\n"
    "{% for m in messages %}{% if m.role == 'user' %}"
    "<|im_start|>user\n<|audio_start|><|audio_pad|><|audio_end|><|im_end|>\n"
    "{% elif m.role == 'assistant' %}<|im_start|>assistant\n{% for part in m.content %}{{ part.text }}{% endfor %}"
    "<|im_end|>\n{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_OMNI_TEMPLATE = (
    "{% for m in messages %}{% if loop.first and m.role != 'system' %}"
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}<|im_start|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}"
    "{% if part.type == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>{% else %}{{ part.text }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

Float32 = NDArray[np.float32]


@dataclass(frozen=True)
class Reference:
    """A small model as transformers has it: `inputs(samples, words…)` gives what its own `generate` takes."""

    model: Any
    tokenizer: Any
    inputs: Callable[..., Mapping[str, Any]]

    def generate(self, inputs: Mapping[str, Any], count: int) -> list[int]:
        """Greedy tokens behind the prompt, with the end."""
        given = {**inputs, "attention_mask": torch.ones_like(inputs["input_ids"])}
        with torch.inference_mode():
            said = self.model.generate(**given, max_new_tokens=count, do_sample=False)
        tokens: list[int] = said[0, inputs["input_ids"].shape[1] :].tolist()
        return tokens


def _tokenizer(specials: Mapping[str, str], ends: Sequence[str], plain: Sequence[str] = ()) -> Any:
    """A byte-level tokenizer of a few hundred pieces with a family's special tokens."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(_SPLIT), "isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([_TEXT] * 3, trainer)
    tokenizer.add_special_tokens(list(dict.fromkeys([*ends, *specials.values()])))
    tokenizer.add_tokens(list(plain))
    named = {name: token for name, token in specials.items() if name.endswith("_token")}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=ends[-1], pad_token=ends[0], extra_special_tokens=named
    )


def _spread(model: Any, seed: int) -> Any:
    """Weights that give many distinct tokens: layers that weigh more than the last token, and sharp attention."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                scale = 0.1 if "embed" in name or "lm_head" in name else 0.25
                weight.normal_(0, scale, generator=generator)
            if "language_model" in name and ("q_norm" in name or "q_proj.weight" in name):
                weight.mul_(3)
    return model.eval()


_TEXT_SIZES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
_AUDIO_SIZES = {
    "num_mel_bins": 128,
    "encoder_layers": 2,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "d_model": 64,
}


def _qwen3_asr(folder: Path, seed: int) -> Reference:
    marks = {"audio_token": "<|audio_pad|>", "audio_bos_token": "<|audio_start|>"}
    marks |= {"audio_eos_token": "<|audio_end|>", "start": "<|im_start|>"}
    tokenizer = _tokenizer(marks, ["<|endoftext|>", "<|im_end|>"], ["<asr_text>"])
    ids = tokenizer.convert_tokens_to_ids
    config = transformers.Qwen3ASRConfig(
        audio_config={
            **_AUDIO_SIZES,
            "model_type": "qwen3_asr_encoder",
            "output_dim": 64,
            "downsample_hidden_size": 16,
        },
        text_config={
            **_TEXT_SIZES,
            "model_type": "qwen3",
            "head_dim": 16,
            "vocab_size": len(tokenizer) + 13,
            "max_position_embeddings": 4096,
            "tie_word_embeddings": True,
        },
        audio_token_id=ids("<|audio_pad|>"),
        timestamp_token_id=0,
        pad_token_id=ids("<|endoftext|>"),
        eos_token_id=[ids("<|endoftext|>"), ids("<|im_end|>")],
        tie_word_embeddings=True,
    )
    model = _spread(transformers.Qwen3ASRForConditionalGeneration(config), seed)
    extractor = transformers.Qwen3ASRFeatureExtractor()
    processor = transformers.Qwen3ASRProcessor(extractor, tokenizer, chat_template=_QWEN3_ASR_TEMPLATE)
    processor.save_pretrained(folder)
    model.save_pretrained(folder)

    def inputs(samples: Float32, language: str | None, context: str = "") -> Mapping[str, Any]:
        return dict(processor.apply_transcription_request(samples, language=language, prompt=context))

    return Reference(model, tokenizer, inputs)


_QWEN2_MARKS = {
    "audio_token": "<|AUDIO|>",
    "audio_bos_token": "<|audio_bos|>",
    "audio_eos_token": "<|audio_eos|>",
    "start": "<|im_start|>",
}


def _qwen2_5_omni(folder: Path, seed: int) -> Reference:
    tokenizer = _tokenizer(_QWEN2_MARKS, ["<|endoftext|>", "<|im_end|>"])
    ids = tokenizer.convert_tokens_to_ids
    config = transformers.Qwen2_5OmniThinkerConfig(
        audio_config={**_AUDIO_SIZES, "output_dim": 64},
        vision_config={
            "depth": 1,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_heads": 2,
            "out_hidden_size": 64,
        },
        text_config={
            **_TEXT_SIZES,
            "vocab_size": len(tokenizer) + 13,
            "max_position_embeddings": 16_384,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]},
        },
        audio_token_index=ids("<|AUDIO|>"),
        image_token_index=len(tokenizer),
        video_token_index=len(tokenizer) + 1,
        audio_start_token_id=ids("<|audio_bos|>"),
        vision_start_token_id=len(tokenizer) + 2,
        audio_end_token_id=ids("<|audio_eos|>"),
        pad_token_id=ids("<|endoftext|>"),
        eos_token_id=[ids("<|endoftext|>"), ids("<|im_end|>")],
    )
    model = _spread(transformers.Qwen2_5OmniThinkerForConditionalGeneration(config), seed)
    extractor = transformers.WhisperFeatureExtractor(feature_size=128, chunk_length=300)
    tokenizer.chat_template = _OMNI_TEMPLATE
    for part in (tokenizer, extractor, model):
        part.save_pretrained(folder)

    def inputs(samples: Float32, words: str) -> Mapping[str, Any]:
        """As the processor does, which needs torchvision for its other senses."""
        from transformers.models.qwen2_5_omni import processing_qwen2_5_omni as processing

        features = extractor(
            samples,
            sampling_rate=SAMPLE_RATE,
            padding="max_length",
            return_attention_mask=True,
            return_tensors="pt",
        )
        count = int(processing._get_feat_extract_output_lengths(features["attention_mask"].sum()))
        text = tokenizer.apply_chat_template(_asked(words), tokenize=False, add_generation_prompt=True)
        expanded = text.replace("<|AUDIO|>", "<|AUDIO|>" * count)
        return {
            "input_ids": tokenizer(expanded, return_tensors="pt")["input_ids"],
            "input_features": features["input_features"],
            "feature_attention_mask": features["attention_mask"],
        }

    return Reference(model, tokenizer, inputs)


def _qwen2_audio(folder: Path, seed: int) -> Reference:
    tokenizer = _tokenizer(_QWEN2_MARKS, ["<|endoftext|>", "<|im_end|>"])
    ids = tokenizer.convert_tokens_to_ids
    config = transformers.Qwen2AudioConfig(
        audio_config={**_AUDIO_SIZES, "model_type": "qwen2_audio_encoder"},
        text_config={
            **_TEXT_SIZES,
            "model_type": "qwen2",
            "vocab_size": len(tokenizer) + 13,
            "max_position_embeddings": 2048,
        },
        audio_token_index=ids("<|AUDIO|>"),
        pad_token_id=ids("<|endoftext|>"),
        eos_token_id=[ids("<|endoftext|>"), ids("<|im_end|>")],
    )
    model = _spread(transformers.Qwen2AudioForConditionalGeneration(config), seed)
    processor = transformers.Qwen2AudioProcessor(
        transformers.WhisperFeatureExtractor(feature_size=128), tokenizer
    )
    model.save_pretrained(folder)
    for part in (processor.tokenizer, processor.feature_extractor):  # as on the hub: without a template
        part.save_pretrained(folder)

    def inputs(samples: Float32, words: str) -> Mapping[str, Any]:
        text = processor.apply_chat_template(_asked(words), tokenize=False, add_generation_prompt=True)
        return dict(processor(text=text, audio=[samples], sampling_rate=SAMPLE_RATE, return_tensors="pt"))

    return Reference(model, tokenizer, inputs)


def _voxtral(folder: Path, seed: int) -> Reference:
    _save_tekken(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, mistral_format=False)
    ids = tokenizer.convert_tokens_to_ids
    config = transformers.VoxtralConfig(
        audio_config={
            "model_type": "voxtral_encoder",
            "hidden_size": 64,
            "intermediate_size": 256,  # four states of the encoder are one of the projector
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
        },
        text_config={
            **_TEXT_SIZES,
            "model_type": "llama",
            "head_dim": 16,
            "vocab_size": len(tokenizer) + 13,
            "max_position_embeddings": 4096,
        },
        audio_token_id=ids("[AUDIO]"),
    )
    model = _spread(transformers.VoxtralForConditionalGeneration(config), seed)
    model.generation_config.eos_token_id = ids("</s>")
    extractor = transformers.WhisperFeatureExtractor(feature_size=128)
    for part in (extractor, model):
        part.save_pretrained(folder)

    def inputs(samples: Float32, words: str, behind: str = "") -> Mapping[str, Any]:
        """As mistral-common does, which is not installed: text and special tokens are encoded apart."""
        count = -(-len(samples) // (30 * SAMPLE_RATE))
        padded = np.pad(samples, (0, count * 30 * SAMPLE_RATE - len(samples)))
        frames = extractor(
            padded, sampling_rate=SAMPLE_RATE, padding=False, truncation=False, return_tensors="pt"
        )["input_features"]

        def text(words: str) -> list[int]:
            encoded: list[int] = tokenizer(words, add_special_tokens=False)["input_ids"]
            return encoded

        audio = [ids("[BEGIN_AUDIO]"), *[ids("[AUDIO]")] * (375 * count)]
        tokens = [ids("<s>"), ids("[INST]"), *audio, *text(words), ids("[/INST]")]
        tokens += [*text(behind), ids("[TRANSCRIBE]")] if behind else []
        return {
            "input_ids": torch.tensor([tokens]),
            "input_features": torch.cat(frames.split(3000, dim=2)),
        }

    return Reference(model, tokenizer, inputs)


def _save_tekken(folder: Path) -> None:
    """A tokenizer in Mistral's own format."""
    trained = json.loads(_tokenizer({}, ["</s>"]).backend_tokenizer.to_str())["model"]["vocab"]
    spelled = {character: byte for byte, character in _spelling().items()}
    pieces = [bytes(map(spelled.__getitem__, piece)) for piece in sorted(trained, key=trained.__getitem__)]
    pieces = sorted(pieces, key=len)  # the bytes first
    known = {0: "<unk>", 1: "<s>", 2: "</s>", 3: "[INST]", 4: "[/INST]", 24: "[AUDIO]", 25: "[BEGIN_AUDIO]"}
    known |= {34: "[TRANSCRIBE]"}
    specials = [
        {"rank": rank, "token_str": known.get(rank, f"<SPECIAL_{rank}>"), "is_control": True}
        for rank in range(40)
    ]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(piece).decode()} for rank, piece in enumerate(pieces)
    ]
    config = {"pattern": _SPLIT, "default_vocab_size": len(pieces) + 40, "default_num_special_tokens": 40}
    content = {"config": {**config, "version": "v7"}, "special_tokens": specials, "vocab": vocab}
    (folder / "tekken.json").write_text(json.dumps(content), encoding="utf-8")


def _spelling() -> Mapping[int, str]:
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    spelling: Mapping[int, str] = bytes_to_unicode()
    return spelling


_GRANITE_TEMPLATE = (
    "{% for m in messages %}<|start_of_role|>{{ m.role }}<|end_of_role|>{{ m.content }}<|end_of_text|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}"
)


def _granite_speech(folder: Path, seed: int) -> Reference:
    marks = {"audio_token": "<|audio|>", "start": "<|start_of_role|>", "pad": "<|end_of_role|>"}
    tokenizer = _tokenizer(marks, ["<|end_of_text|>"])
    ids = tokenizer.convert_tokens_to_ids
    qformer = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    config = transformers.GraniteSpeechConfig(
        encoder_config={"num_layers": 2, "hidden_dim": 64, "num_heads": 4, "output_dim": 42},
        projector_config={**qformer, "model_type": "blip_2_qformer", "encoder_hidden_size": 64},
        text_config={
            **_TEXT_SIZES,
            "model_type": "granite",
            "vocab_size": len(tokenizer) + 13,
            "max_position_embeddings": 4096,
            "embedding_multiplier": 4.0,
            "attention_multiplier": 0.25,
        },
        audio_token_index=ids("<|audio|>"),
        has_lora_adapter=False,
    )
    model = _spread(transformers.GraniteSpeechForConditionalGeneration(config), seed)
    model.generation_config.eos_token_id = ids("<|end_of_text|>")
    tokenizer.chat_template = _GRANITE_TEMPLATE
    for part in (tokenizer, model):
        part.save_pretrained(folder)

    def inputs(samples: Float32, words: str) -> Mapping[str, Any]:
        """As the processor does, which needs torchaudio."""
        from transformers.audio_utils import mel_filter_bank, spectrogram, window_function
        from transformers.models.granite_speech.feature_extraction_granite_speech import (
            GraniteSpeechFeatureExtractor as Extractor,
        )

        bank = mel_filter_bank(257, 80, 0.0, 8000.0, SAMPLE_RATE, mel_scale="htk")
        power = spectrogram(
            samples.astype(np.float64),
            window_function(400, "hann"),
            frame_length=400,
            hop_length=160,
            fft_length=512,
            power=2.0,
            mel_filters=bank,
        )
        logs = np.log10(np.maximum(power.T, 1e-10))
        scaled = np.maximum(logs, logs.max() - 8) / 4 + 1
        frames = torch.from_numpy(scaled[: len(scaled) // 2 * 2].reshape(1, -1, 160)).float()
        sizes = SimpleNamespace(
            melspec_kwargs={"hop_length": 160}, projector_window_size=15, projector_downsample_rate=5
        )
        (count,) = Extractor._get_num_audio_features(sizes, [len(samples)])
        system = (
            "Knowledge Cutoff Date: April 2024.\nToday's Date: April 9, 2025.\nYou are Granite, developed by IBM. "
            "You are a helpful AI assistant"
        )
        turns = [{"role": "system", "content": system}, {"role": "user", "content": "<|audio|>" + words}]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        tokens = tokenizer(text.replace("<|audio|>", "<|audio|>" * count), return_tensors="pt")["input_ids"]
        return {"input_ids": tokens, "input_features": frames}

    return Reference(model, tokenizer, inputs)


WHISPER_MARKS = (
    *("<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>", "<|transcribe|>"),
    *("<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"),
)


def _whisper(folder: Path, seed: int) -> Reference:
    """As large a vocabulary as multilingual models have, most of it for timestamps."""
    tokenizer = _tokenizer({}, WHISPER_MARKS)
    ids = tokenizer.convert_tokens_to_ids
    config = transformers.WhisperConfig(
        vocab_size=51_865,
        num_mel_bins=80,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        d_model=64,
        decoder_start_token_id=ids("<|startoftranscript|>"),
        eos_token_id=ids("<|endoftext|>"),
        bos_token_id=ids("<|endoftext|>"),
        pad_token_id=ids("<|endoftext|>"),
        suppress_tokens=[],
        begin_suppress_tokens=[],
    )
    model = _spread(transformers.WhisperForConditionalGeneration(config), seed)
    settings = model.generation_config
    settings.begin_suppress_tokens = [token for token in range(51_865) if token not in (60, 61, 62)]
    specials = [ids(mark) for mark in WHISPER_MARKS if mark != "<|endoftext|>"]
    settings.suppress_tokens = [*specials, *range(ids("<|notimestamps|>") + 1, 51_865)]
    extractor = transformers.WhisperFeatureExtractor(feature_size=80)
    for part in (tokenizer, extractor, model):
        part.save_pretrained(folder)

    def inputs(samples: Float32, language: str, task: str) -> Mapping[str, Any]:
        features = extractor(samples, sampling_rate=SAMPLE_RATE, return_tensors="pt")["input_features"]
        marks = ("startoftranscript", language, task, "notimestamps")
        return {"input_features": features, "decoder_input_ids": [ids(f"<|{mark}|>") for mark in marks]}

    return WhisperReference(model, tokenizer, inputs)


class WhisperReference(Reference):
    """Its `generate` is long and has a will of its own; this is what it does for one window."""

    def generate(self, inputs: Mapping[str, Any], count: int) -> list[int]:
        settings, prompt = self.model.generation_config, list(inputs["decoder_input_ids"])
        said: list[int] = []
        with torch.inference_mode():
            heard = self.model.model.encoder(inputs["input_features"])
            while len(said) < count and settings.eos_token_id not in said:
                text = torch.tensor([[*prompt, *said]])
                logits = self.model(encoder_outputs=heard, decoder_input_ids=text).logits[0, -1]
                logits[settings.suppress_tokens] = -torch.inf
                if not said:
                    logits[settings.begin_suppress_tokens] = -torch.inf
                said.append(int(logits.argmax()))
        return said


def _asked(words: str) -> list[dict[str, Any]]:
    parts = [{"type": "audio", "audio": "a"}, {"type": "text", "text": words}]
    return [{"role": "user", "content": parts}]


_BUILDERS = {
    "qwen3_asr": _qwen3_asr,
    "qwen2_5_omni": _qwen2_5_omni,
    "qwen2_audio": _qwen2_audio,
    "voxtral": _voxtral,
    "granite_speech": _granite_speech,
    "whisper": _whisper,
}


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Small models only get slower with more."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, Reference]]:
    """Gives the folder and the reference of a family's small model, built at the first call."""
    made: dict[tuple[str, int], tuple[Path, Reference]] = {}

    def get(family: str, seed: int = 0) -> tuple[Path, Reference]:
        if (family, seed) not in made:
            folder = tmp_path_factory.mktemp(f"{family}-{seed}-")
            reference = _BUILDERS[family](folder, seed)
            reference.model.set_attn_implementation("eager")
            made[family, seed] = (folder, reference)
        return made[family, seed]

    return get


@pytest.fixture(scope="session")
def loaded(saved: Callable[..., tuple[Path, Reference]]) -> Callable[..., AudioModel]:
    """Gives a family's small model as the code under test loads it."""
    from as2d.models.audio_lm import load_audio_lm

    made: dict[tuple[str, int], AudioModel] = {}

    def get(family: str, seed: int = 0) -> AudioModel:
        if (family, seed) not in made:
            made[family, seed] = load_audio_lm(saved(family, seed)[0])
        return made[family, seed]

    return get


@pytest.fixture(scope="session")
def noise() -> Callable[[float], Float32]:
    """Gives so many seconds of noise, always the same."""

    def make(seconds: float) -> Float32:
        count = int(seconds * SAMPLE_RATE)
        return (np.random.default_rng(1).standard_normal(count) * 0.1).astype(np.float32)

    return make
