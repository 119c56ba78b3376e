"""Put a model together: transformers' weights, the tokenizer, the feature extractor and the family's prompts."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from transformers.integrations.peft import MIN_PEFT_VERSION
from transformers.utils.peft_utils import check_peft_version

from as2d.engines.torch import CausalModel, device_of
from as2d.errors import As2dError, ModelDamagedError, ModelNotFoundError, NoMemoryError, UnsupportedError
from as2d.models.audio_lm import qwen2_audio
from as2d.models.audio_lm.family import Family, Messages, Parts, Render
from as2d.models.audio_lm.granite_speech import GraniteSpeechFamily
from as2d.models.audio_lm.model import AudioLm
from as2d.models.audio_lm.qwen2_5_omni import Qwen25OmniFamily
from as2d.models.audio_lm.qwen3_asr import Qwen3Asr, Qwen3AsrFamily
from as2d.models.audio_lm.vocabulary import HubVocabulary
from as2d.models.audio_lm.voxtral import VoxtralFamily
from as2d.models.audio_lm.whisper import WhisperOnTorch
from as2d.models.contract import AudioModel
from as2d.models.memory import require_memory, stored_weights
from as2d.models.safetensors import ADAPTER
from as2d.models.store import Family as FamilyName
from as2d.models.store import HubFiles, read_json
from as2d.records import SAMPLE_RATE

_ADAPTER = ("adapter_config.json", ADAPTER)
_TRIED = SAMPLE_RATE // 10
_ABOUT_ALL = 0.9
"""Some may be computed rather than stored, as positions are. Which ones are missing is told after loading."""


class _Recipe(NamedTuple):
    """A family, its `AudioModel`, the chat template where the folder has none (empty: the family needs none), and
    whether transformers extracts its features without another package."""

    family: Callable[[Parts], Family]
    model: type[AudioLm] = AudioLm
    template: str | None = None
    extracts: bool = True


_RECIPES: Mapping[FamilyName, _Recipe] = MappingProxyType(
    {
        "qwen3_asr": _Recipe(Qwen3AsrFamily, Qwen3Asr),
        "qwen2_5_omni": _Recipe(Qwen25OmniFamily),
        "qwen2_audio": _Recipe(qwen2_audio.Qwen2AudioFamily, template=qwen2_audio.TEMPLATE),
        "voxtral": _Recipe(VoxtralFamily, template=""),
        "granite_speech": _Recipe(GraniteSpeechFamily, extracts=False),
    }
)


def build(files: HubFiles, class_name: str, device: str, dtype: str | None) -> AudioModel:
    """The model of a folder. Raises as `load_audio_lm`."""
    place = device_of(device)
    kind = getattr(torch, dtype or ("bfloat16" if device == "cuda" else "float32"))
    _refuse_what_is_not_converted(files)
    require_memory(files, kind.itemsize, device)
    with _said_plainly(files):
        _require_about_all(files, getattr(transformers, class_name))
        with _quiet():
            model = _load(files, getattr(transformers, class_name), kind).to(place)
        identity = f"{files.digest} torch {torch.__version__} {place} {kind}"
        if files.family == "whisper":
            return WhisperOnTorch(files, model, _extractor(files, model.config), identity)
        return _with_language_model(files, model, identity, _RECIPES[files.family])


def _with_language_model(files: HubFiles, model: Any, identity: str, recipe: _Recipe) -> AudioLm:
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        files.folder, local_files_only=True, mistral_format=False
    )
    parts = Parts(
        name=files.name,
        model=model,
        text=CausalModel(model.model.language_model, model.lm_head),
        vocabulary=HubVocabulary(
            json.loads(tokenizer.backend_tokenizer.to_str()), model.lm_head.out_features
        ),
        extractor=_extractor(files, model.config.audio_config) if recipe.extracts else None,
        render=_render(files, tokenizer, recipe.template),
    )
    return recipe.model(parts, recipe.family(parts), identity, _end_ids(model, tokenizer))


def _refuse_what_is_not_converted(files: HubFiles) -> None:
    """UnsupportedError for a layout that transformers would take for one without weights, or half of a model."""
    config = read_json(files.config)
    if files.family == "qwen3_asr" and "thinker_config" in config:
        raise UnsupportedError(
            f"{files.name} is in the layout of the package qwen-asr; name the model that is converted for "
            f"transformers, such as {files.name}-hf"
        )
    if config.get("has_lora_adapter") or _has_adapter(files):
        _require_adapter(files)


def _has_adapter(files: HubFiles) -> bool:
    return any((files.folder / name).is_file() for name in _ADAPTER)


def _require_adapter(files: HubFiles) -> None:
    """Without it transformers would load a model that does not hear well."""
    if lost := [name for name in _ADAPTER if not (files.folder / name).is_file()]:
        raise ModelNotFoundError(f"{files.folder} lacks {lost[0]}; copy or pull the whole model")
    try:
        check_peft_version(min_version=MIN_PEFT_VERSION)
    except ValueError as error:
        raise UnsupportedError(
            f"{files.name} comes with an adapter, which needs peft; run pip install 'peft>={MIN_PEFT_VERSION}'"
        ) from error


def _require_about_all(files: HubFiles, kind: Any) -> None:
    """ModelDamagedError for far fewer weights than the model has: transformers would make up the rest, in memory."""
    config = kind.config_class.from_pretrained(files.folder, local_files_only=True)
    with torch.device("meta"):
        wanted = sum(weight.numel() for weight in kind(config).parameters())
    held = stored_weights(files)
    if held < _ABOUT_ALL * wanted:
        raise ModelDamagedError(
            f"{files.name} holds {held:,} of the {wanted:,} weights that its config.json speaks of; install the whole "
            "model again"
        )


def _load(files: HubFiles, kind: Any, dtype: torch.dtype) -> Any:
    """transformers' model, for inference, with all of its weights."""
    model, loading = kind.from_pretrained(
        files.folder,
        local_files_only=True,
        dtype=dtype,
        attn_implementation="eager",
        output_loading_info=True,
        # Where there is no adapter: with one, only what the adapter lacks would be told.
        adapter_kwargs={"subfolder": "none"},
    )
    _require_whole(files, loading["missing_keys"])
    if _has_adapter(files):
        added = model.load_adapter(str(files.folder), download_kwargs={"local_files_only": True})
        _require_whole(files, added.missing_keys)
    return model.eval().requires_grad_(False)


def _require_whole(files: HubFiles, missing: Collection[str]) -> None:
    if missing:
        raise ModelDamagedError(
            f"{files.name} lacks the weights {', '.join(sorted(missing)[:3])}; install the whole model again"
        )


def _extractor(files: HubFiles, encoder: Any) -> Any:
    """What makes features of audio, tried on some silence. ModelDamagedError where the encoder takes others."""
    extractor = transformers.AutoFeatureExtractor.from_pretrained(files.folder, local_files_only=True)
    features = extractor(np.zeros(_TRIED, np.float32), sampling_rate=SAMPLE_RATE, return_tensors="pt")
    bins = features["input_features"].shape[1]
    if bins != encoder.num_mel_bins:
        raise ModelDamagedError(
            f"{files.name} hears {encoder.num_mel_bins} mel bins and its feature extractor makes {bins}; take both "
            "from one model"
        )
    return extractor


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' bars and its tables of weights: what matters of them is raised."""
    logging = transformers.utils.logging
    before = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


@contextmanager
def _said_plainly(files: HubFiles) -> Iterator[None]:
    """Whatever transformers raises about a folder, as ModelDamagedError, and want of memory as NoMemoryError."""
    try:
        yield
    except As2dError:
        raise
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise NoMemoryError(
            f"{files.name} does not fit into memory; free memory, or name a smaller model"
        ) from error
    except Exception as error:  # transformers raises whatever its parts do
        raise ModelDamagedError(
            f"transformers cannot load {files.folder} ({type(error).__name__}: {error}); install the model again"
        ) from error


def _render(files: HubFiles, tokenizer: Any, default: str | None) -> Render:
    """The model's own chat template: the tokenizer's, the processor's, or the one that its family is known to have."""
    old = files.folder / "chat_template.json"
    stated = read_json(old).get("chat_template") if old.is_file() else None
    template = tokenizer.chat_template or stated or default
    if not isinstance(template, str):
        raise ModelDamagedError(f"{files.name} has no chat template; install the whole model again")

    def render(messages: Messages) -> str:
        rendered: str = tokenizer.apply_chat_template(
            messages, chat_template=template, tokenize=False, add_generation_prompt=True
        )
        return rendered

    return render


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """All tokens that end a text: those of the generation settings and the tokenizer's."""
    stated = model.generation_config.eos_token_id
    ends = stated if isinstance(stated, (list, tuple)) else [stated]
    return frozenset(end for end in (*ends, tokenizer.eos_token_id) if end is not None)
