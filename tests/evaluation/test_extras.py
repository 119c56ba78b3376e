"""Packages that are not installed."""

import sys

import pytest

from as2d.errors import MissingExtraError
from as2d.evaluation.extras import import_optional


def test_an_installed_module() -> None:
    assert import_optional("json", "bench").dumps([]) == "[]"


def test_a_missing_module_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jiwer", None)
    with pytest.raises(MissingExtraError, match=r'jiwer is needed .*pip install "as2d\[peers\]"'):
        import_optional("jiwer", "peers")
