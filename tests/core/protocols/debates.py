"""ScaleEval debates for tests: a test states the fields that matter to it, the others have ordinary values."""

from collections.abc import Sequence
from typing import Any

from core.items import Criterion, Item, Response
from core.protocols import Judge
from core.protocols.scaleeval.settings import Settings
from core.trace import Event, Flow, Spec
from tests.core.protocols.scripted_runs import Script, ScriptedTrace, run_script, start_flow

RUBRIC = (
    "Not Clear - The response cannot be followed.",
    "Clear - The response can be followed with effort.",
    "Very Clear - The response reads itself, and says why.",
)


def make_item(**fields: Any) -> Item:
    responses = (Response(text="Because of the sun."), Response(text="Because of the moon."))
    return Item(**{"id": "tides", "prompt": "Why are there tides?", "responses": responses} | fields)


def make_settings(names: str = "abc", **fields: Any) -> Settings:
    """Return settings with one-letter judges and without random order."""
    defaults: dict[str, Any] = {
        "judges": tuple(Judge(name=name, spec=Spec(model=f"model-{name}")) for name in names),
        "criterion": Criterion(name="clarity", rubric=RUBRIC),
        "shuffle_responses": False,
        "shuffle_speakers": False,
    }
    return Settings(**defaults | fields)


def make_flow(settings: Settings, item: Item | None = None, seed: int = 0) -> Flow:
    return start_flow("scaleeval", settings, item or make_item(), seed)


def run_scripted(
    script: Script, settings: Settings, item: Item | None = None, seed: int = 0, stored: Sequence[Event] = ()
) -> ScriptedTrace:
    return run_script(make_flow(settings, item, seed), script, stored)


def choices_script(**choices: str) -> Script:
    """Return a script with each judge's choices by round, the last one repeated: choices_script(a="12", b="2")."""
    return lambda ask: f"My reasons.\n\n{choices[ask.speaker][min(ask.round, len(choices[ask.speaker]) - 1)]}"
