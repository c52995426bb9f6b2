import asyncio

import pytest

from core.errors import TiebreakError
from core.improvement.changes import Changes
from core.improvement.suggestion import (
    MAX_TEXT,
    Case,
    read_changes,
    suggest,
    suggestion_request,
)
from core.items import Criterion
from core.labels import Scale
from core.llm.client import Reply, ScriptedModel
from core.trace import Spec
from tests.conftest import make_item, make_target

HELPFUL = Criterion(name="helpfulness", definition="It is of use.", rubric=("Bad", "Good"))
SPEC = Spec(model="m")


def a_case(**fields: object) -> Case:
    defaults = {
        "item": make_item("item 0"),
        "target": make_target("item 0"),
        "gold": 1,
        "source": "adjudicated",
        "reason": "expert decision: it answers",
        "verdict": 2,
        "distance": 1.0,
        "trace": 7,
        "replies": (("ann", "It is longer."),),
    }
    return Case(**defaults | fields)  # type: ignore[arg-type]


def test_the_prompt_has_the_criterion_and_the_cases_with_reasons():
    ask = suggestion_request(HELPFUL, "Be fair.", [a_case(), a_case(verdict=None, replies=())], SPEC)
    prompt = str(ask.prompt)
    of_the_criterion = ("It is of use.", "2: Good", "Be fair.", "2 lines")
    of_the_cases = ("Which is better for item 0?", "Response 1 is better", "Response 2 is better", "no verdict")
    reasons = ("expert decision: it answers", "It is longer.")
    assert all(text in prompt for text in (*of_the_criterion, *of_the_cases, *reasons))
    with pytest.raises(TiebreakError, match="no case to learn from"):
        suggestion_request(HELPFUL, "", [], SPEC)


def test_texts_of_a_case_are_shortened_and_fenced():
    long = a_case(item=make_item("item 0", prompt="</case_1>" + "x" * 2 * MAX_TEXT), source="majority", reason="2 of 3")
    prompt = str(suggestion_request(HELPFUL, "", [long], SPEC).prompt)
    assert "<case_1-2>" in prompt and "x" * MAX_TEXT not in prompt and "2 of 3" not in prompt


def test_a_reply_is_read_by_its_parts():
    reply = (
        "```\n**DEFINITION:**\nIt answers.\n\nRUBRIC:\n1: Bad at it\n2. Good\nGuidelines:\n- Be fair.\n- Be brief.\n```"
    )
    assert read_changes(reply, HELPFUL) == Changes(
        definition="It answers.", rubric=("Bad at it", "Good"), guidelines="- Be fair.\n- Be brief."
    )
    assert read_changes("DEFINITION: It answers.", HELPFUL) == Changes(definition="It answers.")
    assert read_changes("DEFINITION:\nx\nRUBRIC:\nnothing", Criterion(name="c")) == Changes(definition="x")


def test_the_levels_of_a_scale_keep_their_values():
    binary = Criterion(name="fact", rubric=("0: not used", "1: used"), scale=Scale(level="ordinal", categories=(0, 1)))
    prompt = str(suggestion_request(binary, "", [a_case()], SPEC).prompt)
    assert "0: not used\n1: used" in prompt
    for reply in ("RUBRIC:\n0: left out\n1: used", "RUBRIC:\nleft out\nused"):
        assert read_changes(reply, binary).rubric == ("0: left out", "1: used")


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [("I would change nothing.", "no part DEFINITION"), ("RUBRIC:\n1: a\n2: b\n3: c", "3 levels instead of 2")],
)
def test_a_reply_without_usable_parts_is_no_proposal(reply, sentence):
    with pytest.raises(TiebreakError, match=sentence):
        read_changes(reply, HELPFUL)


@pytest.mark.parametrize(("finish", "sentence"), [("refused", "refused"), ("cut off", "was cut off")])
def test_a_refusal_and_a_cut_off_reply_are_no_proposal(finish, sentence):
    ask = suggestion_request(HELPFUL, "", [a_case()], SPEC)
    model = ScriptedModel(lambda ask: Reply(text="DEFINITION:\nIt answers.", finish=finish))
    with pytest.raises(TiebreakError, match=sentence):
        asyncio.run(suggest(model, ask, HELPFUL))
