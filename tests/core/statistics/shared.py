"""The public files that the acceptance figures come from; a test that needs one is skipped without it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.paths import DATA


def path(name: str) -> Path:
    """A public file, or the test is skipped and says which file is not there."""
    found = DATA / name
    if not found.exists():
        pytest.skip(f"{found} is not there")
    return found


def read(name: str) -> Any:
    """A public JSON file."""
    return json.loads(path(name).read_text(encoding="utf-8"))
