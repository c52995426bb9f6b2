"""Files of one folder are joined by the fields that pair up."""

from pathlib import Path

import pytest

from core.errors import FileFormatError
from core.formats.mapping.joins import find_joins
from core.formats.mapping.scope import recording_omissions
from core.formats.mapping.suggest import suggest_table
from core.formats.registry import read_records
from tests.core.formats.mapping.shared import confirmed
from tests.core.formats.shared import items_of, labels_of


def test_files_are_joined_by_the_fields_that_pair_up_and_wrong_keys_are_counted(tmp_path: Path) -> None:
    files = {
        "outputs": "output_id,task_id,model,output_text\no1,t1,a,Law is.\no2,t1,b,Law was.\no3,t2,a,Tax is.\n",
        "ratings": "output_id,annotator,score\no1,Ann,3\no1,Ben,4\no2,Ann,5\n",
        "tasks": "task_id,question\nt1,What is law?\nt2,What is tax?\n",
    }
    paths = {name: tmp_path / f"{name}.csv" for name in files}
    for name, text in files.items():
        paths[name].write_text(text)
    table, joins = find_joins([*paths.values()])
    assert table.name == "ratings.csv" and [own["key"] for own in joins] == ["output_id", "outputs.task_id"]
    mapping = confirmed(table, {}, suggest_table(table, None, joins))
    with recording_omissions() as omissions:
        records = list(read_records(table, mapping=mapping))
    item = next(record for record in items_of(records))
    assert (item.id, item.prompt, item.responses[0].text) == ("o1", "What is law?", "Law is.")
    assert len(labels_of(records)) == 3 and omissions.records_without_row == 1 + 1
    paths["ratings"].write_text(files["ratings"] + "o8,Ann,1\no9,Ben,2\n")
    with pytest.raises(FileFormatError, match=r"outputs.csv has no record 'o8', 'o9' \(2 keys\)"):
        list(read_records(table, mapping=mapping))
    paths["outputs"].write_text(files["outputs"] + "o3,t1,b,x\no2,t1,b,x\n")
    with pytest.raises(FileFormatError, match=r"outputs.csv has 'o2', 'o3' \(2 keys\) more than once"):
        list(read_records(table, mapping=mapping))
