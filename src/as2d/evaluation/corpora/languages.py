"""The language codes of corpora as ISO 639-1, where it has one."""

_CODES = {"cmn": "zh", "fil": "tl", "nb": "no"}


def language_of(code: str) -> str:
    """The language of a code such as "de", "de_de", "cmn_hans_cn", "zh-CN" or "sv-SE"."""
    language = code.replace("-", "_").partition("_")[0].lower()
    return _CODES.get(language, language)
