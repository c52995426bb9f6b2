"""Erasing a person: no table names them afterwards, and their labels stay under a random name or go with them."""

import gzip
import json
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text, update
from typer.testing import CliRunner

import cli
from core.errors import TiebreakError
from core.formats.records import ItemRecord, MarkRecord, RunRecord
from core.llm import images
from core.llm.client import ScriptedModel
from core.trace import ReadingReplaced, ReadingWithdrawn
from storage.accounts import access, registry, tokens
from storage.db import audit
from storage.db.connections import connect, reading, writing
from storage.db.tables import (
    ActionRow,
    DraftRow,
    GuidelinesReadRow,
    LeaseRow,
    LoginRow,
    MarkRow,
    RepeatDraftRow,
    RepeatRow,
    RunRow,
    Table,
    TargetRow,
    TraceRow,
    TrainingAnswerRow,
    UndoEntryRow,
    UnreadReplyRow,
    now,
)
from storage.labelling import queue
from storage.labels import labels, views
from storage.reports import disagreements
from storage.runs import outcomes, runs, traces
from storage.runs.outcomes import NewEvent
from storage.studies import annotators, studies
from storage.transfer import deletions, erasure, exports, imports
from storage.transfer.erasure import Labels, erase
from storage.transfer.participation import stored_records
from storage.worker import _launch
from tests.accounts import add_account, enter, fast_hashes, stored_text
from tests.conftest import make_item, make_target
from tests.sessions import read, write
from tests.storage.labelling.workbench import set_rules
from tests.storage.shared import debates, find_traces, store_label
from tests.storage.worker.test_worker import execute, make_request

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)
NAME = 'Zo\u00e9 "Z" Vie'


@pytest.fixture
def study_id(engine):
    """Four debates that Zoé and bob label, and rows of Zoé in every table that can name a person."""
    found = debates(engine, 4).study_id
    add_account(engine, "bob")
    account = add_account(engine, NAME, email="zoe@lab.example")
    enter(engine, NAME)
    with pytest.raises(TiebreakError):
        enter(engine, NAME, "a wrong password")
    set_rules(engine, annotators=(NAME, "bob"), groups={"math": (NAME,)})
    with writing(engine) as session, audit.acting(NAME):
        access.set_role(session, found, NAME, access.Role.researcher)
        tokens.create_token(session, account, "script")
        tokens.invite(session, account)
        for name in (NAME, "bob"):
            store_label(session, found, make_target("item 0"), name, 1)
        labels.adjudicate(session, found, make_target("item 3"), 1, rule="majority", reason="clear", adjudicator=NAME)
        queue.set_mark(session, found, make_target("item 1"), NAME, "note", text="mine")
        queue.set_mark(session, found, make_target("item 1"), NAME, "skip")
        views.record(session, found, [make_target("item 3")], NAME)
        audit.record_change(session, found, f"members: {NAME}")
    add_rows(engine, found)
    return found


def add_rows(engine, study_id):
    with writing(engine) as session:
        me = annotators.get_or_create_id(session, NAME)
        target = session.scalar(select(func.min(TargetRow.id)))
        trace = session.scalar(select(func.min(TraceRow.id)))
        run = session.scalar(select(func.min(RunRow.id)))
        own = {"annotator_id": me, "at": now()}
        queued = own | {"study_id": study_id}
        session.add(GuidelinesReadRow(version=1, **queued))
        session.add(ActionRow(client="c", seq=1, result={}, **queued))
        session.add(UndoEntryRow(queue="q", type="label", task_id=target, target_id=target, **queued))
        session.add(DraftRow(target_id=target, body={"value": 1}, **own))
        session.add(LeaseRow(target_id=target, annotator_id=me, until=now()))
        session.add(TrainingAnswerRow(target_id=target, attempt=1, value=1, correct=True, **own))
        session.add(RepeatRow(target_id=target, number=1, value=1, **queued))
        session.add(RepeatDraftRow(target_id=target, body={"value": 1}, **own))
        numbers = [900, 901]
        replaced = ReadingReplaced(ask=0, reading=1, read_by=f"person: {NAME}")
        events = [replaced, ReadingWithdrawn(ask=0, by=NAME)]
        outcomes.append_events(
            session, [NewEvent(trace, seq, event) for seq, event in zip(numbers, events, strict=True)]
        )
        session.flush()
        session.add(
            UnreadReplyRow(
                study_id=study_id, run_id=run, trace_id=trace, ask=99, seq=1, judge="j", step="s", reason="r",
                read_by=f"person: {NAME}",
            )
        )  # fmt: skip


def count(engine, table):
    with reading(engine) as session:
        return session.scalar(select(func.count()).select_from(table))


def assert_nobody_is_named(engine):
    stored = stored_text(engine)
    for form in (NAME, repr(NAME)[1:-1], json.dumps(NAME)[1:-1], json.dumps(NAME, ensure_ascii=False)[1:-1], "zoe@"):
        assert form not in stored and repr(form)[1:-1] not in stored


def test_every_table_with_an_annotator_is_part_of_an_erasure():
    named = {
        table.name
        for table in Table.metadata.tables.values()
        for column in table.columns
        for key in column.foreign_keys
        if key.target_fullname.startswith("annotator.")
    }
    known = {table.__tablename__ for table in (*erasure.REMOVED, *erasure.WORK)}
    assert named == known | {"reply", "aiu_edit"}


def test_labels_stay_under_a_random_name_and_no_table_names_the_person(engine, study_id):
    found = write(engine, erase, NAME, Labels.keep)
    assert_nobody_is_named(engine)
    assert found.renamed["event"] == 2 and found.renamed["unread_reply"] == 1 and found.renamed["audit"] >= 5
    with reading(engine) as session:
        rows = list(labels.of_study(session, study_id))
        assert {row.annotator for row in rows} == {found.alias, "bob"}
        assert [ruling.adjudicator for ruling in labels.adjudications(session, study_id)] == [found.alias]
        assert studies.get(session, "s").rules.annotators == (found.alias, "bob")
        assert registry.find(session, found.alias) is None
        (entry,) = audit.entries(session, audit.Filter(), limit=1)
        assert entry.details == {"change": "person erased", "account": found.alias, "labels": "keep"}
        assert {one.address for one in audit.entries(session, audit.Filter(actor=found.alias))} == {""}
        assert [mark.mark for mark in stored_records(session, study_id, MarkRecord)] == ["skip"]
    for table in (DraftRow, RepeatDraftRow, LeaseRow, ActionRow, UndoEntryRow, GuidelinesReadRow):
        assert count(engine, table) == 0
    with pytest.raises(TiebreakError):
        enter(engine, NAME)
    with pytest.raises(Exception, match="append-only"), writing(engine) as session:
        session.execute(text("UPDATE audit SET actor = 'nobody'"))


def test_labels_go_with_the_person_and_their_targets_are_counted_again(engine, study_id):
    found = write(engine, erase, NAME, Labels.remove)
    assert_nobody_is_named(engine)
    assert found.alias == "" and found.removed["label"] == 1
    with reading(engine) as session:
        assert [row.annotator for row in labels.of_study(session, study_id)] == ["bob"]
        assert annotators.names(session) == ["bob"]
        assert set(session.scalars(select(TargetRow.counted))) == {0, 1}
    assert count(engine, MarkRow) == count(engine, TrainingAnswerRow) == count(engine, RepeatRow) == 0


def test_a_deleted_run_and_its_restored_events_do_not_name_the_person(engine, study_id):
    with writing(engine) as session:
        run = session.scalar(select(func.min(RunRow.id)))
        session.execute(update(RunRow).values(state="finished"))
        deletions.delete_run(session, run)
    with writing(engine) as session:
        assert erase(session, NAME, Labels.keep).renamed["deleted_run"] == 1
        records = gzip.decompress(session.execute(text("SELECT records FROM deleted_run")).scalar()).decode()
        (deleted,) = deletions.deleted_runs(session, study_id)
        assert deletions.restore_run(session, study_id, deleted.id)
    assert json.dumps(NAME, ensure_ascii=False)[1:-1] not in records and "person: erased" in records
    assert_nobody_is_named(engine)


def test_texts_that_mention_the_name_are_counted_and_the_only_administrator_is_not_erased(engine, study_id):
    with writing(engine) as session:
        store_label(session, study_id, make_target("item 2"), "bob", 1, reason=f"as {NAME} said")
        assert erase(session, NAME, Labels.keep).mentions == {"label.reason": 1}
        with pytest.raises(TiebreakError, match="only administrator"):
            erase(session, "bob", Labels.keep)
        with pytest.raises(TiebreakError, match="no annotator"):
            erase(session, "nobody", Labels.keep)


def test_the_command_stores_nothing_without_apply(engine, study_id):
    url = engine.url.render_as_string(hide_password=False)
    command = ["people", "erase", NAME, "--labels", "keep", "--database", url]
    shown = CliRunner().invoke(cli.app, command)
    assert shown.exit_code == 0 and "Would erase" in shown.stdout, shown.output
    assert NAME in stored_text(engine)
    done = CliRunner().invoke(cli.app, [*command, "--apply", "--json"])
    assert json.loads(done.stdout)["applied"]
    assert_nobody_is_named(engine)
    connect(url).dispose()


def test_addresses_expire_after_the_set_time_and_nothing_else_of_an_entry_changes(engine, monkeypatch):
    add_account(engine, "ann")
    enter(engine, "ann")
    write(engine, deletions.remove_expired)
    with reading(engine) as session:
        (before,) = audit.entries(session, audit.Filter(actions=("sign-in",)))
        assert before.address == "192.0.2.7"
    later = now() + timedelta(days=91)
    monkeypatch.setattr(deletions, "clock", lambda session: later)
    write(engine, deletions.remove_expired)
    with reading(engine) as session:
        (after,) = audit.entries(session, audit.Filter(actions=("sign-in",)))
        assert session.execute(select(LoginRow.address, LoginRow.browser)).all() == [("", "")]
    assert audit.cells(after) == audit.cells(before) | {"address": ""}
    monkeypatch.setenv("TIEBREAK_ADDRESS_DAYS", "0")
    with pytest.raises(TiebreakError, match="TIEBREAK_ADDRESS_DAYS"), writing(engine) as session:
        deletions.remove_expired(session)
    for change in ("address = 'x'", "address = '', actor = 'x'"):
        with pytest.raises(Exception, match="append-only"), writing(engine) as session:
            session.execute(text(f"UPDATE audit SET {change}"))


# Deleted studies and runs


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


def test_an_archived_study_is_listed_last_and_a_renamed_one_with_its_images_under_its_new_name(
    engine, a_study, tmp_path, monkeypatch
):
    monkeypatch.setenv("TIEBREAK_MEDIA", str(tmp_path))
    images.media_folder("older name").mkdir()
    with writing(engine) as session:
        other = studies.get_or_create(session, "older name")
        studies.rename(session, other.id, " new  name ")
        assert images.media_folder("new name").is_dir() and not images.media_folder("older name").exists()
        studies.archive(session, other.id)
        assert studies.names(session) == ["s", "new name"]
        assert studies.get(session, "new name").archived
        studies.archive(session, other.id, archived=False)
        assert not studies.get(session, "new name").archived
        with pytest.raises(TiebreakError, match="'s' already exists"):
            studies.rename(session, other.id, "s")
        with pytest.raises(TiebreakError, match="needs a name"):
            studies.rename(session, other.id, " ")
