"""Erasing a person: no table names them afterwards, and their labels stay under a random name or go with them."""

import gzip
import json
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text, update
from typer.testing import CliRunner

import cli
from core.errors import TiebreakError
from core.formats.records import MarkRecord
from core.trace import ReadingReplaced, ReadingWithdrawn
from storage.accounts import access, registry, tokens
from storage.db import audit
from storage.db.connections import reading, writing
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
from storage.runs import outcomes
from storage.runs.outcomes import NewEvent
from storage.studies import annotators, studies
from storage.transfer import deletions, erasure
from storage.transfer.erasure import Labels, erase
from storage.transfer.participation import stored_records
from tests.accounts import add_account, enter, fast_hashes, stored_text
from tests.conftest import make_target
from tests.sessions import write
from tests.storage.labelling.workbench import set_rules
from tests.storage.shared import debates, store_label

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
        own = [one for one in audit.entries(session, audit.Filter(actor=found.alias))]
        assert own and {one.address for one in own} == {""}
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
    from storage.db.connections import connect

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
