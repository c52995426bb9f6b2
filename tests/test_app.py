"""The server is only for this machine until there are passwords, and says why."""

import pytest
from streamlit import config

import app
from core.problems import Problem


@pytest.fixture
def served_at(monkeypatch):
    """Pretend that the server was started on an address."""

    def at(address):
        monkeypatch.setattr(config, "get_option", lambda name: address)

    return at


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.0.0.7"])
def test_a_loopback_address_is_served(served_at, address):
    served_at(address)
    app.refuse_strangers()


@pytest.mark.parametrize("address", [None, "", "0.0.0.0", "192.0.2.2", "::", "some-machine"])
def test_any_other_address_is_refused_with_the_reason(served_at, address):
    served_at(address)
    with pytest.raises(SystemExit, match="without a password"):
        app.refuse_strangers()


def test_trouble_is_one_sentence_and_the_unforeseen_goes_to_the_log(monkeypatch, caplog):
    told = []
    monkeypatch.setattr(app.st, "error", lambda text, **_: told.append(text))
    assert app.tell(Problem("There is no study called 'x'."))
    assert app.tell(ZeroDivisionError("a secret detail"))
    assert told[0] == "There is no study called 'x'."
    assert "secret" not in told[1]
    assert "secret" in caplog.text
