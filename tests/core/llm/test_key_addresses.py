"""A key is sent to the addresses that the operator allows, and to no other."""

import pytest

from core.errors import PermanentFailure
from core.llm import secrets
from core.llm.secrets import is_key_allowed
from tests.core.llm.asking import complete_ask, make_ask
from tests.openai_server import run_server

LAB, HUB = "http://127.0.0.1:8000/v1", "https://hub.example/api/v1"


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(secrets.VARIABLE, f"LAB_API_KEY={LAB}/\n HUB_API_KEY={HUB}")


@pytest.mark.parametrize(
    ("variable", "address"),
    [("LAB_API_KEY", own) for own in (LAB, f"{LAB}/", "HTTP://127.0.0.1:8000/v1")]
    + [("HUB_API_KEY", "https://hub.example:443/api/v1")],
)
def test_the_allowed_address_is_recognised(variable: str, address: str) -> None:
    assert is_key_allowed(variable, address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        HUB,
        "https://127.0.0.1:8000/v1",
        "http://127.0.0.1:8001/v1",
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8000/v1/../v2",
        "http://127.0.0.1:8000.evil.example/v1",
        "http://127.0.0.1:8000@evil.example/v1",
        "http://user@127.0.0.1:8000/v1",
        "http://127.0.0.1:8000/v1?to=evil.example",
        "http://127.0.0.1:8000/v1#x",
        "http://127.0.0.1:port/v1",
        "http://[::1/v1",
    ],
)
def test_any_other_address_is_refused(address: str) -> None:
    assert not is_key_allowed("LAB_API_KEY", address)


def test_without_a_list_nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(secrets.VARIABLE)
    assert not is_key_allowed("LAB_API_KEY", LAB)


def test_a_provider_s_key_is_not_sent_to_an_address_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "provider-secret-0001")
    with run_server() as stranger:
        outcome = complete_ask(make_ask(stranger.address, key_variable="OPENAI_API_KEY"))
        assert not stranger.bodies
    assert isinstance(outcome, PermanentFailure)
    assert f"OPENAI_API_KEY, may not be sent to {stranger.address}" in str(outcome)
