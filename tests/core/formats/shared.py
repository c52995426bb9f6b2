"""Files of published formats; tests that need public data sets, which are not part of the project, may be skipped."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, TraceRecord
from core.items import Item
from core.labels import Adjudication, Label
from core.trace import Verdict
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


def items_of(records: Iterable[object]) -> list[Item]:
    """Return the items among records."""
    return [record.item for record in of_kind(records, ItemRecord)]


def labels_of(records: Iterable[object]) -> list[Label]:
    """Return the labels among records."""
    return [record.label for record in of_kind(records, LabelRecord)]


def gold_of(records: Iterable[object]) -> list[Adjudication]:
    """Return the rulings among records."""
    return [record.ruling for record in of_kind(records, AdjudicationRecord)]


def verdicts_of(records: Iterable[object]) -> list[Verdict]:
    """Return the verdicts of the traces among records, which end with them."""
    return [record.events[-1].verdict for record in of_kind(records, TraceRecord)]


def write_content(path: Path, content: str | Sequence[object] | dict[str, object]) -> Path:
    """Write a text, or records as JSON or as lines of JSON by the suffix; return the path."""
    if isinstance(content, str):
        text = content
    elif path.suffix == ".json":
        text = json.dumps(content)
    else:
        text = "".join(json.dumps(record) + "\n" for record in content)
    path.write_text(text, encoding="utf-8", newline="")
    return path


# Texts that are prose, and rows of tables with them.
RANGE = range(12)
WORDS = ["red", "green", "blue", "grey", "pink", "cyan", "lime", "gold", "teal", "navy", "plum", "rust"]


def prose(*parts: object) -> str:
    """Return a sentence that differs by its parts."""
    return f"The {' '.join(map(str, parts))} house stands on a hill near the sea"


def write_rows(folder: Path, rows: Sequence[object]) -> Path:
    """Write the records of a table."""
    return write_content(folder / "t.json", [*rows])
