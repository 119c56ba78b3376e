"""A hub on this machine: the few endpoints that a pull needs, with the faults that a network has."""

import hashlib
import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

COMMIT = "c0ffee" + "0" * 34


@dataclass
class FakeHub:
    """One model. A file of more than `lfs_from` bytes is in LFS."""

    files: dict[str, bytes]
    name: str = "owner/name"
    card: dict[str, Any] = field(default_factory=lambda: {"license": "mit"})
    model_type: str | None = "whisper"
    lfs_from: int = 100
    status: int = 200
    error_code: str = ""
    cut_at: int | None = None
    """Byte of a file after which the connection breaks."""
    corrupt: bool = False
    url: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Path and range of every request for a file."""

    def info(self) -> dict[str, Any]:
        siblings = [self._sibling(name, content) for name, content in self.files.items()]
        config = {"model_type": self.model_type} if self.model_type else {}
        return {
            "id": self.name,
            "sha": COMMIT,
            "siblings": siblings,
            "cardData": self.card,
            "config": config,
        }

    def _sibling(self, name: str, content: bytes) -> dict[str, Any]:
        git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
        entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": git}
        if len(content) > self.lfs_from:
            entry["lfs"] = {
                "sha256": hashlib.sha256(content).hexdigest(),
                "size": len(content),
                "pointerSize": 130,
            }
        return entry


@contextmanager
def serving(hub: FakeHub) -> Iterator[FakeHub]:
    """The hub at `hub.url` for the while."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if hub.status != 200:
                self._send(hub.status, b"{}", {"X-Error-Code": hub.error_code})
            elif self.path.startswith(f"/api/models/{hub.name}"):
                self._send(200, json.dumps(hub.info()).encode(), {"Content-Type": "application/json"})
            elif self.path.startswith(prefix := f"/{hub.name}/resolve/{COMMIT}/"):
                self._send_file(self.path.removeprefix(prefix))
            else:
                self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

        def _send_file(self, name: str) -> None:
            wanted = self.headers.get("Range", "")
            hub.requests.append((name, wanted))
            content = hub.files[name]
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            sent = content[: hub.cut_at][start:]
            headers = {"Content-Length": str(len(content) - start)}
            if wanted:
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self._send(206 if wanted else 200, bytes(len(sent)) if hub.corrupt else sent, headers)
            self.close_connection = True

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def safetensors_bytes(tensors: dict[str, NDArray[Any]]) -> bytes:
    """A safetensors file; uint16 arrays are bfloat16."""
    names = {"float32": "F32", "float16": "F16", "uint16": "BF16", "int64": "I64"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, value in tensors.items():
        offsets = [len(data), len(data) + value.nbytes]
        header[name] = {"dtype": names[value.dtype.name], "shape": value.shape, "data_offsets": offsets}
        data += value.tobytes()
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


@pytest.fixture(scope="session")
def safetensors() -> Callable[[dict[str, NDArray[Any]]], bytes]:
    """Makes the bytes of a safetensors file."""
    return safetensors_bytes


@pytest.fixture
def own_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub, and one of as2d, that only this test uses."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("AS2D_CACHE", str(tmp_path / "cache"))
    return tmp_path / "hub"


@pytest.fixture
def hub(own_hub_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub that has one small model, as `owner/name`."""
    weights = {"w": np.arange(30_000, dtype=np.float32)}
    files = {
        "config.json": b'{"model_type": "whisper"}',
        "model.safetensors": safetensors_bytes(weights),
        "tokenizer.json": b"{}",
        "pytorch_model.bin": b"not wanted" * 100,
        "onnx/config.json": b"not wanted",
    }
    with serving(FakeHub(files)) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served
