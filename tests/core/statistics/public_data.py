"""The public files of the acceptance figures; a test that needs a missing file is skipped."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.paths import DATA


def public_path(name: str) -> Path:
    """Return the path of a public file; skip the test, naming the file, if it is missing."""
    file = DATA / name
    if not file.exists():
        pytest.skip(f"{file} is missing")
    return file


def read_public_json(name: str) -> Any:
    """Return the contents of a public JSON file."""
    return json.loads(public_path(name).read_text(encoding="utf-8"))
