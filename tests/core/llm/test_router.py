"""The router selects the client of each model."""

import asyncio
import subprocess
import sys

import pytest

from core.llm.client import LiteLLM, Reply
from core.llm.openai_compatible import OpenAICompatible
from core.llm.router import Router
from core.trace import Spec
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
