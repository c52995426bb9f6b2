"""What the tour of ChatEval relies on: a sample that the protocol itself makes of its replies, and labels beside it."""

import asyncio
from pathlib import Path

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, StudyRecord, TraceRecord
from core.llm.client import Reply, ScriptedModel
from core.protocols.chateval.protocol import Settings
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.runner import run_flow
from core.trace import Ask, Event, ReplyUnreadable, Turn, TurnTaken, VerdictReached
from storage.transfer import samples

RECORDS = list(tiebreak.read(samples.path("chateval")))
ITEMS = {record.item.id: record.item for record in RECORDS if isinstance(record, ItemRecord)}
RUNS = {record.name: record for record in RECORDS if isinstance(record, RunRecord)}
TRACES = [record for record in RECORDS if isinstance(record, TraceRecord)]
LABELS = [record.label for record in RECORDS if isinstance(record, LabelRecord)]
FINISH = {"the model refused to answer": "refused", "the reply was cut off at the limit of 512 tokens": "cut off"}


def test_the_study_says_that_it_proves_nothing() -> None:
    (study,) = [record for record in RECORDS if isinstance(record, StudyRecord)]
    assert study.sample and "no model was asked" in study.description and "proves anything" in study.description


@pytest.mark.parametrize("trace", [pytest.param(one, id=f"{one.run} {one.item}") for one in TRACES])
def test_a_trace_is_what_the_protocol_makes_of_its_replies(trace: TraceRecord) -> None:
    run, item = RUNS[trace.run], ITEMS[trace.item]
    settings = Settings.model_validate(run.settings)
    stored: dict[tuple[object, ...], list[Reply]] = {}
    for turn in replies(trace):
        reply = Reply(text=turn.reply, finish=FINISH.get(turn.problem, "stop"), usage=turn.usage)  # type: ignore[arg-type]
        stored.setdefault((turn.speaker, turn.step, turn.round, turn.shown), []).append(reply)

    def answer(ask: Ask) -> Reply:
        return stored[ask.speaker, ask.step, ask.round, ask.shown].pop(0)

    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    flow = PROTOCOLS["chateval"].flow(item, settings, trace_random(run.seed, item), run.prompts)
    asyncio.run(run_flow(flow, ScriptedModel(answer), record))
    told = [
        event.model_copy(update={"turn": event.turn.model_copy(update={"prompt": ""})})
        if isinstance(event, TurnTaken | ReplyUnreadable)
        else event
        for event in events
    ]
    assert told == list(trace.events) and not any(stored.values())


def replies(trace: TraceRecord) -> list[Turn]:
    return [event.turn for event in trace.events if isinstance(event, TurnTaken | ReplyUnreadable)]


def test_there_is_something_to_see_on_every_part_of_the_page() -> None:
    verdicts = [event.verdict for one in TRACES for event in one.events if isinstance(event, VerdictReached)]
    assert {(one.outcome, one.value) for one in verdicts} == {
        ("agreed", 0),
        ("agreed", 1),
        ("agreed", 2),
        ("disputed", None),
    }
    said = [turn for one in TRACES for turn in replies(one)]
    assert {turn.step for turn in said} == {"talk", "summary"} and {turn.shown for turn in said} == {(1, 2), (2, 1)}
    assert {"the model refused to answer", "the reply was cut off at the limit of 512 tokens"} <= {
        turn.problem for turn in said
    }
    assert any(isinstance(event, ReplyUnreadable) for one in TRACES for event in one.events)
    assert any(
        one.value != other.value
        for verdict in verdicts
        for one in verdict.opinions
        for other in verdict.opinions
        if (one.judge, one.stage, other.stage) == (other.judge, "first", "last")
        and None not in (one.value, other.value)
    )


def test_two_annotators_overlap_in_part_and_differ() -> None:
    by_item: dict[str, list[object]] = {}
    for label in LABELS:
        by_item.setdefault(label.target.item, []).append(label.value)
    assert {len(values) for values in by_item.values()} == {1, 2}
    assert sum(len(set(values)) > 1 for values in by_item.values()) == 2
    assert {label.annotator for label in LABELS} == {"annotator 1", "annotator 2"}


def test_the_file_is_written_as_tiebreak_writes_it(tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    with copy.open("w", encoding="utf-8") as stream:
        tiebreak.write(RECORDS, stream)
    assert copy.read_bytes() == samples.path("chateval").read_bytes()
