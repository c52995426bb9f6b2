"""An item with three responses, the whole way: run, resume, label, compare with people, rank systems, export."""

import asyncio

import pytest

from core.errors import TiebreakError
from core.formats.records import ItemRecord, StudyRecord
from core.items import Pairs, Response
from core.llm.client import ScriptedModel
from storage.db.connections import reading
from storage.labelling import adjudication
from storage.reports import agreement, alignment, systems
from storage.runs import runs, trace_opinions
from storage.runs.readings import find_ask, reread_study
from storage.runs.traces import Filter
from storage.studies import items, studies
from storage.transfer import exports, imports
from storage.transfer.gold import gold_rows
from storage.worker import _launch
from tests.conftest import make_item
from tests.sessions import read, write
from tests.storage.labelling.workbench import Client, listed_cases
from tests.storage.shared import find_traces, stored_study
from tests.storage.worker.test_worker import make_request

SYSTEMS = ("ant", "bee", "cat")


@pytest.fixture
def study(engine):
    """A study of two items with three responses."""
    responses = tuple(Response(text=f"text of {name}", system=name) for name in SYSTEMS)
    records = [ItemRecord(item=make_item(f"item {number}", responses=responses)) for number in range(2)]
    imports.import_records(engine, "s", [StudyRecord(), *records])  # whose rules draw disputes alone
    return stored_study(engine)


def best_submission(ask) -> str:
    """Choose the submission of the first system; on ant and cat, judge b chooses the other one."""
    first = min(SYSTEMS, key=lambda name: ask.prompt.find(f"text of {name}") % 10**9)
    shown = [name for name in SYSTEMS if f"text of {name}" in ask.prompt]
    best = shown[-1] if shown == ["ant", "cat"] and ask.speaker == "b" else shown[0]
    return "1" if best == first else "2"


def execute(engine, run_id, reply=best_submission):
    model = ScriptedModel(reply)
    run, progress = asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, model))
    return run, progress, model


def found_traces(engine, study):
    return read(engine, find_traces, Filter(study.id))


def test_each_pair_has_its_own_trace_outcome_and_target(engine, study):
    request = make_request(study)
    estimate = _launch.estimate_run(engine, request)
    assert (estimate.items, estimate.traces, estimate.calls_at_most) == (2, 6, 12)
    _, progress, model = execute(engine, _launch.create_run(engine, request))
    assert (progress.traces, progress.agreed, progress.disputed) == (6, 4, 2)
    assert len(model.asked) == 12
    found = found_traces(engine, study)
    assert [(trace.item, trace.part, trace.status) for trace in found] == [
        (f"item {number}", part, status)
        for number in range(2)
        for part, status in (("1-2", "agreed"), ("1-3", "disputed"), ("2-3", "agreed"))
    ]
    judged = read(engine, trace_opinions.judged_targets, found[1].id)
    assert [(target.kind, target.part) for target in judged] == [("preference", "1-3")]
    assert "text of bee" not in read(engine, find_ask, found[1].id, 0).prompt
    assert list(reread_study(engine, study)) == []


def test_a_baseline_is_compared_with_every_other_system(engine, study):
    run_id = _launch.create_run(engine, make_request(study, pairs=Pairs(baseline="bee")))
    execute(engine, run_id)
    assert [trace.part for trace in found_traces(engine, study)] == ["1-2", "2-3"] * 2
    assert read(engine, runs.get, run_id).pairs == "baseline bee"
    with pytest.raises(TiebreakError, match="item 0 has no response of the baseline, the system 'dog'"):
        _launch.create_run(engine, make_request(study, pairs=Pairs(baseline="dog")))


def label_every_task(engine, annotator: str, value: int) -> None:
    """Give a label in every task of the queue, which are the disputed pairs."""
    client = Client(engine, annotator)
    tasks = client.tasks()
    assert len(tasks) == 2
    for task in tasks:
        texts = {column["id"]: column["text"] for column in task["columns"]}
        assert texts == {"response-1": "text of ant", "response-2": "text of cat"}
        assert "text of bee" not in str(task)
        assert client.label(task, value=value)["status"] == "accepted"
    (revealed, _) = client.tasks(tab="done")
    assert "text of cat" in [column["text"] for column in revealed["columns"]]


def test_pairs_are_labelled_decided_compared_ranked_and_exported_by_themselves(engine, study):
    execute(engine, _launch.create_run(engine, make_request(study)))
    for annotator, value in (("ann", 1), ("ben", 1), ("cid", 2)):
        label_every_task(engine, annotator, value)
    with reading(engine) as session:
        cases = listed_cases(session, "eve")
        rows = [row for row in gold_rows(session, study) if row.gold.value is not None]
    assert [case.target.part for case in cases] == ["1-3", "1-3"]
    passages = write(engine, adjudication.open_case, study, cases[0], "eve").passages
    assert [passage.text for passage in passages if passage.number] == ["text of ant", "text of cat"]
    assert [(row.gold.target.part, row.systems, row.gold.value) for row in rows] == [("1-3", ("ant", "cat"), 1)] * 2
    percent = next(row for row in agreement.rows(engine, study, "all", resamples=20) if row.statistic == "percent")
    assert (round(percent.value, 3), percent.items) == (0.333, 2)

    data = alignment.load_data(engine, study)
    own = data.opinions[data.opinions["judge"] == "b"]
    assert sorted(own["part"]) == ["1-2", "1-2", "1-3", "1-3", "2-3", "2-3"]
    assert own["shown_first"].notna().all() and set(own["longer"]) == {0.0}
    figures = {(row.judge, row.statistic): row.value for row in alignment.rows(engine, study, "all", resamples=20)}
    assert (figures["a", "accuracy_gold"], figures["b", "accuracy_gold"]) == (1.0, 0.0)
    ranked = systems.report(engine, study, judge="a", resamples=20).rows
    # Labels are drawn of disputed pairs alone, which are of these two systems.
    assert {row.system: row.verdicts for row in ranked} == {"ant": 1.0, "cat": 0.0}
    assert {row.population for row in ranked} == {"disputed targets"}

    records = list(exports.export_records(engine, study))
    imports.import_records(engine, "copy", records)
    with reading(engine) as session:
        copy = studies.get(session, "copy")
        assert items.first_with_several_pairs(session, copy.id) is not None
    copied = [record for record in exports.export_records(engine, copy) if record.type == "trace"]
    assert copied == [record for record in records if record.type == "trace"]
    assert [record.part for record in copied] == ["1-2", "1-3", "2-3"] * 2
