"""Which peers there are, and which of them can be had here."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from types import MappingProxyType

from as2d.evaluation.peers.contract import Peer, PeerModel, load_peer_model
from as2d.evaluation.peers.faster_whisper import open_faster_whisper
from as2d.evaluation.peers.openai_whisper import OpenaiWhisper
from as2d.evaluation.peers.transformers_lookup import TransformersLookup

Open = Callable[[PeerModel, int], AbstractContextManager[Peer]]
"""Loads a peer that computes on so many threads; what it needs on disk is gone afterwards."""


def _openai(model: PeerModel, threads: int) -> AbstractContextManager[Peer]:
    return nullcontext(OpenaiWhisper(model, threads))


def _transformers(model: PeerModel, threads: int) -> AbstractContextManager[Peer]:
    return nullcontext(TransformersLookup(model, threads))


PEERS: Mapping[str, Open] = MappingProxyType(
    {
        "faster-whisper int8": partial(open_faster_whisper, precision="int8"),
        "faster-whisper float32": partial(open_faster_whisper, precision="float32"),
        OpenaiWhisper.name: _openai,
        TransformersLookup.name: _transformers,
    }
)
"""All peers by name."""


@contextmanager
def available_peers(model: str, threads: int) -> Iterator[tuple[tuple[Peer, ...], Mapping[str, str]]]:
    """The peers that work here, loaded with the weights of `model`, and why each of the others does not, by name.

    Whatever is wrong with a package is only a reason. Raises what `load_peer_model` raises.
    """
    known = load_peer_model(model)
    peers: list[Peer] = []
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        for name, opened in PEERS.items():
            try:
                peers.append(stack.enter_context(opened(known, threads)))
            except Exception as error:  # strangers' code, in any state
                missing[name] = f"{type(error).__name__}: {error}"
        yield tuple(peers), missing
