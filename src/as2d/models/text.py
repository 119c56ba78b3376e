"""Text of tokens that come one after the other."""

import codecs
from collections.abc import Sequence

from as2d.models.contract import Vocabulary


class TextStream:
    """The text of a growing sequence of tokens, without ever showing a part of a character."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text: list[str] = []

    @property
    def text(self) -> str:
        """All text that is complete so far."""
        return "".join(self._text)

    def feed(self, tokens: Sequence[int]) -> str:
        """Append tokens and return the text that they completed."""
        return self._append(b"".join(map(self._vocabulary.token_bytes, tokens)), final=False)

    def finish(self) -> str:
        """Return the rest, U+FFFD for half a character; `text` is then `decode` of all tokens."""
        return self._append(b"", final=True)

    def _append(self, content: bytes, *, final: bool) -> str:
        new = self._decoder.decode(content, final)
        self._text.append(new)
        return new
