"""Peers on real weights, each where it is installed; and what is said where it is not."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from as2d.decoding.stop import StopRules
from as2d.decoding.target_only import decode_alone
from as2d.errors import ModelNotFoundError, UnsupportedError
from as2d.evaluation.peers.contract import Float32, Peer, PeerModel, load_peer_model
from as2d.evaluation.peers.faster_whisper import open_faster_whisper
from as2d.evaluation.peers.registry import PEERS, available_peers
from as2d.models.store import HubFiles
from as2d.models.whisper.model import WhisperModel, load_whisper
from as2d.records import Instruction
from as2d.session.recording import Recording

_PACKAGES = {
    "faster-whisper int8": ("faster_whisper",),
    "faster-whisper float32": ("faster_whisper",),
    "openai-whisper": ("torch", "whisper"),
    "transformers prompt-lookup": ("torch", "transformers"),
}
ENGLISH = Instruction(language="en")
_INSTALLED = [name for name, packages in _PACKAGES.items() if all(map(find_spec, packages))]
# openai-whisper leaves its vocabulary's file open.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def model() -> PeerModel:
    return load_peer_model("whisper-base")


@pytest.fixture(scope="module")
def target() -> WhisperModel:
    """The same weights in the same precision as most peers."""
    return load_whisper("whisper-base", "fp32")


@pytest.fixture(scope="module", params=sorted(PEERS))
def peer(request: pytest.FixtureRequest, model: PeerModel) -> Iterator[Peer]:
    if request.param not in _INSTALLED:
        pytest.skip('needs pip install "as2d[peers]"')
    with PEERS[request.param](model, 1) as opened:
        assert opened.name == request.param
        yield opened


def _window(clip: Path) -> Float32:
    with Recording(clip) as recording:
        return next(iter(recording.windows)).samples


def _target_only(target: WhisperModel, samples: Float32, instruction: Instruction) -> tuple[int, ...]:
    prepared = target.prepare(samples, 1)
    rules = StopRules(target.end_ids, target.output_limit(prepared, instruction))
    commits = decode_alone(target.open(prepared, instruction, 1), rules, 1)
    return tuple(token for commit in commits for token in commit.tokens)[:-1]


def test_every_peer_is_tried() -> None:
    assert set(_PACKAGES) == set(PEERS)


@pytest.mark.parametrize(
    ("clip", "instruction"),
    [("jfk", ENGLISH), ("fleurs-de-003", Instruction("translate", "de", to="en"))],
    ids=["transcribed", "translated"],
)
def test_a_peer_says_what_the_target_says(
    peer: Peer, target: WhisperModel, clips: Mapping[str, Path], clip: str, instruction: Instruction
) -> None:
    if instruction != ENGLISH and peer.name.endswith("int8"):
        pytest.skip("its rounded weights say it in other words")
    samples = _window(clips[clip])
    prepared = peer.prepare(samples)
    expected = _target_only(target, samples, instruction)
    assert peer.decode(prepared, instruction, 200) == expected
    assert peer.decode(prepared, instruction, 200) == expected


def test_a_peer_stops_at_the_limit(peer: Peer, clips: Mapping[str, Path]) -> None:
    prepared = peer.prepare(_window(clips["jfk"]))
    assert peer.decode(prepared, ENGLISH, 5) == peer.decode(prepared, ENGLISH, 200)[:5]


@pytest.mark.parametrize(
    ("instruction", "says"),
    [
        (Instruction(language="klingon"), "no language"),
        (Instruction("translate", "en", to="de"), "translates to English only"),
        (Instruction("ask", "en", question="who?"), "Whisper cannot ask"),
    ],
)
def test_what_whisper_lacks(model: PeerModel, instruction: Instruction, says: str) -> None:
    with pytest.raises(UnsupportedError, match=says):
        model.prompt(instruction)


def test_faster_whisper_needs_its_own_format(model: PeerModel, tmp_path: Path) -> None:
    files = HubFiles("openai/whisper-base", tmp_path, "whisper", "digest")
    with (
        pytest.raises(
            UnsupportedError, match="openai/whisper-base is not in CTranslate2's format; name such"
        ),
        open_faster_whisper(replace(model, files=files), 1, "int8"),
    ):
        pass


def test_packages_that_are_missing_are_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("faster_whisper", "torch"):
        monkeypatch.setitem(sys.modules, package, None)
    with available_peers("whisper-base", 1) as (peers, missing):
        assert peers == ()
        assert set(missing) == set(PEERS)
        assert all('pip install "as2d[peers]"' in reason for reason in missing.values())


def test_a_broken_package_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("faster_whisper", "ctranslate2"):
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
    monkeypatch.setitem(sys.modules, "torch", None)
    with available_peers("whisper-base", 1) as (peers, missing):
        assert peers == ()
        assert missing["faster-whisper int8"].startswith("AttributeError: ")


@pytest.mark.skipif("faster-whisper int8" not in _INSTALLED, reason='needs pip install "as2d[peers]"')
def test_one_missing_peer_leaves_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setitem(sys.modules, "torch", None)
    with available_peers("whisper-base", 1) as (peers, missing):
        assert [peer.name for peer in peers] == ["faster-whisper int8", "faster-whisper float32"]
        assert set(missing) == {"openai-whisper", "transformers prompt-lookup"}
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_a_model_that_there_is_not() -> None:
    with pytest.raises(ModelNotFoundError, match="whisper-huge"), available_peers("whisper-huge", 1):
        pytest.fail("opened")
