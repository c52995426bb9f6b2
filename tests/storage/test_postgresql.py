"""The settings of the connections to PostgreSQL, and the sentences for operations that they end."""

import threading
import time

import pytest
from sqlalchemy import text

from core.errors import TiebreakError
from storage.db.connections import connect, reading, writing
from storage.db.errors import DatabaseUnavailable
from storage.studies import annotators, studies
from tests.sessions import read


@pytest.fixture
def connect_with(postgres, postgres_engine, monkeypatch):
    """Return an engine with settings, given as environment variables."""
    opened = []

    def connect_with(**settings):
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        opened.append(connect.__wrapped__(postgres_engine.url.render_as_string(hide_password=False)))
        return opened[-1]

    yield connect_with
    for engine in opened:
        engine.dispose()


def setting(engine, name):
    with reading(engine) as session:
        return session.scalar(text(f"SHOW {name}"))


def test_the_timeouts_and_the_pool_have_defaults_and_are_set_by_environment_variables(connect_with):
    engine = connect_with()
    assert setting(engine, "statement_timeout") == "2min"
    assert setting(engine, "lock_timeout") == "10s"
    assert setting(engine, "idle_in_transaction_session_timeout") == "5min"
    assert engine.pool.size() == 10
    engine = connect_with(
        TIEBREAK_POOL_SIZE="3",
        TIEBREAK_STATEMENT_TIMEOUT="7",
        TIEBREAK_LOCK_TIMEOUT="0",
        TIEBREAK_IDLE_TRANSACTION_TIMEOUT="90",
    )
    assert setting(engine, "statement_timeout") == "7s"
    assert setting(engine, "lock_timeout") == "0"
    assert setting(engine, "idle_in_transaction_session_timeout") == "90s"
    assert engine.pool.size() == 3


def test_options_of_the_url_have_precedence(postgres, postgres_engine):
    engine = connect.__wrapped__(
        postgres_engine.url.update_query_dict({"options": "-c statement_timeout=1234"}).render_as_string(
            hide_password=False
        )
    )
    assert setting(engine, "statement_timeout") == "1234ms"
    engine.dispose()


@pytest.mark.parametrize("value", ["ten", "-1", "0", "1.5", "99999999999", "１"])
def test_a_setting_that_is_no_number_is_refused_in_one_sentence(monkeypatch, value):
    monkeypatch.setenv("TIEBREAK_POOL_SIZE", value)
    with pytest.raises(TiebreakError, match="TIEBREAK_POOL_SIZE should be a whole number of at least 1"):
        connect.__wrapped__("postgresql://tests@/none")


@pytest.mark.slow
def test_a_long_statement_a_long_lock_and_an_idle_transaction_are_sentences(connect_with, postgres_engine):
    engine = connect_with(
        TIEBREAK_STATEMENT_TIMEOUT="2", TIEBREAK_LOCK_TIMEOUT="1", TIEBREAK_IDLE_TRANSACTION_TIMEOUT="1"
    )
    lock = text("SELECT pg_advisory_xact_lock(1)")
    held, done = threading.Event(), threading.Event()

    def hold():
        with postgres_engine.begin() as connection:
            connection.execute(lock)
            held.set()
            done.wait(10)

    def execute(statement):
        with writing(engine) as session:
            session.execute(text(statement))

    def pause():
        with writing(engine) as session:
            studies.names(session)
            time.sleep(1.2)
            studies.names(session)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(10)
    with pytest.raises(DatabaseUnavailable, match="busy"):
        execute(str(lock))
    done.set()
    holder.join()
    with pytest.raises(DatabaseUnavailable, match="took too long"):
        execute("SELECT pg_sleep(3)")
    with pytest.raises(DatabaseUnavailable, match="paused for too long"):
        pause()
    assert setting(engine, "lock_timeout") == "1s", "the pool replaces the connection that was closed"


PREPARED = text("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%FROM annotator%'")


def test_statements_stay_prepared_after_reading(connect_with):
    engine = connect_with(TIEBREAK_POOL_SIZE="1")
    for _ in range(8):
        assert read(engine, annotators.find_id, "Nobody") is None
    with reading(engine) as session:
        assert session.scalar(PREPARED) == 2  # of the name as it is, and of all names, for one in another case
