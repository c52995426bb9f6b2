"""Small debates for tests: what matters to the test is given, the rest is ordinary."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from core.items import Criterion, Item, Response
from core.llm.client import Answer, ScriptedModel
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.protocol import Judge, Settings
from core.runner import run_flow
from core.trace import Ask, Event, Flow, Spec, Turn, Verdict, turns

RUBRIC = (
    "Not Clear - The response cannot be followed.",
    "Clear - The response can be followed with effort.",
    "Very Clear - The response reads itself, and says why.",
)


def an_item(**fields: Any) -> Item:
    responses = (Response(text="Because of the sun."), Response(text="Because of the moon."))
    return Item(**{"id": "tides", "prompt": "Why are there tides?", "responses": responses} | fields)


def settings(names: str = "abc", **fields: Any) -> Settings:
    """Judges with one-letter names, in the item's own order unless the test says otherwise."""
    plain: dict[str, Any] = {
        "judges": tuple(Judge(name=name, spec=Spec(model=f"model-{name}")) for name in names),
        "criterion": Criterion(name="clarity", rubric=RUBRIC),
        "shuffle_responses": False,
        "shuffle_speakers": False,
    }
    return Settings(**plain | fields)


def a_flow(chosen: Settings, item: Item | None = None, seed: int = 0) -> Flow:
    item = item or an_item()
    return PROTOCOLS["scaleeval"].flow(item, chosen, trace_random(seed, item), PROTOCOLS["scaleeval"].prompts)


@dataclass
class Debate:
    """How a debate went."""

    verdict: Verdict | None
    events: list[Event]
    asked: list[Ask] = field(default_factory=list)

    @property
    def turns(self) -> list[Turn]:
        return turns(self.events)

    def picks(self) -> list[str]:
        """Round by round, what each speaker was read as: ["a1 b2 c2", "a2 b2 c2"]."""
        rounds = sorted({turn.round for turn in self.turns})
        return [" ".join(f"{t.speaker}{_shown(t)}" for t in self.turns if t.round == number) for number in rounds]


def play(script: Callable[[Ask], Answer], chosen: Settings, item: Item | None = None, seed: int = 0) -> Debate:
    """Run a debate whose judges follow a script."""
    model, events = ScriptedModel(script), []

    async def record(event: Event) -> None:
        events.append(event)

    verdict = asyncio.run(run_flow(a_flow(chosen, item, seed), model, record))
    return Debate(verdict, events, model.asked)


def following(**lines: str) -> Callable[[Ask], Answer]:
    """Each judge's choices round by round, the last one for ever: following(a="12", b="2", c="2")."""
    return lambda ask: f"My reasons.\n\n{lines[ask.speaker][min(ask.round, len(lines[ask.speaker]) - 1)]}"


def _shown(turn: Turn) -> str:
    return "?" if turn.reading is None else str(turn.reading)
