"""For any content of a file, a reader returns records or raises FileFormatError, and nothing else."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import FileFormatError
from core.formats import tiebreak
from core.formats.mapping.mapping import build_mapping, load_mappings
from core.formats.mapping.preview import preview_table
from core.formats.mapping.table import read

shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "q", "a", "s", "who"]), inner, max_size=5)
    ),
    max_leaves=12,
)
SCALE = {"level": "interval", "low": 0, "high": 5}
MAPPING = build_mapping(
    {
        "id": "{row}-{element}",
        "explode": "s",
        "prompt": ["q", "a"],
        "responses": [{"text": "id", "system": "who", "optional": True}],
        "labels": [
            {"layout": "list", "kind": "score", "value": "a", "annotators_field": "who", "scale": SCALE},
            {"layout": "wide", "kind": "preference", "annotators": ["q", "a.0"]},
            {"layout": "long", "kind": "likert", "annotator": "q", "value": "id", "scale": SCALE, "seconds": "a"},
        ],
    }
)


def read_or_refuse(path: Path) -> None:
    with suppress(FileFormatError):
        list(read(path, MAPPING))
    with suppress(FileFormatError):
        preview_table(path, explode="s")


@shared_folder
@given(content=st.binary(max_size=60), name=st.sampled_from(["t.csv", "t.tsv", "t.json", "t.jsonl", "t.parquet"]))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(content)
    read_or_refuse(tmp_path / name)
    with suppress(FileFormatError):
        list(tiebreak.read(tmp_path / name))


@shared_folder
@given(cells=st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=5), max_size=4))
def test_any_csv_is_read_or_refused(tmp_path: Path, cells: list) -> None:
    text = "id,q,a,s,who\n" + "".join(",".join(row) + "\n" for row in cells)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8", newline="")
    read_or_refuse(tmp_path / "t.csv")


@shared_folder
@given(draft=json_values, text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_mapping_is_built_or_refused(tmp_path: Path, draft: object, text: str) -> None:
    with suppress(FileFormatError):
        build_mapping(draft)
    (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
    with suppress(FileFormatError):
        load_mappings(tmp_path / "m.yaml")[0]


def test_a_deeply_nested_mapping_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("id: " + "[" * 20_000)
    with pytest.raises(FileFormatError, match="expected YAML"):
        load_mappings(tmp_path / "m.yaml")[0]


@pytest.mark.slow
def test_reading_a_csv_imports_neither_pandas_nor_pyarrow_nor_yaml() -> None:
    code = "import sys; from core.formats.mapping import guess, mapping, preview, table;"
    code += "print([name for name in ('pandas', 'pyarrow', 'yaml') if name in sys.modules])"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"
