"""Public data sets, which are not part of the project: tests that need them are skipped if they are missing."""

from pathlib import Path

import pytest

from tests.paths import DATA, ROOT

MAPPINGS = ROOT / "docs" / "mappings"
FIXTURES = ROOT / "tests" / "fixtures" / "published"
"""Small files in the layouts of the public data sets, with our own contents."""


def public_file(name: str) -> Path:
    """Return the path of a public file or folder, or skip the test and name what is missing."""
    if not (DATA / name).exists():
        pytest.skip(f"the public file {name} is not in ../shared/data")
    return DATA / name
