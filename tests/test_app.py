"""The server accepts connections from its own machine only, and shows errors as sentences."""

import pytest
from streamlit import config

import app
from core.errors import TiebreakError
from pages.parts import resources
from storage import database
from storage.accounts import registry
from tests.pages.visits import prepare_study


@pytest.fixture
def served_at(monkeypatch):
    """Return a function that sets the address of the server."""

    def at(address):
        monkeypatch.setattr(config, "get_option", lambda name: address)

    return at


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.0.0.7"])
def test_a_loopback_address_is_served(served_at, address):
    served_at(address)
    app.check_address()


@pytest.mark.parametrize("address", [None, "", "0.0.0.0", "192.0.2.2", "::", "some-machine"])
def test_any_other_address_is_refused_with_the_reason(served_at, address):
    served_at(address)
    prepare_study()
    with pytest.raises(SystemExit, match="without a password"):
        app.check_address()


def test_any_address_is_served_if_there_are_accounts(served_at):
    served_at("0.0.0.0")
    prepare_study()
    with database.writing(resources.engine()) as session:
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
