"""Keys come from the environment, are sent only where they belong, and are never shown."""

import pytest

from core.llm.client import available_models
from core.llm.errors import redact_secrets
from core.problems import PermanentFailure
from tests.core.llm.asking import complete_ask, make_ask
from tests.openai_server import run_server

PROVIDER_KEY = "ambient-secret-000111"
SERVER_KEY = "own-secret-222333"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PROVIDER_KEY)
    monkeypatch.setenv("LAB_API_KEY", SERVER_KEY)


def test_an_address_never_gets_the_providers_key() -> None:
    with run_server() as server:
        complete_ask(make_ask(server.address))
    assert [line["key"] for line in server.log] == ["none"]


def test_an_address_gets_the_key_named_for_it() -> None:
    with run_server() as server:
        complete_ask(make_ask(server.address, key_variable="LAB_API_KEY"))
    assert [line["key"] for line in server.log] == [SERVER_KEY]


def test_a_missing_key_is_reported_before_any_call() -> None:
    with run_server() as server:
        result = complete_ask(make_ask(server.address, key_variable="MY_API_KEY"))
    assert isinstance(result, PermanentFailure) and not server.log
    assert str(result) == "The key of judge-1 should be in the environment variable MY_API_KEY, which is not set."


def test_a_key_variable_has_to_end_in_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET", "not for this")
    with run_server() as server:
        result = complete_ask(make_ask(server.address, key_variable="AWS_SECRET"))
    assert isinstance(result, PermanentFailure) and not server.log
    assert 'the name has to end in "_API_KEY"' in str(result)


def test_the_name_of_a_model_at_an_address_is_sent_unchanged() -> None:
    with run_server() as server:
        complete_ask(make_ask(server.address, model="openai/gpt-oss-20b"))
    assert [line["model"] for line in server.log] == ["openai/gpt-oss-20b"]


def test_keys_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUB_TOKEN", "token-value-444")
    text = redact_secrets(
        f"{PROVIDER_KEY} {SERVER_KEY} token-value-444 sk-proj-abcdefghijklmnop Bearer abc.def AIzaSyA1234567890abcdef"
    )
    assert text == "[key] [key] [key] [key] Bearer [key] [key]"


def test_ordinary_words_are_not_redacted() -> None:
    text = "skill task-oriented asked for sk-ills; risk-averse"
    assert redact_secrets(text) == text


def test_models_are_suggested_when_their_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    notes = {suggested.model: suggested.note for suggested in available_models()}
    assert all(name == "local" or name.startswith("claude-") for name in notes)
    assert notes["claude-haiku-5-5"] == "key from ANTHROPIC_API_KEY"


def test_the_local_model_is_described_as_weak() -> None:
    pytest.importorskip("xllamacpp")
    assert "a weak judge" in available_models()[0].note and available_models()[0].model == "local"


def test_every_suggested_model_has_a_known_price(monkeypatch: pytest.MonkeyPatch) -> None:
    from core.llm.client import _SUGGESTED_MODELS
    from core.llm.costs import model_price
    from core.trace import Spec

    for variable in _SUGGESTED_MODELS:
        monkeypatch.setenv(variable, "x")
    assert [model.model for model in available_models() if model_price(Spec(model=model.model)) is None] == []
