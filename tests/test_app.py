"""The server accepts connections from its own machine only, and shows errors as sentences."""

import os
import subprocess
import sys

import pytest
from streamlit import config

import app
from core.errors import TiebreakError
from pages.parts import resources
from storage.accounts import registry
from storage.db import connections
from tests.pages.visits import prepare_study
from tests.paths import ROOT


@pytest.fixture
def served_at(monkeypatch):
    """Return a function that sets the address of the server."""

    def at(address):
        monkeypatch.setattr(config, "get_option", lambda name: address)

    return at


def test_other_addresses_than_loopback_are_served_only_if_there_are_accounts(served_at):
    prepare_study()
    for address in ("127.0.0.1", "localhost", "::1", "127.0.0.7"):
        served_at(address)
        app.check_address()
    for address in ("", None, "192.0.2.2", "::", "some-machine", "0.0.0.0"):
        served_at(address)
        with pytest.raises(SystemExit, match="without a password"):
            app.check_address()
    with connections.writing(resources.engine()) as session:
        registry.add(session, "ann")
    app.check_address()


def test_a_problem_is_shown_and_an_unexpected_error_is_logged(monkeypatch, caplog):
    shown = []
    monkeypatch.setattr(app.st, "error", lambda text, **_: shown.append(text))
    assert app.show_error(TiebreakError("There is no study called 'x'."))
    assert app.show_error(ZeroDivisionError("a secret detail"))
    assert shown[0] == "There is no study called 'x'."
    assert "secret" not in shown[1]
    assert "secret" in caplog.text


def test_matrix_products_of_the_server_use_one_thread_unless_the_environment_states_a_number(monkeypatch):
    """In a process of its own, because the number is read when NumPy is imported: not before the server starts."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    app.multiply_in_one_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2"
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    code = """
import app, asyncio
async def start():
    async with app.lifespan(app.app):
        import numpy, threadpoolctl
        print([library["num_threads"] for library in threadpoolctl.threadpool_info()])
asyncio.run(start())
"""
    environment |= {"TIEBREAK_DATABASE_URL": "sqlite://", "TIEBREAK_OWN_WORKER": "off"}
    started = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert started.stdout.strip() == "[1]", started.stderr
