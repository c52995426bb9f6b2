"""A conformance check for protocols, for the tests of their authors.

    check_protocol(PROTOCOL, item, settings, lambda ask: "Rating: 2")

It verifies the properties that the rest of Tiebreak relies on: estimates, replay, resuming, unreadable replies, and
complete opinions.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
CRITERION_KINDS = ("preference", "score", "answer")
"""Kinds whose targets are identified by a criterion; those of AIUs and weights are identified by their part."""


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
    - the number of calls can be estimated before the run;
    - the scripted run reaches a verdict;
    - a run that is resumed after any of its events continues with the same asks to the same verdict;
    - every opinion has a kind and a criterion of the settings, and a value on its scale or a problem;
    - scores have a scale;
    - a judge whose replies are empty has no value in any opinion, and the trace still reaches a verdict.
    """
    _check_settings(protocol, settings)
    _check_estimate(protocol, item, settings, seed)
    trace = _run(protocol, item, settings, reply, seed)
    unreadable = next((event for event in trace.events if isinstance(event, ReplyUnreadable)), None)
    if unreadable:
        raise ConformanceError(
            f"The scripted reply to the step {unreadable.turn.step!r} is not readable: {unreadable.turn.problem}."
        )
    _check_opinions(protocol, item, settings, trace.verdict)
    _check_resuming(protocol, item, settings, reply, seed, trace)
    _check_unreadable_replies(protocol, item, settings, reply, seed, trace)
    return trace.verdict


def _check_settings(protocol: Protocol, settings: Frozen) -> None:
    if protocol.settings.model_validate(settings.model_dump(mode="json")) != settings:
        raise ConformanceError("The settings change in a round trip through JSON, in which runs are stored.")
    for name in protocol.examples:
        load_settings(protocol.example_path(name), protocol, criteria=())


def _check_estimate(protocol: Protocol, item: Item, settings: Frozen, seed: int) -> None:
    estimate = estimate_run(protocol, [item], settings, seed=seed)
    if not 1 <= estimate.calls_at_least <= estimate.calls_at_most:
        raise ConformanceError(
            f"The estimate of {estimate.calls_at_least} to {estimate.calls_at_most} calls is not a range from 1."
        )


def _check_opinions(protocol: Protocol, item: Item, settings: Frozen, verdict: Verdict) -> None:
    if not verdict.opinions:
        raise ConformanceError("The verdict has no opinion, so nothing can be compared with labels.")
    criteria = {criterion.name for criterion in protocol.criteria(settings)}
    relevant = [opinion for opinion in verdict.opinions if opinion.kind in CRITERION_KINDS]
    if criteria and relevant:
        unknown = sorted({opinion.criterion for opinion in relevant} - criteria)
        missing = sorted(criteria - {opinion.criterion for opinion in relevant})
        if unknown:
            raise ConformanceError(f"An opinion has the criterion {unknown[0]!r}, which the settings do not have.")
        if missing:
            raise ConformanceError(f"No opinion has the criterion {missing[0]!r} of the settings.")
    for opinion in verdict.opinions:
        _check_value(protocol, item, settings, opinion)


def _check_value(protocol: Protocol, item: Item, settings: Frozen, opinion: Opinion) -> None:
    if opinion.value is None:
        if not opinion.problem:
            raise ConformanceError(f"An opinion of {opinion.judge} has neither a value nor a problem.")
        return
    scale = protocol.scales(settings).get((opinion.kind, opinion.criterion))
    if opinion.kind == "score" and opinion.criterion and scale is None:
        raise ConformanceError(
            f"The scores of the criterion {opinion.criterion!r} have no scale, so annotators cannot label them: "
            "give the criterion a scale, or declare it in the protocol's `scales`."
        )
    if opinion.kind == "preference" and len(item.responses) == 2:
        scale = PREFERENCE
    if scale is not None and not scale.covers(opinion.value):
        raise ConformanceError(
            f"An opinion of {opinion.judge} has the value {opinion.value!r}, which is off its scale."
        )


def _check_resuming(
    protocol: Protocol, item: Item, settings: Frozen, reply: Script, seed: int, complete: ScriptedTrace
) -> None:
    for length in range(len(complete.events)):
        stored = [EVENT_ADAPTER.validate_json(EVENT_ADAPTER.dump_json(event)) for event in complete.events[:length]]
        resumed = _run(protocol, item, settings, reply, seed, stored)
        if len(resumed.asks) != len(complete.asks) - len(completed_turns(stored)):
            raise ConformanceError(f"Resumed after {length} events, the run does not make exactly the missing asks.")
        if _prompts(resumed.events) != _prompts(complete.events) or resumed.verdict != complete.verdict:
            raise ConformanceError(f"Resumed after {length} events, the run has other prompts or another verdict.")


def _check_unreadable_replies(
    protocol: Protocol, item: Item, settings: Frozen, reply: Script, seed: int, complete: ScriptedTrace
) -> None:
    for speaker in dict.fromkeys(ask.speaker for ask in complete.asks):

        def reply_without(ask: Ask, silent: str = speaker) -> str:
            return "" if ask.speaker == silent else reply(ask)

        trace = _run(protocol, item, settings, reply_without, seed)
        turns = [turn for turn in completed_turns(trace.events) if turn.speaker == speaker]
        if any(turn.reading is not None for turn in turns):
            raise ConformanceError(f"An empty reply of {speaker} is read as a value.")
        for opinion in trace.verdict.opinions:
            if opinion.judge == speaker and opinion.value is not None:
                raise ConformanceError(
                    f"{speaker} has an opinion of the value {opinion.value!r} without a readable reply."
                )
    silent = _run(protocol, item, settings, lambda ask: "", seed).verdict
    if silent.outcome == "agreed" or any(opinion.value is not None for opinion in silent.opinions):
        raise ConformanceError("Without any readable reply, the verdict is not empty.")


def _run(
    protocol: Protocol, item: Item, settings: Any, reply: Script, seed: int, stored: Sequence[Event] = ()
) -> ScriptedTrace:
    """Run or resume a trace with scripted replies; raises ConformanceError if it fails."""
    model, events = ScriptedModel(reply), list(stored)

    async def record(event: Event) -> None:
        events.append(event)

    flow = start_flow(protocol, item, settings, seed=seed, templates=protocol.prompts)
    verdict = asyncio.run(run_flow(flow, model, record, stored=stored))
    if verdict is None:
        failure = next((event.problem for event in events if isinstance(event, TraceFailed)), "no verdict was returned")
        raise ConformanceError(f"The trace failed: {failure}")
    return ScriptedTrace(verdict, tuple(events), tuple(model.asked))


def _prompts(events: Sequence[Event]) -> dict[int, tuple[str, str, str]]:
    """Return {ask number: (speaker, criterion, prompt)} of the answered asks."""
    return {
        event.ask: (event.turn.speaker, event.turn.criterion, event.turn.prompt)
        for event in events
        if isinstance(event, TurnCompleted)
    }
