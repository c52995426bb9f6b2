"""A server that fails on demand, and both clients."""

import importlib.util
from collections.abc import Callable, Iterator

import pytest

from core.llm import secrets
from core.llm.client import LiteLLM, Model
from core.llm.openai_compatible import OpenAICompatible
from tests.openai_server import Server, run_server

CLIENTS = {"litellm": LiteLLM, "direct": OpenAICompatible}


@pytest.fixture(params=[pytest.param("litellm", marks=pytest.mark.slow), "direct"])  # importing litellm takes seconds
def client(request: pytest.FixtureRequest) -> Callable[[], Model]:
    """The class of a client; a test with this fixture runs once for each."""
    if request.param == "litellm" and importlib.util.find_spec("litellm") is None:
        pytest.skip("litellm is not installed")
    return CLIENTS[request.param]


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Server]:
    with run_server() as server:
        yield server


@pytest.fixture
def server(shared_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server without faults and with an empty log, to which two keys may be sent."""
    pairs = (f"{variable}={shared_server.address}" for variable in ("LAB_API_KEY", "MY_API_KEY"))
    monkeypatch.setenv(secrets.VARIABLE, " ".join(pairs))
    shared_server.faults.clear()
    shared_server.probabilities.clear()
    for record in (shared_server.log, shared_server.bodies, shared_server.heads):
        record.clear()
    return shared_server
