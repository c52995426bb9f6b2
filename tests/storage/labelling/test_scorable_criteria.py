"""Scores that annotators can give without a judge's opinion: their scales and targets."""

import math

import pytest

from core.formats import tiebreak
from core.formats.records import CriterionRecord, ItemRecord, RunRecord
from core.items import Criterion, Response
from core.labels import Scale, Target
from storage.db.connections import reading, writing
from storage.db.tables import TargetRow
from storage.labelling import offers
from storage.labelling.queue import Queue, has_targets, target_query
from storage.labels import targets
from storage.runs import runs
from storage.studies import studies
from storage.transfer import imports, samples
from tests.conftest import make_item
from tests.core.protocols.reviews import ENGAGING, make_settings
from tests.sessions import write
from tests.storage.labelling.workbench import Client, stored
from tests.storage.shared import store_label

FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def test_the_scales_of_a_study_its_criteria_and_its_runs(engine):
    run_records = [
        RunRecord(name="one", protocol="refer", criterion="engaging", settings=make_settings().model_dump(mode="json")),
        RunRecord(name="two", protocol="refer", settings=make_settings(verdict="option").model_dump(mode="json")),
        RunRecord(name="odd", protocol="refer", settings={"criterion": 7}),
    ]
    criterion = CriterionRecord(criterion=Criterion(name="tone", scale=FIVE))
    imports.import_records(engine, "s", [ItemRecord(item=make_item()), criterion, *run_records])
    with reading(engine) as session:
        scales = offers.scales(session, studies.get(session, "s").id)
    assert scales == {
        ("score", "engaging"): ENGAGING.scale,
        ("score", "tone"): FIVE,
        ("answer", ""): Scale(level="nominal", categories=tuple("ABCDE")),
    }


def create_targets(engine, study, **conditions):
    with writing(engine) as session:
        offers.create_targets(session, study.id, "score", "tone", FIVE)
        queue = Queue(study.id, "score", "tone", every=True, **conditions)
        ids = session.scalars(target_query(TargetRow.id, queue=queue).order_by(TargetRow.id))
        return [targets.get(session, target_id) for target_id in ids]


def test_targets_are_created_for_every_response_in_the_order_of_the_items(engine, a_study):
    first = create_targets(engine, a_study)
    assert [(target.item, target.part) for target in first] == [
        (f"item {n}", part) for n in range(3) for part in ("1", "2")
    ]
    write(engine, store_label, a_study.id, Target(item="item 0", kind="preference", criterion="tone"), "ann", 1)
    assert create_targets(engine, a_study) == first, "a label of another kind adds nothing"


def test_an_item_with_one_response_is_one_target(engine):
    item = make_item(responses=(Response(text="x"),))
    assert [target.part for target in offers.item_targets(item, "score", "tone")] == [""]
    assert [target.part for target in offers.item_targets(make_item(), "answer", "")] == [""]


def test_a_queue_of_all_targets_can_be_limited_to_one_run(engine):
    imports.import_records(engine, "tour", tiebreak.read(samples.path("refer")))
    with reading(engine) as session:
        study = studies.get(session, "tour").id
        (run,) = runs.of_study(session, study)
        of_run = Queue(study, "score", "engaging", every=True, run_id=run.id)
        assert len(session.scalars(target_query(TargetRow.id, queue=of_run)).all()) == 8
        other = Queue(study, "score", "engaging", every=True, run_id=run.id + 1)
        assert not has_targets(session, other)


# Values of the answer panels: what is stored, and what is refused


@pytest.fixture
def zoe(engine):
    imports.import_records(engine, "s", tiebreak.read(samples.path("dna_eval")))
    return Client(engine, annotator="zoe", queue="weights")


def test_weights_are_stored_in_the_order_of_the_aspects(zoe, engine):
    task = zoe.tasks()[0]
    names = [aspect["name"] for aspect in task["targets"][0]["aspects"]]
    result = zoe.label(task, {name: 100 / len(names) for name in reversed(names)})
    assert (result["status"], list(stored(engine)[-1].value)) == ("accepted", names)


def test_weights_that_are_not_percentages_of_all_aspects_are_refused(zoe, engine):
    task = zoe.tasks()[0]
    before = len(stored(engine))
    *names, final = [aspect["name"] for aspect in task["targets"][0]["aspects"]]
    for last in (-50, 20, math.nan, math.inf, True, "25", None, "absent"):
        weights = {name: 75 / len(names) for name in names} | ({} if last == "absent" else {final: last})
        result = zoe.label(task, weights)
        assert (result["status"], len(stored(engine))) == ("rejected", before), last
