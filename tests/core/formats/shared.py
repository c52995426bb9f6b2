"""Public files that are not part of the project: tests that need them are skipped where they are not at hand."""

from pathlib import Path

import pytest

from tests.paths import DATA, ROOT

MAPPINGS = ROOT / "docs" / "mappings"


def public(name: str) -> Path:
    """The file or folder `name` of the public data, or a skip that says what is missing."""
    if not (DATA / name).exists():
        pytest.skip(f"the public file {name} is not in ../shared/data")
    return DATA / name
