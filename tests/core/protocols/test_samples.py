"""The sample studies: consistent with their protocols, with content for every part of the pages."""

from functools import cache
from pathlib import Path

import pytest

from core.aius import locate_aius
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, StudyRecord, TraceRecord, TranscriptRecord
from core.labels import Target
from core.trace import ReplyUnreadable, VerdictReached
from core.transcripts import render
from storage.db import connections
from storage.transfer import imports, samples
from tests.core.protocols.sample_replays import replay_sample, replies
from tests.databases import create_database

PROTOCOLS = sorted(samples.studies().values())


@cache
def records(protocol: str) -> list[Record]:
    return list(tiebreak.read(samples.path(protocol)))


def traces(protocol: str) -> list[TraceRecord]:
    return [record for record in records(protocol) if isinstance(record, TraceRecord)]


@pytest.mark.parametrize(
    ("protocol", "trace"),
    [pytest.param(name, trace, id=f"{name} {trace.run} {trace.item}") for name in PROTOCOLS for trace in traces(name)],
)
def test_replaying_the_replies_gives_the_same_trace(protocol: str, trace: TraceRecord) -> None:
    (run,) = (one for one in records(protocol) if isinstance(one, RunRecord) and one.name == trace.run)
    (item,) = (one.item for one in records(protocol) if isinstance(one, ItemRecord) and one.item.id == trace.item)
    own = (one.transcript for one in records(protocol) if isinstance(one, TranscriptRecord))
    texts = {transcript.digest: render(transcript) for transcript in own}
    shown = [one.model_copy(update={"text": texts.get(one.transcript, one.text)}) for one in item.responses]
    item = item.model_copy(update={"responses": tuple(shown)})
    assert replay_sample(run, item, trace) == list(trace.events)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_file_is_written_as_tiebreak_writes_it(protocol: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    with copy.open("w", encoding="utf-8") as stream:
        tiebreak.write(records(protocol), stream)
    assert copy.read_bytes() == samples.path(protocol).read_bytes()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_sample_can_be_imported_and_only_once(protocol: str, tmp_path: Path) -> None:
    engine = connections.connect(create_database(tmp_path / "sample.db"))
    added = imports.import_records(engine, "tour", records(protocol))
    counts = [sum(isinstance(record, one) for record in records(protocol)) for one in (ItemRecord, RunRecord)]
    assert [added.items, added.runs, added.traces] == [*counts, len(traces(protocol))]
    assert imports.import_records(engine, "tour", records(protocol)).summary().startswith("nothing new")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_sample_is_marked_as_one_and_has_disputes_unreadable_replies_and_labels_that_differ(protocol: str) -> None:
    (study,) = (record for record in records(protocol) if isinstance(record, StudyRecord))
    assert study.sample
    events = [event for trace in traces(protocol) for event in trace.events]
    assert (
        len({event.verdict.outcome for event in events if isinstance(event, VerdictReached)}) > 1 or protocol == "refer"
    )
    assert any(turn.problem for trace in traces(protocol) for turn in replies(trace))
    assert any(isinstance(event, ReplyUnreadable) for event in events) or protocol == "refer"
    given: dict[Target, dict[str, object]] = {}
    for record in records(protocol):
        if isinstance(record, LabelRecord) and record.label.blind:
            given.setdefault(record.label.target, {})[record.label.annotator] = record.label.value
    assert len({len(by_annotator) for by_annotator in given.values()}) > 1
    assert any(len(set(map(repr, by_annotator.values()))) > 1 for by_annotator in given.values())


def test_nearly_every_aiu_is_located_in_its_critique() -> None:
    items = [record.item for record in records("metacritique") if isinstance(record, ItemRecord)]
    critiques = [critique for item in items for critique in item.critiques if critique.aius]
    assert sum(len(locate_aius(one)) for one in critiques) >= 0.9 * sum(len(one.aius) for one in critiques)
