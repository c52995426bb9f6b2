"""Peer reviews compared with the annotators: true values, visible labels, rated items."""

import pytest

from core import experiments as files
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.labels import Label, Target
from core.protocols.refer.settings import Settings
from storage.db.connections import reading, writing
from storage.labels import labels
from storage.reports import peer_reviews
from storage.runs.traces import Filter
from storage.studies import studies
from storage.transfer import imports, samples
from tests.core.protocols.reviews import make_item, make_settings, reviews_script, run_scripted
from tests.storage.shared import find_traces


def find_run(session, study, name=None):
    reviews = peer_reviews.find_runs(session, studies.get(session, study).id)
    return next(run for run in reviews if name in (None, run.name))


LONG = (
    "provider/" + "m" * 60,
    "provider/" + "m" * 60 + "b",
    "1. " + "m" * 36,
    "owner/ a",
    "owner/a",
    " " * 41 + "/",
    "/" * 50,
)


def test_the_names_of_peers_are_unique_labels_of_levels_in_every_file_of_the_paper():
    of_files = [files.load(path) for path in files.files() if path.parent.name == "refer"]
    reviews = [cell.settings.get("peers", []) for one in of_files for cell in files.design(one)]
    found = {tuple(peer["name"] for peer in peers) for peers in reviews if len(peers) > 1}
    assert max(len(name) for names in found for name in names) > peer_reviews.MAX_PEER
    for names in (*found, LONG):
        labels_of_peers = peer_reviews.peer_labels(names)
        for form in ("without {}", *(f"{{}}: {how}" for how in peer_reviews.ALTERATIONS)):
            levels = {form.format(label): {"set": {}} for label in labels_of_peers.values()}
            assert len(levels) == len(names)
            files.from_fields({"name": "e", "protocol": "refer", "axes": {"peers": levels}})


def import_sample(engine):
    imports.import_records(engine, "tour", tiebreak.read(samples.path("refer")))


@pytest.fixture(scope="module")
def sample(module_engine):
    """A database with the sample, which the tests only read."""
    import_sample(module_engine)
    return module_engine


def test_the_true_score_of_each_item_is_the_annotators_mean(sample):
    with reading(sample) as session:
        errors = peer_reviews.load_errors(session, find_run(session, "tour"))
    truth = {trace.item: trace.truth for trace in errors.reviewed}
    assert truth["octopus"] == 8 / 3 and truth["library"] == 1  # the newest label of annotator 3 is a 1
    assert [name for name, _ in errors.reviewed[0].peers] == ["peer 1", "peer 2", "peer 3"]
    assert errors.without_truth == 0 and not errors.hidden
    with reading(sample) as session:
        study_id = studies.get(session, "tour").id
        scores = {rated.item.id: rated.value for rated in peer_reviews.rated_items(session, study_id, "engaging")}
        assert peer_reviews.rated_items(session, study_id, "another") == []
        (trace, *_) = find_traces(session, Filter(study_id, item="octopus"))
        (target,) = peer_reviews.verdict_targets(session, trace.id)
    assert scores["octopus"] == 8 / 3 and scores["sleep"] == 1.5 and len(scores) == 8
    assert target == Target(item="octopus", kind="score", criterion="engaging")


def test_an_adjudication_replaces_the_mean(engine):
    import_sample(engine)
    with writing(engine) as session:
        study = studies.get(session, "tour").id
        target = Target(item="octopus", kind="score", criterion="engaging")
        labels.adjudicate(session, study, target, 1, rule="expert", reason="no question", adjudicator="eve")
    with reading(engine) as session:
        errors = peer_reviews.load_errors(session, find_run(session, "tour"))
    assert {trace.item: trace.truth for trace in errors.reviewed}["octopus"] == 1


def test_items_without_the_viewers_label_are_hidden(sample):
    with reading(sample) as session:
        assert peer_reviews.load_errors(session, find_run(session, "tour"), "annotator 1").hidden == {"bees"}
        assert len(peer_reviews.load_errors(session, find_run(session, "tour"), "newcomer").hidden) == 8


def test_labels_are_visible_after_ones_own(sample):
    bees = Target(item="bees", kind="score", criterion="engaging")
    with reading(sample) as session:
        study = studies.get(session, "tour").id
        assert peer_reviews.visible_labels(session, study, bees, "annotator 1") is None
        visible = peer_reviews.visible_labels(session, study, bees, "annotator 2")
        assert visible is not None and [label.annotator for label in visible] == ["annotator 2", "annotator 3"]
        assert len(peer_reviews.visible_labels(session, study, bees, None) or []) == 2


def load_reasoning_errors(engine, reference, answers=("B", "A", "B"), labelled=()):
    settings: Settings = make_settings(verdict="option")
    item = make_item(id="sum", reference=reference, responses=())
    review = run_scripted(reviews_script(["B"], "Answer", **dict(zip("abc", answers, strict=True))), settings, item)
    target = Target(item="sum", kind="answer")
    records = [
        ItemRecord(item=item),
        RunRecord(name="r", protocol="refer", settings=settings.model_dump(mode="json")),
        TraceRecord(run="r", item="sum", events=tuple(review.events)),
        *(LabelRecord(label=Label(target=target, annotator=annotator, value=value)) for annotator, value in labelled),
    ]
    imports.import_records(engine, "load_reasoning_errors", records)
    with reading(engine) as session:
        return peer_reviews.load_errors(session, find_run(session, "load_reasoning_errors"))


@pytest.mark.parametrize(
    ("reference", "labelled", "truths"),
    [
        ("B) 60 km/h", [], ["B"]),
        ("B", [("ann", "C"), ("bob", "C"), ("cat", "B")], ["C"]),
        ("it depends", [], []),
    ],
)
def test_the_true_answer_is_that_of_annotators_or_the_reference(engine, reference, labelled, truths):
    errors = load_reasoning_errors(engine, reference, labelled=labelled)
    assert ([trace.truth for trace in errors.reviewed], errors.without_truth) == (truths, 1 - len(truths))
    for trace in errors.reviewed:
        assert (trace.chair, [value for _, value in trace.peers]) == ("B", ["B", "A", "B"])
