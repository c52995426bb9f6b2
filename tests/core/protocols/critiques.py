"""Critiques for tests, with a worked example of the structure of the paper's Figure 1."""

from collections.abc import Sequence
from typing import Any

from core.critiques import Critique, aius_with_numbers
from core.items import Item, Response
from core.protocols.metacritique.settings import CritiqueJudge, Settings
from core.trace import Ask, Event, Spec
from tests.core.protocols.scripted_runs import Script, ScriptedTrace, run_script, start_flow

QUESTION = "Ada needs a longer ladder than Ben, because ___ lives on the ground floor. Options: (A) Ada; (B) Ben."
ANSWER = "Option (A) Ada. She lives below, so she needs the longer ladder to get up."
RIGHT = "Option (B) Ben. Whoever lives on the ground floor needs no ladder, so it is Ada who needs the longer one."
CRITIQUE = (
    "The choice is right, but the reason is muddled and should be put better. It ought to start from Ada living on the "
    "ground floor. Ada can own a ladder. Ben needs a short ladder at most. Say it in one plain sentence."
)
CLAIMS = {
    "The choice of the model-generated answer is right.": False,
    "The reason in the model-generated answer is muddled.": True,
    "The reason should be put better.": True,
    "The reason ought to start from Ada living on the ground floor.": False,
    "Ada can own a ladder.": True,
    "Ben needs a short ladder at most.": True,
    "The model should say the reason in one plain sentence.": True,
}
"""The AIUs of the critique, and whether they are factual: P 5/7."""
REFERENCE = (
    "The answer is wrong: option (B) Ben is right. The question implies that the one on the ground floor needs the "
    "shorter ladder. The model confused the two. It should read what the blank explains before it chooses."
)
POINTS = {
    "The model-generated answer is wrong.": False,
    "The correct answer is option (B) Ben.": False,
    "Whoever lives on the ground floor needs the shorter ladder.": True,
    "The model confused Ada and Ben.": False,
    "The model should state its reasoning with more care.": True,
}
"""The AIUs of the reference critique, and whether the critique covers them: R 2/5."""


def make_item(**fields: Any) -> Item:
    """Return a question, a wrong answer, and one critique without AIUs."""
    defaults: dict[str, Any] = {
        "id": "ladder",
        "prompt": QUESTION,
        "responses": (Response(text=ANSWER),),
        "critiques": (Critique(id="model", author="a model", text=CRITIQUE),),
    }
    return Item(**defaults | fields)


def make_complete_item(count: int = 1, **fields: Any) -> Item:
    """Return the same item with a reference answer, a reference critique, `count` critiques, and all AIUs."""
    critiques = [
        Critique(
            id=f"c{n}", author=f"author {n}", text=f"Critique {n}.", aius=aius_with_numbers(f"c{n}", ["One.", "Two."])
        )
        for n in range(1, count + 1)
    ]
    aius = aius_with_numbers("ref", ["Three."])
    reference = Critique(id="ref", author="gpt", role="reference", text=REFERENCE, aius=aius)
    return make_item(**{"reference": RIGHT, "critiques": (*critiques, reference)} | fields)


def make_settings(names: str = "a", **fields: Any) -> Settings:
    return Settings(judges=make_judges(names), **fields)


def make_judges(names: str = "a") -> tuple[CritiqueJudge, ...]:
    return tuple(CritiqueJudge(name=name, spec=Spec(model=f"model-{name}")) for name in names)


def run_scripted(
    script: Script,
    settings: Any,
    item: Item,
    protocol: str = "metacritique",
    stored: Sequence[Event] = (),
    seed: int = 0,
) -> ScriptedTrace:
    return run_script(start_flow(protocol, settings, item, seed), script, stored)


def worked_example_reply(ask: Ask) -> str:
    """Return the reply of the worked example to an ask, or to its second attempt."""
    prompt = ask.history[0] if ask.history else ask.prompt
    match ask.step:
        case "reference_answer":
            return RIGHT
        case "reference_critique":
            return REFERENCE
        case "extract":
            is_critique = f"<critique>\n{CRITIQUE}\n</critique>" in prompt
            return "\n".join(f"{n}. {text}" for n, text in enumerate(CLAIMS if is_critique else POINTS, 1))
    claim = prompt.rpartition("<claim>\n")[2].partition("\n</claim>")[0]
    value = (CLAIMS | POINTS)[claim]
    return f"Evidence: what the texts say.\nReasoning: so it is.\nFinal answer: {str(value).lower()}"
