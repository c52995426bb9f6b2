"""Which peer misled the chair: asked after one's own score, without names, and compared with the estimate."""

import pytest

from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.labels import Target
from core.protocols.registry import PROTOCOLS
from core.statistics.reports import peer_errors
from storage.db.connections import reading, writing
from storage.labelling import adjudication, peers
from storage.reports import peer_reviews
from storage.studies import studies
from tests.core.protocols.reviews import make_item, make_settings, reviews_script, run_scripted
from tests.storage.critique_studies import import_study
from tests.storage.labelling.workbench import Client
from tests.storage.shared import store_label, stored_study

SCORE = Target(item="flamingos", kind="score", criterion="engaging")
MISLED = Target(item="flamingos", kind="misleading_peer", criterion="engaging", part="review")


@pytest.fixture
def study(engine):
    item, settings = make_item(), make_settings()
    review = run_scripted(reviews_script([3], a=3, b=1, c=1), settings, item)
    run = RunRecord(
        name="review", protocol="refer", settings=settings.model_dump(mode="json"), prompts=PROTOCOLS["refer"].prompts
    )
    import_study(engine, ItemRecord(item=item), run, TraceRecord(run="review", item=item.id, events=review.events))
    study = stored_study(engine)
    peers.create_missing_targets(engine, study.id)
    return study


def label(engine, target, annotator):
    with writing(engine) as session:
        store_label(session, studies.get(session, "s").id, target, annotator, 1)


def test_a_review_is_shown_and_labelled_after_the_own_score_only(engine, study):
    client = Client(engine, "ann", queue="peers")
    assert client.tasks() == [] and client.progress()["total"] == 0
    label(engine, SCORE, "bob")
    assert client.tasks() == [], "another person's score shows nothing"
    label(engine, SCORE, "ann")
    [task] = client.tasks()
    assert [block["title"] for block in task["columns"]] == ["Peer 1: 3", "Peer 2: 1", "Peer 3: 1"]
    assert task["above"][-1]["title"] == "Area chair: 3" and "model-" not in str(task)
    assert [option["key"] for option in task["targets"][0]["options"]] == ["1", "2", "3", "0"]
    assert client.do("label", task, value=4)["status"] == "rejected"
    assert client.label(task, 1)["status"] == "accepted"


def test_the_estimate_is_compared_with_people_and_the_case_shows_the_reviews(engine, study):
    label(engine, SCORE, "ann")
    label(engine, MISLED, "ann")
    with reading(engine) as session:
        [run] = peer_reviews.find_runs(session, study.id)
        errors = peer_reviews.load_errors(session, run)
        passages = adjudication._passages(session, study.id, MISLED, make_item())
    outcomes = peer_errors.classify_traces(errors.reviewed, 0.5)
    rows, agreement = peer_errors.compare_with_people(outcomes, errors.misleading)
    assert rows == [("a", 1, 1), ("b", 0, 0), ("c", 0, 0), ("none", 0, 0)]
    assert (agreement.value, agreement.items_total) == (1, 1)
    assert [passage.id for passage in passages[-4:]] == ["chair", "peer-1", "peer-2", "peer-3"]
