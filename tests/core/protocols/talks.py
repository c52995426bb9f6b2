"""Small talks for tests: what matters to the test is given, the rest is ordinary."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.items import Criterion, Item, Response
from core.labels import Scale
from core.llm.client import Answer, ScriptedModel
from core.protocols.chateval.protocol import Persona, Settings
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, Flow, Spec, Turn, Verdict, turns

ROLES = {"a": "You love the sea.", "b": "You love the hills.", "c": "You love the rain."}
NATURAL = Criterion(
    name="natural",
    definition="Could a person have said it?",
    scale=Scale(level="ordinal", categories=(1, 2, 3)),
)


def an_item(**fields: Any) -> Item:
    responses = (Response(text="Because of the sun."), Response(text="Because of the moon."))
    return Item(**{"id": "tides", "prompt": "Why are there tides?", "responses": responses} | fields)


def one_response(**fields: Any) -> Item:
    return an_item(**{"responses": (Response(text="Because of the moon."),)} | fields)


def settings(names: str = "abc", **fields: Any) -> Settings:
    """Personas with one-letter names, in one order of the responses unless the test says otherwise."""
    plain: dict[str, Any] = {
        "personas": tuple(Persona(name=name, role=ROLES[name], spec=Spec(model=f"model-{name}")) for name in names),
        "both_orders": False,
    }
    return Settings(**plain | fields)


def a_flow(chosen: Settings, item: Item | None = None) -> Flow:
    item = item or an_item()
    return PROTOCOLS["chateval"].flow(item, chosen, trace_random(0, item), PROTOCOLS["chateval"].prompts)


@dataclass
class Talk:
    """How a talk went."""

    verdict: Verdict | None
    events: list[Event]
    asked: list[Ask] = field(default_factory=list)

    @property
    def turns(self) -> list[Turn]:
        return turns(self.events)

    def opinions(self) -> dict[tuple[str, str], Any]:
        assert self.verdict is not None
        return {(one.judge, one.stage): one.value for one in self.verdict.opinions}

    def problems(self) -> dict[tuple[str, str], str]:
        assert self.verdict is not None
        return {(one.judge, one.stage): one.problem for one in self.verdict.opinions if one.problem}


def play(
    script: Callable[[Ask], Answer], chosen: Settings, item: Item | None = None, stored: Sequence[Event] = ()
) -> Talk:
    """Run a talk whose personas follow a script."""
    model, events = ScriptedModel(script), list(stored)

    async def record(event: Event) -> None:
        events.append(event)

    verdict = asyncio.run(run_flow(a_flow(chosen, item), model, record, stored=stored))
    return Talk(verdict, events, model.asked)


def rounds(chosen: Settings, item: Item | None = None) -> list[str]:
    """Who is asked at the same moment: ["a0", "b0", ...], a letter and a turn each."""
    flow = a_flow(chosen, item)
    found, asks = [], list(next(flow))
    try:
        while True:
            found.append(" ".join(f"{ask.speaker}{ask.round}" for ask in asks))
            asks = list(flow.send([answered(ask) for ask in asks]))
    except StopIteration:
        return found


def answered(ask: Ask) -> Turn:
    return Turn(speaker=ask.speaker, step=ask.step, round=ask.round, model="", reply="x", shown=ask.shown)


def scored(first: object, second: object) -> str:
    """A contribution that ends as it is asked to."""
    return f"I have my reasons.\n\nScore of Assistant 1: {first}\nScore of Assistant 2: {second}"


def saying(**lines: Sequence[Any]) -> Callable[[Ask], Answer]:
    """Each persona's pair of scores turn by turn, as it reads the responses; the last one for ever."""

    def answer(ask: Ask) -> Answer:
        told = lines[ask.speaker][min(ask.round, len(lines[ask.speaker]) - 1)]
        return scored(*told) if isinstance(told, tuple) else told

    return answer


def voting(**lines: str) -> Callable[[Ask], Answer]:
    """Each persona's vote turn by turn: voting(a="12", b="2")."""
    return lambda ask: f"I have my reasons.\n\n{lines[ask.speaker][min(ask.round, len(lines[ask.speaker]) - 1)]}"
