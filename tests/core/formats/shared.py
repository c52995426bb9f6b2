"""Files of published formats; tests that need public data sets, which are not part of the project, may be skipped."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.paths import DATA, ROOT

MAPPINGS = ROOT / "docs" / "mappings"
FIXTURES = ROOT / "tests" / "fixtures" / "published"
"""Small files in the layouts of the public data sets, with our own contents."""


Kind = TypeVar("Kind")


def public_file(name: str) -> Path:
    """Return the path of a public file or folder, or skip the test and name what is missing."""
    if not (DATA / name).exists():
        pytest.skip(f"the public file {name} is not in ../shared/data")
    return DATA / name


def of_kind(records: Iterable[object], kind: type[Kind]) -> list[Kind]:
    """Return the records of one type."""
    return [record for record in records if isinstance(record, kind)]


def write_json(path: Path, value: object) -> Path:
    """Write a JSON file into a folder, which is created if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=4), encoding="utf-8")
    return path
