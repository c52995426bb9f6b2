"""The examples of docs/mappings/README.md have the documented results."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from core.formats.mapping.mapping import load_mappings
from core.formats.registry import read_records
from tests.core.formats.shared import MAPPINGS, items_of, labels_of

EXAMPLE = re.compile(r"### (Long|Wide|List):[^\n]*\n\n((?: {4}[^\n]*\n)+)\n```yaml\n(.*?)```", re.DOTALL)
EXAMPLES = {
    name: (dedent(data), text) for name, data, text in EXAMPLE.findall((MAPPINGS / "README.md").read_text("utf-8"))
}


@pytest.mark.parametrize(
    ("name", "suffix", "items", "labels"),
    [
        ("Long", "csv", ["q1", "q2"], [("q1", "clarity", "Ada", 5), ("q1", "clarity", "Ben", 4)]),
        (
            "Wide",
            "csv",
            ["1", "2"],
            [("1", "politeness", "Ann", 1), ("1", "politeness", "Ben", 0), ("2", "politeness", "Ann", 1)],
        ),
        (
            "List",
            "json",
            ["t1-1", "t1-2"],
            [("t1-1", "natural", "rater 1", 3), ("t1-1", "natural", "rater 2", 3)]
            + [("t1-2", "natural", f"rater {n}", value) for n, value in enumerate((1, 2, 1), 1)],
        ),
    ],
)
def test_the_example_gives_the_documented_items_and_labels(
    tmp_path: Path, name: str, suffix: str, items: list, labels: list
) -> None:
    data, text = EXAMPLES[name]
    (tmp_path / f"data.{suffix}").write_text(data)
    (tmp_path / "mapping.yaml").write_text(text)
    records = list(read_records(tmp_path / f"data.{suffix}", mapping=load_mappings(tmp_path / "mapping.yaml")[0]))
    assert [record.id for record in items_of(records)] == items
    read = labels_of(records)
    assert [(label.target.item, label.target.criterion, label.annotator, label.value) for label in read] == labels
