"""Keys come from the environment, are sent only to their own provider, and are never shown."""

import pytest

from core.llm.client import available_models
from core.llm.errors import redact_secrets
from core.llm.secrets import describe_problem, find_problems
from core.protocols import Judge
from core.trace import Spec

PROVIDER_KEY = "ambient-secret-000111"
SERVER_KEY = "own-secret-222333"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PROVIDER_KEY)
    monkeypatch.setenv("LAB_API_KEY", SERVER_KEY)


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


@pytest.mark.litellm
def test_every_suggested_model_has_a_known_price(monkeypatch: pytest.MonkeyPatch) -> None:
    from core.llm.client import _SUGGESTED_MODELS
    from core.llm.costs import model_price

    for variable in _SUGGESTED_MODELS:
        monkeypatch.setenv(variable, "x")
    assert [model.model for model in available_models() if model_price(Spec(model=model.model)) is None] == []


@pytest.mark.parametrize(
    ("fields", "is_rejected"),
    [
        ({"system": "Use sk-abcdefghijklmnop1234 for this."}, True),
        ({"extra": {"headers": [{"api_key": "sk-abcdefghijklmnop1234"}]}}, True),
        ({"system": "You are a careful judge.", "extra": {"min_p": 0.1, "guided_choice": ["1", "2"]}}, False),
        ({"system": "Reply in JSON.", "extra": {"chat_template_kwargs": {"enable_thinking": False}}}, False),
    ],
)
def test_a_key_in_the_system_message_or_the_extra_parameters_is_rejected(fields: dict, is_rejected: bool) -> None:
    judge = Judge(name="ann", spec=Spec(model="judge-1", **fields))
    assert bool(list(find_problems(judge))) is is_rejected


def test_an_address_with_an_unmatched_bracket_is_rejected() -> None:
    assert "should look like" in describe_problem("judge-1", "http://[::1/v1", "")
