"""Small critiques for tests, and a case that goes as the paper's Figure 1 goes, in words of our own."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from core.critiques import Critique, numbered
from core.items import Item, Response
from core.llm.client import Answer, ScriptedModel
from core.protocols.metacritique.protocol import Judge, Settings
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, Spec, Turn, Verdict, turns

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


def an_item(**fields: Any) -> Item:
    """A question, a wrong answer, and one critique; nothing else is brought."""
    told: dict[str, Any] = {
        "id": "ladder",
        "prompt": QUESTION,
        "responses": (Response(text=ANSWER),),
        "critiques": (Critique(id="model", author="a model", text=CRITIQUE),),
    }
    return Item(**told | fields)


def brought(count: int = 1, **fields: Any) -> Item:
    """The same item with everything that can be brought, and so many critiques."""
    there = [
        Critique(id=f"c{n}", author=f"author {n}", text=f"Critique {n}.", aius=numbered(f"c{n}", ["One.", "Two."]))
        for n in range(1, count + 1)
    ]
    held = Critique(id="ref", author="gpt", role="reference", text=REFERENCE, aius=numbered("ref", ["Three."]))
    return an_item(**{"reference": RIGHT, "critiques": (*there, held)} | fields)


def settings(names: str = "a", **fields: Any) -> Settings:
    return Settings(judges=judges(names), **fields)


def judges(names: str = "a") -> tuple[Judge, ...]:
    return tuple(Judge(name=name, spec=Spec(model=f"model-{name}")) for name in names)


@dataclass
class Told:
    """How a trace went."""

    verdict: Verdict | None
    events: list[Event]
    asked: list[Ask] = field(default_factory=list)

    @property
    def turns(self) -> list[Turn]:
        return turns(self.events)

    def steps(self) -> list[str]:
        return [ask.step for ask in self.asked]

    def said(self, kind: str) -> dict[str, object]:
        """Part -> value of the verdict's opinions of a kind."""
        assert self.verdict is not None
        return {o.part: o.value for o in self.verdict.opinions if o.kind == kind and o.stage == "last"}


def play(
    script: Callable[[Ask], Answer],
    chosen: Any,
    item: Item,
    protocol: str = "metacritique",
    stored: list[Event] | None = None,
    seed: int = 0,
) -> Told:
    """Carry a flow whose models follow a script."""
    model, events = ScriptedModel(script), []

    async def record(event: Event) -> None:
        events.append(event)

    flow = PROTOCOLS[protocol].flow(item, chosen, trace_random(seed, item), PROTOCOLS[protocol].prompts)
    verdict = asyncio.run(run_flow(flow, model, record, stored=stored or []))
    return Told(verdict, [*(stored or []), *events], model.asked)


def worked(ask: Ask) -> str:
    """The replies of the worked example."""
    match ask.step:
        case "reference_answer":
            return RIGHT
        case "reference_critique":
            return REFERENCE
        case "extract":
            own = ask.prompt.endswith(f"input:\n{CRITIQUE}\nclaims:")
            return "\n".join(f"{n}. {text}" for n, text in enumerate(CLAIMS if own else POINTS, 1))
    claim = ask.prompt.rpartition("<claim>\n")[2].partition("\n<verify claim>")[0]
    value = (CLAIMS | POINTS)[claim]
    return f"Evidence: what the texts say.\nReasoning: so it is.\nTherefore, the claim is {str(value).lower()}."
