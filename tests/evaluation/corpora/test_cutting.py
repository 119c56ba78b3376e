import wave
from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import AudioError
from as2d.evaluation.corpora import Clip, Piece, as_file, open_clip

Write = Callable[..., None]


def cut(*pieces: Piece) -> Clip:
    return Clip("c", pieces[0].path, "read", "en", "", 0.0, doubtful=False, pieces=pieces)


def frames(path: Path) -> bytes:
    with wave.open(str(path), "rb") as file:
        return file.readframes(file.getnframes())


@pytest.fixture
def two(tmp_path: Path, sound: Write) -> tuple[Path, Path]:
    sound(tmp_path / "a.wav", 10, level=1)
    sound(tmp_path / "b.wav", 1, level=2)
    return tmp_path / "a.wav", tmp_path / "b.wav"


def test_pieces_are_joined_in_order_sample_by_sample(two: tuple[Path, Path]) -> None:
    a, b = two
    with as_file(cut(Piece(a, 0.5, 9.5), Piece(b), Piece(a, 9.75, 99))) as whole:
        assert frames(whole.path) == b"\1\0" * (9 * 16_000) + b"\2\0" * 16_000 + b"\1\0" * 4_000
        assert whole.pieces == ()
    assert not whole.path.exists()


def test_a_clip_that_is_a_file_stays_as_it_is(two: tuple[Path, Path]) -> None:
    clip = Clip("c", two[0], "read", "en", "", 0.0, doubtful=False)
    with as_file(clip) as whole:
        assert whole is clip


def test_an_open_clip_is_heard_as_it_was_cut(two: tuple[Path, Path]) -> None:
    with open_clip(cut(Piece(two[0], 1, 3), Piece(two[1]))) as recording:
        assert list(recording.windows) == []  # a constant is no speech
        assert recording.samples == 3 * 16_000


def test_pieces_of_another_format(two: tuple[Path, Path], tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "slow.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
    with (
        pytest.raises(AudioError, match=r"slow\.wav has another format"),
        as_file(cut(Piece(two[0]), Piece(tmp_path / "slow.wav"))),
    ):
        pass


@pytest.mark.parametrize("content", [b"", b"no audio at all", None])
def test_what_cannot_be_cut(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AudioError, match=r"x\.wav cannot be cut .*convert it"), as_file(cut(Piece(path))):
        pass
