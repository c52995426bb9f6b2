"""The import of a table stores exactly what its golden file has, whatever makes it faster or smaller."""

from pathlib import Path

import pytest

from core.errors import TiebreakError
from core.formats.mapping.mapping import build_mapping, load_mapping
from core.formats.registry import read_for_import, read_records
from storage.db.connections import reading
from storage.studies import studies
from storage.transfer import _spool, imports
from tests.golden.files import assert_golden
from tests.paths import ROOT
from tests.storage.transfer.test_imports import export

FIXTURES = ROOT / "tests" / "fixtures" / "imports"


def to_text(records):
    """Return records as lines, without the times of the import itself."""
    return "\n".join(record.model_dump_json(exclude={"created_at", "times", "at"}) for record in records)


@pytest.mark.parametrize("read", [read_records, read_for_import])
@pytest.mark.parametrize(("layout", "table"), [("wide", "pairs"), ("long", "pairs"), ("judged", "judged")])
def test_the_import_of_a_table_stores_the_same_as_before(engine, monkeypatch, layout, table, read):
    monkeypatch.setattr(_spool, "TRACE_BATCH", 7)
    mapping = load_mapping(FIXTURES / f"{layout}.yaml")
    imports.import_records(engine, "table", read(FIXTURES / f"{table}.csv", mapping=mapping))
    assert_golden(f"imports/{layout}.jsonl", to_text(export(engine, "table")))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_temporary_folder_is_one_sentence_and_nothing_is_stored(engine, tmp_path, monkeypatch):
    table = tmp_path / "t.csv"
    rows = [f"{number},q,a,b,1" for number in range(200)]
    table.write_text("\n".join(["id,question,left,right,j1", *rows]), "utf-8")
    judges = [{"kind": "preference", "criterion": "helpfulness", "columns": {"j1": "judge 1"}}]
    responses = [{"text": "left"}, {"text": "right"}]
    mapping = build_mapping({"id": "id", "prompt": "question", "responses": responses, "judges": judges})
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: Path("/dev/full").open("r+b"))  # noqa: SIM115
    with pytest.raises(TiebreakError, match=r"cannot write its temporary files: No space left on device\. .* TMPDIR"):
        imports.import_records(engine, "s", read_for_import(table, mapping=mapping))
    with reading(engine) as session:
        assert studies.names(session) == []
