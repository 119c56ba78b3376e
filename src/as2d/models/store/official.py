"""The models of the Hugging Face hub that as2d knows by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from as2d.models.store.family import Family


@dataclass(frozen=True, slots=True)
class OfficialModel:
    """A model as the hub published it; `size` is what as2d needs of it, in bytes, about."""

    name: str
    family: Family
    licence: str
    size: int


_MB, _GB = 10**6, 10**9
_APACHE, _MIT = "Apache-2.0", "MIT"

_OPENAI = {
    "tiny": 151 * _MB,
    "tiny.en": 151 * _MB,
    "base": 290 * _MB,
    "base.en": 290 * _MB,
    "small": 967 * _MB,
    "small.en": 967 * _MB,
    "medium": 3_060 * _MB,
    "medium.en": 3_060 * _MB,
    "large-v2": 6_170 * _MB,
    "large-v3": 3_090 * _MB,
}
_SYSTRAN = {
    "tiny": 78 * _MB,
    "tiny.en": 78 * _MB,
    "base": 148 * _MB,
    "base.en": 148 * _MB,
    "small": 486 * _MB,
    "small.en": 486 * _MB,
    "medium": 1_530 * _MB,
    "medium.en": 1_530 * _MB,
    "large-v1": 3_090 * _MB,
    "large-v2": 3_090 * _MB,
    "large-v3": 3_090 * _MB,
}
_QWEN3_ASR = {
    "0.6B-hf": 1_900 * _MB,
    "1.7B-hf": 4_700 * _MB,
}


def _official() -> tuple[OfficialModel, ...]:
    return (
        *(
            OfficialModel(f"openai/whisper-{size}", "whisper", _APACHE, held)
            for size, held in _OPENAI.items()
        ),
        OfficialModel("openai/whisper-large-v3-turbo", "whisper", _MIT, 1_620 * _MB),
        *(
            OfficialModel(f"Systran/faster-whisper-{size}", "whisper", _MIT, held)
            for size, held in _SYSTRAN.items()
        ),
        *(
            OfficialModel(f"Qwen/Qwen3-ASR-{size}", "qwen3_asr", _APACHE, held)
            for size, held in _QWEN3_ASR.items()
        ),
        OfficialModel("Qwen/Qwen2.5-Omni-3B", "qwen2_5_omni", "Qwen Research (non-commercial)", 12 * _GB),
        OfficialModel("Qwen/Qwen2.5-Omni-7B", "qwen2_5_omni", _APACHE, 22 * _GB),
        OfficialModel("Qwen/Qwen2-Audio-7B-Instruct", "qwen2_audio", _APACHE, 17 * _GB),
        OfficialModel("mistralai/Voxtral-Mini-3B-2507", "voxtral", _APACHE, 9_400 * _MB),
        OfficialModel("ibm-granite/granite-speech-3.3-2b", "granite_speech", _APACHE, 5_600 * _MB),
        OfficialModel("ibm-granite/granite-speech-3.3-8b", "granite_speech", _APACHE, 17 * _GB),
    )


OFFICIAL: Mapping[str, OfficialModel] = MappingProxyType({model.name: model for model in _official()})
"""The hub's models that have a licence and a size here, by name. Any other `owner/name` may be pulled too."""

TRANSFORMERS_LAYOUT: Mapping[str, str] = MappingProxyType(
    {f"Qwen/Qwen3-ASR-{size}": f"Qwen/Qwen3-ASR-{size}-hf" for size in ("0.6B", "1.7B")}
)
"""Models laid out for a package of their own, and the name under which the same weights are laid out for
transformers, which is what as2d reads."""
