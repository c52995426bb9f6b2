"""DnA-Eval's scorings by aspect for tests: a test states what matters to it, the rest has ordinary values."""

from collections.abc import Sequence
from typing import Any

from core.items import Item, Response
from core.llm.client import Answer
from core.protocols import Judge
from core.protocols.dna_baselines import Settings as BaselineSettings
from core.protocols.dna_eval.settings import Settings
from core.trace import Ask, Event, Flow, Spec
from tests.core.protocols.scripted_runs import Script, ScriptedTrace, run_script, start_flow

TABLE_11 = {
    "accuracy": (20, 7, 8),
    "helpfulness": (20, 8, 7),
    "relevance": (25, 10, 8),
    "level of detail": (10, 7, 8),
    "creativity": (15, 7, 8),
    "depth": (10, 8, 8),
}
"""The paper's first worked example: weight in percent, and the score of each response."""


def make_item(responses: int = 2, **fields: Any) -> Item:
    texts = ("They are loud.", "They are fast.", "They are warm.")[:responses]
    defaults = {"id": "dryers", "prompt": "What of hand dryers?", "responses": tuple(Response(text=t) for t in texts)}
    return Item(**defaults | fields)


def make_judges(names: str) -> tuple[Judge, ...]:
    return tuple(Judge(name=name, spec=Spec(model=f"model-{name}")) for name in names)


def make_settings(names: str = "a", **fields: Any) -> Settings:
    """Return settings with one-letter judges and the aspects of Table 11."""
    return Settings(**{"judges": make_judges(names), "aspects": tuple(TABLE_11)} | fields)


def make_flow(settings: Any, item: Item | None = None, seed: int = 0) -> Flow:
    protocol = "dna_baselines" if isinstance(settings, BaselineSettings) else "dna_eval"
    return start_flow(protocol, settings, item or make_item(), seed)


def run_scripted(
    script: Script, settings: Any, item: Item | None = None, seed: int = 0, stored: Sequence[Event] = ()
) -> ScriptedTrace:
    return run_script(make_flow(settings, item, seed), script, stored)


def scores_script(
    weights: str = "20% 20% 25% 10% 15% 10%", scores: Sequence[str] = (), **replies_by_step: Answer
) -> Script:
    """Return a script with the weights and the scores of aspect 1, 2, ..., by default those of Table 11."""
    rows = scores or [f"{first} {second}" for _, first, second in TABLE_11.values()]

    def answer(ask: Ask) -> Answer:
        if ask.step in replies_by_step:
            return replies_by_step[ask.step]
        return weights if ask.step == "weights" else rows[ask.round - 1]

    return answer
