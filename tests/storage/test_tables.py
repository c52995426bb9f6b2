import importlib
import sys

from storage import tables


def test_the_tables_can_be_imported_again_while_the_app_runs(monkeypatch):
    monkeypatch.delitem(sys.modules, "storage.tables")
    reloaded = importlib.import_module("storage.tables")
    assert reloaded is not tables
    assert reloaded.Table.metadata.tables.keys() == tables.Table.metadata.tables.keys()
    monkeypatch.setattr(sys.modules["storage"], "tables", tables)


def test_the_tables_can_be_reloaded_in_place(monkeypatch):
    names = set(vars(tables))
    before = dict(vars(tables))
    try:
        importlib.reload(tables)
        assert names <= set(vars(tables))
    finally:
        vars(tables).update(before)


def test_every_foreign_key_cascades():
    keys = [key for table in tables.Table.metadata.tables.values() for key in table.foreign_keys]
    assert len(keys) > 20
    assert {key.ondelete for key in keys} == {"CASCADE"}


def test_every_constraint_has_a_name():
    constraints = [c for table in tables.Table.metadata.tables.values() for c in table.constraints]
    assert all(constraint.name for constraint in constraints)
