"""Detecting a format, and reading a file with it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import FileFormatError, TiebreakError
from core.formats.registry import READERS, detect_format, read_records, unread_files
from core.formats.text import recording_reads
from tests.core.formats.shared import write_content

ITEM = '{"type":"item","item":{"id":"a","prompt":"p"}}'


def test_a_file_is_recognised_by_its_first_record(tmp_path: Path) -> None:
    path = write_content(tmp_path / "study.jsonl", ITEM)
    assert detect_format(path) == "tiebreak"
    assert len(list(read_records(path))) == 1


def test_an_unreadable_file_is_refused_before_the_first_record(tmp_path: Path) -> None:
    path = write_content(tmp_path / "study.jsonl", ITEM)
    with pytest.raises(TiebreakError, match=r"there is no format 'xml'; known formats: tiebreak, scaleeval, .*table"):
        read_records(path, format="xml")
    with pytest.raises(FileFormatError, match="there is no file or folder"):
        read_records(tmp_path / "absent.csv")
    with pytest.raises(TiebreakError, match="it needs a mapping that assigns its fields"):
        read_records(path, format="table")


IMPORTED_READERS = """
import importlib, json, multiprocessing, sys
import core.formats.records
from tests.core.formats.shared import write_content

def imported_with(module):
    importlib.import_module(module)
    return [name for name, other in readers.items() if other in sys.modules]

readers = json.loads(sys.argv[1])
with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as processes:
    print(json.dumps(dict(zip(readers, processes.map(imported_with, readers.values(), chunksize=1)))))
"""
"""Print the formats whose modules are imported with each, in a process of its own after what all import."""


@pytest.mark.slow
def test_importing_a_format_does_not_import_the_others() -> None:
    command = [sys.executable, "-c", IMPORTED_READERS, json.dumps(dict(READERS))]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(completed.stdout) == {name: [name] for name in READERS}


def test_the_documented_formats_are_the_readable_ones_and_their_example_is_read(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \|", text.partition("## ")[0], re.MULTILINE) == list(READERS)
    path = write_content(
        tmp_path / "example.jsonl",
        "\n".join(line.strip() for line in text.splitlines() if line.startswith('    {"type"')),
    )
    assert [record.type for record in read_records(path)] == ["item", "label"]


def test_the_files_of_a_folder_that_are_not_read_are_named(tmp_path: Path) -> None:
    text = "text,aspect1,aspect2,gpt4_w1,gpt4_w2,ann1,ann2\nWhy?,a,b,60,40,30 70,80 20\n"
    (tmp_path / "fair_gpt4_human.csv").write_text(text)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "README.md").write_text("About.")
    with recording_reads() as opened:
        assert len(list(read_records(tmp_path))) == 5
    assert unread_files(tmp_path, opened) == ["README.md", "other.csv"]
