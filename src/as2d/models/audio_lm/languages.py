"""Languages that instructions name, by code or English name, and how prompts spell them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from as2d.errors import UnsupportedError
from as2d.models.whisper.prompt import LANGUAGES

NAMES: Mapping[str, str] = MappingProxyType(
    {code: name.title() for code, name in LANGUAGES.items()} | {"fil": "Filipino"}
)
"""English names by code, as prompts spell them."""

_CODES = {name.lower(): code for code, name in NAMES.items()} | {code: code for code in NAMES}


def code_of(language: str) -> str | None:
    """The code of a language code or English name, in any case; None for what is neither."""
    return _CODES.get(language.strip().lower())


def require_language(language: str, known: Iterable[str], model: str) -> str:
    """The code of a language that is among the known ones. UnsupportedError for any other."""
    code = code_of(language)
    if code is None or code not in known:
        raise UnsupportedError(f"{model} has no language {language!r}; it has {', '.join(sorted(known))}")
    return code
