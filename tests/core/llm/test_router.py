"""The router selects the client of each model."""

import asyncio
import subprocess
import sys
from dataclasses import replace

import pytest

from core.answers.choice import Choice
from core.llm.client import LiteLLM, Reply
from core.llm.openai_compatible import OpenAICompatible
from core.llm.router import Router
from core.llm.wire import SENT, DrawCounter, call_keys, content_digest
from core.trace import Ask, Spec
from tests.core.llm.asking import complete_ask, make_ask, sample_ask
from tests.openai_server import run_server


@pytest.mark.parametrize(
    ("spec", "client"),
    [
        (Spec(model="gpt-5.4-mini"), LiteLLM),
        (Spec(model="ollama/llama3"), LiteLLM),
        (Spec(model="local"), OpenAICompatible),
        (Spec(model="local", address="http://127.0.0.1:8000/v1"), OpenAICompatible),
        (Spec(model="gpt-5.4-mini", address="https://api.openai.com/v1"), OpenAICompatible),
    ],
)
def test_servers_at_an_address_and_the_local_model_have_the_direct_client(spec: Spec, client: type) -> None:
    router = Router()
    assert isinstance(router.model_for(spec), client)
    assert router.model_for(spec) is router.model_for(spec)


def test_calls_for_one_reply_and_for_samples_are_forwarded() -> None:
    with run_server() as server:
        assert isinstance(complete_ask(make_ask(server.address), Router), Reply)
        ask = make_ask(server.address, model="sampler-1")
        assert len(sample_ask(ask, Router)) == 1


def test_a_router_without_calls_can_be_closed() -> None:
    asyncio.run(Router().close())


@pytest.mark.slow
def test_importing_it_imports_no_client_library() -> None:
    program = "import sys, core.llm.router; print({name for name in CLIENTS if sys.modules.get(name)})".replace(
        "CLIENTS", "('litellm', 'openai', 'aiohttp')"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "set()\n"


#


ASK = Ask("ann", "opinion", 0, Spec(model="m"), "Which one?", answer=Choice())


def test_every_setting_of_a_model_is_sent_or_has_no_effect_on_the_reply() -> None:
    local = {"key_variable", "timeout", "max_tokens_ceiling", "answer_format", "prompt_price", "completion_price"}
    local |= {"transcript_tokens"}
    assert set(Spec.model_fields) == {*SENT, "extra"} | local


def test_equal_content_is_numbered_over_the_rounds_of_a_trace() -> None:
    counter = DrawCounter()
    renamed = replace(ASK, speaker="ben", spec=Spec(model="m", timeout=1.0))
    assert counter.draws([ASK, replace(ASK, prompt="Another?"), renamed]) == [0, 0, 1]
    assert counter.draws([ASK]) == [2]


@pytest.mark.parametrize(
    "changed",
    [
        replace(ASK, prompt="Which?"),
        replace(ASK, system="Be fair."),
        replace(ASK, images=("https://example.org/a.png",)),
        replace(ASK, history=("Which one?", "Hm.")),
        replace(ASK, format="json"),
        replace(ASK, spec=Spec(model="m", address="http://127.0.0.1:9/v1")),
        replace(ASK, spec=Spec(model="m", extra={"min_p": 0.1})),
    ],
)
def test_what_is_sent_is_part_of_the_digest(changed: Ask) -> None:
    assert content_digest(changed) != content_digest(ASK)


def test_draws_attempts_and_repeats_are_part_of_the_key() -> None:
    keys = call_keys(replace(ASK, samples=3, draws=(0, 1, 2)), 1)
    others = [*call_keys(replace(ASK, attempt=1), 1), *call_keys(ASK, 2)]
    assert len({*keys, *others}) == 5
    assert call_keys(ASK, 1) == keys[:1]


# The settings of a judge reach the provider, or the reply says which one did not


def test_the_system_message_of_a_template_precedes_that_of_the_settings() -> None:
    with run_server() as server:
        ask = make_ask(server.address, system="Reply in English.")
        complete_ask(replace(ask, system="You judge texts."))
    (body,) = server.bodies
    assert body["messages"][0] == {"role": "system", "content": "You judge texts.\n\nReply in English."}


@pytest.mark.litellm
@pytest.mark.slow  # importing litellm takes seconds
def test_a_setting_that_the_model_does_not_accept_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_server() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        reply = complete_ask(make_ask(None, model="gpt-3.5-turbo", reasoning_effort="low", seed=7))
    assert isinstance(reply, Reply)
    assert reply.notes == ("gpt-3.5-turbo does not accept reasoning_effort: the parameter was omitted.",)
    assert "reasoning_effort" not in server.bodies[0] and server.bodies[0]["seed"] == 7
