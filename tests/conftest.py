"""What every test starts from: a clean environment, a database of its own, a small study."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from core.formats.records import ItemRecord, LabelRecord
from core.items import Item, Response
from core.labels import Label, Target

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from storage.studies import Study
    from tests.storage.postgres import Server


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No test meets the user's keys or the user's database."""
    for name in os.environ:
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    address = f"sqlite:///{tmp_path / 'home' / 'tiebreak.db'}"
    monkeypatch.setenv("TIEBREAK_DATABASE_URL", address)
    yield
    database: Any = sys.modules.get("storage.database")
    if database and database.connect.cache_info().currsize:
        database.connect(address).dispose()
        database.connect.cache_clear()


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Server]":
    """A PostgreSQL server, one for each process that runs tests."""
    from tests.storage.postgres import Server, binaries

    folder = binaries()
    if folder is None:
        pytest.skip("PostgreSQL's initdb and postgres are not on this machine (Debian: apt install postgresql)")
    server = Server(folder)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_engine(postgres: "Server") -> "Iterator[Engine]":
    """A database with tables, for one test after the other."""
    from storage import database

    engine = database.connect(postgres.url(postgres.create()))
    database.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with empty tables, to be copied."""
    path = tmp_path_factory.mktemp("template") / "tiebreak.db"
    _upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without tables, on each of the two."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    name = server.create()
    yield server.url(name)
    server.drop(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> "Iterator[Engine]":
    """A database of the test's own with empty tables, on each of the two."""
    from storage import database

    if request.param == "sqlite":
        path = tmp_path / "tiebreak.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        opened = database.connect(f"sqlite:///{path}")
        yield opened
        opened.dispose()
        return
    shared = request.getfixturevalue("postgres_engine")
    yield shared
    with shared.begin() as connection:
        for owner in ("study", "annotator"):  # everything else goes with them
            connection.exec_driver_sql(f"DELETE FROM {owner}")


@pytest.fixture
def a_study(engine: "Engine") -> "Study":
    """The study "s" with the items "item 0", "item 1" and "item 2"."""
    from storage import studies
    from storage.database import reading
    from storage.transfer import imports

    imports.load(engine, "s", [ItemRecord(item=an_item(f"item {number}")) for number in range(3)])
    with reading(engine) as session:
        return studies.get(session, "s")


def an_item(id: str = "item 0", **fields: Any) -> Item:
    """An item with two responses."""
    told: dict[str, Any] = {
        "prompt": f"Which is better for {id}?",
        "responses": (Response(text="this"), Response(text="that")),
        "scenario": "math",
    }
    return Item(id=id, **told | fields)


def a_target(item: str = "item 0", **fields: Any) -> Target:
    """Which response of an item is more helpful."""
    return Target(**{"item": item, "kind": "preference", "criterion": "helpfulness"} | fields)


def a_label(value: Any = 1, annotator: str = "ann", item: str = "item 0", **fields: Any) -> LabelRecord:
    """A label of a preference, as a file tells it."""
    return LabelRecord(label=Label(target=a_target(item), annotator=annotator, value=value, **fields))


def _upgrade(address: str) -> None:
    from storage import database

    engine = database.connect(address)
    database.upgrade(engine)
    engine.dispose()
    database.connect.cache_clear()
