import io
import itertools
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, TraceRecord
from core.formats.turns import turn_row
from core.trace import PastReading, ReadingReplaced, ReplyExtracted, TraceRestarted, Turn
from storage.db.connections import connect, reading, upgrade, writing
from storage.db.fingerprints import to_utc
from storage.labelling import queue
from storage.labels import labels, views
from storage.runs import call_totals, claims, outcomes, runs
from storage.runs.outcomes import NewEvent
from storage.studies import studies
from storage.transfer import exports, imports
from storage.transfer._spool import UNFINISHED
from storage.transfer.exports import turn_rows
from storage.transfer.participation import rename_readers
from tests.conftest import make_item, make_target
from tests.core.formats import strategies
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, an_unreadable, store_label
from tests.storage.transfer.test_imports import export, one_of_each_type


def lines(records):
    """Return records as JSON, in which True, 1 and 1.0 differ."""
    return [record.model_dump_json() for record in records]


def write_and_read(records, folder):
    text = io.StringIO()
    tiebreak.write(records, text)
    path = folder / "study.jsonl"
    path.write_text(text.getvalue(), encoding="utf-8", newline="\n")
    return list(tiebreak.read(path))


def test_exported_records_equal_the_imported_ones(engine):
    imports.import_records(engine, "s", one_of_each_type())
    exported = [record for record in export(engine, "s") if record.type not in ("guidelines", "annotator")]
    times = [{"times": ()} if record.type == "trace" else {} for record in exported]
    without_times = [record.model_copy(update=update) for record, update in zip(exported, times, strict=True)]
    assert lines(without_times) == lines(one_of_each_type())


def test_an_imported_study_equals_the_exported_one(engine, a_study, tmp_path):
    with writing(engine) as session:
        run = runs.create(
            session, a_study.id, "live", protocol="scaleeval", criterion="", settings={"a": 1.0}, prompts={"b": "c"}
        )
        claims.claim_run(session, run, "worker")
        first, second, _ = (trace.id for trace in claims.claim_traces(session, run, "worker", 3))
        turns = [a_turn(0, reading=True), a_turn(1, reading=1.0, prompt="p\n\u2028")]
        events = [NewEvent(first, seq, event) for seq, event in enumerate([*turns, a_verdict()])]
        outcomes.append_events(session, [*events, NewEvent(second, 0, a_turn())])
        for value in (1, 2, None):
            store_label(session, a_study.id, make_target(), "ann", value, reason="=1+1", seconds=0.1)
        views.record(session, a_study.id, [make_target()], "bob")
        store_label(session, a_study.id, make_target(), "bob", 0)
        store_label(session, a_study.id, make_target(kind="aspect_weights"), "bob", {"depth": 30.0, "clarity": 70.0})
        labels.adjudicate(session, a_study.id, make_target(), 1, rule="expert", reason="so", adjudicator="dee")
        queue.set_mark(session, a_study.id, make_target("item 2"), "ann", "skip")
        queue.set_mark(session, a_study.id, make_target("item 2"), "ann", "skip", on=False)
    exported = write_and_read(export(engine, "s"), tmp_path)
    imports.import_records(engine, "t", exported)
    imported = export(engine, "t")
    stopped = {"source": "imported", "state": "stopped", "problem": UNFINISHED}
    expected = [record.model_copy(update=stopped) if record.type == "run" else record for record in exported]
    assert lines(imported) == lines(expected)
    assert [label.blind for label in (r.label for r in imported if isinstance(r, LabelRecord))][3] is False
    assert [len(record.events) for record in imported if isinstance(record, TraceRecord)] == [3, 1, 0]
    imports.import_records(engine, "u", write_and_read(imported, tmp_path))
    assert lines(export(engine, "u")) == lines(imported)


def people_records(sort, values):
    """Return a strategy for labels or adjudications of two items by three annotators."""
    name, record = ("annotator", LabelRecord) if sort == "label" else ("adjudicator", AdjudicationRecord)
    kinds, keys = st.sampled_from(["answer", "score"]), st.sampled_from(["item 0", "item 1"])
    targets = st.builds(make_target, item=keys, kind=kinds, criterion=strategies.texts, part=strategies.texts)
    people = st.sampled_from(["ann", "bob", "=cyd"])
    return st.builds(
        lambda value, target, person: record(**{sort: value.model_copy(update={"target": target, name: person})}),
        values,
        targets,
        people,
    )


label_records = people_records("label", strategies.labels) | people_records("ruling", strategies.adjudications)


def in_utc(record):
    """Return a record as it is stored."""
    sort = record.type
    value = getattr(record, sort)
    return record.model_copy(update={sort: value.model_copy(update={"at": to_utc(value.at)})})


def have_valid_times(records):
    try:
        return all(in_utc(record) for record in records)
    except TiebreakError:
        return False


@pytest.fixture(scope="module")
def shared_engine(tmp_path_factory):
    """A database for all examples, each of which has its own study."""
    engine = connect(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'tiebreak.db'}")
    upgrade(engine)
    yield engine
    engine.dispose()


study_numbers = itertools.count()


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.lists(label_records, max_size=8).filter(have_valid_times))
def test_labels_and_adjudications_are_imported_unchanged_and_recognised(shared_engine, records):
    source, copy = f"study {next(study_numbers)}", f"study {next(study_numbers)}"
    items = [ItemRecord(item=make_item(name)) for name in ("item 0", "item 1")]
    imports.import_records(shared_engine, source, [*items, *records])
    exported = export(shared_engine, source)
    assert imports.import_records(shared_engine, source, records) == imports.ImportCounts()
    imports.import_records(shared_engine, copy, exported)
    assert lines(export(shared_engine, copy)) == lines(exported)
    people = [record for record in exported if record.type in ("label", "ruling")]
    assert sorted(lines(people)) == sorted(lines(in_utc(record) for record in records))


def test_an_empty_study_is_exported_as_its_study_record(engine):
    with writing(engine) as session:
        study = studies.create(session, "s")
    assert [record.type for record in exports.export_records(engine, study)] == ["study"]


def test_every_reply_is_a_row_and_the_rows_add_up_to_the_costs_of_the_run(engine):
    extracted = ReplyExtracted(ask=1, turn=a_turn(9, speaker="extractor", reading=2).turn)
    events = (
        a_turn(0, reply="before the restart"),
        TraceRestarted(reason="The item was changed."),
        an_unreadable(0),
        a_turn(0, reply="second"),
        a_turn(1, reading=None, problem="no choice"),
        extracted,
        ReadingReplaced(ask=1, reading=0, reading_rule="stated", read_by="person: ann"),
        a_verdict(),
    )
    imports.import_records(engine, "s", [ItemRecord(item=make_item()), RUN, a_trace("item 0", *events)])
    with reading(engine) as session:
        study = studies.get(session, "s")
        (run,) = runs.of_study(session, study.id)
        totals = call_totals.of_runs(session, [run.id])
    rows = list(turn_rows(engine, study))
    assert [(row.ask, row.attempt, row.superseded, row.reading) for row in rows] == [
        (0, "first", True, 1),
        (0, "first", True, None),
        (0, "second", False, 1),
        (1, "first", False, 0),
        (1, "extractor", False, 2),
    ]
    earlier = [(past["reading"], past["read_by"], past["problem"]) for past in rows[3].earlier_readings]
    assert (rows[3].read_by, earlier) == ("person: ann", [(None, "", "no choice"), (2, "extractor: m", "")])
    assert not any(row.earlier_readings for row in rows if row is not rows[3])
    assert len(rows) == totals.calls
    assert sum(row.prompt_tokens or 0 for row in rows) == totals.prompt_tokens
    assert sum(row.dollars or 0.0 for row in rows) == totals.dollars


TRACE = dict.fromkeys(("run", "protocol", "item", "part", "scenario", "criterion", "outcome", "contention"), "")


@pytest.mark.parametrize(("own", "exported"), [("", "depth"), ("tone", "tone")])
def test_a_turn_has_its_own_criterion_or_that_of_its_trace(own, exported):
    turn = Turn(speaker="a", step="opinion", round=0, model="m", prompt="?", reply="1", criterion=own)
    assert turn_row(turn, 0, "first", False, **TRACE | {"criterion": "depth"}).criterion == exported


def test_only_people_who_read_a_reply_are_renamed():
    turn = Turn(speaker="j", step="choice", round=0, model="m", reply="1", reading=1, read_by="person: ann")
    row = turn_row(turn, 0, "first", False, **TRACE)
    extracted = replace(row, read_by="extractor: ann")
    past = PastReading(turn, withdrawn_by="ann"), PastReading(turn.model_copy(update={"read_by": ""}))
    replaced = turn_row(turn, 0, "first", False, past, **TRACE)
    names = {"ann": "annotator 1"}.__getitem__
    (others,) = rename_readers([replaced], names)
    fields = [(earlier["read_by"], earlier["withdrawn_by"]) for earlier in others.earlier_readings]
    assert fields == [("person: annotator 1", "annotator 1"), ("", "")]
    renamed = rename_readers([row, extracted], names)
    assert [row.read_by for row in renamed] == ["person: annotator 1", "extractor: ann"]
