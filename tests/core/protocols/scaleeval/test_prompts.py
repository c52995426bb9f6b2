"""Every prompt as a model receives it, and the templates' rules."""

from string import Template
from typing import Any

import pytest

from core.errors import TiebreakError
from core.items import Criterion, Response
from core.llm.limits import Limits
from core.llm.router import Router
from core.protocols import Judge, start_flow
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.settings import Settings
from core.trace import EVENT_ADAPTER, Ask, Event, ReplyUnreadable, Spec, completed_turns
from tests.core.protocols.debates import ScriptedTrace, make_item, make_settings, run_scripted
from tests.core.protocols.scripted_runs import run_recorded
from tests.golden.files import assert_golden
from tests.openai_server import run_server

# The form of the released prompts: quoted blanks, indented lines, and a number alone on the last line.
RAW = """
        [Question]: '''$question'''

        [Submissions]: '''$submission_1''' '''$submission_2'''

        [Criteria]: '''$criteria'''

        For $$5 choose "1", "2" or "0". Use under $words words. At the end, repeat the number on a new line.   \n\n"""
RAW_REPLY = (
    "=== system ===\nYou are Speaker $number of $speakers.\n=== prompt ===\n$submission_1|$submission_2|$discussion\n"
)


def argued_reply(ask: Ask) -> str:
    pick = {"a": "1", "b": "2", "c": "0"}[ask.speaker]
    return f"In round {ask.round} I hold to my view, for my own reasons.\n\n{pick}\n\n{pick}"


def prompt(debate: ScriptedTrace, speaker: str, number: int) -> str:
    return next(ask.prompt for ask in debate.asked if (ask.speaker, ask.round) == (speaker, number))


def as_json() -> Settings:
    judges = tuple(
        judge.model_copy(update={"spec": judge.spec.model_copy(update={"answer_format": "json"})})
        for judge in make_settings().judges
    )
    return make_settings(judges=judges)


@pytest.mark.parametrize(
    ("name", "settings", "speaker", "number"),
    [
        ("opinion", make_settings(), "a", 0),
        ("reply_round_1", make_settings(), "b", 1),
        ("reply_round_2", make_settings(), "c", 2),
        ("reply_in_turn", make_settings(reply_order="sequential"), "c", 1),
        ("opinion_json", as_json(), "a", 0),
    ],
)
def test_the_prompts_of_a_debate(name: str, settings: Settings, speaker: str, number: int) -> None:
    assert_golden(f"scaleeval/{name}.txt", prompt(run_scripted(argued_reply, settings), speaker, number))


def test_the_second_request() -> None:
    debate = run_scripted(lambda ask: "Hmm.", make_settings(rounds=1))
    assert_golden("scaleeval/retry.txt", debate.asked[-1].prompt)


def test_other_judges_hear_no_thinking_and_no_json() -> None:
    def reply(ask: Ask) -> str:
        if ask.speaker == "a":
            return '{"reasoning": "The sun is far.", "answer": "Submission 2"}'
        return "<think>Hm, 1?</think>The moon is near.\n\nFinal answer: 1"

    heard = prompt(run_scripted(reply, make_settings()), "c", 1)
    assert "<speaker_1_initial_evaluation>\nThe sun is far.\n\nAnswer: Submission 2\n</" in heard
    assert "Hm, 1?" not in heard and "The moon is near." in heard


def test_an_unknown_template_name_is_refused() -> None:
    with pytest.raises(TiebreakError, match="scaleeval has no prompt called 'opinoin'"):
        PROTOCOLS["scaleeval"].prompts_with({"opinoin": "x"})


def run_on_server(
    prompts: dict[str, str], *judges: str, fault: str = "", stored: list[Event] | None = None, **settings: Any
) -> tuple[list[Event], list[dict[str, Any]]]:
    """Run a debate with raw prompts over HTTP; returns its events and the bodies of the requests."""
    protocol = PROTOCOLS["scaleeval"]
    item = make_item(
        prompt="Why <question>, $5?", responses=(Response(text="The sun.\ufdd2x\ufdd2"), Response(text=" "))
    )
    with run_server() as server:
        server.faults += [{"fault": fault}] if fault else []
        panel = tuple(Judge(name=name, spec=Spec(model=name, address=server.address)) for name in judges)
        own = make_settings(judges=panel, criterion=Criterion(name="clarity", definition="Clear."), **settings)
        flow = start_flow(protocol, item, own, seed=0, templates=protocol.prompts_with(prompts))
        _, events = run_recorded(flow, Router(), stored or (), limits=Limits(backoff=0))
        return events, list(server.bodies)


def test_a_raw_prompt_is_sent_as_it_is_with_its_blanks_filled() -> None:
    prompts = {"opinion": f"raw: line\n{RAW}", "reply": f"raw: labelled, line\n{RAW_REPLY}"}
    events, bodies = run_on_server(prompts, "judge-1", "judge-2", rounds=2)
    values = {"question": "Why <question>, $5?", "submission_1": "The sun.x", "submission_2": " ", "criteria": "Clear."}
    opinion = {"role": "user", "content": Template(RAW).substitute(values, words=150)}
    assert [body["messages"] for body in bodies[:2]] == [[opinion]] * 2
    first = completed_turns(events)[0].statement
    system, user = next(body["messages"] for body in bodies[2:] if body["model"] == "judge-2")
    assert system == {"role": "system", "content": "You are Speaker 2 of 2."}
    assert user["content"].startswith(f"The sun.x| |Speaker 1, initial evaluation:\n{first}\n\nSpeaker 2, initial")
    assert not any("response_format" in body for body in bodies)
    assert [turn.reading for turn in completed_turns(events)] == [1, 2, 1, 2]
    stored = [EVENT_ADAPTER.validate_json(EVENT_ADAPTER.dump_json(event)) for event in events[:3]]
    resumed, bodies = run_on_server(prompts, "judge-1", "judge-2", rounds=2, stored=stored)
    assert len(bodies) == 1 and resumed[-1] == events[-1]


def test_a_raw_prompt_is_repeated_as_it_is_after_an_unreadable_reply() -> None:
    events, bodies = run_on_server({"opinion": f"raw: line\n{RAW}"}, "judge-1", "other-1", fault="unreadable", rounds=1)
    assert len(bodies) == 3 and all(body["messages"] == bodies[0]["messages"] for body in bodies)
    assert [turn.reading for turn in completed_turns(events)] == [1, 1]


def test_a_reply_to_a_raw_prompt_has_to_be_read_by_a_rule_that_it_names() -> None:
    events, bodies = run_on_server({"opinion": f"raw: marked\n{RAW}"}, "judge-1", "other-1", rounds=1)
    problems = {event.turn.problem for event in events if isinstance(event, ReplyUnreadable)}
    assert problems == {"its answer has the rule line, and the prompt names marked"}
    assert len(bodies) == 4 and [turn.reading for turn in completed_turns(events)] == [None, None]
