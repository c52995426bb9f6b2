"""Roles: what each may do in a study, and what a later look at the results needs."""

import pytest

from core.errors import TiebreakError
from core.formats.records import RunRecord
from core.trace import Spec
from storage.accounts import access, registry
from storage.accounts.access import PERMISSIONS, Forbidden, Permission, Role
from storage.accounts.registry import Actor
from storage.db.connections import reading, writing
from storage.runs import runs
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_target
from tests.sessions import read, write
from tests.storage.shared import RUN, a_trace, store_label

MAY = {
    "owner": "open label adjudicate view export run edit operate manage",
    "researcher": "open label adjudicate view export run edit",
    "adjudicator": "open label adjudicate",
    "annotator": "open label",
    "viewer": "open view",
    "": "",
}


@pytest.fixture
def actors(engine, a_study):
    """Role -> an account that has it in the study "s"; "" has none, and "administrator" is one."""
    with writing(engine) as session:
        found = {}
        for name in ("administrator", *MAY):
            account = registry.add(session, name or "nobody")
            found[name] = Actor(account.name, account.id, account.administrator)
            if name in PERMISSIONS:
                access.set_role(session, a_study.id, name, Role(name))
    return found


def test_every_role_has_exactly_its_permissions(engine, a_study, actors):
    other = write(engine, studies.get_or_create, "other").id
    with reading(engine) as session:
        for role, names in MAY.items():
            actor = actors[role]
            allowed = {one.value for one in Permission if access.allows(session, a_study.id, actor, one)}
            assert allowed == set(names.split()), role
            assert access.allowed(session, a_study.id, actor, set(Permission)) == allowed, "all with one query"
            assert not any(access.allows(session, other, actor, one) for one in Permission)
            assert access.study_names(session, actor) == (["s"] if role else [])
            for permission in Permission:
                if permission.value not in names.split():
                    with pytest.raises(Forbidden):
                        access.require(session, a_study.id, actor, permission)
        administrator = actors["administrator"]
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

    def may_view():
        return read(engine, access.allows, a_study.id, annotator, Permission.view)

    for name in names:
        assert not may_view()
        write(engine, store_label, a_study.id, make_target(name), "annotator", 1)
    assert may_view()
    wanted = {Permission.view, Permission.label, Permission.export}
    with reading(engine) as session:
        assert access.allowed(session, a_study.id, annotator, wanted) == {Permission.view, Permission.label}
        assert not access.allows(session, a_study.id, annotator, Permission.export)
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
