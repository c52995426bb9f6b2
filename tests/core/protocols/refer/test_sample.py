"""The sample study of ReFeR: consistent with the protocol, with content for every part of its pages."""

from collections import Counter

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, ScaleRecord, TraceRecord
from core.protocols.refer.settings import Settings
from core.trace import VerdictReached
from storage.db import connections
from storage.transfer import imports, samples
from tests.core.protocols.sample_replays import replay_sample, replies
from tests.databases import create_database

RECORDS = list(tiebreak.read(samples.path("refer")))


def records(record_type):
    return [record for record in RECORDS if isinstance(record, record_type)]


ITEMS = {record.item.id: record.item for record in records(ItemRecord)}
(RUN,) = records(RunRecord)
SETTINGS = Settings.model_validate(RUN.settings)


@pytest.mark.parametrize("trace", records(TraceRecord), ids=lambda trace: trace.item)
def test_replaying_the_replies_gives_the_same_review(trace):
    assert replay_sample(RUN, ITEMS[trace.item], trace) == list(trace.events)


def test_peers_and_samples_differ_and_some_are_unreadable():
    problems = [turn.problem for trace in records(TraceRecord) for turn in replies(trace) if turn.problem]
    assert {"refused", "cut off"} <= {
        word for word in ("refused", "cut off") if any(word in problem for problem in problems)
    }
    verdicts = [
        trace.events[-1].verdict for trace in records(TraceRecord) if isinstance(trace.events[-1], VerdictReached)
    ]
    assert len(verdicts) == 8 and len({verdict.value for verdict in verdicts}) > 5
    assert SETTINGS.samples == 10 and len(SETTINGS.peers) == 3


def test_annotators_overlap_only_in_part_and_one_changed_a_label():
    labels = [record.label for record in records(LabelRecord)]
    (scale,) = records(ScaleRecord)
    assert all(scale.scale.contains(label.value) for label in labels)
    assert set(Counter(label.target.item for label in labels if label.blind).values()) == {2, 3}
    assert [label.annotator for label in labels if not label.blind] == ["annotator 3"]


def test_the_sample_can_be_imported_though_means_are_off_the_scale(tmp_path):
    engine = connections.connect(create_database(tmp_path / "sample.db"))
    added = imports.import_records(engine, "sample", RECORDS)
    assert (added.items, added.runs, added.traces, added.marks) == (8, 1, 8, 1)


def test_the_file_is_written_as_tiebreak_writes_it(tmp_path):
    copy = tmp_path / "copy.jsonl"
    with copy.open("w", encoding="utf-8") as stream:
        tiebreak.write(RECORDS, stream)
    assert copy.read_bytes() == samples.path("refer").read_bytes()
