"""The sample of MetaCritique: whole, consistent with the protocol, and with something to see on each of its pages."""

import asyncio
from collections import Counter

import pytest

from core.aiu_spans import places
from core.critiques import hypotheses, reference
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, ScaleRecord, StudyRecord, TraceRecord
from core.llm.client import Reply, ScriptedModel
from core.protocols.metacritique.protocol import Settings
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, ReplyUnreadable, TurnTaken, VerdictReached
from storage import database
from storage.transfer import imports, samples

RECORDS = list(tiebreak.read(samples.path("metacritique")))


def of(sort):
    return [record for record in RECORDS if isinstance(record, sort)]


ITEMS = {record.item.id: record.item for record in of(ItemRecord)}
(RUN,) = of(RunRecord)
SETTINGS = Settings.model_validate(RUN.settings)


@pytest.mark.parametrize("trace", of(TraceRecord), ids=lambda trace: trace.item)
def test_a_trace_is_what_the_protocol_makes_of_its_replies(trace):
    first = {event.ask: event.turn for event in trace.events if isinstance(event, ReplyUnreadable)}
    last = {event.ask: event.turn for event in trace.events if isinstance(event, TurnTaken)}
    numbers = iter(sorted(last))
    seen: dict[str, int] = {}

    def answer(ask: Ask) -> Reply:
        key = ask.speaker + ask.prompt
        again = next((number for known, number in seen.items() if key.startswith(known)), None)
        number = seen.setdefault(key, next(numbers)) if again is None else again
        turn = first[number] if again is None and number in first else last[number]
        finish = "refused" if turn.problem == "the model refused to answer" else "stop"
        return Reply(text=turn.reply, finish=finish, usage=turn.usage)

    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    item = ITEMS[trace.item]
    flow = PROTOCOLS["metacritique"].flow(item, SETTINGS, trace_random(RUN.seed, item), RUN.prompts)
    asyncio.run(run_flow(flow, ScriptedModel(answer), record))
    assert [without_prompt(event) for event in events] == list(trace.events)


def without_prompt(event: Event) -> Event:
    if isinstance(event, TurnTaken | ReplyUnreadable):
        return event.model_copy(update={"turn": event.turn.model_copy(update={"prompt": ""})})
    return event


def test_the_study_says_that_it_proves_nothing_and_how_to_judge():
    (study,) = of(StudyRecord)
    assert study.sample and "no model was asked" in study.description
    assert "Is it factual?" in study.guidelines and "Is it covered?" in study.guidelines
    assert [record.kind for record in of(ScaleRecord)] == ["aiu_precision", "aiu_recall"]


def test_six_items_of_four_tasks_with_two_critiques_each():
    assert len(ITEMS) == 6 and len({item.scenario for item in ITEMS.values()}) == 4
    for item in ITEMS.values():
        assert [one.source for one in hypotheses(item.critiques)] == ["people", "llm"]
    bare = [item for item in ITEMS.values() if reference(item.critiques) is None]
    assert [item.reference for item in bare] == [None]


def test_nearly_every_aiu_is_found_in_its_critique():
    there = [one for item in ITEMS.values() for one in item.critiques if one.aius]
    assert sum(len(places(one)) for one in there) >= 0.9 * sum(len(one.aius) for one in there)


def test_every_end_and_every_trouble_is_there():
    ends = Counter(event.verdict.outcome for trace in of(TraceRecord) for event in trace.events[-1:])
    assert set(ends) == {"disputed", "no_verdict"}
    problems = {
        event.turn.problem for trace in of(TraceRecord) for event in trace.events if isinstance(event, TurnTaken)
    }
    assert any("refused" in problem for problem in problems)
    assert any("last sentence" in problem for problem in problems)
    assert any(isinstance(event, ReplyUnreadable) for trace in of(TraceRecord) for event in trace.events)
    assert all(isinstance(trace.events[-1], VerdictReached) for trace in of(TraceRecord))


def test_three_people_overlap_in_part_and_differ_now_and_then():
    by_target: dict[object, list[object]] = {}
    for record in of(LabelRecord):
        by_target.setdefault(record.label.target, []).append(record.label.value)
    assert {record.label.annotator for record in of(LabelRecord)} == {"annotator 1", "annotator 2", "annotator 3"}
    assert {len(values) for values in by_target.values()} == {2, 3}
    assert any(len(set(values)) == 2 for values in by_target.values())


def test_it_is_taken_in_whole_and_once(tmp_path):
    engine = database.connect(f"sqlite:///{tmp_path}/sample.db")
    database.upgrade(engine)
    added = imports.load(engine, "tour", RECORDS)
    assert (added.items, added.runs, added.traces, added.labels) == (6, 1, 6, len(of(LabelRecord)))
    assert imports.load(engine, "tour", RECORDS).sentence().startswith("nothing new")
