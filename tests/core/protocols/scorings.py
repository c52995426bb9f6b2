"""Small scorings by aspect for tests: what matters to the test is given, the rest is ordinary."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.items import Item, Response
from core.llm.client import Answer, ScriptedModel
from core.protocols.dna_baselines import protocol as dna_baselines
from core.protocols.dna_eval.protocol import Settings
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.protocol import Judge
from core.runner import run_flow
from core.trace import Ask, Event, Flow, Spec, Turn, Verdict, turns

TABLE_11 = {
    "accuracy": (20, 7, 8),
    "helpfulness": (20, 8, 7),
    "relevance": (25, 10, 8),
    "level of detail": (10, 7, 8),
    "creativity": (15, 7, 8),
    "depth": (10, 8, 8),
}
"""The paper's first worked example: weight in percent, and the score of each response."""


def an_item(responses: int = 2, **fields: Any) -> Item:
    texts = ("They are loud.", "They are fast.", "They are warm.")[:responses]
    given = {"id": "dryers", "prompt": "What of hand dryers?", "responses": tuple(Response(text=t) for t in texts)}
    return Item(**given | fields)


def judges(names: str) -> tuple[Judge, ...]:
    return tuple(Judge(name=name, spec=Spec(model=f"model-{name}")) for name in names)


def settings(names: str = "a", **fields: Any) -> Settings:
    """Judges with one-letter names, on the aspects of Table 11 unless the test says otherwise."""
    return Settings(**{"judges": judges(names), "aspects": tuple(TABLE_11)} | fields)


@dataclass
class Scoring:
    """How it went."""

    verdict: Verdict | None
    events: list[Event]
    asked: list[Ask] = field(default_factory=list)

    @property
    def turns(self) -> list[Turn]:
        return turns(self.events)

    def told(self, kind: str, stage: str = "last") -> dict[str, Any]:
        """Judge -> what it holds."""
        assert self.verdict is not None
        return {one.judge: one.value for one in self.verdict.opinions if (one.kind, one.stage) == (kind, stage)}


def a_flow(chosen: Any, item: Item | None = None, seed: int = 0) -> Flow:
    item = item or an_item()
    name = "dna_baselines" if isinstance(chosen, dna_baselines.Settings) else "dna_eval"
    return PROTOCOLS[name].flow(item, chosen, trace_random(seed, item), PROTOCOLS[name].prompts)


def play(
    script: Callable[[Ask], Answer], chosen: Any, item: Item | None = None, seed: int = 0, stored: Sequence[Event] = ()
) -> Scoring:
    """Run one item whose judges follow a script."""
    model, events = ScriptedModel(script), list(stored)

    async def record(event: Event) -> None:
        events.append(event)

    verdict = asyncio.run(run_flow(a_flow(chosen, item, seed), model, record, stored=stored))
    return Scoring(verdict, events, model.asked)


def saying(
    weights: str = "20% 20% 25% 10% 15% 10%", scores: Sequence[str] = (), **more: Answer
) -> Callable[[Ask], Answer]:
    """Replies by step: the weights, the scores of aspect 1, 2, ... (by default those of Table 11)."""
    pairs = scores or [f"{first} {second}" for _, first, second in TABLE_11.values()]

    def answer(ask: Ask) -> Answer:
        if ask.step in more:
            return more[ask.step]
        return weights if ask.step == "weights" else pairs[ask.round - 1]

    return answer
