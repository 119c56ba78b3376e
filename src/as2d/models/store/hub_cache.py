"""The cache that all tools of the Hugging Face hub share, read and written as they do.

For each repository there is a folder `models--owner--name`, which holds `blobs/<digest>` (the contents),
`snapshots/<commit>/<file>` (links to them) and `refs/main` (the commit that is current). Reading it needs no network
and no package.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from as2d.errors import ModelNotFoundError

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_TRUE = frozenset({"1", "ON", "YES", "TRUE"})


def is_hub_name(name: str) -> bool:
    """Whether the text has the form `owner/name`."""
    return _NAME.fullmatch(name) is not None


def is_offline() -> bool:
    """Whether the environment forbids the network to the hub's tools."""
    stated = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return stated.upper() in _TRUE


def hub_cache_folder() -> Path:
    """The folder of the cache; it may not exist yet.

    `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else `huggingface/hub` in `XDG_CACHE_HOME` or `~/.cache`. Raises
    ModelNotFoundError when there is no home.
    """
    if chosen := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return _expanded(chosen)
    home = os.environ.get("HF_HOME") or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/huggingface"
    return _expanded(home) / "hub"


@dataclass(frozen=True, slots=True)
class Repository:
    """One model's folder in the cache."""

    folder: Path

    @classmethod
    def of(cls, name: str) -> "Repository":
        """The folder of the model `owner/name`."""
        return cls(hub_cache_folder() / f"models--{name.replace('/', '--')}")

    @property
    def current(self) -> Path | None:
        """The snapshot that is current; None where there is none."""
        try:
            commit = (self.folder / "refs" / "main").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return None
        snapshot = self.snapshot(commit)
        return snapshot if commit and snapshot.is_dir() else None

    def snapshot(self, commit: str) -> Path:
        """The folder of a commit's files."""
        return self.folder / "snapshots" / commit

    def blob(self, digest: str) -> Path:
        """Where content of that digest lies."""
        return self.folder / "blobs" / digest

    def partial(self, digest: str) -> Path:
        """Where content of that digest lies while it is not whole."""
        return self.folder / "blobs" / f"{digest}.incomplete"

    def lock(self, digest: str) -> Path:
        """The lock that all tools take while they write that content."""
        return self.folder.parent / ".locks" / self.folder.name / f"{digest}.lock"

    def link(self, commit: str, file: str, digest: str) -> None:
        """Show content of that digest as a file of the commit."""
        path = self.snapshot(commit) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(os.path.relpath(self.blob(digest), path.parent))

    def make_current(self, commit: str) -> None:
        """Let the commit be what other tools find."""
        path = self.folder / "refs" / "main"
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name("main.new")
        fresh.write_text(commit, encoding="ascii")
        fresh.replace(path)


def _expanded(path: str) -> Path:
    try:
        return Path(os.path.expandvars(path)).expanduser()
    except RuntimeError as error:
        raise ModelNotFoundError(
            "there is no home folder for the hub's cache; set HF_HUB_CACHE to a folder"
        ) from error
