"""The Hugging Face hub: what it says of a model, and its files. Every other module leaves the network alone."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from as2d._version import __version__
from as2d.errors import As2dError, CacheError, ModelDamagedError, ModelNotFoundError
from as2d.extras import import_optional

_TIMEOUT_S = 30.0
_HEX = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_LOG_IN = "log in (`hf auth login`, or set HF_TOKEN)"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of `size` bytes. `digest` (hex) is its SHA-256, or git's SHA-1 of small files (`in_git`)."""

    path: str
    size: int
    digest: str
    in_git: bool


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """What the hub says of a model at one commit; None where it does not say."""

    name: str
    commit: str
    files: tuple[RemoteFile, ...]
    licence: str | None
    model_type: str | None


def ask(name: str) -> RemoteModel:
    """What the hub says of the model `owner/name`.

    Raises ModelNotFoundError when it has no such model, does not let us in or cannot be reached, ModelDamagedError when
    it answers nonsense, MissingExtraError without the extra `hub`.
    """
    library = import_optional("huggingface_hub", "hub")
    with _explained(name):
        info = library.HfApi(endpoint=_endpoint()).model_info(name, files_metadata=True, timeout=_TIMEOUT_S)
    files = tuple(_file(name, sibling) for sibling in info.siblings or ())
    config = info.config if isinstance(info.config, dict) else {}
    return RemoteModel(
        name, _checked(name, info.sha), files, _licence(info.card_data), config.get("model_type")
    )


def download(model: RemoteModel, file: RemoteFile, to: BinaryIO) -> None:
    """Append what is not yet there of a file, with a progress bar on stderr.

    What arrived stays when it breaks off. Raises as `ask` does, and CacheError when nothing can be written.
    """
    library = import_optional("huggingface_hub", "hub")
    transfer = import_optional("huggingface_hub.file_download", "hub")
    with _explained(model.name):
        transfer.http_get(
            library.hf_hub_url(model.name, file.path, revision=model.commit, endpoint=_endpoint()),
            to,
            resume_size=to.tell(),
            headers=library.utils.build_hf_headers(library_name="as2d", library_version=__version__),
            expected_size=file.size,
            displayed_filename=file.path,
        )


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn the hub's errors into ours, which say what to do."""
    errors = import_optional("huggingface_hub.errors", "hub")
    try:
        yield
    except As2dError:
        raise
    except errors.HfHubHTTPError as error:
        raise ModelNotFoundError(_refusal(errors, name, error)) from error
    except (errors.HTTPError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise CacheError(
                f"cannot write to the hub's cache ({error}); make room or set HF_HUB_CACHE"
            ) from error
        raise ModelNotFoundError(
            f"the hub at {_endpoint()} cannot be reached or broke off ({error}); check the network and run the command "
            "again: what was downloaded is kept"
        ) from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ModelNotFoundError(
            f"{_endpoint()} does not answer like the hub when asked for {name} ({error}); check the name and "
            "HF_ENDPOINT"
        ) from error


def _refusal(errors: Any, name: str, error: Any) -> str:
    status = error.response.status_code
    if isinstance(error, errors.GatedRepoError) or status == 403:
        return f"{name} is gated: accept its terms at {_endpoint()}/{name}, then {_LOG_IN} and run the command again"
    if isinstance(error, errors.RepositoryNotFoundError) or status == 401:
        return f"the hub has no model {name}, or it is private: check the name, or {_LOG_IN}"
    return (
        f"the hub at {_endpoint()} answered {status} when asked for {name}; try again later: what was downloaded is "
        "kept"
    )


def _file(name: str, sibling: Any) -> RemoteFile:
    if sibling.lfs is not None:
        return RemoteFile(
            sibling.rfilename, sibling.lfs.size, _checked(name, sibling.lfs.sha256), in_git=False
        )
    return RemoteFile(sibling.rfilename, sibling.size or 0, _checked(name, sibling.blob_id), in_git=True)


def _checked(name: str, digest: Any) -> str:
    """The digest, which becomes the name of a file."""
    if isinstance(digest, str) and _HEX.fullmatch(digest):
        return digest
    raise ModelDamagedError(f"the hub at {_endpoint()} gives no digests for {name}; check HF_ENDPOINT")


def _licence(card: Any) -> str | None:
    """The licence on the model card; one without an identifier has a name of its own."""
    stated = getattr(card, "license", None)
    named = getattr(card, "license_name", None)
    chosen = named if stated in (None, "other") and named else stated
    return chosen if isinstance(chosen, str) else None
