"""What the direct client does beyond the contract in test_client_contract.py."""

import asyncio
import subprocess
import sys
import time
from typing import Any

import pytest

from core.errors import ContextExceeded, PermanentFailure, TemporaryFailure, TiebreakError
from core.llm.client import Reply
from core.llm.openai_compatible import OpenAICompatible
from core.trace import Ask
from tests.core.llm.asking import complete_ask, complete_asks, make_ask, with_client
from tests.openai_server import Server, run_server

pytestmark = pytest.mark.slow  # each test calls a server


def direct(ask: Ask) -> Reply | TiebreakError:
    return complete_ask(ask, OpenAICompatible)


async def wait_until_closed(server: Server) -> None:
    end = time.monotonic() + 5
    while server.open and time.monotonic() < end:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server: Server, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("LAB_API_KEY", "lab-secret-value")
    with run_server() as other:
        headers = {"Location": f"{other.address}/chat/completions"}
        server.faults.append({"fault": "raw", "status": status, "body": "", "headers": headers})
        outcome = direct(make_ask(server.address, key_variable="LAB_API_KEY"))
        assert not other.connections
    assert isinstance(outcome, PermanentFailure)
    assert str(outcome).startswith(f"judge-1 returned a redirect ({status}), and redirects are not followed")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_is_not_used(server: Server, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert isinstance(direct(make_ask(server.address)), Reply)


def test_a_server_without_a_key_gets_no_authorization(server: Server) -> None:
    direct(make_ask(server.address))
    assert "authorization" not in server.heads[0].lower()


def test_white_space_around_a_key_is_ignored(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", "lab-secret-value\n")
    direct(make_ask(server.address, key_variable="LAB_API_KEY"))
    assert "Authorization: Bearer lab-secret-value" in server.heads[0].splitlines()


@pytest.mark.parametrize("key", ["one\r\nX-Header: two", "ключ-ключ"])
def test_a_key_that_cannot_be_in_a_header_is_not_sent(
    server: Server, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("LAB_API_KEY", key)
    outcome = direct(make_ask(server.address, key_variable="LAB_API_KEY"))
    assert str(outcome) == "The environment variable LAB_API_KEY contains characters that no key has."
    assert not server.heads


@pytest.mark.parametrize("fault", [{"fault": "endless"}, {"fault": "compressed", "size": 30 * 2**20}])
def test_a_body_without_a_length_is_read_up_to_the_limit(server: Server, fault: dict) -> None:
    server.faults.append(fault)
    outcome = direct(make_ask(server.address, timeout=30))
    assert isinstance(outcome, PermanentFailure) and str(outcome) == "judge-1 sent a response of more than 8 MB."


def test_a_long_error_is_truncated(server: Server) -> None:
    server.faults.append({"fault": "raw", "status": 400, "body": "Wrong. " * 2_000_000})
    outcome = direct(make_ask(server.address, timeout=30))
    assert isinstance(outcome, PermanentFailure) and len(str(outcome)) < 400


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (None, None)),
        ({}, (None, None)),
        ([1, 2], (None, None)),
        ("12", (None, None)),
        ({"prompt_tokens": "12", "completion_tokens": [3]}, (None, None)),
        ({"prompt_tokens": True, "completion_tokens": None}, (None, None)),
        ({"prompt_tokens": 12.0, "completion_tokens": 3.5}, (12, None)),
        ({"prompt_tokens": float("inf"), "completion_tokens": float("nan")}, (None, None)),
        ({"prompt_tokens": -(10**30), "completion_tokens": 1e300}, (None, None)),
    ],
)
def test_usage_of_any_type_is_read(server: Server, usage: Any, expected: tuple) -> None:
    server.faults.append({"fault": "usage", "usage": usage})
    reply = direct(make_ask(server.address))
    assert isinstance(reply, Reply)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == expected


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "b"}, 7, None]}, "b", ""),
        ({"content": None}, "", ""),
        ({"content": {"text": "a"}}, "", ""),
        ({"content": 7}, "", ""),
        ({"reasoning": "hm"}, "1", "hm"),
        ({"reasoning": {"text": "hm"}, "tool_calls": []}, "1", ""),
    ],
)
def test_a_message_of_any_form_is_read(server: Server, message: dict, text: str, reasoning: str) -> None:
    server.faults.append({"fault": "message", "message": message})
    reply = direct(make_ask(server.address))
    assert isinstance(reply, Reply) and (reply.text, reply.reasoning) == (text, reasoning)


def test_a_reply_that_ended_with_an_error_is_a_temporary_failure(server: Server) -> None:
    server.faults.append({"fault": "message", "finish": "error"})
    assert isinstance(direct(make_ask(server.address)), TemporaryFailure)


@pytest.mark.parametrize(
    ("error", "problem", "sentence"),
    [
        ({"code": 429, "message": "Slow down"}, TemporaryFailure, "judge-1 is limiting the rate of calls (429)"),
        ({"message": "Upstream failed"}, TemporaryFailure, "judge-1 had an internal error (500): Upstream failed"),
        ({"code": 404, "message": "No such model"}, PermanentFailure, "judge-1 does not know this model (404)"),
        ({"code": 10**30, "message": "?"}, TemporaryFailure, "judge-1 had an internal error (500): ?"),
    ],
)
def test_an_error_with_status_200_is_an_error(server: Server, error: dict, problem: type, sentence: str) -> None:
    server.faults.append({"fault": "raw", "body": {"error": error}})
    outcome = direct(make_ask(server.address))
    assert isinstance(outcome, problem) and str(outcome).startswith(sentence)


def test_a_model_with_the_newer_limit_on_tokens_gets_it(server: Server) -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    server.faults.append({"fault": "no parameter", "parameter": "max_tokens", "message": message})
    ask = make_ask(server.address, max_tokens=99)
    replies = complete_asks([ask, ask], OpenAICompatible)
    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 99, 99]
    assert [body.get("max_tokens") for body in server.bodies] == [99, None, None]
    assert [reply.notes for reply in replies if isinstance(reply, Reply)] == [(), ()]


def test_the_cost_of_a_call_follows_from_the_entered_prices(server: Server) -> None:
    reply = complete_ask(make_ask(server.address, prompt_price=2.0, completion_price=8.0))
    tokens = reply.usage
    expected = ((tokens.prompt_tokens or 0) * 2 + (tokens.completion_tokens or 0) * 8) / 1e6
    assert reply.usage.dollars == pytest.approx(expected) and expected > 0


@pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "reasoning_effort"])
def test_a_parameter_that_a_model_does_not_accept_is_omitted_with_a_note(server: Server, name: str) -> None:
    server.faults.append({"fault": "no parameter", "parameter": name, "param": name})
    ask = make_ask(server.address, top_p=0.5, seed=1, reasoning_effort="low")
    replies = complete_asks([ask, ask], OpenAICompatible)
    assert [name in body for body in server.bodies] == [True, False, False]
    note = f"judge-1 does not accept {name}: the parameter was omitted."
    assert [reply.notes for reply in replies if isinstance(reply, Reply)] == [(note,), (note,)]


def test_several_parameters_may_be_refused_one_after_another(server: Server) -> None:
    refused = ("temperature", "seed", "max_tokens")
    server.faults += [{"fault": "no parameter", "parameter": name} for name in refused]
    reply = direct(make_ask(server.address, seed=1))
    assert isinstance(reply, Reply) and len(reply.notes) == 2 and len(server.bodies) == 4


@pytest.mark.parametrize(
    "message",
    [
        "temperature must be in [0, 2], got 3.0",
        "This model's maximum context length is 4096 tokens. However, you requested max_tokens 9000.",
    ],
)
def test_a_parameter_with_an_invalid_value_is_not_omitted(server: Server, message: str) -> None:
    server.faults.append({"fault": "no parameter", "parameter": "temperature", "message": message})
    outcome = direct(make_ask(server.address, temperature=3.0))
    assert isinstance(outcome, PermanentFailure) and message[:40] in str(outcome) and len(server.bodies) == 1


def test_an_unconfirmed_refusal_is_not_remembered(server: Server) -> None:
    server.faults += [{"fault": "no parameter", "parameter": "seed"}, {"fault": "400"}]
    ask = make_ask(server.address, seed=1)
    outcomes = complete_asks([ask, ask], OpenAICompatible)
    assert isinstance(outcomes[0], PermanentFailure) and isinstance(outcomes[1], Reply)
    assert ["seed" in body for body in server.bodies] == [True, False, True]


def test_connections_are_reused() -> None:
    with run_server() as server:
        complete_asks([make_ask(server.address)] * 10, OpenAICompatible)
        assert server.connections == 1


def test_a_connection_that_the_server_closed_is_replaced() -> None:
    async def use(client: OpenAICompatible) -> None:
        for _ in range(3):
            await client.complete(make_ask(server.address))
            await asyncio.sleep(0.05)

    with run_server() as server:
        server.faults += [{"fault": "last answer"}, {"fault": "last answer"}]
        with_client(OpenAICompatible, use)
        assert server.connections == 3


def test_a_cancelled_call_closes_its_connection() -> None:
    async def use(client: OpenAICompatible) -> None:
        call = asyncio.create_task(client.complete(make_ask(server.address, timeout=60)))
        while not server.open:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await wait_until_closed(server)

    with run_server(latency=30) as server:
        with_client(OpenAICompatible, use)
        assert (server.open, server.hung_up) == (0, 1)


@pytest.mark.parametrize("fault", ["timeout", "drip", "endless"])
def test_a_call_that_times_out_closes_its_connection(fault: str) -> None:
    async def use(client: OpenAICompatible) -> None:
        with pytest.raises((TemporaryFailure, PermanentFailure)):
            await client.complete(make_ask(server.address, timeout=0.3))
        await wait_until_closed(server)

    with run_server() as server:
        server.faults.append({"fault": fault})
        with_client(OpenAICompatible, use)
        assert server.open == 0


@pytest.mark.parametrize(("scheme", "problem"), [("http", TemporaryFailure), ("https", PermanentFailure)])
def test_a_server_of_another_protocol_is_reported(scheme: str, problem: type) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"220 mail.example ESMTP\r\n" * 3)
        writer.close()

    async def use(client: OpenAICompatible) -> TiebreakError:
        async with await asyncio.start_server(greet, "127.0.0.1", 0) as listening:
            with pytest.raises(TiebreakError) as outcome:
                await client.complete(make_ask(f"{scheme}://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"))
        return outcome.value

    outcome = with_client(OpenAICompatible, use)
    assert isinstance(outcome, problem) and str(outcome).startswith("The connection to judge-1 failed: ")


def test_an_unknown_host_is_reported() -> None:
    outcome = direct(make_ask("http://unknown.invalid/v1"))
    assert isinstance(outcome, TemporaryFailure) and "unknown.invalid" in str(outcome)


def test_an_address_is_called_without_litellm() -> None:
    program = """
import asyncio, sys
sys.modules["litellm"] = sys.modules["openai"] = None  # importing them raises
from core.llm.router import Router
from core.trace import Ask, Spec
async def run(address):
    router = Router()
    reply = await router.complete(Ask("a", "opinion", 0, Spec(model="judge-1", address=address), "Which?", int))
    await router.close()
    print(reply.text[-1])
asyncio.run(run(sys.argv[1]))
"""
    with run_server() as server:
        command = [sys.executable, "-c", program, server.address]
        assert subprocess.run(command, capture_output=True, text=True, timeout=60).stdout == "1\n"


@pytest.mark.parametrize(
    "error",
    [
        {"message": "This model's maximum context length is 4096 tokens.", "code": "context_length_exceeded"},
        {"message": "This model's maximum context length is 4096 tokens, you requested 5000.", "code": 400},
        {"message": "prompt is too long: 210000 tokens > 200000 maximum", "type": "invalid_request_error"},
        {"message": "The input token count (9) exceeds the maximum number of tokens allowed (8).", "code": 400},
        {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"},
    ],
)
def test_a_request_longer_than_the_context_has_an_error_of_its_own(server: Server, error: dict[str, object]) -> None:
    server.faults.append({"fault": "raw", "status": 400, "body": {"error": error}})
    assert isinstance(direct(make_ask(server.address)), ContextExceeded)
