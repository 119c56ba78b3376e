"""Packages that are not installed."""

import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from as2d.errors import MissingExtraError
from as2d.extras import Extra, import_optional


def test_an_installed_module() -> None:
    assert import_optional("json", "bench").dumps([]) == "[]"


def test_a_missing_module_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jiwer", None)
    with pytest.raises(MissingExtraError, match=r'jiwer is needed .*pip install "as2d\[peers\]"'):
        import_optional("jiwer", "peers")


def test_what_is_named_can_be_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert set(get_args(Extra)) <= project["optional-dependencies"].keys()
