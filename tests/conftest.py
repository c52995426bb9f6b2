"""Fixtures of all tests: a clean environment, an empty database for each test, a small study."""

import gc
import importlib.util
import os
import runpy
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from core.formats.records import ItemRecord, LabelRecord
from core.items import Item, Response
from core.labels import Label, Target

# Processes that tests start share compiled modules: compiling those of a command takes longer than most commands.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from storage.studies.studies import Study
    from tests.storage.postgres import Server


TESTS = Path(__file__).parent
SLOW_PATHS = {TESTS / "browser", TESTS / "pages", TESTS / "test_app.py"}
"""Tests of the browser and of the screens."""
FIRST = tuple(str(TESTS / name) for name in ("browser", "papers", "storage/worker", "test_cli.py"))
"""What takes longest: it is begun first, so that the last process to end has a short file."""
SQLITE_ONLY = frozenset((TESTS / "sqlite_only.txt").read_text(encoding="utf-8").splitlines())
"""Tests whose statements others execute on PostgreSQL (recorded, without values); all others run on both databases."""

EXAMPLES = int(os.environ.get("TIEBREAK_EXAMPLES", "25"))
settings.register_profile("whole", deadline=None, max_examples=EXAMPLES)  # a busy machine fails no test
settings.register_profile("fast", deadline=None, max_examples=15)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="leave out the browser, PostgreSQL, pages and slow tests")
    parser.addoption("--without-litellm", action="store_true", help="test as if litellm were not installed")


def pytest_configure(config: pytest.Config) -> None:
    """Select how many examples hypothesis generates, and hide litellm if requested."""
    settings.load_profile("fast" if config.getoption("--fast") else "whole")
    if config.getoption("--without-litellm"):
        _hide_litellm()


def _hide_litellm() -> None:
    """Make litellm appear as not installed, here and in processes that tests start."""
    folder = TESTS / "without_litellm"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    runpy.run_path(str(folder / "sitecustomize.py"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out slow paths before their modules are imported, which takes seconds."""
    return True if config.getoption("--fast") and collection_path in SLOW_PATHS else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what does not belong in the inner loop of development.

    A failed test with a browser, a server or processes is repeated once, since a busy machine changes its timing. The
    summary lists every repeated test, so that a race is not hidden.
    """
    superfluous = [item for item in items if "postgresql" in item.name and item.nodeid.partition("[")[0] in SQLITE_ONLY]
    config.hook.pytest_deselected(items=superfluous)
    items[:] = [item for item in items if item not in set(superfluous)]
    items.sort(key=lambda item: not str(item.path).startswith(FIRST))
    for item in filter(_is_slow, items):
        item.add_marker(pytest.mark.flaky(reruns=1))
    if importlib.util.find_spec("litellm") is None:
        for item in items:
            if item.get_closest_marker("litellm"):
                item.add_marker(pytest.mark.skip(reason="litellm is not installed"))
    if not config.getoption("--fast"):
        return
    slow = [item for item in items if _is_slow(item)]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not _is_slow(item)]


def pytest_collection_finish() -> None:
    """Exclude imported modules from garbage collection: going through them takes a fifth of a run's CPU time."""
    gc.collect()
    gc.freeze()


def _is_slow(item: pytest.Item) -> bool:
    uses_server = "postgresql" in item.name or "postgres" in getattr(item, "fixturenames", ())
    return uses_server or any(map(item.get_closest_marker, ("browser", "slow")))


MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Hide the user's keys and the user's database from every test."""
    for name in os.environ:
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    # A page that Streamlit tests replaces the main module, which started processes would run again.
    monkeypatch.setitem(sys.modules, "__main__", MAIN)
    address = f"sqlite:///{tmp_path / 'home' / 'tiebreak.db'}"
    monkeypatch.setenv("TIEBREAK_DATABASE_URL", address)
    yield
    database: Any = sys.modules.get("storage.db.connections")
    if database and database.connect.cache_info().currsize:
        database.connect(address).dispose()
        database.connect.cache_clear()
    audit: Any = sys.modules.get("storage.db.audit")
    if audit:  # a command names itself for the rest of its process
        audit.set_process_actor(audit.SERVER)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Let processes that a test starts receive Ctrl+C: they inherit that it is ignored, as in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Server]":
    """A PostgreSQL server for the test process."""
    from tests.storage.postgres import Server, binaries

    folder = binaries()
    if folder is None:
        pytest.skip("PostgreSQL's initdb and postgres are not installed (Debian: apt install postgresql)")
    server = Server(folder)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_template(postgres: "Server") -> str:
    """The name of a PostgreSQL database with empty tables, to be copied: creating the tables takes longer."""
    from storage.db import connections

    name = postgres.create()
    engine = connections.connect(postgres.url(name))
    connections.upgrade(engine)
    engine.dispose()
    return name


@pytest.fixture(scope="session")
def postgres_engine(postgres: "Server", postgres_template: str) -> "Iterator[Engine]":
    """A PostgreSQL database with tables, shared by the tests of a process."""
    from storage.db import connections

    engine = connections.connect(postgres.url(postgres.create(postgres_template)))
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def sqlite_engine(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Engine]":
    """A SQLite database with tables, shared by the tests of a process."""
    from storage.db import connections
    from tests.databases import create_database

    engine = connections.connect(create_database(tmp_path_factory.mktemp("shared") / "tiebreak.db"))
    yield engine
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without tables, in SQLite and in PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    name = server.create()
    yield server.url(name)
    server.drop(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def own_address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database with empty tables that a test may damage, in SQLite and in PostgreSQL."""
    from tests.databases import create_database

    if request.param == "sqlite":
        yield create_database(tmp_path / "own.db")
        return
    server: Server = request.getfixturevalue("postgres")
    name = server.create(request.getfixturevalue("postgres_template"))
    yield server.url(name)
    server.drop(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> "Iterator[Engine]":
    """An empty database with tables, in SQLite and in PostgreSQL; the engine keeps the statements it has compiled."""
    from tests.databases import clear_audit

    shared_engine: Engine = request.getfixturevalue("sqlite_engine" if request.param == "sqlite" else "postgres_engine")
    yield shared_engine
    with shared_engine.begin() as connection:
        for owner in ("study", "annotator", "sign_in_attempt"):  # everything else is deleted with them
            connection.exec_driver_sql(f"DELETE FROM {owner}")
        clear_audit(connection)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def module_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Engine]":
    """A database for all tests of a module that only read what a fixture of the module imports once."""
    from storage.db import connections
    from tests.databases import create_database

    if request.param == "sqlite":
        address = create_database(tmp_path_factory.mktemp("module") / "tiebreak.db")
    else:
        server: Server = request.getfixturevalue("postgres")
        address = server.url(server.create(request.getfixturevalue("postgres_template")))
    opened = connections.connect(address)
    yield opened
    opened.dispose()


@pytest.fixture
def a_study(engine: "Engine") -> "Study":
    """The study "s" with the items "item 0", "item 1" and "item 2", in which people label disputes alone."""
    from core.formats.records import StudyRecord
    from storage.db.connections import reading
    from storage.studies import studies
    from storage.transfer import imports

    items = [ItemRecord(item=make_item(f"item {number}")) for number in range(3)]
    imports.import_records(engine, "s", [StudyRecord(), *items])
    with reading(engine) as session:
        return studies.get(session, "s")


def make_item(id: str = "item 0", **fields: Any) -> Item:
    """Return an item with two responses."""
    defaults: dict[str, Any] = {
        "prompt": f"Which is better for {id}?",
        "responses": (Response(text="this"), Response(text="that")),
        "scenario": "math",
    }
    return Item(id=id, **defaults | fields)


def make_target(item: str = "item 0", **fields: Any) -> Target:
    """Return the target for the more helpful response of an item."""
    return Target(**{"item": item, "kind": "preference", "criterion": "helpfulness"} | fields)


def make_label(value: Any = 1, annotator: str = "ann", item: str = "item 0", **fields: Any) -> LabelRecord:
    """Return a record with a label of a preference."""
    return LabelRecord(label=Label(target=make_target(item), annotator=annotator, value=value, **fields))
