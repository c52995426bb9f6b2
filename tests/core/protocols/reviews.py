"""ReFeR reviews for tests: a test states the fields that matter to it, the others have ordinary values."""

from collections.abc import Sequence
from typing import Any

from core.items import Criterion, Item, Response
from core.labels import Scale
from core.llm.client import Answer
from core.protocols.refer.settings import Reviewer, Settings
from core.trace import Ask, Event, Flow, Spec
from tests.core.protocols.scripted_runs import Script, ScriptedTrace, run_script, start_flow

ENGAGING = Criterion(
    name="engaging",
    definition="Is the response dull or interesting?",
    rubric=("1: dull, and could stand anywhere", "2: of some interest", "3: interesting, or tells something new"),
    scale=Scale(level="ordinal", categories=(1, 2, 3)),
)


def make_item(**fields: Any) -> Item:
    defaults: dict[str, Any] = {
        "id": "flamingos",
        "prompt": "A: Why are flamingos pink?\nB: Is it what they eat?",
        "context": "Flamingos eat shrimp and algae that hold carotenoids.",
        "responses": (Response(text="Yes, shrimp and algae: both hold a red dye."),),
    }
    return Item(**defaults | fields)


def make_settings(peers: str = "abc", **fields: Any) -> Settings:
    """Return settings with one-letter peers and a chair."""
    defaults: dict[str, Any] = {
        "peers": tuple(Reviewer(name=name, spec=Spec(model=f"model-{name}")) for name in peers),
        "chair": Reviewer(name="chair", spec=Spec(model="model-chair", temperature=1)),
        "criterion": ENGAGING,
    }
    if fields.get("verdict", "score") != "score":
        defaults["criterion"] = Criterion(name="")
    return Settings(**defaults | fields)


def make_flow(settings: Settings, item: Item | None = None) -> Flow:
    return start_flow("refer", settings, item or make_item())


def run_scripted(
    script: Script, settings: Settings, item: Item | None = None, stored: Sequence[Event] = ()
) -> ScriptedTrace:
    return run_script(make_flow(settings, item), script, stored)


def reviews_script(chair: Sequence[object], word: str = "Rating", **peers: object) -> Script:
    """Return a script with each peer's value and the chair's samples: reviews_script([2, 3], a=1, b=2, c=3)."""
    samples = iter(chair)

    def answer(ask: Ask) -> Answer:
        value = next(samples) if ask.step == "chair" else peers[ask.speaker]
        if isinstance(value, int | float | str):
            return f"Analysis: {ask.speaker} thinks.\n{word}: {value}"
        return value

    return answer
