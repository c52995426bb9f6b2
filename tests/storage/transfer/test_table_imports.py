"""The import of a table stores exactly what its golden file has, whatever makes it faster or smaller."""

from pathlib import Path

import pytest

from core.errors import TiebreakError
from core.formats.mapping.mapping import build_mapping, load_mappings
from core.formats.registry import read_for_import, read_records
from storage.studies import studies
from storage.transfer import _spool, imports
from tests.golden.files import assert_golden
from tests.paths import ROOT
from tests.sessions import read
from tests.storage.transfer.test_imports import export

FIXTURES = ROOT / "tests" / "fixtures" / "imports"


def to_text(records):
    """Return records as lines, without the times of the import itself."""
    return "\n".join(record.model_dump_json(exclude={"created_at", "times", "at"}) for record in records)


@pytest.mark.parametrize("read", [read_records, read_for_import])
@pytest.mark.parametrize(("layout", "table"), [("wide", "pairs"), ("long", "pairs"), ("judged", "judged")])
def test_the_import_of_a_table_stores_the_same_as_before(engine, monkeypatch, layout, table, read):
    monkeypatch.setattr(_spool, "TRACE_BATCH", 7)
    mapping = load_mappings(FIXTURES / f"{layout}.yaml")[0]
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
    assert read(engine, studies.names) == []


def test_an_import_with_other_meanings_says_how_many_labels_it_replaces_and_which_stay(engine, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("id,a,b,ann\n1,So.,Thus.,0\n2,Now.,Then.,1\n3,Here.,There.,x\n", "utf-8")

    def import_with(**values):
        block = {"layout": "wide", "kind": "preference", "annotators": ["ann"], "values": values}
        draft = {"id": "id", "responses": [{"text": "a"}, {"text": "b"}], "labels": [block]}
        return imports.import_records(engine, "s", read_for_import(table, mapping=build_mapping(draft)))

    first = import_with(**{"0": 1, "1": 2, "x": None})
    assert (first.labels, first.replaced, first.superseded) == (2, 0, 0)
    assert import_with(**{"0": 1, "1": 2, "x": None}).summary().startswith("nothing new")
    second = import_with(**{"0": 2, "1": 2, "x": 0})
    assert (second.labels, second.replaced, second.superseded) == (2, 1, 0)
    assert second.summary() == "added 2 labels; 1 of the labels replace another value"
    third = import_with(**{"0": 1, "1": 2, "x": None})
    assert (third.labels, third.replaced, third.superseded) == (0, 0, 1)
    assert "1 labels of the file have another value in the study, which stays" in third.summary()


def test_an_import_of_gold_with_other_meanings_says_how_many_decisions_it_replaces(engine, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("id,a,b,gold\n1,So.,Thus.,0\n2,Now.,Then.,1\n", "utf-8")

    def import_with(**values):
        block = {"kind": "preference", "value": "gold", "values": values}
        draft = {"id": "id", "responses": [{"text": "a"}, {"text": "b"}], "gold": [block]}
        counts = imports.import_records(engine, "s", read_for_import(table, mapping=build_mapping(draft)))
        return counts.rulings, counts.replaced_rulings, counts.superseded_rulings

    assert import_with(**{"0": 1, "1": 2}) == (2, 0, 0)
    assert import_with(**{"0": 1, "1": 2}) == (0, 0, 0)
    assert import_with(**{"0": 2, "1": 2}) == (1, 1, 0)
    assert import_with(**{"0": 1, "1": 2}) == (0, 0, 1)
