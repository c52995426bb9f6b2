"""What the tour of DnA-Eval relies on: a sample that the protocol itself makes of its replies, and labels beside it."""

import asyncio
from collections import Counter

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, StudyRecord, TraceRecord
from core.llm.client import Reply, ScriptedModel
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, ReplyUnreadable, TurnTaken, VerdictReached
from storage.transfer import samples

FILE = samples.path("dna_eval")
RECORDS = list(tiebreak.read(FILE))
ITEMS = {record.item.id: record.item for record in RECORDS if isinstance(record, ItemRecord)}
RUNS = {record.name: record for record in RECORDS if isinstance(record, RunRecord)}
TRACES = [record for record in RECORDS if isinstance(record, TraceRecord)]
LABELS = [record.label for record in RECORDS if isinstance(record, LabelRecord)]


def test_the_study_says_that_it_proves_nothing() -> None:
    (study,) = [record for record in RECORDS if isinstance(record, StudyRecord)]
    assert study.sample and "no model was asked" in study.description


def test_six_items_each_of_another_category() -> None:
    assert len(ITEMS) == len({item.scenario for item in ITEMS.values()}) == 6
    assert all(len(item.responses) == 2 for item in ITEMS.values())


@pytest.mark.parametrize("trace", [pytest.param(one, id=f"{one.run} {one.item}") for one in TRACES])
def test_a_trace_is_what_the_protocol_makes_of_its_replies(trace: TraceRecord) -> None:
    run, item = RUNS[trace.run], ITEMS[trace.item]
    settings = PROTOCOLS[run.protocol].settings.model_validate(run.settings)
    stored: dict[tuple[str, str, int], list[Reply]] = {}
    for event in trace.events:
        if isinstance(event, TurnTaken | ReplyUnreadable):
            turn = event.turn
            stored.setdefault((turn.speaker, turn.step, turn.round), []).append(
                Reply(text=turn.reply, usage=turn.usage)
            )

    def answer(ask: Ask) -> Reply:
        return stored[ask.speaker, ask.step, ask.round].pop(0)

    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    flow = PROTOCOLS[run.protocol].flow(item, settings, trace_random(run.seed, item), run.prompts)
    asyncio.run(run_flow(flow, ScriptedModel(answer), record))
    told = [
        event.model_copy(update={"turn": event.turn.model_copy(update={"prompt": ""})})
        if isinstance(event, TurnTaken | ReplyUnreadable)
        else event
        for event in events
    ]
    assert told == list(trace.events) and not any(stored.values())


def test_every_way_to_end_is_there() -> None:
    outcomes = Counter(one.events[-1].verdict.outcome for one in TRACES if isinstance(one.events[-1], VerdictReached))
    assert outcomes == {"agreed": 14, "disputed": 3, "no_verdict": 1}


def test_a_reply_was_asked_for_again_with_and_without_success() -> None:
    again = [(one, event) for one in TRACES for event in one.events if isinstance(event, ReplyUnreadable)]
    settled = {
        turn.turn.reading is None
        for one, event in again
        for turn in one.events
        if isinstance(turn, TurnTaken) and turn.ask == event.ask
    }
    assert settled == {True, False}


def test_annotators_overlap_in_part_and_weigh_in_percent() -> None:
    weights = [label for label in LABELS if label.target.kind == "aspect_weights"]
    assert all(isinstance(label.value, dict) and sum(label.value.values()) == 100 for label in weights)
    assert {label.annotator for label in weights} == {"annotator 1", "annotator 2", "annotator 3"}
    assert len(set(Counter(label.target for label in weights).values())) > 1


def test_a_target_of_labels_is_one_that_a_judge_spoke_of() -> None:
    judged = {
        (one.item, opinion.kind, opinion.part)
        for one in TRACES
        for event in one.events
        if isinstance(event, VerdictReached)
        for opinion in event.verdict.opinions
    }
    for label in LABELS:
        kind = label.target.kind.replace("aspect_quality", "aspect_weights")
        assert (label.target.item, kind, label.target.part) in judged
