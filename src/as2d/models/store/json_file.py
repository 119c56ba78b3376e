"""The JSON files of a model."""

import json
from pathlib import Path
from typing import Any

from as2d.errors import ModelDamagedError, ModelNotFoundError


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; ModelNotFoundError when it is missing, ModelDamagedError when malformed."""
    try:
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelNotFoundError(f"cannot read {path} ({error.strerror}); install the model again") from error
    except (ValueError, RecursionError) as error:
        raise ModelDamagedError(f"{path} is not JSON; install the model again") from error
    if not isinstance(value, dict):
        raise ModelDamagedError(f"{path} holds no JSON object; install the model again")
    return value
