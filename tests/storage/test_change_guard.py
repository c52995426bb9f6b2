"""The guard of changes: every table has a rule, and each role can change exactly the tables of its permissions."""

import threading

import pytest
from sqlalchemy import delete, false, insert, update

from storage.accounts import access, registry
from storage.accounts.access import Permission, Role
from storage.accounts.registry import Actor
from storage.db import guards
from storage.db.connections import writing
from storage.db.guards import CHANGE_PERMISSIONS, UncheckedChange
from storage.db.tables import Table
from storage.studies import studies
from tests.conftest import make_target
from tests.sessions import write
from tests.storage.shared import store_label

LABELLERS = {"owner", "researcher", "adjudicator", "annotator"}
EDITORS = {"owner", "researcher"}
ROLES = {
    "label": LABELLERS,
    "draft": LABELLERS,
    "lease": LABELLERS,
    "mark": LABELLERS,
    "reply": LABELLERS,
    "action": LABELLERS,
    "undo_entry": LABELLERS,
    "training_answer": LABELLERS,
    "repeat": LABELLERS,
    "repeat_draft": LABELLERS,
    "guidelines_read": LABELLERS,
    "aiu_edit": LABELLERS,
    "scale": LABELLERS,
    "adjudication": {"owner", "researcher", "adjudicator"},
    "study": EDITORS,
    "guidelines": EDITORS,
    "item": EDITORS,
    "transcript": EDITORS,
    "known_answer": EDITORS,
    "deleted_run": EDITORS,
    "criterion": EDITORS,
    "run": EDITORS,
    "experiment": EDITORS,
    "split": EDITORS,
    "item_part": EDITORS,
    "variant": EDITORS,
    "held_out_use": EDITORS,
    "criterion_version": EDITORS,
    "member": {"owner"},
}
UNPROTECTED = {
    "target": "every look at an item may add its targets; they have no value",
    "opinion_view": "records what the person has seen",
    "visitor_view": "records what the person has seen",
    "annotator": "a name; what is stored under it is protected",
    "account": "checked by storage.accounts and require_administrator",
    "login": "of the person's own account",
    "invitation": "checked by require_administrator, or by the role of an owner for new accounts",
    "api_token": "of the person's own account",
    "sign_in_attempt": "counted before anybody is signed in",
    "audit": "append-only by triggers",
    "server_secret": "created once by the server",
    "trace": "stored by workers",
    "event": "stored by workers",
    "call": "stored by workers",
    "pending_call": "stored by workers",
    "live_trace": "records that a trace is watched; its calls are stored by workers",
    "unread_reply": "stored by workers",
    "opinion": "stored by workers",
    "design": "stored by workers; a change by people also changes the study",
    "worker": "stored by workers",
    "reservation": "stored by workers",
    "spending": "stored by workers",
    "model_pause": "stored by workers",
}
TABLES = {table.name: table for table in Table.metadata.tables.values()}


@pytest.fixture
def enforced():
    """Enforce permissions in this thread until the end of the test."""
    guards.enforce()
    yield
    guards._enforced.set(False)


def is_refused(engine, statement):
    try:
        with writing(engine) as session:
            session.execute(statement)
    except UncheckedChange:
        return True
    return False


def test_every_table_has_a_rule():
    assert CHANGE_PERMISSIONS.keys() == ROLES.keys()
    assert TABLES.keys() == CHANGE_PERMISSIONS.keys() | UNPROTECTED.keys()
    assert not CHANGE_PERMISSIONS.keys() & UNPROTECTED.keys()


def test_each_role_changes_exactly_its_tables(engine, a_study, enforced):
    guards._enforced.set(False)
    actors = {"": Actor("")}
    with writing(engine) as session:
        registry.add(session, "administrator")
        for name in (*Role, "stranger"):
            actors[name] = Actor(name, registry.add(session, name).id)
            if name != "stranger":
                access.set_role(session, a_study.id, name, Role(name))
    guards._enforced.set(True)
    for name, actor in actors.items():
        with guards.operation():
            with writing(engine) as session:
                for permission in Permission:
                    if access.allows(session, a_study.id, actor, permission):
                        access.require(session, a_study.id, actor, permission)
            for table in CHANGE_PERMISSIONS:
                refused = is_refused(engine, delete(TABLES[table]).where(false()))
                assert refused == (name not in ROLES[table]), (name, table)


def test_nothing_is_changed_without_a_check_and_in_another_study(engine, a_study, enforced):
    def label():
        write(engine, store_label, a_study.id, make_target(), "ann", 1)

    with pytest.raises(UncheckedChange):
        label()
    with guards.operation():
        with pytest.raises(UncheckedChange):
            label()
        write(engine, access.require, a_study.id, Actor("ann"), Permission.label)
        label()
    row = {"study_id": a_study.id + 1, "name": "x", "position": 1, "body": {}}
    with guards.operation(), writing(engine) as session:
        access.require(session, a_study.id, Actor("ann"), Permission.edit)
        with pytest.raises(UncheckedChange):
            session.execute(insert(TABLES["criterion"]), [row])
    with writing(engine) as session, pytest.raises(UncheckedChange):
        studies.rename(session, a_study.id, "renamed")


def test_commands_and_workers_are_not_enforced_and_all_threads_of_a_server_are(engine, a_study, monkeypatch):
    statement, found = update(TABLES["study"]).where(false()).values(name="x"), []
    assert not is_refused(engine, statement)
    monkeypatch.setattr(guards, "_process_enforced", [False])
    guards.enforce_in_process()
    thread = threading.Thread(target=lambda: found.append(is_refused(engine, statement)))
    thread.start()
    thread.join()
    assert found == [True]
    assert not is_refused(engine, update(TABLES["run"]).where(false()).values(name="x")), "workers renew their claims"
