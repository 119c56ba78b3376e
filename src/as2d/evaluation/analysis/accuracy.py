"""How far transcripts are from what was said: word and character error rates. Needs the extra `bench`.

Words are compared after Whisper's own normalisation: the English one for English, the basic one otherwise. Languages
that are written without spaces between words are compared by character, as in the paper of Whisper; Korean, which has
spaces, by word. Rates are pooled: all errors over all words (characters) of the references, so that long clips weigh
more. Errors are substitutions, deletions and insertions.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from as2d.evaluation.rows import Row
from as2d.extras import import_optional

SPACELESS = frozenset({"zh", "yue", "ja", "th", "lo", "my", "km", "bo"})
"""Languages that are compared by character; a mixture such as "zh-en" goes by its first."""


class Utterance(NamedTuple):
    """What was said in one clip, in which language (ISO 639-1), and what was understood."""

    language: str
    reference: str
    hypothesis: str


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Errors in so many units, words or characters, of so many clips."""

    errors: int = 0
    units: int = 0
    clips: int = 0

    @property
    def rate(self) -> float | None:
        """Errors a unit (0.05 is 5%); None where there was nothing to compare."""
        return self.errors / self.units if self.units else None


def word_errors(utterances: Iterable[Utterance]) -> ErrorRate:
    """Pooled over the languages with spaces. References without a word are left out. MissingExtraError."""
    jiwer = import_optional("jiwer", "bench")
    spaced = [utterance for utterance in utterances if not _is_spaceless(utterance.language)]
    return _pooled([_normalised(utterance) for utterance in spaced], jiwer.process_words)


def character_errors(utterances: Iterable[Utterance]) -> ErrorRate:
    """Pooled over the languages without spaces; spaces do not count. Otherwise as `word_errors`."""
    jiwer = import_optional("jiwer", "bench")
    spaceless = [utterance for utterance in utterances if _is_spaceless(utterance.language)]
    return _pooled([_without_spaces(_normalised(one)) for one in spaceless], jiwer.process_characters)


def accuracies(rows: Iterable[Row], references: Mapping[str, str]) -> dict[str, dict[str, float | None]]:
    """The figures of each contender by its key; ready for JSON.

    `references` are what was said in each clip, by id: only of clips whose reference is beyond doubt and whose windows
    were all run. A contender's figures are of those clips of which it has every window that any contender has.
    "wer" and "cer" are fractions, None where no clip is compared so. MissingExtraError without the extra `bench`.
    """
    heard = whole_clips(rows, references)
    return {contender: _figures(utterances) for contender, utterances in heard.items()}


def _figures(utterances: list[Utterance]) -> dict[str, float | None]:
    words, characters = word_errors(utterances), character_errors(utterances)
    return {
        "wer": words.rate,
        "wer_clips": words.clips,
        "wer_words": words.units,
        "cer": characters.rate,
        "cer_clips": characters.clips,
        "cer_characters": characters.units,
    }


def whole_clips(rows: Iterable[Row], references: Mapping[str, str]) -> dict[str, list[Utterance]]:
    """What each contender understood of the clips with a reference of which it has every window, by its key."""
    windows: dict[tuple[str, str], list[Row]] = defaultdict(list)
    known: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        windows[row.contender, row.clip].append(row)
        known[row.clip].add(row.window)
    heard: dict[str, list[Utterance]] = defaultdict(list)
    for (contender, clip), parts in windows.items():
        utterances = heard[contender]
        if clip in references and {part.window for part in parts} == known[clip]:
            utterances.append(Utterance(parts[0].language, references[clip], _joined(parts)))
    return dict(heard)


def _joined(windows: list[Row]) -> str:
    return " ".join(row.text.strip() for row in sorted(windows, key=lambda row: row.start_s))


def _pooled(pairs: list[tuple[str, str]], process: Callable[[list[str], list[str]], Any]) -> ErrorRate:
    """What jiwer counts over pairs of normalised reference and hypothesis."""
    spoken = [pair for pair in pairs if pair[0]]
    if not spoken:
        return ErrorRate()
    references, hypotheses = (list(column) for column in zip(*spoken, strict=True))
    counted = process(references, hypotheses)
    errors = counted.substitutions + counted.deletions + counted.insertions
    units = counted.hits + counted.substitutions + counted.deletions
    return ErrorRate(errors, units, len(spoken))


def _is_spaceless(language: str) -> bool:
    return language.partition("-")[0] in SPACELESS


def _normalised(utterance: Utterance) -> tuple[str, str]:
    normalise = _normaliser(english=utterance.language == "en")
    return normalise(utterance.reference).strip(), normalise(utterance.hypothesis).strip()


def _without_spaces(pair: tuple[str, str]) -> tuple[str, str]:
    reference, hypothesis = ("".join(text.split()) for text in pair)
    return reference, hypothesis


@cache
def _normaliser(*, english: bool) -> Callable[[str], str]:
    normaliser: Callable[[str], str]
    if english:
        normaliser = import_optional("whisper_normalizer.english", "bench").EnglishTextNormalizer()
    else:
        normaliser = import_optional("whisper_normalizer.basic", "bench").BasicTextNormalizer()
    return normaliser
