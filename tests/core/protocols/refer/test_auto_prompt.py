"""Guidelines drafted from rated examples (ReFeR, Appendix E), for a person to edit."""

import asyncio

import pytest

from core.errors import TiebreakError
from core.items import Criterion, Response
from core.llm.client import Reply, ScriptedModel
from core.protocols.refer.auto_prompt import (
    RatedItem,
    draft_guidelines,
    guidelines_request,
    read_guidelines,
    select_examples,
)
from core.protocols.registry import PROTOCOLS
from core.trace import Spec
from tests.core.protocols.reviews import ENGAGING, make_item
from tests.golden.files import assert_golden

SPEC = Spec(model="m")
TEMPLATES = PROTOCOLS["refer"].prompts


def rated(value: float, text: str = "Fine.") -> RatedItem:
    return RatedItem(make_item(id=f"i{value}", responses=(Response(text=text),)), value)


def test_the_prompt_contains_structure_criterion_scale_and_examples() -> None:
    request = guidelines_request(ENGAGING, [rated(1, "It was fine."), rated(3, "Shrimp!")], SPEC, TEMPLATES)
    assert_golden("refer/auto_prompt.txt", request.prompt)


def test_examples_are_selected_from_the_whole_range() -> None:
    examples = [rated(value) for value in (3, 1, 2, 2, 1.5, 3, 1, 2.5)]
    assert [example.value for example in select_examples(examples, 3)] == [1, 2, 3]
    assert [example.value for example in select_examples(examples, 1)] == [2]
    assert len(select_examples(examples, 20)) == 8


def test_examples_with_a_single_score_are_refused() -> None:
    with pytest.raises(TiebreakError, match="different scores"):
        guidelines_request(ENGAGING, [rated(2), rated(2)], SPEC, TEMPLATES)


def test_a_criterion_without_a_scale_is_refused() -> None:
    with pytest.raises(TiebreakError, match="needs a scale of numbers"):
        guidelines_request(Criterion(name="tone"), [rated(1), rated(2)], SPEC, TEMPLATES)


@pytest.mark.parametrize(
    "reply",
    [
        "- A score of 1: dull.\n- A score of 3: fun.",
        "**Evaluation Guidelines:**\n\n- A score of 1: dull.\n- A score of 3: fun.\n",
        "The guidelines are:\n- A score of 1: dull.\n- A score of 3: fun.",
        "```\n- A score of 1: dull.\n- A score of 3: fun.\n```",
    ],
)
def test_a_draft_has_no_heading_and_no_fence(reply: str) -> None:
    request = guidelines_request(ENGAGING, [rated(1), rated(3)], SPEC, TEMPLATES)
    draft = asyncio.run(draft_guidelines(ScriptedModel([reply]), request))
    assert draft.text == "- A score of 1: dull.\n- A score of 3: fun." and draft.complete


def test_a_refusal_or_an_empty_reply_is_no_draft() -> None:
    request = guidelines_request(ENGAGING, [rated(1), rated(3)], SPEC, TEMPLATES)
    with pytest.raises(TiebreakError, match="refused"):
        asyncio.run(draft_guidelines(ScriptedModel([Reply(text="", finish="refused")]), request))
    with pytest.raises(TiebreakError, match="empty"):
        read_guidelines("Guidelines:\n")
