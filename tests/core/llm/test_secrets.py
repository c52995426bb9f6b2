"""Keys come from the environment, are sent only to their own provider, and are never shown."""

import pytest

from core.errors import TiebreakError
from core.llm.client import available_models
from core.llm.errors import redact_secrets
from core.llm.secrets import check_key, describe_problem, find_problems
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
    notes = available_models()
    assert all(name == "local" or name.startswith("claude-") for name in notes)
    assert notes["claude-haiku-5-5"] == "key from ANTHROPIC_API_KEY"


@pytest.mark.litellm
def test_every_suggested_model_has_a_known_price(monkeypatch: pytest.MonkeyPatch) -> None:
    from core.llm.client import _SUGGESTED_MODELS
    from core.llm.costs import model_price

    for variable in _SUGGESTED_MODELS:
        monkeypatch.setenv(variable, "x")
    assert [model for model in available_models() if model_price(Spec(model=model)) is None] == []


@pytest.mark.parametrize(
    ("fields", "is_rejected"),
    [
        ({"system": "Use sk-abcdefghijklmnop1234 for this."}, True),
        ({"extra": {"headers": [{"api_key": "sk-abcdefghijklmnop1234"}]}}, True),
        ({"extra": {"headers": {"Authorization": "Bearer sk-abcdefghijklmnop1234"}}}, True),
        ({"extra": {"keys": ["sk-abcdefghijklmnop1234"]}}, True),
        ({"system": "You are a careful judge.", "extra": {"min_p": 0.1, "guided_choice": ["1", "2"]}}, False),
        ({"system": "Reply in JSON.", "extra": {"chat_template_kwargs": {"enable_thinking": False}}}, False),
    ],
)
def test_a_key_in_the_system_message_or_the_extra_parameters_is_rejected(fields: dict, is_rejected: bool) -> None:
    problems = list(find_problems(Judge(name="ann", spec=Spec(model="judge-1", **fields))))
    assert [path for path, _ in problems] == ["spec"] * is_rejected
    assert all("looks like a key" in reason for _, reason in problems)


SERVER = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "address", "variable", "sentence"),
    [
        ("sk-proj-abcdefghijklmnopqrstuv", "", "", "looks like a key"),
        ("openai/sk-live-abcdefghijklmnopqrstuv", "", "", "looks like a key"),
        ("gpt", "", "gsk_abcdefghij0123456789abcd", "looks like a key"),
        ("gpt", "", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA", "looks like a key"),
        ("gpt", "", "MY_SECRET", "_API_KEY"),
        ("gpt", "http://me:secret@host/v1", "", "more than an address"),
        ("gpt", "https://host/v1?api_key=abc", "", "more than an address"),
        ("gpt", "host:8000", "", "should look like"),
        ("gpt", "http://[::1/v1", "", "should look like"),
        ("gpt", SERVER, "OPENAI_API_KEY", f"may not be sent to {SERVER}"),
    ],
)
def test_a_key_is_refused_wherever_it_is_typed(model: str, address: str, variable: str, sentence: str) -> None:
    assert sentence in describe_problem(model, address, variable)
    with pytest.raises(TiebreakError) as caught:
        check_key(Spec(model=model, address=address or None, key_variable=variable or None))
    assert "abcdefghij" not in str(caught.value)


@pytest.mark.parametrize(
    "model",
    ["gpt-5.4-mini", "claude-sonnet-4-5-20250929", "Qwen2.5-72B-Instruct-GPTQ-Int4", "groq/openai/gpt-oss-120b"],
)
def test_the_name_of_a_model_is_not_a_key(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIEBREAK_KEY_ADDRESSES", f"LAB_API_KEY={SERVER}")
    assert describe_problem(model, SERVER, "LAB_API_KEY") == ""
