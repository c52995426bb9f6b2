"""What the litellm client does beyond the contract in test_client_contract.py."""

import importlib.util
from types import SimpleNamespace

import pytest

from core.errors import PermanentFailure
from core.llm.client import LiteLLM, Reply
from tests.core.llm.asking import complete_ask, make_ask
from tests.openai_server import Server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="litellm is not installed"),
    # litellm silences this warning when it is imported, which lasts for one test; the call that causes it may be later
    pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class"),
]


def test_a_model_without_a_known_provider_is_a_permanent_failure() -> None:
    outcome = complete_ask(make_ask(None, model="nonsense"), LiteLLM)
    assert isinstance(outcome, PermanentFailure)
    assert str(outcome) == "The provider of 'nonsense' is unknown: write provider/model, or give an address."


@pytest.mark.parametrize(
    ("model", "omitted"), [("claude-haiku-5-5", {"seed"}), ("gpt-5.4-mini", set()), ("mistral/open-mistral-7b", set())]
)
def test_a_parameter_that_a_provider_does_not_support_is_omitted_with_a_note(
    monkeypatch: pytest.MonkeyPatch, model: str, omitted: set[str]
) -> None:
    requests = []

    async def acompletion(**request: object) -> object:
        requests.append(request)
        choice = {"message": {"content": "1"}, "finish_reason": "stop"}
        return SimpleNamespace(model_dump=lambda: {"choices": [choice]}, _hidden_params={})

    complete_ask(make_ask(None, model="nonsense"), LiteLLM)  # imports litellm as the client does
    monkeypatch.setattr("litellm.acompletion", acompletion)
    ask = make_ask(None, model=model, seed=1, top_p=0.5)
    reply = complete_ask(ask, LiteLLM)
    assert isinstance(reply, Reply)
    assert {"seed", "top_p"} - requests[0].keys() == omitted
    assert reply.notes == tuple(
        f"{model} does not accept {name}: the parameter was omitted." for name in sorted(omitted)
    )


def test_a_server_without_a_key_gets_a_placeholder(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "ambient-secret-000111")
    complete_ask(make_ask(server.address), LiteLLM)
    assert "authorization: bearer none" in server.heads[0].lower().splitlines()
