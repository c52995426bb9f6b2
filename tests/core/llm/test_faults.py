"""Every way a provider can fail, met through litellm on a real server."""

from collections.abc import Iterator

import pytest

from core.llm.client import LiteLLM, Reply
from core.llm.limits import Limits
from core.problems import Permanent, Temporary
from core.runner import run_flow
from core.trace import CallFailed, Event, Spec
from tests.core.llm.asking import an_ask, answered
from tests.openai_server import Server, serving


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.faults.clear()
    running.log.clear()
    return running


def test_an_answer_has_its_words_and_its_tokens(server: Server) -> None:
    reply = answered(an_ask(server.address))
    assert isinstance(reply, Reply) and reply.finish == "stop"
    assert reply.text.endswith("\n\n1")
    assert reply.usage.prompt_tokens == 4 and reply.usage.completion_tokens
    assert reply.usage.seconds is not None and reply.usage.dollars is None


@pytest.mark.parametrize(
    ("fault", "problem", "sentence"),
    [
        ("429", Temporary, "judge-1 asks for fewer calls (429): Rate limit reached for key [key]"),
        ("500", Temporary, "judge-1 has trouble of its own (500): This is a planned 500"),
        ("503", Temporary, "judge-1 has trouble of its own (503): This is a planned 503"),
        ("drop", Temporary, "judge-1 could not be reached, or hung up: Connection error."),
        ("cut", Temporary, "judge-1 could not be reached, or hung up: Connection error."),
        ("malformed", Temporary, "judge-1 sent something that is no answer"),
        ("empty", Temporary, "judge-1 sent an answer without a message."),
        ("400", Permanent, "judge-1 says that the request is wrong (400): This is a planned 400"),
        ("401", Permanent, "judge-1 does not accept the key (401): Incorrect API key provided: [key]"),
        ("404", Permanent, "judge-1 does not know this model (404): No such model"),
        ("quota", Permanent, "The account for judge-1 has no credit left."),
    ],
)
def test_trouble_becomes_a_sentence(server: Server, fault: str, problem: type, sentence: str) -> None:
    server.faults.append({"fault": fault})
    told = answered(an_ask(server.address))
    assert isinstance(told, problem)
    assert str(told).startswith(sentence)
    assert len(server.log) == 1, "litellm tried again by itself"


def test_retry_after_is_heard(server: Server) -> None:
    server.faults.append({"fault": "429", "after": 7})
    told = answered(an_ask(server.address))
    assert isinstance(told, Temporary) and told.after == 7


def test_a_retry_after_may_be_a_date(server: Server) -> None:
    server.faults.append({"fault": "429", "after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    told = answered(an_ask(server.address))
    assert isinstance(told, Temporary) and told.after == 0


def test_every_call_has_a_time_out(server: Server) -> None:
    server.faults.append({"fault": "timeout", "after": 3})
    told = answered(an_ask(server.address, timeout=0.3))
    assert isinstance(told, Temporary)
    assert str(told) == "judge-1 did not answer within 0.3 seconds."


@pytest.mark.parametrize("fault", ["refusal", "filter", "policy"])
def test_a_refusal_is_a_reply(server: Server, fault: str) -> None:
    server.faults.append({"fault": fault})
    told = answered(an_ask(server.address))
    assert isinstance(told, Reply) and told.finish == "refused"


def test_a_cut_off_is_a_reply(server: Server) -> None:
    server.faults.append({"fault": "length"})
    told = answered(an_ask(server.address))
    assert isinstance(told, Reply) and (told.finish, told.text[-1]) == ("cut off", "1")


def test_nobody_at_the_address_may_pass() -> None:
    told = answered(an_ask("http://127.0.0.1:9/v1"))
    assert isinstance(told, Temporary) and "could not be reached" in str(told)


def test_a_model_that_no_provider_is_known_for() -> None:
    told = answered(an_ask(None, model="nonsense"))
    assert isinstance(told, Permanent)
    assert str(told) == "Nobody knows who serves 'nonsense': write it as provider/model, or give an address."


def test_a_debate_goes_through_every_passing_fault(server: Server) -> None:
    import asyncio

    from core.protocols.scaleeval.protocol import Judge
    from tests.core.protocols.debates import a_flow, settings

    judges = tuple(Judge(name=n, spec=Spec(model=f"judge-{n}", address=server.address, timeout=1)) for n in "abc")
    chosen = settings(judges=judges, rounds=1)
    server.faults += [{"fault": fault} for fault in ("429", "500", "drop", "malformed", "cut", "503")]
    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    async def run() -> object:
        model = LiteLLM()
        try:
            return await run_flow(a_flow(chosen), model, record, limits=Limits(backoff=0.01, tries=8))
        finally:
            await model.close()

    assert asyncio.run(run()) is not None
    assert sum(isinstance(event, CallFailed) for event in events) == 6
    assert len(server.log) == 9
