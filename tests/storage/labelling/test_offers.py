"""Pairs that are offered to annotators without a dispute of judges."""

import math

import pytest

from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.records import CriterionRecord, ItemRecord, RunRecord
from core.items import Criterion, Response
from core.labels import Scale, Target
from storage.db.connections import reading, writing
from storage.db.tables import TargetRow
from storage.labelling import offers
from storage.labelling.queue import Queue, has_targets, target_query
from storage.labels import designs, targets
from storage.runs import runs
from storage.studies import studies
from storage.transfer import imports, samples
from storage.transfer.imports import import_records
from tests.conftest import make_item, make_target
from tests.core.protocols.reviews import ENGAGING, make_settings
from tests.sessions import read, write
from tests.storage.labelling.workbench import Client, stored
from tests.storage.shared import debates, store_label, stored_study


def offer(engine, criterion="helpfulness", **options):
    return write(engine, offers.offer, stored_study(engine), criterion, **options)


@pytest.fixture
def items(engine):
    """Ten items with two responses and no run."""
    criterion = CriterionRecord(criterion=Criterion(name="helpfulness"))
    imports.import_records(engine, "s", [criterion, *(ItemRecord(item=make_item(f"item {n}")) for n in range(10))])


def test_every_pair_can_be_labelled_before_any_run(engine, items):
    client = Client(engine, "ann")
    assert client.tasks() == []
    with pytest.raises(TiebreakError, match="no criterion 'charm'; it has: helpfulness"):
        offer(engine, "charm")
    assert offer(engine) == offers.Offer(added=10, drawn=10, total=10)
    task = client.tasks()[0]
    assert client.label(task, 1)["status"] == "accepted"
    assert client.progress()["total"] == 10


def test_disputed_pairs_are_in_the_queue_already(engine):
    debates(engine, 3)
    names = read(engine, offers.offered_criteria, stored_study(engine).id)
    assert [offer(engine, name) for name in names] == [offers.Offer(added=0, drawn=3, total=3)]


def test_an_offer_is_a_round_of_the_design_and_leaves_disputes_in_the_queue(engine):
    queue = debates(engine, 4)
    import_records(engine, "s", [ItemRecord(item=make_item(f"new {n}")) for n in range(6)])
    assert offer(engine, count=5).total == 10
    with reading(engine) as session:
        design = designs.current(session, queue.study_id)["preference", "helpfulness"]
        strata = {one.name: one for one in designs.counts(session, queue.study_id, "helpfulness")}
    assert (design.form, design.shares["unjudged"]) == ("stratified", 0.5)
    assert strata["disputed"].drawn == 4
    assert offer(engine).added == 6 - strata["unjudged"].drawn
    assert read(engine, designs.current, queue.study_id)["preference", "helpfulness"].form == "everything"


def test_a_larger_offer_contains_the_smaller_one_and_another_seed_is_refused_after_a_label(engine, items):
    assert offer(engine, count=4, seed=7) == offers.Offer(added=4, drawn=4, total=10)
    assert offer(engine, count=4, seed=7).added == offer(engine, count=2).added == 0
    assert offer(engine, count=6, seed=7) == offers.Offer(added=2, drawn=6, total=10)
    with writing(engine) as session:
        study = studies.get(session, "s").id
        drawn = designs.frame(session, study).query("drawn")["item"].iloc[0]
        store_label(session, study, make_target(drawn), "ann", 1)
    with pytest.raises(TiebreakError, match="drawn with the seed 7; a further round has the same seed"):
        offer(engine, count=8, seed=8)


# Scores that annotators can give without a judge's opinion: their scales and targets


FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def test_the_scales_of_a_study_its_criteria_and_its_runs(engine):
    run_records = [
        RunRecord(name="one", protocol="refer", criterion="engaging", settings=make_settings().model_dump(mode="json")),
        RunRecord(name="two", protocol="refer", settings=make_settings(verdict="option").model_dump(mode="json")),
        RunRecord(name="odd", protocol="refer", settings={"criterion": 7}),
    ]
    criterion = CriterionRecord(criterion=Criterion(name="tone", scale=FIVE))
    imports.import_records(engine, "s", [ItemRecord(item=make_item()), criterion, *run_records])
    scales = read(engine, offers.scales, stored_study(engine).id)
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
