import importlib
import json
import subprocess
import sys

import pytest

from storage import db
from storage.db import tables
from storage.db.columns import sanitize, to_json, to_storable_json
from tests.conftest import make_item
from tests.paths import ROOT


def test_the_tables_can_be_imported_again_while_the_app_runs(monkeypatch):
    monkeypatch.delattr(db, "tables")
    monkeypatch.delitem(sys.modules, "storage.db.tables")
    reloaded = importlib.import_module("storage.db.tables")
    assert reloaded is not tables
    assert reloaded.Table.metadata.tables.keys() == tables.Table.metadata.tables.keys()


def test_the_tables_can_be_reloaded_in_place():
    before = dict(vars(tables))
    try:
        importlib.reload(tables)
        assert before.keys() <= vars(tables).keys()
        assert tables.Table.metadata.tables.keys() == before["Table"].metadata.tables.keys()
    finally:
        vars(tables).update(before)


def test_every_constraint_has_a_name_and_keys_cascade_except_that_of_a_run_to_its_experiment():
    constraints = [c for table in tables.Table.metadata.tables.values() for c in table.constraints]
    assert all(constraint.name for constraint in constraints)
    keys = [key for table in tables.Table.metadata.tables.values() for key in table.foreign_keys]
    assert len(keys) > 20
    others = {str(key.parent): key.ondelete for key in keys if key.ondelete != "CASCADE"}
    assert others == {"run.experiment_id": "SET NULL"}


def test_no_table_has_built_the_validator_that_it_does_not_use():
    script = (
        "from storage.db import tables\n"
        "tables.LabelRow(study_id=1, target_id=1, annotator_id=1, fingerprint='f')\n"
        "print([table.__name__ for table in tables.row_types().values() if table.__pydantic_complete__])"
    )  # in a process of its own: other tests may have validated a row
    printed = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert printed.stdout == "[]\n"


MARK = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("value", [None, True, 1, 1.0, -0.0, 2**70, "日本 🙂\u2028", {"a": [1, {"b": None}]}, []])
def test_json_keeps_types_and_values(value):
    assert sanitize(value) is value
    assert repr(json.loads(to_json(value))) == repr(value)


def test_a_model_is_serialised_as_its_fields():
    assert json.loads(to_json(make_item())) == make_item().model_dump(mode="json")


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({"a\x00": ["b\ud83d", {"c": "\x00"}], "d": 1}, {f"a{MARK}": [f"b{MARK}", {"c": MARK}], "d": 1}),
        ("\ud83d\ude42 \x00", f"🙂 {MARK}"),  # a whole surrogate pair is one character
        ("\\u0000", "\\u0000"),  # an escaped backslash is no NUL
    ],
)
def test_unstorable_text_is_replaced_at_every_depth(value, stored):
    assert sanitize(value) == stored


@pytest.mark.parametrize("text", ["日本 🙂", "a\x00", "b\ud83d", "\\u0000"])
def test_storable_json_is_that_of_the_sanitized_value(text):
    value = {"a": [text, {text: 0.5}], "b": None}
    assert to_storable_json(value) == to_json(sanitize(value))
