"""ChatEval discussions for tests: a test states the fields that matter to it, the others have ordinary values."""

from collections.abc import Sequence
from typing import Any

from core.items import Criterion, Item
from core.labels import Scale
from core.llm.client import Answer
from core.protocols.chateval.settings import Persona, Settings
from core.trace import Ask, Event, Flow, Spec, Turn
from tests.core.protocols import debates
from tests.core.protocols.scripted_runs import Script, ScriptedTrace, run_script, start_flow

ROLES = {"a": "You love the sea.", "b": "You love the hills.", "c": "You love the rain."}
NATURAL = Criterion(
    name="natural",
    definition="Could a person have said it?",
    scale=Scale(level="ordinal", categories=(1, 2, 3)),
)


def make_item(**fields: Any) -> Item:
    return debates.make_item(**fields)


def make_single_response_item(**fields: Any) -> Item:
    return make_item(**{"responses": make_item().responses[1:]} | fields)


def make_settings(names: str = "abc", **fields: Any) -> Settings:
    """Return settings with one-letter personas and one order of the responses."""
    defaults: dict[str, Any] = {
        "personas": tuple(Persona(name=name, role=ROLES[name], spec=Spec(model=f"model-{name}")) for name in names),
        "both_orders": False,
    }
    return Settings(**defaults | fields)


def make_flow(settings: Settings, item: Item | None = None) -> Flow:
    return start_flow("chateval", settings, item or make_item())


def run_scripted(
    script: Script, settings: Settings, item: Item | None = None, stored: Sequence[Event] = ()
) -> ScriptedTrace:
    return run_script(make_flow(settings, item), script, stored)


def ask_rounds(settings: Settings, item: Item | None = None) -> list[str]:
    """Return who is asked in parallel: ["a0 b0", "a1 b1"], a letter and a turn each."""
    flow = make_flow(settings, item)
    rounds, asks = [], list(next(flow))
    try:
        while True:
            rounds.append(" ".join(f"{ask.speaker}{ask.round}" for ask in asks))
            asks = list(flow.send([unreadable_turn(ask) for ask in asks]))
    except StopIteration:
        return rounds


def unreadable_turn(ask: Ask) -> Turn:
    return Turn(speaker=ask.speaker, step=ask.step, round=ask.round, model="", reply="x", shown=ask.shown)


def scores_reply(first: object, second: object) -> str:
    """Return a contribution that ends as the prompt requests."""
    return f"I have my reasons.\n\nScore of Assistant 1: {first}\nScore of Assistant 2: {second}"


def scores_script(**replies: Sequence[Any]) -> Script:
    """Return a script with each persona's pair of scores (or reply) by turn, as shown; the last one is repeated."""

    def answer(ask: Ask) -> Answer:
        reply = replies[ask.speaker][min(ask.round, len(replies[ask.speaker]) - 1)]
        return scores_reply(*reply) if isinstance(reply, tuple) else reply

    return answer


def votes_script(**votes: str) -> Script:
    """Return a script with each persona's vote by turn: votes_script(a="12", b="2")."""
    return lambda ask: f"I have my reasons.\n\n{votes[ask.speaker][min(ask.round, len(votes[ask.speaker]) - 1)]}"
