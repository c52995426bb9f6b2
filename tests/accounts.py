"""Accounts in tests, with a hash of little work."""

import pytest
from argon2 import PasswordHasher
from sqlalchemy import Engine, text

from core.formats.records import ItemRecord, Record
from storage.accounts import registry, sign_in
from storage.accounts.registry import Account
from storage.db.connections import writing
from storage.db.tables import Table
from tests.conftest import make_item
from tests.storage.shared import RUN, a_trace

PASSWORD = "correct horse battery"
FAST = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
def fast_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords with little work."""
    monkeypatch.setattr(registry, "_hasher", lambda: FAST)
    monkeypatch.setattr(registry, "_unused_hash", lambda: FAST.hash("unused"))


def one_trace() -> list[Record]:
    """Return a study with one trace."""
    return [ItemRecord(item=make_item("item 0")), RUN, a_trace("item 0")]


def add_account(engine: Engine, name: str, **fields: bool | str) -> Account:
    """Create an account with PASSWORD."""
    with writing(engine) as session:
        account = registry.add(session, name, **fields)
        registry.set_password(session, account.id, registry.hash_password(PASSWORD))
    return account


def enter(engine: Engine, name: str, password: str = PASSWORD, address: str = "192.0.2.7", device: str = "") -> str:
    """Sign in, and return the cookie."""
    return sign_in.sign_in(engine, name, password, address=address, browser="a browser", device=device)


def stored_text(engine: Engine) -> str:
    """Return every value in the database as one text."""
    with engine.connect() as connection:
        rows = [connection.execute(text(f'SELECT * FROM "{name}"')).all() for name in Table.metadata.tables]
    return repr(rows)
