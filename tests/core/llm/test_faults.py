"""Every way a provider can fail, through litellm and a real server."""

from collections.abc import Iterator

import pytest

from core.llm.client import LiteLLM, Reply
from core.llm.limits import Limits
from core.problems import PermanentFailure, TemporaryFailure
from core.runner import run_flow
from core.trace import CallFailed, Event, Spec
from tests.core.llm.asking import complete_ask, make_ask
from tests.openai_server import Server, run_server


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Server]:
    with run_server() as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Server:
    shared_server.faults.clear()
    shared_server.log.clear()
    return shared_server


def test_a_reply_has_its_text_and_usage(server: Server) -> None:
    reply = complete_ask(make_ask(server.address))
    assert isinstance(reply, Reply) and reply.finish == "stop"
    assert reply.text.endswith("\n\n1")
    assert reply.usage.prompt_tokens == 4 and reply.usage.completion_tokens
    assert reply.usage.seconds is not None and reply.usage.dollars is None


@pytest.mark.parametrize(
    ("fault", "problem", "message"),
    [
        ("429", TemporaryFailure, "judge-1 is limiting the rate of calls (429): Rate limit reached for key [key]"),
        ("500", TemporaryFailure, "judge-1 had an internal error (500): This is a planned 500"),
        ("503", TemporaryFailure, "judge-1 had an internal error (503): This is a planned 503"),
        ("drop", TemporaryFailure, "The connection to judge-1 failed: Connection error."),
        ("cut", TemporaryFailure, "The connection to judge-1 failed: Connection error."),
        ("malformed", TemporaryFailure, "judge-1 returned an invalid response: "),
        ("empty", TemporaryFailure, "judge-1 returned a response without a message."),
        ("400", PermanentFailure, "judge-1 rejected the request as invalid (400): This is a planned 400"),
        ("401", PermanentFailure, "judge-1 rejected the key (401): Incorrect API key provided: [key]"),
        ("404", PermanentFailure, "judge-1 does not know this model (404): No such model"),
        ("quota", PermanentFailure, "The account for judge-1 has no credit left."),
    ],
)
def test_a_fault_becomes_a_problem_with_a_message(server: Server, fault: str, problem: type, message: str) -> None:
    server.faults.append({"fault": fault})
    result = complete_ask(make_ask(server.address))
    assert isinstance(result, problem)
    assert str(result).startswith(message)
    assert len(server.log) == 1, "litellm retried by itself"


def test_the_retry_after_header_is_read(server: Server) -> None:
    server.faults.append({"fault": "429", "after": 7})
    result = complete_ask(make_ask(server.address))
    assert isinstance(result, TemporaryFailure) and result.retry_after == 7


def test_the_retry_after_header_may_be_a_date(server: Server) -> None:
    server.faults.append({"fault": "429", "after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    result = complete_ask(make_ask(server.address))
    assert isinstance(result, TemporaryFailure) and result.retry_after == 0


def test_every_call_has_a_timeout(server: Server) -> None:
    server.faults.append({"fault": "timeout", "after": 3})
    result = complete_ask(make_ask(server.address, timeout=0.3))
    assert isinstance(result, TemporaryFailure)
    assert str(result) == "judge-1 did not answer within 0.3 seconds."


@pytest.mark.parametrize("fault", ["refusal", "filter", "policy"])
def test_a_refusal_is_a_reply(server: Server, fault: str) -> None:
    server.faults.append({"fault": fault})
    result = complete_ask(make_ask(server.address))
    assert isinstance(result, Reply) and result.finish == "refused"


def test_a_cut_off_text_is_a_reply(server: Server) -> None:
    server.faults.append({"fault": "length"})
    result = complete_ask(make_ask(server.address))
    assert isinstance(result, Reply) and (result.finish, result.text[-1]) == ("cut off", "1")


def test_a_refused_connection_is_a_temporary_failure() -> None:
    result = complete_ask(make_ask("http://127.0.0.1:9/v1"))
    assert isinstance(result, TemporaryFailure) and "The connection to judge-1 failed" in str(result)


def test_a_model_without_a_known_provider_is_a_permanent_failure() -> None:
    result = complete_ask(make_ask(None, model="nonsense"))
    assert isinstance(result, PermanentFailure)
    assert str(result) == "The provider of 'nonsense' is unknown: write provider/model, or give an address."


def test_a_debate_completes_despite_temporary_faults(server: Server) -> None:
    import asyncio

    from core.protocols import Judge
    from tests.core.protocols.debates import make_flow, make_settings

    judges = tuple(Judge(name=n, spec=Spec(model=f"judge-{n}", address=server.address, timeout=1)) for n in "abc")
    chosen = make_settings(judges=judges, rounds=1)
    server.faults += [{"fault": fault} for fault in ("429", "500", "drop", "malformed", "cut", "503")]
    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    async def run() -> object:
        model = LiteLLM()
        try:
            return await run_flow(make_flow(chosen), model, record, limits=Limits(backoff=0.01, max_tries=8))
        finally:
            await model.close()

    assert asyncio.run(run()) is not None
    assert sum(isinstance(event, CallFailed) for event in events) == 6
    assert len(server.log) == 9
