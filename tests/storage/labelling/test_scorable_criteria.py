"""What people can be asked to score: declared scales, criteria's own, those of runs; every item, in their order."""

from core.formats import tiebreak
from core.formats.records import CriterionRecord, ItemRecord, RunRecord
from core.items import Criterion, Response
from core.labels import Scale, Target
from storage import labels, runs, studies
from storage.database import reading, writing
from storage.labelling import queue as assignments
from storage.labelling import scorable_criteria
from storage.labelling.queue import Queue
from storage.transfer import imports, samples
from tests.conftest import an_item
from tests.core.protocols.reviews import ENGAGING, settings

FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def test_the_scales_of_a_study_its_criteria_and_its_runs(engine):
    made = [
        RunRecord(name="one", protocol="refer", criterion="engaging", settings=settings().model_dump(mode="json")),
        RunRecord(name="two", protocol="refer", settings=settings(verdict="option").model_dump(mode="json")),
        RunRecord(name="odd", protocol="refer", settings={"criterion": 7}),
    ]
    criterion = CriterionRecord(criterion=Criterion(name="tone", scale=FIVE))
    imports.load(engine, "s", [ItemRecord(item=an_item()), criterion, *made])
    with reading(engine) as session:
        found = scorable_criteria.scales(session, studies.get(session, "s").id)
    assert found == {
        ("score", "engaging"): ENGAGING.scale,
        ("score", "tone"): FIVE,
        ("answer", ""): Scale(level="nominal", categories=tuple("ABCDE")),
    }


def offered(engine, study, **wanted):
    with writing(engine) as session:
        scorable_criteria.offer(session, study.id, "score", "tone", FIVE)
        queue = Queue(study.id, "score", "tone", every=True, **wanted)
        return [place.target for place in assignments.queue(session, queue, "ann", overlap=1)]


def test_every_response_of_every_item_is_offered_in_the_order_of_the_items(engine, a_study):
    first = offered(engine, a_study)
    assert [(one.item, one.part) for one in first] == [(f"item {n}", part) for n in range(3) for part in ("1", "2")]
    assert offered(engine, a_study) == first


def test_an_item_with_one_response_is_one_target(engine):
    one = an_item(responses=(Response(text="x"),))
    assert [target.part for target in scorable_criteria.of_item(one, "score", "tone")] == [""]
    assert [target.part for target in scorable_criteria.of_item(an_item(), "answer", "")] == [""]


def test_what_is_offered_can_be_claimed_and_is_full_when_the_overlap_is_reached(engine, a_study):
    targets = offered(engine, a_study)
    queue = Queue(a_study.id, "score", "tone", every=True)
    with writing(engine) as session:
        assert assignments.claim(session, queue, "ann", overlap=1, minutes=5) == targets[0]
        assert assignments.claim(session, queue, "bob", overlap=1, minutes=5) == targets[1]
        labels.put(session, a_study.id, targets[0], "ann", 4)
        places = assignments.queue(session, queue, "bob", 1)
    assert [place.full for place in places[:2]] == [True, False]


def test_what_was_only_offered_is_no_gold(engine, a_study):
    targets = offered(engine, a_study)
    with writing(engine) as session:
        labels.put(session, a_study.id, targets[0], "ann", 4)
    with reading(engine) as session:
        assert [gold.target for gold in labels.golds(session, a_study.id)] == [targets[0]]


def test_the_queue_can_be_that_of_one_run(engine):
    imports.load(engine, "tour", tiebreak.read(samples.path("refer")))
    with reading(engine) as session:
        study = studies.get(session, "tour").id
        (run,) = runs.of_study(session, study)
        every = Queue(study, "score", "engaging", every=True, run_id=run.id)
        assert len(assignments.queue(session, every, "ann", 3)) == 8
        other = Queue(study, "score", "engaging", every=True, run_id=run.id + 1)
        assert not assignments.queue(session, other, "ann", 3)


def test_a_target_of_a_kind_that_is_not_offered_stays_out(engine, a_study):
    offered(engine, a_study)
    with writing(engine) as session:
        labels.put(session, a_study.id, Target(item="item 0", kind="preference", criterion="tone"), "ann", 1)
    assert all(target.kind == "score" for target in offered(engine, a_study))
