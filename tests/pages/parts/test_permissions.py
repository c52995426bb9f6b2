"""The permissions of a page: its fragments check them again, and reads need them."""

from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.formats.records import ItemRecord
from pages.parts import account_guard, permissions, resources
from storage.accounts import access, registry
from storage.accounts.access import Forbidden, Permission, Role
from storage.accounts.registry import Actor, Identity
from storage.db import guards
from storage.db.connections import reading, writing
from storage.db.guards import UncheckedRead
from storage.runs import trace_opinions
from tests.conftest import make_item
from tests.pages.visits import prepare_study, study_session
from tests.storage.shared import RUN, a_trace


@pytest.fixture
def study_id(monkeypatch):
    """The id of the study "s", whose viewer Eve visits a page that is enforced, as if Streamlit had drawn it before."""
    prepare_study([ItemRecord(item=make_item("item 0")), RUN, a_trace("item 0")])
    with study_session() as (session, study):
        registry.add(session, "administrator")
        account = registry.add(session, "eve")
        access.set_role(session, study.id, "eve", Role.viewer)
    monkeypatch.setattr(account_guard, "current_actor", lambda: Actor("eve", account.id))
    page = {permissions.STUDY_KEY: study.id, permissions.PAGE_KEY: Permission.view}
    monkeypatch.setattr(st, "session_state", page)
    monkeypatch.setattr(st, "fragment", lambda draw, run_every: draw)
    token = guards._enforced.set(True)
    yield study.id
    guards._enforced.reset(token)


def read(study_id):
    with reading(resources.engine()) as session:
        return trace_opinions.verdict_criteria(session, study_id)


def test_a_fragment_that_runs_without_its_page_checks_the_role_again(study_id):
    drawn = []

    @permissions.fragment()
    def refresh() -> None:
        drawn.append(read(study_id))

    refresh()
    with writing(resources.engine()) as session, guards.operation():
        guards.grant(study_id, "manage")
        access.set_role(session, study_id, "eve", Role.annotator)
    with pytest.raises(Forbidden):
        refresh()
    assert len(drawn) == 1


def test_a_fragment_has_a_container_of_its_own():
    def page() -> None:
        import streamlit as st

        from pages.parts import permissions

        permissions.fragment()(lambda: st.caption("in the fragment") and None)()
        st.caption("behind it")

    first, second = AppTest.from_function(page).run().main.children.values()
    assert first.children[0].children[0].value == "in the fragment"  # in the fragment's block in the container
    assert second.value == "behind it"


def test_a_page_without_a_check_reads_nothing_and_one_with_a_check_reads_its_study(study_id):
    with guards.reading_operation():
        with pytest.raises(UncheckedRead):
            read(study_id)
        assert permissions.allows(study_id, Permission.view)
        with pytest.raises(UncheckedRead):
            read(study_id)
        assert permissions.permit(study_id, Permission.view)
        read(study_id)
        with pytest.raises(UncheckedRead):
            read(study_id + 1)
        assert not permissions.permit(study_id, Permission.edit)


# Who visits a page: read once in each run of it


def test_a_page_reads_once_who_visits_it_and_a_change_reads_it_again(engine, monkeypatch):
    read = []
    monkeypatch.setattr(account_guard.resources, "engine", lambda: engine)
    monkeypatch.setattr(account_guard.logins, "identify", lambda session, cookie: read.append(cookie) or Identity(True))
    with guards.reading_operation():
        assert account_guard.current_identity() == account_guard.current_identity() == Identity(True)
        assert len(read) == 1
        with guards.operation():
            account_guard.current_identity()
        assert len(read) == 2
    with guards.reading_operation():
        account_guard.current_identity()
    assert len(read) == 3, "the next run reads it again"


@pytest.mark.parametrize("token", ["a-_9" * 4, "b" * 15, "c" * 65, "d" * 15 + "/", None])
def test_a_visitor_without_a_valid_token_is_told_apart_by_the_session(monkeypatch, token):
    monkeypatch.setattr(account_guard.st, "context", SimpleNamespace(cookies={account_guard.VISITOR_COOKIE: token}))
    monkeypatch.setattr(account_guard.st, "session_state", {})
    first = account_guard.current_visitor()
    assert (first == token) == (token == "a-_9" * 4)
    assert account_guard.current_visitor() == first


@pytest.mark.parametrize(("accounts", "name"), [(False, "ann"), (True, "")])
def test_a_name_in_a_cookie_signs_nobody_in_where_there_are_accounts(engine, monkeypatch, accounts, name):
    monkeypatch.setattr(account_guard, "current_identity", lambda: Identity(accounts))
    monkeypatch.setattr(account_guard.st, "context", SimpleNamespace(cookies={account_guard.COOKIE: "ann"}))
    assert account_guard.current_actor().name == name
