"""The audit log: what is recorded, and that no entry can be changed or removed."""

from datetime import UTC, date, datetime

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from core.errors import TiebreakError
from core.trace import Spec
from storage.accounts import access, logins, registry, sign_in, tokens
from storage.accounts.access import Role
from storage.db import audit
from storage.db.audit import Action, Filter
from storage.db.connections import reading, write, writing
from storage.db.tables import AuditRow
from storage.labels import labels, views
from storage.runs import runs
from storage.studies import studies
from storage.transfer import deletions
from tests.accounts import add_account, enter, fast_hashes
from tests.conftest import make_target
from tests.sessions import read
from tests.storage.shared import store_label

pytestmark = pytest.mark.usefixtures(fast_hashes.__name__)
CHANGES = ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "DELETE FROM audit WHERE id < 0 OR 1 = 1"]


def entries(engine, **filter):
    return read(engine, audit.entries, Filter(**filter))


def recorded(engine, action):
    """Return (actor, study, details) of the entries about an action, oldest first."""
    found = entries(engine, actions=(action.value,))
    return [(entry.actor, entry.study, entry.details) for entry in reversed(found)]


@pytest.fixture
def log(engine, a_study):
    with writing(engine) as session:
        audit.record_change(session, a_study.id, "prompts")
    return engine


@pytest.mark.parametrize("statement", CHANGES)
def test_the_database_refuses_to_change_or_delete_an_entry(log, statement):
    with pytest.raises(DBAPIError, match="append-only"), writing(log) as session:
        session.execute(text(statement))
    assert [entry.details for entry in entries(log, actions=("settings",))] == [{"change": "prompts"}]


def test_an_entry_cannot_be_replaced_or_truncated(log):
    (entry,) = entries(log, actions=("settings",))
    if log.dialect.name == "postgresql":
        statement = "TRUNCATE audit"
    else:
        statement = (
            "INSERT OR REPLACE INTO audit (id, at, actor, action, study, address, details) "
            f"VALUES ({entry.id}, '2026-01-01', 'x', 'x', '', '', '{{}}')"
        )
    with pytest.raises(DBAPIError, match="append-only"), writing(log) as session:
        session.execute(text(statement))
    assert entries(log, actions=("settings",)) == [entry]


def test_entries_stay_when_their_study_is_deleted(log, a_study):
    write(log, lambda session: deletions.delete_study(session, a_study.id))
    with writing(log) as session:
        session.execute(text("DELETE FROM study"))
    changes = [
        (entry.study, entry.details["change"]) for entry in entries(log, study_id=a_study.id, actions=("settings",))
    ]
    assert changes == [("s", "study deleted"), ("s", "prompts")]


def test_sign_ins_are_recorded_and_a_wrong_name_is_not_since_it_may_be_a_password(engine):
    add_account(engine, "ann")
    enter(engine, "ann")
    for name in ("ann", "my secret password"):
        with pytest.raises(sign_in.WrongPassword):
            enter(engine, name, "wrong password")
    assert recorded(engine, Action.sign_in) == [("ann", "", {})]
    assert [actor for actor, _, _ in recorded(engine, Action.failed_sign_in)] == ["ann", "unknown name"]
    assert {entry.address for entry in entries(engine, actions=("sign-in", "failed sign-in"))} == {"192.0.2.7"}
    assert "secret" not in repr(entries(engine))


def test_accounts_sessions_tokens_and_roles_are_recorded_with_the_actor(engine, a_study):
    account = add_account(engine, "ann")
    cookie = enter(engine, "ann")
    with audit.acting("an operator"), writing(engine) as session:
        token = tokens.create_token(session, account, "script")
        tokens.revoke(session, account, "script")
        logins.revoke(session, logins.identify(session, cookie).login_id)
        access.set_role(session, a_study.id, "ann", Role.viewer)
        access.set_role(session, a_study.id, "ann", None)
        registry.set_disabled(session, account.id, True)
    own = [(entry.action, entry.details) for entry in reversed(entries(engine, actor="OPERATOR"))]
    assert own == [
        ("token", {"change": "created", "account": "ann", "token": "script"}),
        ("token", {"change": "revoked", "account": "ann", "token": "script"}),
        ("session", {"change": "ended", "account": "ann"}),
        ("role", {"account": "ann", "role": "viewer"}),
        ("role", {"account": "ann", "role": "none"}),
        ("account", {"change": "disabled", "account": "ann"}),
    ]
    assert token not in repr(entries(engine)) and cookie not in repr(entries(engine))


def test_views_are_recorded_if_they_end_blindness(engine, a_study):
    target = make_target()
    with writing(engine) as session:
        store_label(session, a_study.id, target, "ann", 1)
        views.record(session, a_study.id, [target], "ann")
        views.record(session, a_study.id, [target, make_target("item 1")], "bob")
        views.record(session, a_study.id, [target], "bob")
        views.record(session, a_study.id, [make_target("item 2")], "bob")
        views.record(session, a_study.id, [make_target("item 2")], "bob")
        views.record_study(session, a_study.id, "cem")
    assert recorded(engine, Action.view) == [
        ("bob", "s", {"targets": 2}),
        ("bob", "s", {"targets": 1}),
        ("cem", "s", {"targets": "all"}),
    ]


def test_adjudications_imports_and_runs_are_recorded_and_keys_by_name_only(engine, a_study, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "sk-a-secret-key")
    spec = Spec(model="m", address="http://127.0.0.1:8000/v1", key_variable="LAB_API_KEY").model_dump(mode="json")
    with audit.acting("dee"), writing(engine) as session:
        labels.adjudicate(session, a_study.id, make_target(), 1, rule="", reason="clear", adjudicator="dee")
        settings = {"judges": [{"name": "j", "spec": spec}]}
        runs.create(session, a_study.id, "r", protocol="x", criterion="", settings=settings, prompts={})
    assert recorded(engine, Action.adjudication) == [("dee", "s", {"item": "item 0", "kind": "preference"})]
    assert recorded(engine, Action.import_) == [("server", "s", {"result": "added 3 items"})]
    details = {"run": "r", "change": "started", "models": ["m"], "keys": ["LAB_API_KEY"]}
    assert recorded(engine, Action.run) == [("dee", "s", details)]
    assert "sk-a-secret" not in repr(entries(engine))


def test_nothing_is_recorded_of_a_change_that_failed(engine, a_study):
    with writing(engine) as session:
        studies.get_or_create(session, "other")

    def change(session):
        audit.record_change(session, a_study.id, "first")
        studies.rename(session, a_study.id, "other")

    with pytest.raises(TiebreakError):
        write(engine, change)
    assert recorded(engine, Action.settings) == []


def test_entries_until_a_day_include_its_last_moment_in_utc(log):
    day = date(2026, 3, 1)
    moments = [datetime(2026, 3, 1, 23, 59, 59, 999999, UTC), datetime(2026, 3, 2, tzinfo=UTC)]
    with writing(log) as session:
        entry = {"actor": "a", "action": Action.export.value, "details": {}}
        session.add_all([AuditRow(at=moment, **entry) for moment in moments])
    with reading(log) as session:
        assert [entry.at for entry in audit.entries(session, Filter(actor="a", until=day))] == moments[:1]


def test_entries_are_counted_and_filtered(log, a_study):
    with audit.acting("50%"), writing(log) as session:
        audit.record(session, Action.export, study_id=a_study.id, file="gold")
    with reading(log) as session:
        assert audit.count(session, Filter(study_id=a_study.id, actions=("export",))) == 1
        assert [entry.action for entry in audit.entries(session, Filter(actor="0%"))] == ["export"]
        assert audit.count(session, Filter(study_id=a_study.id + 1)) == 0
        newest = audit.entries(session, Filter(study_id=a_study.id), limit=1)
        assert audit.cells(newest[0])["details"] == "file: gold"
