"""The sample review: whole, consistent with the protocol, and with something to see on every part of its page."""

import asyncio
from collections import Counter

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, ScaleRecord, StudyRecord, TraceRecord
from core.llm.client import Reply, ScriptedModel
from core.protocols.protocol import trace_random
from core.protocols.refer.protocol import Settings
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, ReplyUnreadable, TurnTaken, VerdictReached
from storage import database
from storage.transfer import imports, samples

RECORDS = list(tiebreak.read(samples.path("refer")))


def of(sort):
    return [record for record in RECORDS if isinstance(record, sort)]


ITEMS = {record.item.id: record.item for record in of(ItemRecord)}
(RUN,) = of(RunRecord)
SETTINGS = Settings.model_validate(RUN.settings)


def replies(trace: TraceRecord):
    return [event for event in trace.events if isinstance(event, TurnTaken | ReplyUnreadable)]


@pytest.mark.parametrize("trace", of(TraceRecord), ids=lambda trace: trace.item)
def test_a_review_is_what_the_protocol_makes_of_its_replies(trace):
    stored: dict[tuple[str, bool], list[Reply]] = {}
    for event in replies(trace):
        finish = {"the model refused": "refused", "the reply was cut": "cut off"}.get(event.turn.problem[:17], "stop")
        again = event.ask in {other.ask for other in replies(trace) if isinstance(other, ReplyUnreadable)}
        second = again and isinstance(event, TurnTaken)
        reply = Reply(text=event.turn.reply, finish=finish, usage=event.turn.usage)
        stored.setdefault((event.turn.speaker, second), []).append(reply)

    def answer(ask: Ask) -> Reply:
        return stored[ask.speaker, "could not be read" in ask.prompt.splitlines()[-1]].pop(0)

    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    item = ITEMS[trace.item]
    asyncio.run(
        run_flow(
            PROTOCOLS["refer"].flow(item, SETTINGS, trace_random(0, item), RUN.prompts), ScriptedModel(answer), record
        )
    )
    assert events[-1] == trace.events[-1]
    assert [kept(event) for event in events] == [kept(event) for event in trace.events]


def kept(event: Event) -> object:
    return (
        (event.ask, event.turn.reply, event.turn.reading) if isinstance(event, TurnTaken | ReplyUnreadable) else event
    )


def test_the_study_says_that_it_proves_nothing():
    (study,) = of(StudyRecord)
    assert study.sample and "no model was asked" in study.description and "proves anything" in study.description


def test_peers_and_samples_differ_and_some_cannot_be_read():
    problems = [event.turn.problem for trace in of(TraceRecord) for event in replies(trace) if event.turn.problem]
    assert {"refused", "cut off"} <= {word for word in ("refused", "cut off") if any(word in one for one in problems)}
    verdicts = [trace.events[-1].verdict for trace in of(TraceRecord) if isinstance(trace.events[-1], VerdictReached)]
    assert len(verdicts) == 8 and len({one.value for one in verdicts}) > 5
    assert SETTINGS.samples == 10 and len(SETTINGS.peers) == 3


def test_annotators_overlap_only_in_part_and_one_changed_a_mind():
    labels = [record.label for record in of(LabelRecord)]
    (scale,) = of(ScaleRecord)
    assert all(scale.scale.holds(label.value) for label in labels)
    assert set(Counter(label.target.item for label in labels if label.blind).values()) == {2, 3}
    assert [label.annotator for label in labels if not label.blind] == ["annotator 3"]


def test_a_store_takes_it_in_whole_though_a_mean_is_not_on_its_scale(tmp_path):
    engine = database.connect(f"sqlite:///{tmp_path}/sample.db")
    database.upgrade(engine)
    added = imports.load(engine, "sample", RECORDS)
    assert (added.items, added.runs, added.traces, added.marks) == (8, 1, 8, 1)


def test_the_file_is_written_as_tiebreak_writes_it(tmp_path):
    copy = tmp_path / "copy.jsonl"
    with copy.open("w", encoding="utf-8") as stream:
        tiebreak.write(RECORDS, stream)
    assert copy.read_bytes() == samples.path("refer").read_bytes()
