"""Versions of a SQLite database, which change with every commit to its file."""

from pathlib import Path

import pytest

from storage.db import changes, connections
from storage.studies import annotators
from tests.databases import create_database


@pytest.fixture
def file_engine(tmp_path: Path, monkeypatch):
    """A SQLite database in a file; its version changes only with commits."""
    monkeypatch.setattr("storage.db.changes.MAX_AGE", 1e9)
    engine = connections.connect(create_database(tmp_path / "commits.db"))
    yield engine
    changes.stop(engine)
    engine.dispose()


def add_annotator(engine, name):
    with connections.writing(engine) as session:
        annotators.get_or_create_id(session, name)


def test_a_version_changes_with_a_commit_and_not_without(file_engine):
    known = changes.version(file_engine, "study 1")
    assert changes.version(file_engine, "study 1") == known
    add_annotator(file_engine, "ann")
    later = changes.version(file_engine, "study 1")
    assert later != known
    with connections.reading(file_engine) as session:
        annotators.find_id(session, "ann")
    assert changes.version(file_engine, "study 1") == later


def test_a_version_changes_after_its_maximum_age(file_engine, monkeypatch):
    known = changes.version(file_engine, "study 1")
    monkeypatch.setattr("storage.db.changes.MAX_AGE", 1e-9)
    assert changes.version(file_engine, "study 1") != known


def test_a_deleted_file_is_not_created_again(tmp_path):
    engine = connections.connect(f"sqlite:///{tmp_path / 'deleted.db'}")
    assert changes.version(engine, "study 1") != changes.version(engine, "study 1")
    assert not (tmp_path / "deleted.db").exists()
