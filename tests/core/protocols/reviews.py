"""Small reviews for tests: what matters to the test is given, the rest is ordinary."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.items import Criterion, Item, Response
from core.labels import Scale
from core.llm.client import Answer, ScriptedModel
from core.protocols.protocol import trace_random
from core.protocols.refer.protocol import Reviewer, Settings
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, Flow, Spec, Turn, Verdict, turns

ENGAGING = Criterion(
    name="engaging",
    definition="Is the response dull or interesting?",
    rubric=("1: dull, and could stand anywhere", "2: of some interest", "3: interesting, or tells something new"),
    scale=Scale(level="ordinal", categories=(1, 2, 3)),
)


def an_item(**fields: Any) -> Item:
    told: dict[str, Any] = {
        "id": "flamingos",
        "prompt": "A: Why are flamingos pink?\nB: Is it what they eat?",
        "context": "Flamingos eat shrimp and algae that hold carotenoids.",
        "responses": (Response(text="Yes, shrimp and algae: both hold a red dye."),),
    }
    return Item(**told | fields)


def settings(peers: str = "abc", **fields: Any) -> Settings:
    """Peers with one-letter names, and a chair."""
    told: dict[str, Any] = {
        "peers": tuple(Reviewer(name=name, spec=Spec(model=f"model-{name}")) for name in peers),
        "chair": Reviewer(name="chair", spec=Spec(model="model-chair", temperature=1)),
        "criterion": ENGAGING,
    }
    if fields.get("verdict", "score") != "score":
        told["criterion"] = Criterion(name="")
    return Settings(**told | fields)


def a_flow(chosen: Settings, item: Item | None = None) -> Flow:
    item = item or an_item()
    return PROTOCOLS["refer"].flow(item, chosen, trace_random(0, item), PROTOCOLS["refer"].prompts)


@dataclass
class Review:
    """How a review went."""

    verdict: Verdict | None
    events: list[Event]
    asked: list[Ask] = field(default_factory=list)

    @property
    def turns(self) -> list[Turn]:
        return turns(self.events)

    @property
    def prompts(self) -> dict[str, str]:
        """The first prompt of each speaker."""
        return {ask.speaker: ask.prompt for ask in reversed(self.asked)}

    def opinions(self) -> dict[tuple[str, str], Any]:
        assert self.verdict is not None
        return {(one.judge, one.stage): one.value for one in self.verdict.opinions}


def play(
    script: Callable[[Ask], Answer], chosen: Settings, item: Item | None = None, stored: Sequence[Event] = ()
) -> Review:
    """Run a review whose models follow a script."""
    model, events = ScriptedModel(script), list(stored)

    async def record(event: Event) -> None:
        events.append(event)

    verdict = asyncio.run(run_flow(a_flow(chosen, item), model, record, stored=stored))
    return Review(verdict, events, model.asked)


def saying(chair: Sequence[object], word: str = "Rating", **peers: object) -> Callable[[Ask], Answer]:
    """Each peer's value, and the chair's sample by sample: saying([2, 3], a=1, b=2, c=3)."""
    waiting = iter(chair)

    def answer(ask: Ask) -> Answer:
        value = next(waiting) if ask.step == "chair" else peers[ask.speaker]
        return (
            value if not isinstance(value, int | float | str) else f"Analysis: {ask.speaker} thinks.\n{word}: {value}"
        )

    return answer
