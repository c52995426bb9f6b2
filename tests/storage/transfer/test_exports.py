import io
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RulingRecord, TraceRecord
from core.problems import Problem
from storage import labels, runs, studies, traces
from storage.database import connect, upgrade, writing
from storage.fingerprints import moment
from storage.labelling import queue
from storage.traces import Happened
from storage.transfer import exports, imports
from tests.conftest import a_target, an_item
from tests.core.formats import strategies
from tests.storage.shared import a_turn, a_verdict
from tests.storage.transfer.test_imports import everything, held


def lines(records):
    """Records as they are written: True, 1 and 1.0 differ there."""
    return [record.model_dump_json() for record in records]


def written_and_read(records, folder):
    text = io.StringIO()
    tiebreak.write(records, text)
    path = folder / "study.jsonl"
    path.write_text(text.getvalue(), encoding="utf-8", newline="\n")
    return list(tiebreak.read(path))


def test_what_goes_in_comes_out(engine):
    imports.load(engine, "s", everything())
    assert lines(held(engine, "s")) == lines(everything())


def test_a_study_is_equal_where_it_arrives(engine, a_study, tmp_path):
    with writing(engine) as session:
        run = runs.create(
            session, a_study.id, "live", protocol="scaleeval", criterion="", settings={"a": 1.0}, prompts={"b": "c"}
        )
        first, second, _ = (trace for trace, _ in runs.claim(session, run, "worker", 3))
        turns = [a_turn(0, reading=True), a_turn(1, reading=1.0, prompt="p\n\u2028")]
        events = [Happened(first, seq, event) for seq, event in enumerate([*turns, a_verdict()])]
        traces.append(session, [*events, Happened(second, 0, a_turn())])
        for value in (1, 2, None):
            labels.put(session, a_study.id, a_target(), "ann", value, reason="=1+1", seconds=0.1)
        labels.see(session, a_study.id, a_target(), "bob")
        labels.put(session, a_study.id, a_target(), "bob", 0)
        labels.put(session, a_study.id, a_target(kind="aspect_weights"), "bob", {"depth": 30.0, "clarity": 70.0})
        labels.rule(session, a_study.id, a_target(), 1, rule="expert", reason="so", adjudicator="dee")
        queue.mark(session, a_study.id, a_target("item 2"), "ann", "skip")
        queue.mark(session, a_study.id, a_target("item 2"), "ann", "skip", on=False)
    ours = written_and_read(held(engine, "s"), tmp_path)
    imports.load(engine, "t", ours)
    theirs = held(engine, "t")
    arrived = [one.model_copy(update={"source": "imported"}) if one.type == "run" else one for one in ours]
    assert lines(theirs) == lines(arrived)
    assert [label.blind for label in (r.label for r in theirs if isinstance(r, LabelRecord))][3] is False
    assert [len(one.events) for one in theirs if isinstance(one, TraceRecord)] == [3, 1, 0]
    imports.load(engine, "u", written_and_read(theirs, tmp_path))
    assert lines(held(engine, "u")) == lines(theirs)


def about(sort, made):
    """Records of what is said of two items by three people."""
    who, record = ("annotator", LabelRecord) if sort == "label" else ("adjudicator", RulingRecord)
    kinds, keys = st.sampled_from(["answer", "score"]), st.sampled_from(["item 0", "item 1"])
    targets = st.builds(a_target, item=keys, kind=kinds, criterion=strategies.texts, part=strategies.texts)
    people = st.sampled_from(["ann", "bob", "=cyd"])
    return st.builds(
        lambda one, target, person: record(**{sort: one.model_copy(update={"target": target, who: person})}),
        made,
        targets,
        people,
    )


said = about("label", strategies.labels) | about("ruling", strategies.rulings)


def in_utc(record):
    """A record as it is kept."""
    sort = record.type
    one = getattr(record, sort)
    return record.model_copy(update={sort: one.model_copy(update={"at": moment(one.at)})})


def in_a_calendar(records):
    try:
        return all(in_utc(record) for record in records)
    except Problem:
        return False


@pytest.fixture(scope="module")
def shared_engine(tmp_path_factory):
    """One database for all examples, each in a study of its own."""
    engine = connect(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'tiebreak.db'}")
    upgrade(engine)
    yield engine
    engine.dispose()


numbers = itertools.count()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(said, max_size=8).filter(in_a_calendar))
def test_whatever_people_say_arrives_equal_and_is_known_again(shared_engine, records):
    here, there = f"study {next(numbers)}", f"study {next(numbers)}"
    items = [ItemRecord(item=an_item(name)) for name in ("item 0", "item 1")]
    imports.load(shared_engine, here, [*items, *records])
    ours = held(shared_engine, here)
    assert imports.load(shared_engine, here, records) == imports.Added()
    imports.load(shared_engine, there, ours)
    assert lines(held(shared_engine, there)) == lines(ours)
    assert sorted(lines(ours[3:])) == sorted(lines(in_utc(record) for record in records))


def test_an_empty_study_is_its_study_record(engine):
    with writing(engine) as session:
        study = studies.create(session, "s")
    assert [record.type for record in exports.records(engine, study)] == ["study"]
