"""The probe: what it lets pass, what it catches, and what it remembers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from as2d.models.contract import AudioModel, Decoder
from as2d.models.whisper.model import WhisperModel
from as2d.runtime.exactness import MAX_BUDGET, WIDTHS, is_exact, probe

ToyFactory = Callable[..., AudioModel]


class Uneven:
    """A decoder whose rows depend on the width of the call, or on the threads."""

    def __init__(self, decoder: Decoder, is_bad: Callable[[int, int], bool]) -> None:
        self._decoder = decoder
        self._is_bad = is_bad
        self._threads = 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def use_threads(self, threads: int) -> None:
        self._threads = threads

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        rows = self._decoder.scores(tokens).copy()
        if self._is_bad(len(tokens), self._threads):
            rows[-1, 0] = np.nextafter(rows[-1, 0], np.float32(np.inf))
        return rows


class Watched:
    """A model that counts how often it is opened, and may give out uneven decoders."""

    def __init__(
        self, model: AudioModel, is_bad: Callable[[int, int], bool] = lambda width, threads: False
    ) -> None:
        self._model = model
        self._is_bad = is_bad
        self.identity = model.identity
        self.opened = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def open(self, *arguments: Any) -> Any:
        self.opened += 1
        return Uneven(self._model.open(*arguments), self._is_bad)


def last_of(prefix: Sequence[int]) -> int:
    return (prefix[-1] * 7 + len(prefix)) % 256 if prefix else 0


@pytest.fixture
def steady(toy: ToyFactory) -> AudioModel:
    return toy(last_of)


def test_a_round_may_be_25_wide() -> None:
    assert (MAX_BUDGET, max(WIDTHS), min(WIDTHS)) == (24, 25, 1)


def test_the_default_model_is_exact(base: WhisperModel, own_cache: Path) -> None:
    assert probe(base, (1, 2)) == []
    assert is_exact(base, (1, 2))


def test_rows_that_do_not_depend_on_the_call_are_exact(steady: AudioModel, own_cache: Path) -> None:
    assert probe(Watched(steady), (1, 2)) == []
    assert is_exact(Watched(steady), (1, 2))


@pytest.mark.parametrize("bad", [(1, 2), (1, 25), (2, 1), (2, 17)])
def test_one_bit_at_one_width_and_thread_count_is_found(steady: AudioModel, bad: tuple[int, int]) -> None:
    threads, width = bad
    model = Watched(steady, lambda w, t: w == width and t == threads)
    assert probe(model, (1, 2)) == [bad]


def test_a_model_that_is_not_exact_is_told(steady: AudioModel, own_cache: Path) -> None:
    assert not is_exact(Watched(steady, lambda width, threads: width > 1), (1, 2))


def test_noise_in_wide_rows_of_the_real_model_is_found(base: WhisperModel) -> None:
    assert probe(Watched(base, lambda width, threads: width > 1), (1,)) == [
        (1, width) for width in WIDTHS[1:]
    ]


def test_a_model_is_probed_once(steady: AudioModel, own_cache: Path) -> None:
    first, second = Watched(steady), Watched(steady)
    assert is_exact(first, (1, 2))
    assert is_exact(second, (2, 1, 1))
    assert (first.opened > 0, second.opened) == (True, 0)


def test_a_failed_probe_is_remembered_too(steady: AudioModel, own_cache: Path) -> None:
    def wide(width: int, threads: int) -> bool:
        return width > 1

    first, second = Watched(steady, wide), Watched(steady, wide)
    assert not is_exact(first, (1, 2))
    assert not is_exact(second, (1, 2))
    assert second.opened == 0


def test_another_model_another_split_or_another_engine_is_probed_anew(
    steady: AudioModel, toy: ToyFactory, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_exact(steady, (1, 2))
    other = Watched(toy(last_of, identity="other"))
    assert is_exact(other, (1, 2))
    split = Watched(steady)
    assert is_exact(split, (1, 3))
    monkeypatch.setattr("as2d.runtime.exactness.cpu_fingerprint", lambda: {"engine": "new", "cpu": ""})
    engine = Watched(steady)
    assert is_exact(engine, (1, 2))
    assert all(model.opened for model in (other, split, engine))
