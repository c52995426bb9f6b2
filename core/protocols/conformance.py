"""A conformance check for protocols, for the tests of their authors.

    check_protocol(PROTOCOL, item, settings, lambda ask: "Rating: 2")

It verifies the properties that the rest of Tiebreak relies on: estimates, replay, resuming, unreadable replies, and
complete opinions.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.frozen import Frozen
from core.items import Item
from core.labels import PREFERENCE, Opinion
from core.llm.client import ScriptedModel
from core.llm.costs import estimate_run
from core.protocols import Protocol, start_flow
from core.protocols.settings_file import load_settings
from core.runner import run_flow
from core.trace import EVENT_ADAPTER, Ask, Event, ReplyUnreadable, TraceFailed, TurnCompleted, Verdict, completed_turns

Script = Callable[[Ask], str]
# Kinds whose targets are identified by a criterion; those of AIUs and weights are identified by their part.
CRITERION_KINDS = ("preference", "score", "answer")


class ConformanceError(AssertionError):
    """A protocol violates a requirement, which the message states."""


@dataclass(frozen=True)
class ScriptedTrace:
    """The verdict, all events and the new asks of a trace whose models followed a script."""

    verdict: Verdict
    events: tuple[Event, ...]
    asks: tuple[Ask, ...]


def check_protocol(protocol: Protocol, item: Item, settings: Frozen, reply: Script, *, seed: int = 0) -> Verdict:
    """Run one trace in several ways and return its verdict; raises ConformanceError.

    `reply` returns a readable reply for every ask and depends on nothing but the ask. It is checked that

    - the settings are equal after a round trip through JSON, and every settings example is valid;
    - the scripted run reaches a verdict, with as many calls as were estimated before it;
    - a run that is resumed after any of its events continues with the same asks to the same verdict;
    - every opinion has a kind and a criterion of the settings, and a value on its scale or a problem;
    - scores have a scale;
    - a judge whose replies are empty has no value in any opinion, and the trace still reaches a verdict.
    """
    return _Check(protocol, item, settings, reply, seed).run()


@dataclass(frozen=True)
class _Check:
    """The checks of a protocol on one item."""

    protocol: Protocol
    item: Item
    settings: Frozen
    reply: Script
    seed: int

    def run(self) -> Verdict:
        """Run all checks, and return the verdict."""
        self.check_settings()
        trace = self.trace(self.reply)
        unreadable = next((event for event in trace.events if isinstance(event, ReplyUnreadable)), None)
        if unreadable:
            raise ConformanceError(
                f"The scripted reply to the step {unreadable.turn.step!r} is not readable: {unreadable.turn.problem}."
            )
        self.check_calls(trace)
        self.check_opinions(trace.verdict)
        self.check_resuming(trace)
        self.check_unreadable_replies(trace)
        return trace.verdict

    def check_settings(self) -> None:
        if self.protocol.settings.model_validate(self.settings.model_dump(mode="json")) != self.settings:
            raise ConformanceError("The settings change in a round trip through JSON, in which runs are stored.")
        for name in self.protocol.examples:
            load_settings(self.protocol.example_path(name), self.protocol, criteria=())

    def check_calls(self, trace: ScriptedTrace) -> None:
        estimate = estimate_run(self.protocol, [self.item], self.settings, seed=self.seed)
        least, most, calls = estimate.calls_at_least, estimate.calls_at_most, len(trace.asks)
        if not 1 <= least <= calls <= most:
            raise ConformanceError(f"A run makes {calls} calls, and the estimate is {least} to {most}.")

    def check_opinions(self, verdict: Verdict) -> None:
        if not verdict.opinions:
            raise ConformanceError("The verdict has no opinion, so nothing can be compared with labels.")
        criteria = {criterion.name for criterion in self.protocol.criteria(self.settings)}
        relevant = [opinion for opinion in verdict.opinions if opinion.kind in CRITERION_KINDS]
        if criteria and relevant:
            unknown = sorted({opinion.criterion for opinion in relevant} - criteria)
            missing = sorted(criteria - {opinion.criterion for opinion in relevant})
            if unknown:
                raise ConformanceError(f"An opinion has the criterion {unknown[0]!r}, which the settings do not have.")
            if missing:
                raise ConformanceError(f"No opinion has the criterion {missing[0]!r} of the settings.")
        for opinion in verdict.opinions:
            self.check_value(opinion)

    def check_value(self, opinion: Opinion) -> None:
        if opinion.value is None:
            if not opinion.problem:
                raise ConformanceError(f"An opinion of {opinion.judge} has neither a value nor a problem.")
            return
        scale = self.protocol.scales(self.settings).get((opinion.kind, opinion.criterion))
        if opinion.kind == "score" and opinion.criterion and scale is None:
            raise ConformanceError(
                f"The scores of the criterion {opinion.criterion!r} have no scale, so annotators cannot label them: "
                "give the criterion a scale, or declare it in the protocol's `scales`."
            )
        if opinion.kind == "preference" and len(self.item.responses) == 2:
            scale = PREFERENCE
        if scale is not None and not scale.covers(opinion.value):
            raise ConformanceError(
                f"An opinion of {opinion.judge} has the value {opinion.value!r}, which is off its scale."
            )

    def check_resuming(self, complete: ScriptedTrace) -> None:
        for length in range(len(complete.events)):
            stored = [EVENT_ADAPTER.validate_json(EVENT_ADAPTER.dump_json(event)) for event in complete.events[:length]]
            resumed = self.trace(self.reply, stored)
            resumption = f"Resumed after {length} events, the run"
            if len(resumed.asks) != len(complete.asks) - len(completed_turns(stored)):
                raise ConformanceError(f"{resumption} does not make exactly the missing asks.")
            if _prompts(resumed.events) != _prompts(complete.events) or resumed.verdict != complete.verdict:
                raise ConformanceError(f"{resumption} has other prompts or another verdict.")

    def check_unreadable_replies(self, complete: ScriptedTrace) -> None:
        for speaker in dict.fromkeys(ask.speaker for ask in complete.asks):

            def reply_without(ask: Ask, silent: str = speaker) -> str:
                return "" if ask.speaker == silent else self.reply(ask)

            trace = self.trace(reply_without)
            turns = [turn for turn in completed_turns(trace.events) if turn.speaker == speaker]
            if any(turn.reading is not None for turn in turns):
                raise ConformanceError(f"An empty reply of {speaker} is read as a value.")
            for opinion in trace.verdict.opinions:
                if opinion.judge == speaker and opinion.value is not None:
                    raise ConformanceError(
                        f"{speaker} has an opinion of the value {opinion.value!r} without a readable reply."
                    )
        silent = self.trace(lambda ask: "").verdict
        if silent.outcome == "agreed" or any(opinion.value is not None for opinion in silent.opinions):
            raise ConformanceError("Without any readable reply, the verdict is not empty.")

    def trace(self, reply: Script, stored: Sequence[Event] = ()) -> ScriptedTrace:
        """Run or resume a trace with scripted replies; raises ConformanceError if it fails."""
        model, events = ScriptedModel(reply), list(stored)

        async def record(event: Event) -> None:
            events.append(event)

        flow = start_flow(self.protocol, self.item, self.settings, seed=self.seed, templates=self.protocol.prompts)
        verdict = asyncio.run(run_flow(flow, model, record, stored=stored))
        if verdict is None:
            failures = [event.problem for event in events if isinstance(event, TraceFailed)]
            raise ConformanceError(f"The trace failed: {(failures or ['no verdict was returned'])[0]}")
        return ScriptedTrace(verdict, tuple(events), tuple(model.asked))


def _prompts(events: Sequence[Event]) -> dict[int, tuple[str, str, str]]:
    """Return {ask number: (speaker, criterion, prompt)} of the answered asks."""
    return {
        event.ask: (event.turn.speaker, event.turn.criterion, event.turn.prompt)
        for event in events
        if isinstance(event, TurnCompleted)
    }
