"""Every prompt as a model receives it, and the templates' rules."""

import re

import pytest

from core.problems import Problem
from core.protocols.registry import PROTOCOLS
from core.templates import render
from core.trace import Ask
from tests.core.protocols.debates import Debate, play, settings
from tests.golden.files import golden


def argued(ask: Ask) -> str:
    pick = {"a": "1", "b": "2", "c": "0"}[ask.speaker]
    return f"In round {ask.round} I hold to my view, for my own reasons.\n\n{pick}\n\n{pick}"


def prompt(debate: Debate, speaker: str, number: int) -> str:
    return next(ask.prompt for ask in debate.asked if (ask.speaker, ask.round) == (speaker, number))


def test_the_first_opinion() -> None:
    golden("scaleeval/opinion.txt", prompt(play(argued, settings()), "a", 0))


def test_a_reply_in_the_first_discussion() -> None:
    golden("scaleeval/reply_round_1.txt", prompt(play(argued, settings()), "b", 1))


def test_a_reply_in_the_second_discussion() -> None:
    golden("scaleeval/reply_round_2.txt", prompt(play(argued, settings()), "c", 2))


def test_a_reply_in_turn() -> None:
    golden("scaleeval/reply_in_turn.txt", prompt(play(argued, settings(speaking="in turn")), "c", 1))


def test_asking_again() -> None:
    debate = play(lambda ask: "Hmm.", settings(rounds=1))
    golden("scaleeval/again.txt", debate.asked[-1].prompt)


def test_a_judge_without_words_is_quoted_as_such() -> None:
    debate = play(lambda ask: "" if ask.speaker == "b" else argued(ask), settings())
    assert "[Speaker 2's Initial Evaluation]:\n'''\n(no answer)\n'''" in prompt(debate, "a", 1)


def test_a_blank_left_empty_is_refused() -> None:
    with pytest.raises(Problem, match=re.escape('The prompt "opinion" has the blank $mood, and nothing fills it.')):
        render({"opinion": "$question $mood"}, "opinion", question="why?")


def test_a_value_not_used_is_refused() -> None:
    with pytest.raises(Problem, match=re.escape('The prompt "opinion" leaves out $words')):
        render({"opinion": "$question"}, "opinion", question="why?", words=150)


def test_a_lone_dollar_is_refused_in_words() -> None:
    with pytest.raises(Problem, match="lone"):
        render({"opinion": "that is $ 5"}, "opinion")


def test_a_study_can_put_its_own_text() -> None:
    assert PROTOCOLS["scaleeval"].prompts_with({"again": "Once more: $prompt"})["again"] == "Once more: $prompt"


def test_a_template_of_another_name_is_refused() -> None:
    with pytest.raises(Problem, match="scaleeval has no prompt called 'opinoin'"):
        PROTOCOLS["scaleeval"].prompts_with({"opinoin": "x"})
