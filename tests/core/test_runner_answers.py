"""Asks with an answer type: their format, their second requests, what is stored of a reading, and their replay."""

import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.answers.answer import Format
from core.answers.choice import Choice
from core.errors import UnreadableReply, UnsupportedSchema
from core.llm.client import Answer, Reply, ScriptedModel
from core.llm.limits import Limits
from core.llm.router import Router
from core.templates import ANSWER, render
from core.trace import (
    EVENT_ADAPTER,
    Ask,
    Event,
    Flow,
    ReplyUnreadable,
    SchemaRefused,
    Spec,
    TraceRestarted,
    Turn,
    TurnCompleted,
    Verdict,
    completed_turns,
)
from storage.db.columns import to_storable_json
from tests.core.protocols.scripted_runs import run_recorded
from tests.openai_server import run_server

CHOICE = Choice(noun="Submission")
SPEC = Spec(model="m", max_tokens=100)


def make_ask(**fields: Any) -> Ask:
    defaults: dict[str, Any] = {"speaker": "a", "step": "choice", "round": 0, "spec": SPEC, "prompt": "Which?"}
    return Ask(**defaults | {"answer": CHOICE} | fields)


def make_flow(*asks: Ask) -> Flow:
    turns = yield list(asks or [make_ask()])
    return Verdict(outcome="agreed", value=turns[-1].reading)


def run(
    script: Callable[[Ask], Answer] | Sequence[Answer | Exception],
    *asks: Ask,
    stored: Sequence[Event] = (),
    format: Format = "text",
    limits: Limits | None = None,
) -> tuple[list[Event], list[Ask]]:
    """Return all events, and the asks that were sent."""
    model = ScriptedModel(script, format)
    _, events = run_recorded(make_flow(*asks), model, stored, limits=limits or Limits(backoff=0))
    return events, model.asked


def only_turn(events: Sequence[Event]) -> Turn:
    (turn,) = completed_turns(events)
    return turn


def test_the_instruction_stands_where_the_marker_is_or_at_the_end() -> None:
    instruction = CHOICE.instruction("text")
    assert make_ask().request() == f"Which?\n\n{instruction}"
    assert make_ask(prompt=f"Which? {ANSWER} Thanks.").request() == f"Which? {instruction} Thanks."
    assert CHOICE.instruction("json") in make_ask().request("json")


def test_a_reading_is_stored_with_its_rule_and_span() -> None:
    turn = only_turn(run(["Clear.\n\nFinal answer: 2"])[0])
    assert (turn.reading, turn.reading_rule, turn.format, turn.read_by) == (2, "labelled", "text", "")
    assert turn.reading_span is not None
    start, end = turn.reading_span
    assert turn.reply[start:end] == "Final answer: 2"
    assert turn.prompt == make_ask().request()


def test_a_value_that_cannot_be_mapped_is_unreadable() -> None:
    def refuse(value: int) -> int:
        raise UnreadableReply("there is no such response")

    turn = only_turn(run(lambda ask: "Final answer: 1", make_ask(value=refuse))[0])
    assert turn.reading is None and turn.problem == "there is no such response" and turn.reading_span is None


def test_a_structured_answer_is_requested_and_read() -> None:
    events, asked = run(['{"reasoning": "Clear.", "answer": "Submission 1"}'], format="json")
    turn = only_turn(events)
    assert (turn.reading, turn.reading_rule, turn.format) == (1, "json", "json")
    assert asked[0].schema == CHOICE.schema() and "JSON" in asked[0].prompt
    assert turn.statement == "Clear.\n\nAnswer: Submission 1"


def test_an_empty_reply_has_a_placeholder_in_the_conversation() -> None:
    _, asked = run(["  ", "Final answer: 2"])
    assert asked[1].history[1] == "(empty reply)"


def test_a_cut_off_reply_is_requested_once_more_with_twice_the_tokens() -> None:
    cut = Reply(text="Final answer: 1", finish="cut off")
    events, asked = run([cut, "Final answer: 2"])
    assert [ask.spec.max_tokens for ask in asked] == [100, 200]
    assert asked[1].prompt == asked[0].prompt and not asked[1].history
    assert isinstance(events[0], ReplyUnreadable) and events[0].max_tokens == 200
    assert only_turn(events).reading == 2
    events, asked = run(lambda ask: cut)
    assert len(asked) == 2 and only_turn(events).problem == "the reply was cut off at the limit of 200 tokens"


@pytest.mark.parametrize(("ceiling", "limits"), [(150, [100, 150]), (100, [100]), (50, [100])])
def test_the_limit_grows_up_to_the_ceiling(ceiling: int, limits: list[int]) -> None:
    ask = make_ask(spec=SPEC.model_copy(update={"max_tokens_ceiling": ceiling}))
    _, asked = run(lambda ask: Reply(text="", finish="cut off"), ask)
    assert [ask.spec.max_tokens for ask in asked] == limits


def refuse_schemas(ask: Ask) -> str:
    if ask.schema is not None:
        raise UnsupportedSchema("m does not accept the JSON schema of the answer; it is asked for text instead.")
    return "Final answer: 1"


def test_a_refused_schema_is_recorded_once_and_the_run_goes_on_as_text() -> None:
    limits = Limits(backoff=0)
    events, asked = run(refuse_schemas, format="json", limits=limits)
    assert [event.type for event in events] == ["schema_refused", "turn", "verdict"]
    assert isinstance(events[0], SchemaRefused) and "asked for text instead" in events[0].problem
    assert only_turn(events).format == "text" and len(asked) == 2
    events, asked = run(refuse_schemas, format="json", limits=limits)
    assert [event.type for event in events] == ["turn", "verdict"] and len(asked) == 1


def test_thinking_between_tags_is_not_part_of_a_statement() -> None:
    turn = Turn(
        speaker="a", step="s", round=0, model="m", reply="<think>It is 1.</think>\nI take 2.\n\nFinal answer: 2"
    )
    assert turn.statement == "I take 2.\n\nFinal answer: 2"
    assert turn.model_copy(update={"reply": "<think>endless"}).statement == ""


def scripted_reply(seed: int, ask: Ask) -> Answer:
    """Return a reply that depends on the seed, the speaker and the attempt."""
    number = zlib.crc32(repr((seed, ask.speaker, ask.history != (), ask.spec.max_tokens)).encode()) % 9
    if number == 0:
        return Reply(text="", finish="refused")
    if number in (1, 2):
        return Reply(text="Final answer: 1", finish="cut off")
    if number in (3, 4):
        return "I cannot say."
    if number == 5:  # the characters that no database stores
        return r'{"reasoning": "Half \ud800, NUL \u0000, 😀.", "answer": "Submission 1"}'
    return CHOICE.render(number % 3, ask.format, reasoning="Because.")


@given(seed=st.integers(0, 10_000), cut=st.integers(0, 12), format=st.sampled_from(["text", "json"]))
def test_an_interrupted_run_ends_like_an_uninterrupted_one(seed: int, cut: int, format: Format) -> None:
    asks = [make_ask(speaker=name) for name in "abcd"]
    events, asked = run(lambda ask: scripted_reply(seed, ask), *asks, format=format)
    stored = [EVENT_ADAPTER.validate_json(to_storable_json(event.model_dump(mode="json"))) for event in events[:cut]]
    resumed, asked_later = run(lambda ask: scripted_reply(seed, ask), *asks, format=format, stored=stored)
    assert sorted(map(repr, resumed)) == sorted(map(repr, events))
    assert len(asked_later) == len(asked) - sum(isinstance(e, TurnCompleted | ReplyUnreadable) for e in stored)


@given(format=st.sampled_from(["text", "json"]), other=st.sampled_from(["text", "json"]))
def test_a_stored_reply_is_accepted_in_either_format(format: Format, other: Format) -> None:
    events, _ = run(lambda ask: "Final answer: 1", format=format)
    _, asked = run([], stored=events[:1], format=other)
    assert not asked


def test_events_before_a_restart_are_not_replayed() -> None:
    events, _ = run(["Final answer: 1"])
    old = [event for event in events if isinstance(event, TurnCompleted)]
    other = [old[0].model_copy(update={"turn": old[0].turn.model_copy(update={"prompt": "Another prompt."})})]
    resumed, asked = run(["Final answer: 2"], stored=[*other, TraceRestarted(reason="The prompts have changed.")])
    assert len(asked) == 1 and only_turn(resumed).reading == 2


def test_a_reply_from_a_server_in_both_formats() -> None:
    def complete(address: str, setting: str) -> tuple[list[Event], Any]:
        spec = Spec(model="judge-2", address=address, timeout=10, answer_format=setting)
        _, events = run_recorded(make_flow(make_ask(spec=spec)), Router())
        return events, only_turn(events)

    with run_server() as server:
        for setting, format in (("auto", "json"), ("json", "json"), ("text", "text")):
            _, turn = complete(server.address, setting)
            assert (turn.reading, turn.format) == (2, format)
            assert ("response_format" in server.bodies[-1]) is (format == "json")
        server.faults.append({"fault": "schema"})
        events, turn = complete(server.address, "auto")
        assert (turn.reading, turn.format) == (2, "text")
        assert isinstance(events[0], SchemaRefused)
        assert (
            events[0].problem == "judge-2 does not accept the JSON schema of the answer; it is asked for text instead."
        )
        server.faults.append({"fault": "unreadable"})
        events, turn = complete(server.address, "json")
        assert [message["role"] for message in server.bodies[-1]["messages"]] == ["user", "assistant", "user"]
        assert turn.reading == 2 and json.loads(turn.reply)["answer"] == "Submission 2"


def test_a_system_message_of_the_template_is_sent_with_both_attempts_and_stored_with_the_prompt() -> None:
    template = {"choice": "=== system ===\nYou are strict.\n=== prompt ===\nWhich?"}
    ask = make_ask(prompt=render(template, "choice"))
    events, sent = run(["hm", "Submission 2 is better.\n\n2"], ask)
    assert [one.system for one in sent] == ["You are strict."] * 2
    assert sent[0].prompt.startswith("Which?") and sent[1].history[0] == sent[0].prompt
    stored = next(event.turn.prompt for event in events if isinstance(event, ReplyUnreadable))
    assert stored == f"=== system ===\nYou are strict.\n\n=== prompt ===\n{sent[0].prompt}"
    assert run(["2"], ask, stored=events[:1])[1][0].system == "You are strict."
    other = make_ask(prompt=render({"choice": template["choice"].replace("strict", "mild")}, "choice"))
    assert "prompt in round 0 differs" in str(run(["2"], other, stored=events[:1])[0][-1])
