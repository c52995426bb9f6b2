"""The contract of both clients, tested with a real server: replies, refusals, and every way in which a server can fail.

test_openai_compatible.py and test_litellm.py test what only one of them does.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from core.answers.number import Rating
from core.attempts import make_turn
from core.errors import PermanentFailure, TemporaryFailure, UnsupportedSchema
from core.llm.client import Model, Reply
from core.llm.limits import Limits
from core.protocols import Judge
from core.protocols.single_judge.protocol import weighted_mean
from core.trace import Ask, CallFailed, Spec
from tests.core.llm.asking import complete_ask, make_ask, make_json_ask, sample_ask, with_client
from tests.core.protocols.debates import make_flow, make_settings
from tests.core.protocols.scripted_runs import run_recorded
from tests.openai_server import ERROR_FAULTS, Server, run_server
from tests.waiting import wait_for

pytestmark = pytest.mark.slow  # each test calls a server

Client = Callable[[], Model]
SECRET = "lab-secret-value-222333"


def test_a_reply_has_its_text_and_its_tokens(server: Server, client: Client) -> None:
    reply = complete_ask(make_ask(server.address), client)
    assert isinstance(reply, Reply) and reply.finish == "stop"
    assert reply.text.endswith("\n\n1")
    assert reply.usage.prompt_tokens == 4 and reply.usage.completion_tokens
    assert reply.usage.seconds is not None and reply.usage.dollars is None


@pytest.mark.parametrize(
    ("fault", "problem", "sentence"),
    [
        ("429", TemporaryFailure, "judge-1 is limiting the rate of calls (429): Rate limit reached for key [key]"),
        ("500", TemporaryFailure, "judge-1 had an internal error (500): This is a planned 500"),
        ("503", TemporaryFailure, "judge-1 had an internal error (503): This is a planned 503"),
        ("drop", TemporaryFailure, "The connection to judge-1 failed: "),
        ("cut", TemporaryFailure, "The connection to judge-1 failed: "),
        ("malformed", TemporaryFailure, "judge-1 returned an invalid response"),
        ("empty", TemporaryFailure, "judge-1 returned a response without a message."),
        ("400", PermanentFailure, "judge-1 rejected the request as invalid (400): This is a planned 400"),
        ("401", PermanentFailure, "judge-1 rejected the key (401): Incorrect API key provided: [key]"),
        ("404", PermanentFailure, "judge-1 does not know this model (404): No such model"),
        ("quota", PermanentFailure, "The account for judge-1 has no credit left."),
    ],
)
def test_a_fault_becomes_a_problem_with_a_message(
    server: Server, client: Client, fault: str, problem: type, sentence: str
) -> None:
    server.faults.append({"fault": fault})
    outcome = complete_ask(make_ask(server.address), client)
    assert isinstance(outcome, problem)
    assert str(outcome).startswith(sentence)
    assert len(server.bodies) == 1, "the client retried by itself"


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ({"body": ""}, TemporaryFailure),
        ({"body": "OK"}, TemporaryFailure),
        ({"body": "null"}, TemporaryFailure),
        ({"body": "[]"}, TemporaryFailure),
        ({"body": "{}"}, TemporaryFailure),
        ({"body": '"text"'}, TemporaryFailure),
        ({"body": "<html><title>Sign in</title><body>", "headers": {"Content-Type": "text/html"}}, TemporaryFailure),
        ({"body": {"choices": None}}, TemporaryFailure),
        ({"body": {"choices": [{}]}}, TemporaryFailure),
        ({"body": {"choices": ["text"]}}, TemporaryFailure),
        ({"body": "[" * 100_000}, TemporaryFailure),
        ({"body": '{"choices": [], "usage": ' + "9" * 5000 + "}"}, TemporaryFailure),
        ({"status": 500, "body": "<html><title>Bad gateway</title><body>"}, TemporaryFailure),
        ({"status": 529, "body": {"error": {"message": "Overloaded", "type": "overloaded_error"}}}, TemporaryFailure),
        ({"status": 403, "body": {"error": "forbidden"}}, PermanentFailure),
        ({"status": 422, "body": {"detail": [{"loc": ["body", "n"], "msg": "too large"}]}}, PermanentFailure),
        ({"status": 400, "body": {"object": "error", "message": "too long", "code": 400}}, PermanentFailure),
        ({"status": 400, "body": "[]"}, PermanentFailure),
        ({"status": 400, "body": ""}, PermanentFailure),
    ],
)
def test_an_invalid_response_is_a_problem(server: Server, client: Client, fault: dict, problem: type) -> None:
    server.faults.append({"fault": "raw"} | fault)
    outcome = complete_ask(make_ask(server.address), client)
    assert isinstance(outcome, problem), outcome
    assert str(outcome).startswith("judge-1 ") and len(str(outcome)) < 500 and "\n" not in str(outcome)


@pytest.mark.parametrize("type", ["text/plain", "text/html; charset=utf-8", "application/octet-stream"])
def test_a_wrong_content_type_does_not_matter(server: Server, client: Client, type: str) -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "2"}, "finish_reason": "stop"}]}
    server.faults.append({"fault": "raw", "body": body, "headers": {"Content-Type": type}})
    reply = complete_ask(make_ask(server.address), client)
    assert isinstance(reply, Reply) and reply.text == "2"


@pytest.mark.parametrize(
    ("after", "seconds"),
    [(7, 7), ("0.5", 0.5), ("-3", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("1" + "0" * 30, 86_400), ("inf", 86_400)]
    + [(nonsense, None) for nonsense in ("nan", "soon", "", "Wed, 21 Oct 99999999999999999999 07:28:00 GMT")],
)
def test_the_retry_after_header_is_read(server: Server, client: Client, after: Any, seconds: float | None) -> None:
    server.faults.append({"fault": "429", "after": after})
    outcome = complete_ask(make_ask(server.address), client)
    assert isinstance(outcome, TemporaryFailure) and outcome.retry_after == seconds


def test_the_retry_after_header_may_be_a_future_date(server: Server, client: Client) -> None:
    server.faults.append({"fault": "503", "after": format_datetime(datetime.now(UTC) + timedelta(seconds=90), True)})
    outcome = complete_ask(make_ask(server.address), client)
    assert isinstance(outcome, TemporaryFailure) and outcome.retry_after == pytest.approx(90, abs=5)


@pytest.mark.parametrize("fault", [{"fault": "timeout", "after": 3}, {"fault": "drip"}])
def test_every_call_has_a_timeout(server: Server, client: Client, fault: dict) -> None:
    server.faults.append(fault)
    start = time.perf_counter()
    outcome = complete_ask(make_ask(server.address, timeout=0.3), client)
    assert isinstance(outcome, TemporaryFailure)
    assert str(outcome) == "judge-1 did not answer within 0.3 seconds."
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("fault", ["refusal", "filter", "policy"])
def test_a_refusal_is_a_reply(server: Server, client: Client, fault: str) -> None:
    server.faults.append({"fault": fault})
    reply = complete_ask(make_ask(server.address), client)
    assert isinstance(reply, Reply) and reply.finish == "refused"


@pytest.mark.parametrize(
    ("finish", "expected"), [("stop", "stop"), ("length", "cut off"), ("content_filter", "refused"), (None, "stop")]
)
def test_the_finish_reason_is_read(server: Server, client: Client, finish: str | None, expected: str) -> None:
    server.faults.append({"fault": "message", "finish": finish})
    reply = complete_ask(make_ask(server.address), client)
    assert isinstance(reply, Reply) and (reply.finish, reply.text) == (expected, "1")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}, (12, 3)),
        ({"prompt_tokens": 10**30, "completion_tokens": 3, "total_tokens": 3}, (None, 3)),
        ({"prompt_tokens": -1, "completion_tokens": 3, "total_tokens": 2}, (None, 3)),
        ({"prompt_tokens": 2**31, "completion_tokens": 2**31 - 1, "total_tokens": 3}, (None, 2**31 - 1)),
    ],
)
def test_impossible_numbers_of_tokens_are_unknown(server: Server, client: Client, usage: dict, expected: tuple) -> None:
    server.faults.append({"fault": "usage", "usage": usage})
    reply = complete_ask(make_ask(server.address), client)
    assert isinstance(reply, Reply), reply
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == expected


def test_a_reply_that_is_too_large_is_a_permanent_problem(server: Server, client: Client) -> None:
    server.faults.append({"fault": "large", "size": 10 * 2**20})
    outcome = complete_ask(make_ask(server.address, timeout=30), client)
    assert isinstance(outcome, PermanentFailure) and str(outcome) == "judge-1 sent a response of more than 8 MB."


def test_lone_surrogates_are_replaced(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    server.faults.append({"fault": "message", "message": {"content": "a\ud800b\0c ünd 😀"}})
    reply = complete_ask(make_ask(server.address, prompt="half: \udc00"), client)
    assert isinstance(reply, Reply) and reply.text == "a�b�c ünd 😀"
    monkeypatch.setitem(ERROR_FAULTS, "400", (400, "a\ud800b\0c", None))
    server.faults.append({"fault": "400"})
    assert str(complete_ask(make_ask(server.address), client)).endswith("a�b�c")


def test_reasoning_is_separate_from_the_text(server: Server, client: Client) -> None:
    server.faults.append({"fault": "message", "message": {"reasoning_content": "Let me think."}})
    reply = complete_ask(make_ask(server.address), client)
    assert isinstance(reply, Reply) and (reply.text, reply.reasoning) == ("1", "Let me think.")


def test_a_conversation_is_sent_to_the_model_of_that_name_without_parameters_that_are_not_set(
    server: Server, client: Client
) -> None:
    ask = make_ask(f"{server.address}/", "Only the number.", model="openai/gpt-oss-20b")
    complete_ask(replace(ask, history=("Which is better?", "Hard to say.")), client)
    (body,) = server.bodies
    assert server.heads[0].startswith("POST /v1/chat/completions HTTP/1.1")
    assert (body["model"], body.get("stream", False)) == ("openai/gpt-oss-20b", False)
    assert not {"n", "top_p", "seed", "reasoning_effort", "response_format"} & body.keys()
    texts = {"user": ["Which is better?", "Only the number."], "assistant": ["Hard to say."]}
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    for role, contents in texts.items():
        assert [message["content"] for message in body["messages"] if message["role"] == role] == contents


def test_the_parameters_of_a_model_are_sent(server: Server, client: Client) -> None:
    extra = {"min_p": 0.1, "chat_template_kwargs": {"enable_thinking": False}}
    numbers = {"temperature": 0.7, "max_tokens": 77, "top_p": 0.9, "seed": 11}
    complete_ask(make_ask(server.address, system="You are a judge.", extra=extra, **numbers), client)
    body = server.bodies[0]
    assert body["messages"][0] == {"role": "system", "content": "You are a judge."}
    assert body.items() >= (numbers | extra).items()


def test_the_reasoning_effort_is_sent_to_a_model_that_reasons(server: Server, client: Client) -> None:
    complete_ask(make_ask(server.address, model="gpt-5.4-mini", reasoning_effort="low", temperature=1.0), client)
    assert server.bodies[0]["reasoning_effort"] == "low"


@pytest.mark.parametrize("name", ["model", "messages", "n", "stream", "response_format"])
def test_extra_parameters_do_not_replace_the_request(server: Server, client: Client, name: str) -> None:
    outcome = complete_ask(make_ask(server.address, extra={name: "other"}), client)
    assert isinstance(outcome, PermanentFailure) and not server.bodies
    assert str(outcome) == f"The extra parameters of judge-1 cannot set '{name}'."


@pytest.mark.filterwarnings("ignore:Sending a large body")  # litellm's
def test_images_are_parts_of_the_message(server: Server, client: Client) -> None:
    image = "data:image/png;base64," + "A" * 3_000_000
    reply = complete_ask(replace(make_ask(server.address), images=(image,)), client)
    assert isinstance(reply, Reply)
    text, part = server.bodies[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "Which is better?"}
    assert part["type"] == "image_url" and part["image_url"]["url"] == image


def test_a_schema_is_sent_as_structured_output(server: Server, client: Client) -> None:
    ask = make_json_ask(server.address)
    reply = complete_ask(ask, client)
    assert isinstance(reply, Reply) and reply.notes == ()
    form = server.bodies[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True and form["json_schema"]["schema"] == ask.schema
    assert json.loads(reply.text).keys() == set(form["json_schema"]["schema"]["properties"])


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This response_format type is unavailable now"),
        (400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
        (422, "body.response_format: Extra inputs are not permitted"),
        (400, "Grammar error: unimplemented keys: minItems"),
    ],
)
def test_a_refused_schema_is_a_problem_of_its_own_and_the_request_is_not_repeated(
    server: Server, client: Client, status: int, message: str
) -> None:
    server.faults += [{"fault": "no parameter", "parameter": "response_format", "message": message, "status": status}]
    outcome = complete_ask(make_json_ask(server.address), client)
    assert isinstance(outcome, UnsupportedSchema)
    assert str(outcome) == "judge-1 does not accept the JSON schema of the answer; it is asked for text instead."
    assert ["response_format" in body for body in server.bodies] == [True]


def test_an_invalid_request_with_a_schema_is_not_repeated(server: Server, client: Client) -> None:
    server.faults.append({"fault": "400"})
    outcome = complete_ask(make_json_ask(server.address), client)
    assert isinstance(outcome, PermanentFailure) and not isinstance(outcome, UnsupportedSchema)
    assert len(server.bodies) == 1


def test_several_samples_are_one_call_whose_usage_adds_up(server: Server, client: Client) -> None:
    replies = sample_ask(replace(make_ask(server.address, model="sampler-1"), samples=3), client)
    assert len(server.bodies) == 1 and server.bodies[0]["n"] == 3
    assert [reply.text[-1] for reply in replies] == ["0", "1", "2"]
    tokens = [reply.usage.completion_tokens or 0 for reply in replies]
    assert max(tokens) - min(tokens) <= 1
    assert sum(reply.usage.prompt_tokens or 0 for reply in replies) == len("Which is better?") // 4


def test_a_server_that_ignores_n_returns_one(server: Server, client: Client) -> None:
    assert len(sample_ask(replace(make_ask(server.address), samples=3), client)) == 1


def test_a_server_that_refuses_n_is_a_permanent_problem(server: Server, client: Client) -> None:
    server.faults.append({"fault": "no parameter", "parameter": "n"})
    with pytest.raises(PermanentFailure, match="rejected the request as invalid"):
        sample_ask(replace(make_ask(server.address), samples=3), client)


def test_an_address_never_gets_the_providers_key(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    complete_ask(make_ask(server.address), client)
    assert len(server.heads) == 1 and SECRET not in server.heads[0]


def test_an_address_gets_the_key_named_for_it(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", SECRET)
    complete_ask(make_ask(server.address, key_variable="LAB_API_KEY"), client)
    assert f"authorization: bearer {SECRET}" in server.heads[0].lower().splitlines()


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        ("MY_API_KEY", "should be in the environment variable MY_API_KEY, which is not set."),
        ("AWS_SECRET", 'cannot come from AWS_SECRET: the name has to end in "_API_KEY".'),
    ],
)
def test_a_key_that_cannot_be_used_is_reported_before_any_call(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch, variable: str, sentence: str
) -> None:
    monkeypatch.setenv("AWS_SECRET", "not for this")
    outcome = complete_ask(make_ask(server.address, key_variable=variable), client)
    assert isinstance(outcome, PermanentFailure) and not server.bodies
    assert str(outcome) == f"The key of judge-1 {sentence}"


@pytest.mark.parametrize("fault", [{}, {"status": 400}, {"status": 500}])
def test_a_key_in_a_response_is_redacted(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch, fault: dict
) -> None:
    monkeypatch.setenv("LAB_API_KEY", SECRET)
    monkeypatch.setenv("OTHER_API_KEY", "none")
    server.faults.append({"fault": "echo"} | fault)
    outcome = complete_ask(make_ask(server.address, key_variable="LAB_API_KEY"), client)
    seen = outcome.model_dump_json() if isinstance(outcome, Reply) else str(outcome)
    assert "[key]" in seen and SECRET not in seen
    if isinstance(outcome, Reply):
        assert (outcome.text, outcome.reasoning) == ("Your key is [key].", "([key])")


def test_a_traceback_of_a_server_is_not_shown(server: Server, client: Client) -> None:
    traceback = (
        'Traceback (most recent call last):\n  File "/srv/vllm/engine.py", line 3, in step\nValueError: no memory'
    )
    server.faults.append({"fault": "raw", "status": 500, "body": {"error": {"message": f"Failed. {traceback}"}}})
    outcome = complete_ask(make_ask(server.address), client)
    assert str(outcome) == "judge-1 had an internal error (500): Failed. ValueError: no memory"


def test_a_refused_connection_is_a_temporary_failure(client: Client) -> None:
    outcome = complete_ask(make_ask("http://127.0.0.1:9/v1"), client)
    assert isinstance(outcome, TemporaryFailure) and "The connection to judge-1 failed" in str(outcome)


def test_closing_the_connections_of_one_event_loop_does_not_affect_another(client: Client) -> None:
    with run_server(latency=0.5) as server:
        replies: list[object] = []
        thread = threading.Thread(target=lambda: replies.append(complete_ask(make_ask(server.address, "slow"), client)))
        thread.start()
        assert wait_for(lambda: server.open)
        asyncio.run(client().close())
        thread.join()
    assert isinstance(replies[0], Reply)


def test_one_client_works_in_consecutive_event_loops(server: Server, client: Client) -> None:
    model, ask = client(), make_ask(server.address)
    assert all(isinstance(complete_ask(ask, lambda: model), Reply) for _ in range(3))


def test_calls_run_concurrently(client: Client) -> None:
    async def use(model: Model) -> None:
        asks = [make_ask(server.address, f"item {n}", timeout=30) for n in range(150)]
        await asyncio.gather(*map(model.complete, asks))

    with run_server(latency=1.0) as server:
        with_client(client, use)
        assert server.most_open == 150


def test_a_debate_completes_despite_temporary_faults(server: Server, client: Client) -> None:
    judges = tuple(Judge(name=n, spec=Spec(model=f"judge-{n}", address=server.address, timeout=1)) for n in "abc")
    server.faults += [{"fault": fault} for fault in ("429", "500", "drop", "malformed", "cut", "503")]
    flow = make_flow(make_settings(judges=judges, rounds=1))
    verdict, events = run_recorded(flow, client(), limits=Limits(backoff=0.01, max_tries=8))
    assert verdict is not None
    assert sum(isinstance(event, CallFailed) for event in events) == 6
    assert len(server.bodies) == 9


def rating_ask(server: Server) -> Ask:
    """Return an ask for a rating from 1 to 5 with log probabilities; the server's rating is 2."""
    answer = Rating(levels=(1, 2, 3, 4, 5))
    ask = make_ask(server.address, model="judge-2")
    return replace(ask, answer=answer, format="json", top_logprobs=20, shown=())


def test_ratings_have_the_probabilities_that_the_server_returns(server: Server, client: Client) -> None:
    server.probabilities = {"2": 0.5, "3": 0.25, "1": 0.125, "good": 0.125}
    ask = rating_ask(server)
    reply = complete_ask(ask, client)
    assert isinstance(reply, Reply)
    turn = make_turn(ask, reply)
    assert turn.reading == 2 and turn.probabilities == pytest.approx({"1": 0.125, "2": 0.5, "3": 0.25})
    assert weighted_mean(turn.probabilities) == pytest.approx((0.125 + 2 * 0.5 + 3 * 0.25) / 0.875)
    assert (server.bodies[-1]["logprobs"], server.bodies[-1]["top_logprobs"]) == (True, 20)


def test_a_refused_parameter_of_log_probabilities_is_omitted(server: Server, client: Client) -> None:
    body = {"error": {"message": "top_logprobs is not supported by this model", "param": "top_logprobs"}}
    server.faults.append({"fault": "raw", "status": 400, "body": body})
    reply = complete_ask(rating_ask(server), client)
    assert isinstance(reply, Reply)
    assert reply.notes == ("judge-2 does not accept top_logprobs: the parameter was omitted.",)
    assert not {"logprobs", "top_logprobs"} & server.bodies[-1].keys() and len(server.bodies) == 2
