"""Traces whose models follow a script."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.items import Item
from core.llm.client import Answer, Model, ScriptedModel
from core.protocols import trace_rng
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, Flow, Turn, Verdict, completed_turns

Script = Callable[[Ask], Answer]


@dataclass(frozen=True)
class ScriptedTrace:
    """The verdict and events of a trace, and the asks that the scripted model received."""

    verdict: Verdict | None
    events: list[Event]
    asked: list[Ask]

    @property
    def turns(self) -> list[Turn]:
        return completed_turns(self.events)

    @property
    def prompts(self) -> dict[str, str]:
        """The first prompt of each speaker."""
        return {ask.speaker: ask.prompt for ask in reversed(self.asked)}

    def steps(self) -> list[str]:
        return [ask.step for ask in self.asked]

    def opinions(self) -> dict[tuple[str, str], Any]:
        """Return {(judge, stage): value}."""
        assert self.verdict is not None
        return {(opinion.judge, opinion.stage): opinion.value for opinion in self.verdict.opinions}

    def problems(self) -> dict[tuple[str, str], str]:
        """Return {(judge, stage): problem} of the opinions without a value."""
        assert self.verdict is not None
        return {(opinion.judge, opinion.stage): opinion.problem for opinion in self.verdict.opinions if opinion.problem}

    def values_by_judge(self, kind: str, stage: str = "last") -> dict[str, Any]:
        """Return {judge: value} of the opinions of one kind and stage."""
        assert self.verdict is not None
        return {o.judge: o.value for o in self.verdict.opinions if (o.kind, o.stage) == (kind, stage)}

    def values_by_part(self, kind: str) -> dict[str, Any]:
        """Return {part: value} of the last opinions of one kind."""
        assert self.verdict is not None
        return {o.part: o.value for o in self.verdict.opinions if (o.kind, o.stage) == (kind, "last")}

    def choices_by_round(self) -> list[str]:
        """Return each speaker's reading, round by round: ["a1 b2 c2", "a2 b2 c?"]; "?" is unreadable."""
        rounds = sorted({turn.round for turn in self.turns})
        return [
            " ".join(f"{turn.speaker}{_reading_text(turn)}" for turn in self.turns if turn.round == number)
            for number in rounds
        ]


def start_flow(protocol: str, settings: Any, item: Item, seed: int = 0) -> Flow:
    """Return the flow of one trace, with the protocol's own prompts."""
    return PROTOCOLS[protocol].flow(item, settings, trace_rng(seed, item), PROTOCOLS[protocol].prompts)


def run_script(flow: Flow, script: Script, stored: Sequence[Event] = ()) -> ScriptedTrace:
    """Run a flow to its end, from the stored events on."""
    model = ScriptedModel(script)
    verdict, events = run_recorded(flow, model, stored)
    return ScriptedTrace(verdict, events, model.asked)


def run_recorded(
    flow: Flow, model: Model, stored: Sequence[Event] = (), **options: Any
) -> tuple[Verdict | None, list[Event]]:
    """Run a flow to its end; return its verdict, and its events after the stored ones."""
    events = list(stored)

    async def record(event: Event) -> None:
        events.append(event)

    async def run() -> Verdict | None:
        try:
            return await run_flow(flow, model, record, stored=stored, **options)
        finally:
            await model.close()

    return asyncio.run(run()), events


def _reading_text(turn: Turn) -> str:
    return "?" if turn.reading is None else str(turn.reading)
