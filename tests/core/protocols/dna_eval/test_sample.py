"""The sample study of DnA-Eval: consistent with the protocol, with content for every part of its pages."""

from collections import Counter

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.trace import ReplyUnreadable, TurnCompleted, VerdictReached
from storage.transfer import samples
from tests.core.protocols.sample_replays import replay_sample

FILE = samples.path("dna_eval")
RECORDS = list(tiebreak.read(FILE))
ITEMS = {record.item.id: record.item for record in RECORDS if isinstance(record, ItemRecord)}
RUNS = {record.name: record for record in RECORDS if isinstance(record, RunRecord)}
TRACES = [record for record in RECORDS if isinstance(record, TraceRecord)]
LABELS = [record.label for record in RECORDS if isinstance(record, LabelRecord)]


def test_six_items_have_six_scenarios() -> None:
    assert len(ITEMS) == len({item.scenario for item in ITEMS.values()}) == 6
    assert all(len(item.responses) == 2 for item in ITEMS.values())


@pytest.mark.parametrize("trace", [pytest.param(trace, id=f"{trace.run} {trace.item}") for trace in TRACES])
def test_replaying_the_replies_gives_the_same_trace(trace: TraceRecord) -> None:
    assert replay_sample(RUNS[trace.run], ITEMS[trace.item], trace) == list(trace.events)


def test_every_outcome_occurs() -> None:
    outcomes = Counter(
        trace.events[-1].verdict.outcome for trace in TRACES if isinstance(trace.events[-1], VerdictReached)
    )
    assert outcomes == {"agreed": 14, "disputed": 3, "no_verdict": 1}


def test_retries_with_and_without_success_occur() -> None:
    unreadable = [(trace, event) for trace in TRACES for event in trace.events if isinstance(event, ReplyUnreadable)]
    remained_unreadable = {
        completed.turn.reading is None
        for trace, event in unreadable
        for completed in trace.events
        if isinstance(completed, TurnCompleted) and completed.ask == event.ask
    }
    assert remained_unreadable == {True, False}


def test_annotators_overlap_in_part_and_weights_sum_to_100() -> None:
    weights = [label for label in LABELS if label.target.kind == "aspect_weights"]
    assert all(isinstance(label.value, dict) and sum(label.value.values()) == 100 for label in weights)
    assert {label.annotator for label in weights} == {"annotator 1", "annotator 2", "annotator 3"}
    assert len(set(Counter(label.target for label in weights).values())) > 1


def test_every_labelled_target_has_an_opinion_of_a_judge() -> None:
    judged = {
        (trace.item, opinion.kind, opinion.part)
        for trace in TRACES
        for event in trace.events
        if isinstance(event, VerdictReached)
        for opinion in event.verdict.opinions
    }
    for label in LABELS:
        kind = label.target.kind.replace("aspect_quality", "aspect_weights")
        assert (label.target.item, kind, label.target.part) in judged
