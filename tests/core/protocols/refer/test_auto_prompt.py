"""Guidelines drafted from rated examples (ReFeR, Appendix E), for a person to edit."""

import asyncio

import pytest

from core.items import Criterion, Response
from core.llm.client import Reply, ScriptedModel
from core.problems import Problem
from core.protocols.refer.auto_prompt import Rated, ask, drafted, guidelines, spread, structure
from core.protocols.registry import PROTOCOLS
from core.trace import Spec
from tests.core.protocols.reviews import ENGAGING, an_item, settings
from tests.golden.files import golden

SPEC = Spec(model="m")


def rated(value: float, text: str = "Fine.") -> Rated:
    return Rated(an_item(id=f"i{value}", responses=(Response(text=text),)), value)


def test_the_prompt_holds_structure_criterion_scale_and_examples() -> None:
    text = structure(settings(), PROTOCOLS["refer"].prompts)
    golden("refer/auto_prompt.txt", ask(ENGAGING, text, [rated(1, "It was fine."), rated(3, "Shrimp!")], SPEC).prompt)


def test_examples_come_from_the_whole_range() -> None:
    every = [rated(value) for value in (3, 1, 2, 2, 1.5, 3, 1, 2.5)]
    assert [one.value for one in spread(every, 3)] == [1, 2, 3]
    assert [one.value for one in spread(every, 1)] == [2]
    assert len(spread(every, 20)) == 8


def test_examples_that_teach_nothing_are_refused() -> None:
    with pytest.raises(Problem, match="different scores"):
        ask(ENGAGING, "", [rated(2), rated(2)], SPEC)


def test_a_criterion_without_a_scale_is_refused() -> None:
    with pytest.raises(Problem, match="needs a scale of numbers"):
        ask(Criterion(name="tone"), "", [rated(1), rated(2)], SPEC)


@pytest.mark.parametrize(
    "reply",
    [
        "- A score of 1: dull.\n- A score of 3: fun.",
        "**Evaluation Guidelines:**\n\n- A score of 1: dull.\n- A score of 3: fun.\n",
        "The guidelines are:\n- A score of 1: dull.\n- A score of 3: fun.",
        "```\n- A score of 1: dull.\n- A score of 3: fun.\n```",
    ],
)
def test_the_draft_is_the_lines_alone(reply: str) -> None:
    question = ask(ENGAGING, "", [rated(1), rated(3)], SPEC)
    found = asyncio.run(drafted(ScriptedModel([reply]), question))
    assert found.text == "- A score of 1: dull.\n- A score of 3: fun." and found.whole


def test_a_refusal_or_nothing_is_no_draft() -> None:
    question = ask(ENGAGING, "", [rated(1), rated(3)], SPEC)
    with pytest.raises(Problem, match="refused"):
        asyncio.run(drafted(ScriptedModel([Reply(text="", finish="refused")]), question))
    with pytest.raises(Problem, match="empty"):
        guidelines("Guidelines:\n")


def test_a_draft_that_was_cut_off_says_so() -> None:
    question = ask(ENGAGING, "", [rated(1), rated(3)], SPEC)
    found = asyncio.run(drafted(ScriptedModel([Reply(text="- A score of 1: du", finish="cut off")]), question))
    assert found.text == "- A score of 1: du" and not found.whole
