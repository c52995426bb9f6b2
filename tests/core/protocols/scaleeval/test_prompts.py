"""Every prompt as a model receives it, and the templates' rules."""

import re

import pytest

from core.problems import Problem
from core.protocols.registry import PROTOCOLS
from core.templates import render
from core.trace import Ask
from tests.core.protocols.debates import ScriptedTrace, make_settings, run_scripted
from tests.golden.files import assert_golden


def argued_reply(ask: Ask) -> str:
    pick = {"a": "1", "b": "2", "c": "0"}[ask.speaker]
    return f"In round {ask.round} I hold to my view, for my own reasons.\n\n{pick}\n\n{pick}"


def prompt(debate: ScriptedTrace, speaker: str, number: int) -> str:
    return next(ask.prompt for ask in debate.asked if (ask.speaker, ask.round) == (speaker, number))


def test_the_first_opinion() -> None:
    assert_golden("scaleeval/opinion.txt", prompt(run_scripted(argued_reply, make_settings()), "a", 0))


def test_a_reply_in_the_first_discussion() -> None:
    assert_golden("scaleeval/reply_round_1.txt", prompt(run_scripted(argued_reply, make_settings()), "b", 1))


def test_a_reply_in_the_second_discussion() -> None:
    assert_golden("scaleeval/reply_round_2.txt", prompt(run_scripted(argued_reply, make_settings()), "c", 2))


def test_a_reply_in_turn() -> None:
    assert_golden(
        "scaleeval/reply_in_turn.txt", prompt(run_scripted(argued_reply, make_settings(speaking="in turn")), "c", 1)
    )


def test_the_retry_prompts() -> None:
    debate = run_scripted(lambda ask: "Hmm.", make_settings(rounds=1))
    assert_golden("scaleeval/retry.txt", debate.asked[-1].prompt)


def test_an_empty_reply_is_quoted_as_no_answer() -> None:
    debate = run_scripted(lambda ask: "" if ask.speaker == "b" else argued_reply(ask), make_settings())
    assert "[Speaker 2's Initial Evaluation]:\n'''\n(no answer)\n'''" in prompt(debate, "a", 1)


def test_an_unfilled_blank_is_refused() -> None:
    with pytest.raises(Problem, match=re.escape('The prompt "opinion" has the blank $mood, and nothing fills it.')):
        render({"opinion": "$question $mood"}, "opinion", question="why?")


def test_an_unused_value_is_refused() -> None:
    with pytest.raises(Problem, match=re.escape('The prompt "opinion" leaves out $words')):
        render({"opinion": "$question"}, "opinion", question="why?", words=150)


def test_a_lone_dollar_sign_is_refused() -> None:
    with pytest.raises(Problem, match="lone"):
        render({"opinion": "that is $ 5"}, "opinion")


def test_a_study_can_replace_a_prompt() -> None:
    assert PROTOCOLS["scaleeval"].prompts_with({"again": "Once more: $prompt"})["again"] == "Once more: $prompt"


def test_an_unknown_template_name_is_refused() -> None:
    with pytest.raises(Problem, match="scaleeval has no prompt called 'opinoin'"):
        PROTOCOLS["scaleeval"].prompts_with({"opinoin": "x"})
