"""Who visits a page: read once in each run of it."""

from types import SimpleNamespace

import pytest

from pages.parts import account_guard
from storage.accounts.registry import Identity
from storage.db import guards


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


@pytest.mark.parametrize(("accounts", "name"), [(False, "ann"), (True, "")])
def test_a_name_in_a_cookie_signs_nobody_in_where_there_are_accounts(engine, monkeypatch, accounts, name):
    monkeypatch.setattr(account_guard, "current_identity", lambda: Identity(accounts))
    monkeypatch.setattr(account_guard.st, "context", SimpleNamespace(cookies={account_guard.COOKIE: "ann"}))
    assert account_guard.current_actor().name == name
