"""The stored summaries of targets agree with labels and opinions after every kind of change, and are rebuilt."""

import asyncio
import random
from dataclasses import asdict

import pytest
from sqlalchemy import func, select, update

from core.items import Criterion
from core.llm.client import ScriptedModel
from core.protocols import Judge
from core.protocols.registry import PROTOCOLS
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec
from storage.db import audit
from storage.db.connections import reading, writing
from storage.db.tables import RunRow, TargetRow, TraceRow
from storage.labelling import claims
from storage.labels import merges, targets
from storage.runs import call_totals, readings, runs, trace_opinions
from storage.runs.call_totals import Totals
from storage.runs.traces import Filter
from storage.transfer import deletions, imports
from storage.worker import _launch
from storage.worker._launch import RunRequest
from tests.conftest import make_label, make_target
from tests.sessions import read, write
from tests.storage.labelling.workbench import Client, set_rules
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, debates, find_traces, store_label

ITEMS = 5
SUMS = asdict(Totals(calls=ITEMS, prompt_tokens=50, completion_tokens=10, seconds=2.5))
AGREED = (a_turn(), a_verdict("agreed", (1, 1, 1)))


@pytest.fixture
def study_id(engine):
    return debates(engine, ITEMS).study_id


def stored(engine):
    """Return (counted, disputed) of the targets, in the order of the items."""
    with reading(engine) as session:
        columns = (TargetRow.counted, TargetRow.disputed)
        return [tuple(row) for row in session.execute(select(*columns).order_by(TargetRow.item_id, TargetRow.id))]


def assert_agree(engine, change=""):
    with reading(engine) as session:
        assert targets.summary_differences(session) == [], change
        assert trace_opinions.order_differences(session) == [], change
        assert call_totals.size_differences(session) == [], change
        assert call_totals.differences(session) == [], change


def save(engine, study_id, item, annotator, value, **fields):
    write(engine, store_label, study_id, make_target(f"item {item}"), annotator, value, **fields)


def test_summaries_agree_after_labels_of_every_kind(engine, study_id):
    rng = random.Random(3)
    for number in range(20):
        value = rng.choice((1, 2, None))
        surplus = rng.random() < 0.2
        save(engine, study_id, rng.randrange(ITEMS), rng.choice(("ann", "bob", "cyd")), value, surplus=surplus)
        assert_agree(engine, f"label {number}: {value}, surplus {surplus}")
    assert len({counted for counted, _ in stored(engine)}) > 1
    client = Client(engine, "dan")
    set_rules(engine, overlap=4)
    for task in client.tasks():
        assert client.label(task)["status"] == "accepted"
        assert_agree(engine, "a label of the workbench")
    before = stored(engine)
    assert client.do("undo", entry=client.history()["undo"][-1]["id"])["status"] == "accepted"
    assert_agree(engine, "undo")
    assert stored(engine) != before
    write(engine, merges.merge, "bob", "ann", "bob")
    assert_agree(engine, "merged annotators")
    imports.import_records(engine, "s", [make_label(2, name, "item 1") for name in ("ann", "eve", "fay")])
    assert_agree(engine, "imported labels")


def test_summaries_agree_after_changes_of_runs_and_requests(engine, study_id):
    def change(name, operation):
        result = write(engine, operation)
        assert_agree(engine, name)
        return result

    agreed = [a_trace(f"item {number}", *AGREED, run="again") for number in range(ITEMS)]
    imports.import_records(engine, "s", [RUN.model_copy(update={"name": "again"}), *agreed])
    assert_agree(engine, "a second run")
    with reading(engine) as session:
        ids = {run.name: run.id for run in runs.of_study(session, study_id)}
        first = targets.find_id(session, study_id, make_target())
    change("a requested label", lambda session: claims.request_label(session, study_id, first))
    change("a deleted run", lambda session: deletions.delete_run(session, ids["r"]))
    assert [disputed for _, disputed in stored(engine)] == [True] + [False] * (ITEMS - 1)
    (deleted,) = read(engine, deletions.deleted_runs, study_id)
    change("a restored run", lambda session: deletions.restore_run(session, study_id, deleted.id))
    assert all(disputed for _, disputed in stored(engine))


def test_summaries_agree_after_a_run_and_a_later_reading(engine, a_study):
    settings = PairSettings(judge=Judge(name="a", spec=Spec(model="a")), criterion=Criterion(name="helpfulness"))
    run_id = _launch.create_run(engine, RunRequest(a_study, PROTOCOLS["single-judge"], settings, "run"))
    asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(lambda ask: "hm")))
    assert_agree(engine, "a run")
    assert stored(engine) == [(0, True)] * 3
    first, *_ = read(engine, find_traces, Filter(a_study.id, run_id))
    write(engine, readings.state, first.id, 0, 1, "ann")
    assert_agree(engine, "a reading")
    assert stored(engine) == [(0, False), (0, True), (0, True)]
    write(engine, readings.withdraw, first.id, 0, "ann")
    assert_agree(engine, "a withdrawn reading")


TARGET = {"study": "s", "item": "item 0", "kind": "preference", "criterion": "helpfulness", "part": ""}
WRONG = {
    "summaries of 1 target": (
        targets.summary_differences,
        update(TargetRow).where(TargetRow.id == select(func.min(TargetRow.id)).scalar_subquery()),
        {"counted": 7, "disputed": False},
        TARGET | {"labels stored": 7, "labels": 1, "disputed stored": False, "disputed": True},
    ),
    "orders shown of 1 trace": (
        trace_opinions.order_differences,
        update(TraceRow).where(TraceRow.id == select(func.min(TraceRow.id)).scalar_subquery()),
        {"shown_orders": [[2, 1]]},
        {"study": "s", "run": "r", "item": "item 0", "part": "", "orders stored": "[[2, 1]]", "orders": "[]"},
    ),
    "numbers of traces of 1 run": (
        call_totals.size_differences,
        update(RunRow),
        {"traces": 9},
        {"study": "s", "run": "r", "traces stored": 9, "traces": ITEMS},
    ),
    "sums over the calls of 1 run": (
        call_totals.differences,
        update(RunRow),
        {"call_totals": SUMS | {"dollars": 70.0}},
        {"study": "s", "run": "r", "sums stored": "{'dollars': 70.0}", "sums": "{'dollars': 1.25}"},
    ),
}
"""What is rebuilt -> the check that finds it, the rows and what is stored wrongly in them, and the difference."""


@pytest.mark.parametrize("rebuilt", WRONG)
def test_what_is_stored_wrongly_is_reported_and_rebuilt(engine, study_id, rebuilt):
    differences, rows, values, cells = WRONG[rebuilt]
    save(engine, study_id, 0, "ann", 1)
    with writing(engine) as session:
        session.execute(rows.values(**values))
    with reading(engine) as session:
        (found,) = differences(session, study_id)
        assert differences(session, study_id + 1) == []
    assert found.cells == cells
    with writing(engine) as session:
        assert differences(session, rebuild=True) == [found]
        assert differences(session) == []
        entries = audit.entries(session, audit.Filter(study_id))
    assert_agree(engine)
    assert [change for change in changes_of(entries) if "rebuilt" in change] == [f"{rebuilt} rebuilt"]


def changes_of(entries):
    return [entry.details.get("change", "") for entry in entries]
