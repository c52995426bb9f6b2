from datetime import timedelta

import pytest
from sqlalchemy import text

from core.errors import TiebreakError
from core.formats.records import ItemRecord, RunRecord
from core.llm import images
from core.llm.client import ScriptedModel
from storage.db.connections import reading, writing
from storage.labels import labels
from storage.reports import disagreements
from storage.runs import runs, traces
from storage.studies import studies
from storage.transfer import deletions, exports, imports
from storage.worker import _launch
from tests.conftest import make_item, make_target
from tests.sessions import read, write
from tests.storage.shared import find_traces, store_label
from tests.storage.worker.test_worker import execute, make_request


@pytest.fixture
def executed(engine, a_study):
    """A study with one run of three debates, which the judges disagree on, and a label."""
    model = ScriptedModel(lambda ask: "1" if ask.speaker == "a" else "2")
    run, _ = execute(engine, _launch.create_run(engine, make_request(a_study)), model)
    write(engine, store_label, a_study.id, make_target(), "ann", 1)
    return run


def study_records(engine, study):
    return [record for record in exports.export_records(engine, study) if record.type in ("run", "trace", "label")]


def test_a_deleted_run_is_in_no_figure_and_is_restored_as_it_was(engine, a_study, executed):
    stored = study_records(engine, a_study)
    before = read(engine, disagreements.version, a_study.id)
    write(engine, deletions.delete_run, executed.id)
    with reading(engine) as session:
        assert runs.of_study(session, a_study.id) == []
        assert list(find_traces(session, traces.Filter(a_study.id))) == []
        assert disagreements.version(session, a_study.id) != before
        assert len(list(labels.of_study(session, a_study.id))) == 1
        (deleted,) = deletions.deleted_runs(session, a_study.id)
    assert (deleted.name, deleted.traces) == (executed.name, 3)
    assert write(engine, deletions.restore_run, a_study.id, deleted.id) == executed.name
    assert study_records(engine, a_study) == stored
    with reading(engine) as session:
        assert deletions.deleted_runs(session, a_study.id) == []
        (restored,) = runs.of_study(session, a_study.id)
    assert (restored.state, restored.source, restored.seed) == ("finished", "live", executed.seed)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # PostgreSQL stores no text in a column of numbers
def test_a_run_with_a_text_as_seed_can_be_exported_and_deleted(engine, a_study, executed):
    with writing(engine) as session:
        session.execute(text("UPDATE run SET seed = 'abc'"))
    assert [record.seed for record in study_records(engine, a_study) if isinstance(record, RunRecord)] == [0]
    write(engine, deletions.delete_run, executed.id)


def test_a_run_whose_name_was_used_again_is_not_restored(engine, a_study, executed):
    write(engine, deletions.delete_run, executed.id)
    _launch.create_run(engine, make_request(a_study))
    with writing(engine) as session:
        (deleted,) = deletions.deleted_runs(session, a_study.id)
        with pytest.raises(TiebreakError, match="another run called"):
            deletions.restore_run(session, a_study.id, deleted.id)
    assert read(engine, deletions.deleted_runs, a_study.id) == [deleted]


def test_a_run_that_is_executed_is_neither_deleted_nor_its_study(engine, a_study):
    run_id = _launch.create_run(engine, make_request(a_study))
    for delete, deleted_id in ((deletions.delete_run, run_id), (deletions.delete_study, a_study.id)):
        with writing(engine) as session, pytest.raises(TiebreakError, match="cancel it first"):
            delete(session, deleted_id)


def test_a_deleted_study_is_not_found_and_its_name_is_free(engine, a_study, executed):
    stored = study_records(engine, a_study)
    with writing(engine) as session:
        deletions.delete_study(session, a_study.id)
        assert studies.names(session) == []
        with pytest.raises(TiebreakError, match="no study called 's'"):
            studies.get(session, "s")
        with pytest.raises(TiebreakError, match="deleted already"):
            deletions.delete_study(session, a_study.id)
        assert [deleted.name for deleted in deletions.deleted_studies(session)] == ["s"]
    imports.import_records(engine, "s", [ItemRecord(item=make_item("other"))])
    with writing(engine) as session:
        assert deletions.restore_study(session, a_study.id) == "s (2)"
        restored = studies.get(session, "s (2)")
        with pytest.raises(TiebreakError, match="not deleted"):
            deletions.restore_study(session, a_study.id)
    assert study_records(engine, restored) == stored


def test_what_was_deleted_is_removed_for_good_after_the_period(engine, a_study, executed, monkeypatch):
    with writing(engine) as session:
        deletions.delete_run(session, executed.id)
        deletions.delete_study(session, a_study.id)
        deletions.remove_expired(session)
        assert len(deletions.deleted_studies(session)) == 1
    monkeypatch.setattr("storage.transfer.deletions.PERIOD", timedelta(seconds=-1))
    with writing(engine) as session:
        deletions.remove_expired(session)
        assert deletions.deleted_studies(session) == []
        assert deletions.deleted_runs(session, a_study.id) == []


def test_the_images_of_a_study_are_found_under_its_new_name(engine, a_study, tmp_path, monkeypatch):
    monkeypatch.setenv("TIEBREAK_MEDIA", str(tmp_path))
    images.media_folder("s").mkdir()
    write(engine, studies.rename, a_study.id, "t")
    assert images.media_folder("t").is_dir() and not images.media_folder("s").exists()


def test_an_archived_study_is_listed_last_and_a_renamed_one_under_its_new_name(engine, a_study):
    with writing(engine) as session:
        other = studies.get_or_create(session, "older name")
        studies.rename(session, other.id, " new  name ")
        studies.archive(session, other.id)
        assert studies.names(session) == ["s", "new name"]
        assert studies.get(session, "new name").archived
        studies.archive(session, other.id, archived=False)
        assert not studies.get(session, "new name").archived
        with pytest.raises(TiebreakError, match="'s' already exists"):
            studies.rename(session, other.id, "s")
        with pytest.raises(TiebreakError, match="needs a name"):
            studies.rename(session, other.id, " ")
