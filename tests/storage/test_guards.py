"""The guards: every table has a rule, and each role changes and reads exactly the tables of its permissions."""

import threading

import pytest
from sqlalchemy import bindparam, delete, exists, false, func, insert, select, text, union_all, update

from core.errors import TiebreakError
from core.formats.records import RunRecord
from core.trace import Spec
from storage.accounts import access, registry
from storage.accounts.access import Forbidden, Permission, Role
from storage.accounts.registry import Actor
from storage.db import guards
from storage.db.connections import execute, reading, writing
from storage.db.guards import CHANGE_PERMISSIONS, QUEUE, READ_PERMISSIONS, REVEAL, UncheckedChange, UncheckedRead
from storage.db.tables import Table
from storage.reports import contents, overview
from storage.runs import runs, trace_opinions, traces
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_target
from tests.pages.test_queries import statements_of
from tests.sessions import read, write
from tests.storage.shared import RUN, a_trace, store_label

LABELLERS = {"owner", "researcher", "adjudicator", "annotator"}
EDITORS = {"owner", "researcher"}
ROLES = {
    **dict.fromkeys(("label", "draft", "lease", "mark", "reply", "action", "undo_entry"), LABELLERS),
    **dict.fromkeys(("training_answer", "repeat", "repeat_draft", "guidelines_read", "aiu_edit", "scale"), LABELLERS),
    **dict.fromkeys(("study", "guidelines", "item", "transcript", "known_answer", "deleted_run"), EDITORS),
    **dict.fromkeys(("criterion", "run", "experiment", "split", "item_part", "variant"), EDITORS),
    **dict.fromkeys(("held_out_use", "criterion_version"), EDITORS),
    "adjudication": {"owner", "researcher", "adjudicator"},
    "member": {"owner"},
}
UNPROTECTED = {
    **dict.fromkeys(("trace", "event", "call", "pending_call", "unread_reply", "opinion"), "stored by workers"),
    **dict.fromkeys(("opinion_view", "visitor_view"), "records what the person has seen"),
    **dict.fromkeys(("login", "api_token"), "of the person's own account"),
    "target": "every look at an item may add its targets; they have no value",
    "annotator": "a name; what is stored under it is protected",
    "account": "checked by storage.accounts and require_administrator",
    "invitation": "checked by require_administrator, or by the role of an owner for new accounts",
    "sign_in_attempt": "counted before anybody is signed in",
    "audit": "append-only by triggers",
    "server_secret": "created once by the server",
    "live_trace": "records that a trace is watched; its calls are stored by workers",
    "design": "stored by workers; a change by people also changes the study",
}
TABLES = {table.name: table for table in Table.metadata.tables.values()}


@pytest.fixture
def enforced():
    """Enforce permissions in this thread until the end of the test."""
    guards.enforce()
    yield
    guards._enforced.set(False)


@pytest.fixture
def actors(engine, a_study):
    """Role -> an account that has it; a stranger has none, and "" is somebody without an account."""
    found = {"": Actor("")}
    with writing(engine) as session:
        registry.add(session, "administrator")
        for name in (*Role, "stranger"):
            found[name] = Actor(name, registry.add(session, name).id)
            if name != "stranger":
                access.set_role(session, a_study.id, name, Role(name))
    return found


def obtain_permissions(engine, study, actor):
    """Check every permission that an actor has, as the pages of one operation together."""
    with reading(engine) as session:
        for permission in Permission:
            if access.allows(session, study.id, actor, permission):
                access.require(session, study.id, actor, permission)


def is_refused(engine, statement, opened=writing, refusal=UncheckedChange):
    try:
        with opened(engine) as session:
            session.execute(statement)
    except refusal:
        return True
    return False


def is_read_refused(engine, statement):
    return is_refused(engine, statement, reading, UncheckedRead)


def test_every_table_has_a_rule():
    assert CHANGE_PERMISSIONS.keys() == ROLES.keys()
    assert TABLES.keys() == CHANGE_PERMISSIONS.keys() | UNPROTECTED.keys()
    assert not CHANGE_PERMISSIONS.keys() & UNPROTECTED.keys()


def test_each_role_changes_exactly_its_tables(engine, a_study, actors, enforced):
    for name, actor in actors.items():
        with guards.operation():
            obtain_permissions(engine, a_study, actor)
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


# Reads


READERS = {"owner", "researcher", "viewer"}
JUDGED = READERS | {"adjudicator"}
READ_ROLES = {
    **dict.fromkeys(("opinion", "run", "trace", "event", "live_trace"), JUDGED),
    **dict.fromkeys(("call", "pending_call", "unread_reply", "experiment", "deleted_run", "split"), READERS),
    **dict.fromkeys(("item_part", "variant", "held_out_use", "criterion_version"), READERS),
    "audit": {"owner"},
}
ITEM, TRACE, EVENT, OPINION, LABEL, RUNS = map(TABLES.get, ("item", "trace", "event", "opinion", "label", "run"))


def test_every_role_reads_exactly_its_tables(engine, a_study, actors, enforced):
    assert READ_PERMISSIONS.keys() == READ_ROLES.keys() <= TABLES.keys()
    for name, actor in actors.items():
        with guards.reading_operation():
            obtain_permissions(engine, a_study, actor)
            for table in READ_PERMISSIONS:
                query = select(TABLES[table])
                if table == "audit":
                    assert is_read_refused(engine, query), "the log of the server is for administrators"
                    query = query.where(TABLES[table].c.study_id == a_study.id)
                refused = is_read_refused(engine, query.limit(0))
                assert refused == (name not in READ_ROLES[table]), (name, table)


def test_a_permission_holds_in_its_study_and_until_the_operation_ends(engine, a_study, enforced):
    own = select(TABLES["opinion"]).where(TABLES["opinion"].c.study_id == a_study.id)
    others = [
        select(TABLES["opinion"]).where(TABLES["opinion"].c.study_id == a_study.id + 1),
        select(TABLES["opinion"]).where(TABLES["opinion"].c.study_id == a_study.id + 2),
        select(TABLES["opinion"]).where(TABLES["opinion"].c.study_id.in_([a_study.id, a_study.id + 1])),
    ]
    assert is_read_refused(engine, own)
    with guards.reading_operation():
        with reading(engine) as session:
            assert access.allows(session, a_study.id, Actor("ann"), Permission.view)
        assert is_read_refused(engine, own), "the answer may not have been looked at"
        with guards.operation():  # as a page that saves something while it is drawn
            with reading(engine) as session:
                access.require(session, a_study.id, Actor("ann"), Permission.view)
            assert not is_read_refused(engine, own)
        assert not is_read_refused(engine, own)
        assert all(is_read_refused(engine, other) for other in others)
    assert is_read_refused(engine, own)
    with guards.operation(), reading(engine) as session:
        access.require_administrator(session, Actor("ann"))
        assert not any(is_read_refused(engine, other) for other in others)


OTHER = OPINION.alias()
EVENTS = select(EVENT.c.trace_id).cte("found")
STATEMENTS = {
    "of rows": select(OPINION),
    "of a column": select(OPINION.c.value),
    "under another name": select(OTHER),
    "in a join": select(ITEM.c.id).join(TRACE, TRACE.c.item_id == ITEM.c.id),
    "in an outer join": select(ITEM.c.id).outerjoin(TRACE, TRACE.c.item_id == ITEM.c.id),
    "in a list of tables": select(ITEM.c.id, RUNS.c.name).where(ITEM.c.study_id == RUNS.c.study_id),
    "in a condition": select(ITEM.c.id).where(exists().where(TRACE.c.item_id == ITEM.c.id)),
    "in a subquery": select(ITEM.c.id).where(ITEM.c.id.in_(select(TRACE.c.item_id))),
    "in a column's subquery": select(ITEM.c.id, select(func.count()).select_from(TRACE).scalar_subquery()),
    "in a common table expression": select(EVENTS.c.trace_id),
    "in a union": union_all(select(ITEM.c.id), select(EVENT.c.trace_id)),
    "as text": text("SELECT value FROM opinion"),
    "as text over lines": text("SELECT i.id\nFROM item i\n  LEFT JOIN trace t ON t.item_id = i.id"),
}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_protected_table_is_found_anywhere_in_a_query(engine, enforced, kind):
    assert is_read_refused(engine, STATEMENTS[kind])
    with guards.reading_operation():
        guards.grant(1, "view")
        assert not is_read_refused(engine, STATEMENTS[kind])


def test_other_tables_and_changes_are_not_refused(engine, a_study, enforced):
    for statement in (
        select(ITEM.c.id.label("trace"), ITEM.c.key.label("opinion")).order_by("trace"),
        select(LABEL.c.id),
        text("SELECT ', opinion.value' AS run"),
    ):
        assert not is_read_refused(engine, statement)
    with writing(engine) as session:
        session.connection().exec_driver_sql("DELETE FROM opinion WHERE trace_id IN (SELECT id FROM trace)")


def test_a_compiled_statement_is_checked_with_its_new_values(engine, a_study, enforced):
    query = select(TABLES["run"].c.id).where(TABLES["run"].c.study_id == bindparam("study_id_1", type_=None))
    with guards.reading_operation():
        guards.grant(a_study.id, "view")
        with reading(engine) as session:
            execute(session, query, {"study_id_1": a_study.id})
            with pytest.raises(UncheckedRead):
                execute(session, query, {"study_id_1": a_study.id + 1})


def test_purposes_permit_their_own_reads_only(engine, a_study, enforced):
    with guards.reading_for(REVEAL):
        assert not is_read_refused(engine, select(OPINION))
        assert is_read_refused(engine, select(TABLES["call"]))
    with guards.reading_for(QUEUE):
        assert not is_read_refused(engine, select(OPINION.c.id))
        assert is_read_refused(engine, select(EVENT))
    assert is_read_refused(engine, select(OPINION.c.id))


def test_functions_that_return_numbers_or_names_need_no_permission_and_others_do(engine, a_study, enforced):
    with guards.operation():
        guards.grant(guards.EVERY_STUDY, access.ADMINISTRATION)
        imports.import_records(engine, a_study.name, [RUN, a_trace("item 1")])
        with reading(engine) as session:
            trace_id = session.scalar(select(TRACE.c.id))
    with reading(engine) as session:
        assert trace_opinions.exist(session, a_study.id)
        assert overview.counts(session, a_study.id).traces == 1
        assert contents.count(session).traces
        assert contents.progress(session)[a_study.id].runs == 1
        assert traces.study_id(session, trace_id) == a_study.id
        for read in (
            lambda: traces.get(session, trace_id),
            lambda: traces.events(session, trace_id),
            lambda: trace_opinions.judged_targets(session, trace_id),
            lambda: trace_opinions.verdict_criteria(session, a_study.id),
        ):
            with pytest.raises(UncheckedRead):
                read()


def test_a_worker_reads_freely(engine, enforced):
    guards.read_freely()
    assert not is_read_refused(engine, select(OPINION))
    guards._reads_freely.set(False)


# Answers that a page reads once


def read_twice(engine) -> int:
    """Ask twice whether there are accounts; returns the number of statements."""

    def read():
        for _ in range(2):
            with reading(engine) as session:
                assert registry.exist(session) is False

    return len([text for text, _ in statements_of(engine, read) if "account" in text])


def test_a_page_reads_once_whether_there_are_accounts_and_changes_and_commands_each_time(engine):
    with guards.reading_operation():
        assert read_twice(engine) == 1
    with guards.reading_operation():
        assert read_twice(engine) == 1, "the next page reads it again"
    assert read_twice(engine) == 2
    with guards.reading_operation(), guards.operation():
        assert read_twice(engine) == 2


# Roles: what each may do in a study, and what a later look at the results needs


MAY = {
    "owner": "open label adjudicate view export run edit operate manage",
    "researcher": "open label adjudicate view export run edit",
    "adjudicator": "open label adjudicate",
    "annotator": "open label",
    "viewer": "open view",
    "stranger": "",
}


def test_every_role_has_exactly_its_permissions(engine, a_study, actors):
    other = write(engine, studies.get_or_create, "other").id
    with reading(engine) as session:
        for role, names in MAY.items():
            actor = actors[role]
            allowed = {one.value for one in Permission if access.allows(session, a_study.id, actor, one)}
            assert allowed == set(names.split()), role
            assert access.allowed(session, a_study.id, actor, set(Permission)) == allowed, "all with one query"
            assert not any(access.allows(session, other, actor, one) for one in Permission)
            assert access.study_names(session, actor) == (["s"] if names else [])
            for permission in Permission:
                if permission.value not in names.split():
                    with pytest.raises(Forbidden):
                        access.require(session, a_study.id, actor, permission)
        administrator = Actor("administrator", registry.get(session, "administrator").id, True)
        assert all(access.allows(session, other, administrator, one) for one in Permission)
        assert access.study_names(session, administrator) == ["other", "s"]
        access.require_administrator(session, administrator)
        with pytest.raises(Forbidden):
            access.require_administrator(session, actors["owner"])


def test_a_study_of_others_reads_like_one_that_does_not_exist(engine, a_study, actors):
    write(engine, studies.get_or_create, "secret")
    with reading(engine) as session:
        assert access.study(session, actors["viewer"], "s").id == a_study.id
        sentences = []
        for name in ("secret", "absent"):
            with pytest.raises(TiebreakError) as error:
                access.study(session, actors["viewer"], name)
            sentences.append(str(error.value).replace(repr(name), "?"))
        assert sentences == ["There is no study called ?; your studies: 's'."] * 2


def test_without_accounts_everybody_may_do_everything_and_with_one_a_name_may_do_nothing(engine, a_study):
    by_name = Actor("ann")
    with reading(engine) as session:
        assert all(access.allows(session, a_study.id, by_name, one) for one in Permission)
        assert access.study_names(session, Actor("")) == ["s"]
    write(engine, registry.add, "ann")
    with reading(engine) as session:
        assert not any(access.allows(session, a_study.id, by_name, one) for one in Permission)
        assert access.study_names(session, by_name) == access.study_names(session, Actor("")) == []
        assert access.permissions_anywhere(session, Actor("")) == frozenset()


def test_an_annotator_sees_the_results_after_labelling_what_waits(engine, a_study, actors):
    names = [f"item {number}" for number in range(3)]
    imports.import_records(engine, "s", [RUN, *(a_trace(name) for name in names)])
    annotator = actors["annotator"]

    for name in names:
        assert not read(engine, access.allows, a_study.id, annotator, Permission.view)
        write(engine, store_label, a_study.id, make_target(name), "annotator", 1)
    wanted = {Permission.view, Permission.label, Permission.export}
    with reading(engine) as session:
        assert access.allowed(session, a_study.id, annotator, wanted) == {Permission.view, Permission.label}
        assert not access.allows(session, a_study.id, actors["adjudicator"], Permission.view)


def test_a_role_can_be_changed_and_removed_and_needs_an_account(engine, a_study, actors):
    with writing(engine) as session:
        access.set_role(session, a_study.id, "annotator", Role.viewer)
        access.set_role(session, a_study.id, "viewer", None)
        assert access.role_of(session, a_study.id, "annotator") is Role.viewer
        assert "viewer" not in access.members(session, a_study.id)
        with pytest.raises(TiebreakError, match="no account"):
            access.set_role(session, a_study.id, "a stranger", Role.viewer)


def test_only_an_owner_sets_addresses_keys_and_prices_and_others_use_them(engine, a_study, actors):
    server = Spec(model="m", address="http://127.0.0.1:8000/v1", key_variable="LAB_API_KEY")
    plain = Spec(model="m")

    def check(role, *specs):
        read(engine, access.require_models, a_study.id, actors[role], specs)

    check("researcher", plain)
    check("owner", server)
    for spec in (server, Spec(model="m", prompt_price=1.0, completion_price=2.0)):
        with pytest.raises(Forbidden, match="Only an owner"):
            check("researcher", plain, spec)
    imported = RunRecord(name="imported", protocol="scaleeval", settings=settings_of(server))
    imports.import_records(engine, "s", [imported])
    with pytest.raises(Forbidden):
        check("researcher", server)
    with writing(engine) as session:
        runs.create(session, a_study.id, "r", protocol="x", criterion="", settings=settings_of(server), prompts={})
    check("researcher", server)
    with pytest.raises(Forbidden):
        check("researcher", server.model_copy(update={"address": "http://evil.example/v1"}))
    with reading(engine) as session:
        access.require_imported(session, a_study.id, actors["owner"], imported)
        plain_run = imported.model_copy(update={"settings": settings_of(plain)})
        access.require_imported(session, a_study.id, actors["researcher"], plain_run)
        with pytest.raises(Forbidden, match="import runs"):
            access.require_imported(session, a_study.id, actors["researcher"], imported)


def settings_of(spec):
    return {"judges": [{"name": "j", "spec": spec.model_dump(mode="json")}]}
