"""The sample study of MetaCritique: consistent with the protocol, with content for every part of its pages."""

from collections import Counter

import pytest

from core.aiu_texts import locate_aius
from core.critiques import hypothesis_critiques, reference_critique
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, ScaleRecord, StudyRecord, TraceRecord
from core.trace import ReplyUnreadable, TurnCompleted, VerdictReached
from storage.db import connections
from storage.transfer import imports, samples
from tests.core.protocols.sample_replays import replay_sample
from tests.databases import create_database

RECORDS = list(tiebreak.read(samples.path("metacritique")))


def records(record_type):
    return [record for record in RECORDS if isinstance(record, record_type)]


ITEMS = {record.item.id: record.item for record in records(ItemRecord)}
(RUN,) = records(RunRecord)


@pytest.mark.parametrize("trace", records(TraceRecord), ids=lambda trace: trace.item)
def test_replaying_the_replies_gives_the_same_trace(trace):
    assert replay_sample(RUN, ITEMS[trace.item], trace) == list(trace.events)


def test_the_study_is_described_as_a_sample_and_has_guidelines():
    (study,) = records(StudyRecord)
    assert study.sample and "not the output of a model" in study.description
    assert "Is it factual?" in study.guidelines and "Is it covered?" in study.guidelines
    assert [record.kind for record in records(ScaleRecord)] == ["aiu_precision", "aiu_recall"]


def test_six_items_of_four_tasks_with_two_critiques_each():
    assert len(ITEMS) == 6 and len({item.scenario for item in ITEMS.values()}) == 4
    for item in ITEMS.values():
        assert [critique.source for critique in hypothesis_critiques(item.critiques)] == ["people", "llm"]
    without_reference = [item for item in ITEMS.values() if reference_critique(item.critiques) is None]
    assert [item.reference for item in without_reference] == [None]


def test_nearly_every_aiu_is_located_in_its_critique():
    critiques = [critique for item in ITEMS.values() for critique in item.critiques if critique.aius]
    assert sum(len(locate_aius(c)) for c in critiques) >= 0.9 * sum(len(c.aius) for c in critiques)


def test_several_outcomes_and_every_kind_of_unreadable_reply_occur():
    outcomes = Counter(event.verdict.outcome for trace in records(TraceRecord) for event in trace.events[-1:])
    assert set(outcomes) == {"disputed", "no_verdict"}
    problems = {
        event.turn.problem
        for trace in records(TraceRecord)
        for event in trace.events
        if isinstance(event, TurnCompleted)
    }
    assert any("refused" in problem for problem in problems)
    assert any("does not say" in problem for problem in problems)
    assert any(isinstance(event, ReplyUnreadable) for trace in records(TraceRecord) for event in trace.events)
    assert all(isinstance(trace.events[-1], VerdictReached) for trace in records(TraceRecord))


def test_three_annotators_overlap_in_part_and_differ_on_some_targets():
    by_target: dict[object, list[object]] = {}
    for record in records(LabelRecord):
        by_target.setdefault(record.label.target, []).append(record.label.value)
    assert {record.label.annotator for record in records(LabelRecord)} == {"annotator 1", "annotator 2", "annotator 3"}
    assert {len(values) for values in by_target.values()} == {2, 3}
    assert any(len(set(values)) == 2 for values in by_target.values())


def test_the_sample_can_be_imported_and_only_once(tmp_path):
    engine = connections.connect(create_database(tmp_path / "sample.db"))
    added = imports.import_records(engine, "tour", RECORDS)
    assert (added.items, added.runs, added.traces, added.labels) == (6, 1, 6, len(records(LabelRecord)))
    assert imports.import_records(engine, "tour", RECORDS).summary().startswith("nothing new")
