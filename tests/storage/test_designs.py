"""The designs of a study: their rounds, the draws of its targets, and the queue that follows."""

import json
import re

import pytest
from sqlalchemy import delete, select

from core.designs import AGREED, CONTENTION, DISPUTED, UNJUDGED, Design, Form, disputes_only, permanent_number
from core.errors import TiebreakError
from core.formats.records import AdjudicationRecord, ItemRecord
from core.formats.study_records import StudyRecord, StudyRules
from core.labels import Adjudication
from storage.db import audit
from storage.db.connections import reading, writing
from storage.db.tables import DesignRow, StudyRow, TargetRow
from storage.labelling import context
from storage.labelling.queue import Queue, target_query
from storage.labels import designs, targets
from storage.runs import claims, outcomes, runs
from storage.runs.outcomes import NewEvent
from storage.studies import studies
from storage.transfer import deletions, exports
from storage.transfer.bundle import write_bundle
from storage.transfer.imports import import_records
from tests.conftest import make_item, make_label, make_target
from tests.sessions import read, write
from tests.storage.labelling.workbench import Client
from tests.storage.shared import a_verdict, store_label, stored_study
from tests.storage.transfer.test_bundle import read_csv
from tests.waiting import at_once

SUBJECT = ("preference", "helpfulness")
RUN_FIELDS = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}


def add_study(engine, items=40, share=0.25):
    rules = StudyRecord(rules=StudyRules(agreed_share=share))
    import_records(engine, "s", [rules, *(ItemRecord(item=make_item(f"item {n}")) for n in range(items))])
    return read(engine, studies.get, "s").id


@pytest.fixture
def study(engine):
    """A study with the verdicts of one run on its 40 items."""
    study_id = add_study(engine)
    add_run(engine, study_id)
    return study_id


def add_run(engine, study_id, disputed=lambda place: place % 4 == 0, name="live", second=()):
    """Store verdicts on all items, for the second response at the places `second`; return the id of the run."""
    with writing(engine) as session:
        run = runs.create(session, study_id, name, **RUN_FIELDS)
        claims.claim_run(session, run, "worker")
        traces = claims.claim_traces(session, run, "worker", 1_000)
    with writing(engine) as session:
        agreed = [a_verdict("agreed", (2, 2, 2) if n in second else (1, 1, 1)) for n in range(len(traces))]
        verdicts = [a_verdict() if disputed(n) else one for n, one in enumerate(agreed)]
        pairs = zip([trace.id for trace in traces], verdicts, strict=True)
        outcomes.append_events(session, [NewEvent(id, 0, verdict) for id, verdict in pairs])
        claims.release(session, run, "worker")
    return run


def rows(engine):
    query = select(TargetRow.stratum, TargetRow.probability, TargetRow.drawn, TargetRow.round, TargetRow.disputed)
    with reading(engine) as session:
        return session.execute(query.order_by(TargetRow.id)).all()


def frame(engine, study_id):
    return read(engine, designs.frame, study_id)


def set_design(engine, study_id, design, **sizes):
    return write(engine, designs.set_design, study_id, "helpfulness", design, sizes or None)


def label(engine, study_id, item):
    write(engine, store_label, study_id, make_target(item), "ann", 1)


def stratified(agreed, unjudged=0.0, seed=0):
    return Design(Form.stratified, seed, {DISPUTED: 1.0, AGREED: agreed, UNJUDGED: unjudged}, CONTENTION)


def test_the_first_verdicts_make_the_default_design(engine):
    study = add_study(engine)
    assert frame(engine, study) is None
    add_run(engine, study)
    with reading(engine) as session:
        (design,) = designs.rounds(session, study)[SUBJECT]
        assert (design.form, design.by, design.seed) == (
            Form.stratified,
            CONTENTION,
            designs.study_seed(session, study),
        )
        strata = {one.name: one for one in designs.counts(session, study, "helpfulness")}
    drawn = frame(engine, study)
    assert list(drawn.columns) == list(designs.FRAME_COLUMNS)
    assert drawn["number"].tolist() == [permanent_number(design.seed, f"{item}:") for item in drawn["item"]]
    assert (drawn["drawn"] == (drawn["number"] < drawn["probability"])).all()
    assert (strata[DISPUTED].targets, strata[DISPUTED].drawn, strata[DISPUTED].missing) == (10, 10, 10)
    assert strata[AGREED].drawn == (drawn["drawn"] & (drawn["stratum"] == AGREED)).sum() > 0
    assert [row.disputed for row in rows(engine)] == drawn["drawn"].tolist()


def test_labels_from_before_the_first_verdicts_leave_the_design_unknown(engine):
    study = add_study(engine)
    label(engine, study, "item 1")
    add_run(engine, study)
    assert frame(engine, study) is None
    assert sum(row.disputed for row in rows(engine)) == 10


@pytest.mark.parametrize("with_verdicts", [False, True])
def test_gold_from_a_file_is_not_drawn_by_a_design(engine, with_verdicts):
    study = add_study(engine)
    if with_verdicts:
        add_run(engine, study)
    gold = [
        Adjudication(target=make_target(f"item {n}"), value=1, rule="r", reason="r", adjudicator="d") for n in range(40)
    ]
    import_records(engine, "s", [AdjudicationRecord(ruling=one) for one in gold])
    if not with_verdicts:
        add_run(engine, study)
    assert frame(engine, study) is None


def test_first_labels_of_a_file_on_other_targets_than_those_drawn_leave_the_design_unknown(engine, study):
    import_records(engine, "s", [make_label(1, "bob", item) for item in frame(engine, study).query("drawn")["item"]])
    assert frame(engine, study) is not None
    import_records(engine, "s", [make_label(1, "bob", f"item {n}") for n in range(40)])
    assert frame(engine, study) is not None  # the labels before were those of the draw


def test_a_file_with_labels_of_every_pair_leaves_the_design_unknown(engine, study):
    import_records(engine, "s", [make_label(1, "bob", f"item {n}") for n in range(40)])
    assert frame(engine, study) is None
    assert sum(row.disputed for row in rows(engine)) == 10 and {row.probability for row in rows(engine)} == {None}


def test_a_target_moves_to_another_stratum_with_a_later_run_and_its_deletion(engine):
    study = add_study(engine)
    add_run(engine, study, disputed=lambda place: False)
    before = rows(engine)
    assert {row.stratum for row in before} == {AGREED}
    second = add_run(engine, study, name="second")
    assert [row.stratum for row in rows(engine)].count(DISPUTED) == 10
    assert all(row.drawn and row.probability == 1 and row.round == 1 for row in rows(engine) if row.stratum == DISPUTED)
    write(engine, deletions.delete_run, second)
    assert rows(engine) == before
    with writing(engine) as session:
        deletions.restore_run(session, study, deletions.deleted_runs(session, study)[0].id)
    assert [row.stratum for row in rows(engine)].count(DISPUTED) == 10


def test_a_further_round_contains_the_earlier_one_and_is_counted(engine, study):
    first = frame(engine, study)
    label(engine, study, first.query("drawn")["item"].iloc[0])
    seed = read(engine, designs.study_seed, study)
    assert set_design(engine, study, stratified(0.6, seed=seed)).round == 2
    second = frame(engine, study)
    assert (second["drawn"] >= first["drawn"]).all() and second["drawn"].sum() > first["drawn"].sum()
    added = [row.round for row, old in zip(rows(engine), first["drawn"], strict=True) if row.drawn and not old]
    assert set(added) == {2}


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (stratified(0.1), "seed"),
        (disputes_only(), "cannot shrink to 0: choose a larger share"),
        (Design(Form.random, shares={"": 1.5}), "The share of all targets is 1.5; a share is from 0 to 1"),
        (Design(Form.stratified, shares={"": 1}), "needs what it is stratified by: contention, scenario, group"),
        (Design(Form.random), "needs the share of each stratum"),
    ],
)
def test_a_design_that_cannot_be_drawn_is_refused_in_one_sentence(engine, study, design, message):
    label(engine, study, "item 0")
    before = rows(engine)
    with pytest.raises(TiebreakError, match=message):
        set_design(engine, study, design)
    assert rows(engine) == before


def test_before_the_first_label_a_design_can_be_replaced(engine, study):
    assert set_design(engine, study, disputes_only()).round == 1
    assert sum(row.disputed for row in rows(engine)) == 10
    set_design(engine, study, Design(Form.random, 3, {"": 0.5}))
    assert [row.disputed for row in rows(engine)] == [row.drawn for row in rows(engine)]
    assert {(row.stratum, row.probability) for row in rows(engine)} == {("", 0.5)}
    set_design(engine, study, Design(Form.everything))
    assert all(row.drawn for row in rows(engine))


def test_a_fixed_number_is_drawn(engine, study):
    set_design(engine, study, stratified(0, seed=5), agreed=7)
    drawn = frame(engine, study).query("stratum == 'agreed'")
    assert drawn["drawn"].sum() == 7
    assert drawn["probability"].unique().tolist() == [7 / 30]
    assert drawn.sort_values("number")["drawn"].tolist() == [True] * 7 + [False] * 23


def test_uncertainty_gives_the_probability(engine, study):
    set_design(engine, study, Design(Form.weighted, 1, {"": 0.5}, floor=0.1))
    assert {row.probability for row in rows(engine)} == {0.5, 0.1}


def test_pairs_that_no_judge_has_seen_can_be_drawn_and_new_items_too(engine):
    study = add_study(engine, items=10)
    set_design(engine, study, Design(Form.random, 0, {"": 0.5}))
    assert len(rows(engine)) == 10
    import_records(engine, "s", [ItemRecord(item=make_item(f"item {n}")) for n in range(10, 30)])
    drawn = frame(engine, study)
    assert len(drawn) == 30 and (drawn["drawn"] == (drawn["number"] < 0.5)).all()


def test_designs_and_draws_are_exported_and_imported(engine, study):
    label(engine, study, "item 0")
    chosen = frame(engine, study).query("not drawn")["item"].iloc[0]
    label(engine, study, chosen)
    with reading(engine) as session:
        record, seed = studies.get(session, "s"), designs.study_seed(session, study)
    set_design(engine, study, stratified(0, seed=seed), agreed=30)
    import_records(engine, "t", list(exports.export_records(engine, record)))
    copied = read(engine, studies.get, "t").id
    assert frame(engine, copied).values.tolist() == frame(engine, study).values.tolist()
    with reading(engine) as session:
        mine, theirs = (designs.rounds(session, one)[SUBJECT] for one in (study, copied))
    assert mine[-1].before == (f"{chosen}:",)
    assert [(one.rule, one.before) for one in mine] == [(one.rule, one.before) for one in theirs]


def test_a_bundle_has_the_draws(engine, tmp_path):
    study = add_study(engine, items=8)
    add_run(engine, study)
    record = stored_study(engine)
    write_bundle(engine, record, tmp_path / "bundle")
    drawn = [row["drawn"] for row in read_csv(tmp_path / "bundle" / "draws.csv")]
    assert drawn == [str(one) for one in frame(engine, study)["drawn"]]
    assert "stratum of the target" in (tmp_path / "bundle" / "codebook.md").read_text(encoding="utf-8")


def test_two_writers_store_one_design_and_the_same_draws(engine):
    study = add_study(engine)
    with writing(engine) as session:
        run = runs.create(session, study, "live", **RUN_FIELDS)
        claims.claim_run(session, run, "worker")
        ids = [trace.id for trace in claims.claim_traces(session, run, "worker", 40)]

    def store(own):
        for id in own:
            with writing(engine) as session:
                verdict = a_verdict() if id % 4 == 0 else a_verdict("agreed", (1, 1, 1))
                outcomes.append_events(session, [NewEvent(id, 0, verdict)])

    at_once(store, [ids[::2], ids[1::2]])
    assert len(read(engine, designs.rounds, study)[SUBJECT]) == 1
    drawn = frame(engine, study)
    assert len(drawn) == 40 and (drawn["drawn"] == (drawn["number"] < drawn["probability"])).all()
    before = rows(engine)
    write(engine, designs.apply_to_study, study)
    assert rows(engine) == before


def test_an_annotator_cannot_tell_drawn_agreements_from_disputes(engine):
    """Neither the tasks nor their order, the progress or the overlap tell the stratum."""
    study = add_study(engine, items=80, share=0.6)
    add_run(engine, study, disputed=lambda place: place % 2 == 0)
    strata = dict(zip(frame(engine, study)["item"], frame(engine, study)["stratum"], strict=True))
    drawn = frame(engine, study).query("drawn")["stratum"].value_counts()
    for annotator in ("ann", "bob"):
        client = Client(engine, annotator)
        tasks = client.tasks(count=100)
        work = client.work()
        names = {task_name: strata[task.target.item] for task_name, task in tasks_by_name(engine, work, tasks)}
        order = [names[task["id"]] for task in tasks]
        shown = {stratum: {shape(task) for task in tasks if names[task["id"]] == stratum} for stratum in drawn.index}
        assert shown[DISPUTED] == shown[AGREED] and len(shown) == 2
        words = json.dumps([tasks, client.progress()])
        assert not re.search("stratum|probability|drawn|agreed|disputed|unjudged|design", words)
        assert order[: drawn[DISPUTED]].count(DISPUTED) < drawn[DISPUTED] or len(order) < 20
    with reading(engine) as session:
        assert session.scalars(select(TargetRow.overlap).distinct()).all() == [None]


def tasks_by_name(engine, work, tasks):
    with reading(engine) as session:
        numbers = [work.ids.decode("t", task["id"]) for task in tasks]
        return [(context.task_name(work, one.id), one) for one in context.find_tasks(session, work, numbers)]


def shape(value):
    """Return a task without its texts: names of fields and types of values."""
    if isinstance(value, dict):
        return tuple((name, shape(own)) for name, own in sorted(value.items()))
    return tuple(map(shape, value)) if isinstance(value, list) else type(value).__name__


def test_a_queue_of_one_run_has_its_disputes_and_the_drawn_agreements(engine):
    study = add_study(engine)
    run = add_run(engine, study)
    with reading(engine) as session:
        ids = session.scalars(target_query(TargetRow.id, queue=Queue(study, run_id=run))).all()
    assert len(ids) == frame(engine, study)["drawn"].sum()


def test_rounds_are_recorded_in_the_audit_log_and_deleted_with_the_study(engine, study):
    set_design(engine, study, disputes_only())
    entries = read(engine, audit.entries, audit.Filter(study_id=study, actions=("settings",)))
    found = [(one.details["form"], one.details["round"]) for one in entries if one.details.get("form")]
    assert found == [("disputed", 1), ("stratified", 1)]
    with writing(engine) as session:
        session.execute(delete(StudyRow).where(StudyRow.id == study))
        assert session.scalars(select(DesignRow.id)).all() == []


def test_targets_on_which_two_runs_differ_are_disputed_and_labels_from_before_are_known(engine):
    """Two judges of one opinion each make no dispute within a run; what was labelled before is no random part of it."""
    study = add_study(engine)
    add_run(engine, study, disputed=lambda _: False, name="first judge")
    drawn = frame(engine, study)
    undrawn = drawn.query("not drawn")["item"].tolist()
    label(engine, study, undrawn[0])
    differing = {undrawn[0], *undrawn[2:6]}
    places = {place for place, item in enumerate(drawn["item"]) if item in differing}
    second = add_run(engine, study, disputed=lambda _: False, name="second judge", second=places)
    assert set(frame(engine, study).query("stratum == 'disputed'")["item"]) == differing
    with reading(engine) as session:
        keys = targets.frame(session, study)["item"]
        for run_id in (None, second):
            queue = Queue(study, "preference", "helpfulness", run_id=run_id)
            queued = {keys[id] for id in session.scalars(target_query(TargetRow.id, queue=queue))}
            assert queued >= differing and undrawn[1] not in queued
        (design,) = designs.rounds(session, study)[SUBJECT]
        assert design.before == (f"{undrawn[0]}:",)
        assert targets.summary_differences(session) == []
