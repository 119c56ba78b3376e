"""Put a model together: transformers' weights, the tokenizer, the feature extractor and the family's prompts."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import transformers
from transformers.integrations.peft import MIN_PEFT_VERSION
from transformers.utils.peft_utils import check_peft_version

from as2d.engines.torch import CausalModel, device_of
from as2d.errors import As2dError, ModelDamagedError, ModelNotFoundError, UnsupportedError
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
from as2d.models.safetensors import ADAPTER
from as2d.models.store import Family as FamilyName
from as2d.models.store import HubFiles, read_json


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
    with _said_plainly(files):
        model = _load(files, getattr(transformers, class_name), kind).to(place)
    identity = f"{files.digest} torch {torch.__version__} {place} {kind}"
    if files.family == "whisper":
        return WhisperOnTorch(files, model, _extractor(files), identity)
    return _with_language_model(files, model, identity, _RECIPES[files.family])


def _with_language_model(files: HubFiles, model: Any, identity: str, recipe: _Recipe) -> AudioLm:
    with _said_plainly(files):
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
        extractor=_extractor(files) if recipe.extracts else None,
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
    if config.get("has_lora_adapter"):
        _require_adapter(files)


def _require_adapter(files: HubFiles) -> None:
    """Without it transformers would load a model that does not hear well."""
    if lost := [name for name in ("adapter_config.json", ADAPTER) if not (files.folder / name).is_file()]:
        raise ModelNotFoundError(f"{files.folder} lacks {lost[0]}; copy or pull the whole model")
    try:
        check_peft_version(min_version=MIN_PEFT_VERSION)
    except ValueError as error:
        raise UnsupportedError(
            f"{files.name} comes with an adapter, which needs peft; run pip install 'peft>={MIN_PEFT_VERSION}'"
        ) from error


def _load(files: HubFiles, kind: Any, dtype: torch.dtype) -> Any:
    """transformers' model, for inference, with all of its weights."""
    transformers.utils.logging.disable_progress_bar()
    model, loading = kind.from_pretrained(
        files.folder,
        local_files_only=True,
        dtype=dtype,
        attn_implementation="eager",
        output_loading_info=True,
    )
    if missing := sorted(loading["missing_keys"]):
        raise ModelDamagedError(
            f"{files.name} lacks the weights {', '.join(missing[:3])}; install the whole model again"
        )
    return model.eval().requires_grad_(False)


def _extractor(files: HubFiles) -> Any:
    with _said_plainly(files):
        return transformers.AutoFeatureExtractor.from_pretrained(files.folder, local_files_only=True)


@contextmanager
def _said_plainly(files: HubFiles) -> Iterator[None]:
    """Whatever transformers raises about a folder, as ModelDamagedError."""
    try:
        yield
    except As2dError:
        raise
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
