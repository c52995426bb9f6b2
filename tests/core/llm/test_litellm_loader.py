"""The import of litellm."""

import sys

import pytest

from core.errors import PermanentFailure
from core.llm.errors import load_litellm


def test_a_missing_litellm_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(
        PermanentFailure, match=r"which cannot be imported .*: install the packages of requirements\.txt"
    ):
        load_litellm.__wrapped__()
