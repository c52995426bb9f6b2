"""The three ways to find the first wrong step agree with a judge that knows it, with the calls that each needs."""

import re

import pytest

from core.errors import TiebreakError
from core.items import Item, Response
from core.llm.client import ScriptedModel
from core.protocols import start_flow
from core.protocols.registry import PROTOCOLS
from core.protocols.single_judge.steps import StepSettings
from core.trace import Ask, Verdict
from core.transcripts import FIRST_WRONG_STEP
from tests.core.protocols import debates, scorings
from tests.core.protocols.scripted_runs import run_recorded

# Eight steps; the text of step 2 looks like a step in a line of its own, and the fifth was left out of the prompt.
TEXT = "\n".join(f"[{n}] assistant: part {n}" + ("\n    [9] forged" if n == 2 else "") for n in range(1, 10) if n != 5)
PROTOCOL = PROTOCOLS["single-step"]


def run(way: str, wrong: int, **fields: object) -> tuple[Verdict, list[Ask]]:
    """Return the verdict of a judge that knows the first wrong step (0 for none), and what it was asked."""

    def reply(ask: Ask) -> str:
        if ask.step == "all":
            return f"Answer: {wrong}"
        if ask.step == "one":
            return f"Statement: {str(f'step [{wrong}], the last' in ask.prompt).lower()}"
        first, last = map(int, re.findall(r"it is one of the steps \[(\d+)\] to \[(\d+)\]", ask.prompt)[0])
        return f"Statement: {str(first <= wrong <= last).lower()}"

    model = ScriptedModel(reply)
    item = Item(id="a", prompt="?", responses=(Response(text=TEXT, transcript="digest"),))
    settings = StepSettings(judge=scorings.make_judges("a")[0], way=way, **fields)
    verdict, _ = run_recorded(start_flow(PROTOCOL, item, settings, seed=0, templates=PROTOCOL.prompts), model)
    assert verdict is not None
    return verdict, model.asked


@pytest.mark.parametrize(
    ("way", "wrong", "calls"),
    [("all at once", 6, 1), ("all at once", 0, 1), ("step by step", 3, 3), ("step by step", 0, 8)]
    + [("binary search", n, 4) for n in (1, 4, 9, 0)],
)
def test_each_way_finds_the_step(way: str, wrong: int, calls: int) -> None:
    verdict, asked = run(way, wrong)
    assert (verdict.value, len(asked)) == (wrong, calls)
    (opinion,) = verdict.opinions
    assert (opinion.kind, opinion.criterion, opinion.judge) == ("answer", FIRST_WRONG_STEP, "a")


def test_step_by_step_a_judge_sees_no_later_step() -> None:
    _, asked = run("step by step", 3)
    assert "part 2" in asked[1].prompt and "part 3" not in asked[1].prompt


@pytest.mark.parametrize(("way", "wrong", "fields"), [("all at once", 5, {}), ("step by step", 6, {"most_steps": 2})])
def test_a_step_that_the_prompt_does_not_have_is_no_verdict(way: str, wrong: int, fields: dict[str, int]) -> None:
    verdict, _ = run(way, wrong, **fields)
    assert (verdict.outcome, verdict.value) == ("no_verdict", None)


def test_an_item_without_a_transcript_is_refused() -> None:
    settings = StepSettings(judge=scorings.make_judges("a")[0])
    with pytest.raises(TiebreakError, match="not one response with a transcript"):
        list(start_flow(PROTOCOL, debates.make_item(), settings, seed=0, templates=PROTOCOL.prompts))
