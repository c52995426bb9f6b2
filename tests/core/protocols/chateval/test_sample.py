"""The sample study of ChatEval: consistent with the protocol, with content for every part of its pages."""

from pathlib import Path

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.trace import ReplyUnreadable, VerdictReached
from storage.transfer import samples
from tests.core.protocols.sample_replays import replay_sample, replies

RECORDS = list(tiebreak.read(samples.path("chateval")))
ITEMS = {record.item.id: record.item for record in RECORDS if isinstance(record, ItemRecord)}
RUNS = {record.name: record for record in RECORDS if isinstance(record, RunRecord)}
TRACES = [record for record in RECORDS if isinstance(record, TraceRecord)]
LABELS = [record.label for record in RECORDS if isinstance(record, LabelRecord)]


@pytest.mark.parametrize("trace", [pytest.param(trace, id=f"{trace.run} {trace.item}") for trace in TRACES])
def test_replaying_the_replies_gives_the_same_trace(trace: TraceRecord) -> None:
    assert replay_sample(RUNS[trace.run], ITEMS[trace.item], trace) == list(trace.events)


def test_the_sample_has_content_for_every_part_of_the_page() -> None:
    verdicts = [event.verdict for trace in TRACES for event in trace.events if isinstance(event, VerdictReached)]
    assert {(verdict.outcome, verdict.value) for verdict in verdicts} == {
        ("agreed", 0),
        ("agreed", 1),
        ("agreed", 2),
        ("disputed", 1),
        ("disputed", None),
    }
    turns = [turn for trace in TRACES for turn in replies(trace)]
    assert {turn.step for turn in turns} == {"talk", "summary"} and {turn.shown for turn in turns} == {(1, 2), (2, 1)}
    assert {"the model refused to answer", "the reply was cut off at the limit of 512 tokens"} <= {
        turn.problem for turn in turns
    }
    assert any(isinstance(event, ReplyUnreadable) for trace in TRACES for event in trace.events)
    assert any(
        first.value != last.value
        for verdict in verdicts
        for first in verdict.opinions
        for last in verdict.opinions
        if (first.judge, first.stage, last.stage) == (last.judge, "first", "last")
        and None not in (first.value, last.value)
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
