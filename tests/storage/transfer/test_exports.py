import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import TiebreakError
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord
from core.trace import PastReading, ReadingReplaced, ReplyExtracted, TraceRestarted, Turn
from storage.db.connections import connect, reading, upgrade
from storage.db.fingerprints import to_utc
from storage.runs import call_totals, runs
from storage.studies import studies
from storage.transfer import exports, imports
from storage.transfer.exports import turn_rows
from storage.transfer.participation import rename_readers
from tests.conftest import make_item, make_target
from tests.core.formats import strategies
from tests.sessions import write
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, an_unreadable
from tests.storage.transfer.test_imports import export


def lines(records):
    """Return records as JSON, in which True, 1 and 1.0 differ."""
    return [record.model_dump_json() for record in records]


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
@settings(suppress_health_check=list(HealthCheck))
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
    study = write(engine, studies.get_or_create, "s")
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
    assert [(row["ask"], row["attempt"], row["superseded"], row["reading"]) for row in rows] == [
        (0, "first", True, 1),
        (0, "first", True, None),
        (0, "second", False, 1),
        (1, "first", False, 0),
        (1, "extractor", False, 2),
    ]
    earlier = [(past["reading"], past["read_by"], past["problem"]) for past in rows[3]["earlier_readings"]]
    assert (rows[3]["read_by"], earlier) == ("person: ann", [(None, "", "no choice"), (2, "extractor: m", "")])
    assert not any(row["earlier_readings"] for row in rows if row is not rows[3])
    assert len(rows) == totals.calls
    assert sum(row["prompt_tokens"] or 0 for row in rows) == totals.prompt_tokens
    assert sum(row["dollars"] or 0.0 for row in rows) == totals.dollars


TRACE = dict.fromkeys(("run", "protocol", "item", "part", "scenario", "criterion", "outcome", "contention"), "")


@pytest.mark.parametrize(("own", "exported"), [("", "depth"), ("tone", "tone")])
def test_a_turn_has_its_own_criterion_or_that_of_its_trace(own, exported):
    turn = Turn(speaker="a", step="opinion", round=0, model="m", prompt="?", reply="1", criterion=own)
    assert exports.turn_row(turn, 0, "first", False, **TRACE | {"criterion": "depth"})["criterion"] == exported


def test_only_people_who_read_a_reply_are_renamed():
    turn = Turn(speaker="j", step="choice", round=0, model="m", reply="1", reading=1, read_by="person: ann")
    row = exports.turn_row(turn, 0, "first", False, **TRACE)
    extracted = row | {"read_by": "extractor: ann"}
    past = PastReading(turn, withdrawn_by="ann"), PastReading(turn.model_copy(update={"read_by": ""}))
    replaced = exports.turn_row(turn, 0, "first", False, past, **TRACE)
    names = {"ann": "annotator 1"}.__getitem__
    (others,) = rename_readers([replaced], names)
    fields = [(earlier["read_by"], earlier["withdrawn_by"]) for earlier in others["earlier_readings"]]
    assert fields == [("person: annotator 1", "annotator 1"), ("", "")]
    renamed = rename_readers([row, extracted], names)
    assert [row["read_by"] for row in renamed] == ["person: annotator 1", "extractor: ann"]
