"""A peer review's run beside the truth: people's mean, a ruling, or the reference; and what may be told to whom."""

from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.labels import Label, Target
from core.protocols.refer.protocol import Reviewer, Settings
from core.trace import Spec
from storage import labels, studies, traces
from storage.database import reading, writing
from storage.reports import peer_errors, peer_reviews
from storage.traces import Filter
from storage.transfer import imports, samples
from tests.core.protocols.reviews import an_item, play, saying, settings


def run_named(session, study, name=None):
    known = peer_errors.runs_of(session, studies.get(session, study).id)
    return next(run for run in known if name in (None, run.name))


def with_sample(engine):
    imports.load(engine, "tour", tiebreak.read(samples.path("refer")))


def test_the_truth_of_a_score_is_people_s_mean(engine):
    with_sample(engine)
    with reading(engine) as session:
        found = peer_errors.errors(session, run_named(session, "tour"))
    truth = {one.item: one.truth for one in found.reviewed}
    assert truth["octopus"] == 8 / 3 and truth["library"] == 1  # the newest label of annotator 3 is a 1
    assert [name for name, _ in found.reviewed[0].peers] == ["peer 1", "peer 2", "peer 3"]
    assert found.without_truth == 0 and not found.hidden


def test_a_ruling_stands_above_people(engine):
    with_sample(engine)
    with writing(engine) as session:
        study = studies.get(session, "tour").id
        target = Target(item="octopus", kind="score", criterion="engaging")
        labels.rule(session, study, target, 1, rule="expert", reason="no question", adjudicator="annotator 1")
    with reading(engine) as session:
        found = peer_errors.errors(session, run_named(session, "tour"))
    assert {one.item: one.truth for one in found.reviewed}["octopus"] == 1


def test_items_that_one_has_not_labelled_are_hidden(engine):
    with_sample(engine)
    with reading(engine) as session:
        assert peer_errors.errors(session, run_named(session, "tour"), "annotator 1").hidden == {"bees"}
        assert len(peer_errors.errors(session, run_named(session, "tour"), "newcomer").hidden) == 8


def test_people_are_told_after_one_s_own_label(engine):
    with_sample(engine)
    bees = Target(item="bees", kind="score", criterion="engaging")
    with reading(engine) as session:
        study = studies.get(session, "tour").id
        assert peer_reviews.people(session, study, bees, "annotator 1") is None
        told = peer_reviews.people(session, study, bees, "annotator 2")
        assert told is not None and [label.annotator for label in told] == ["annotator 2", "annotator 3"]
        assert len(peer_reviews.people(session, study, bees, None) or []) == 2


def test_what_a_trace_judged(engine):
    with_sample(engine)
    with reading(engine) as session:
        (one, *_) = traces.find(session, Filter(studies.get(session, "tour").id, item="octopus"))
        assert peer_reviews.judged(session, one.id) == [Target(item="octopus", kind="score", criterion="engaging")]


def reasoning(engine, reference, answers=("B", "A", "B"), labelled=()):
    chosen: Settings = settings(verdict="option")
    item = an_item(id="sum", reference=reference, responses=())
    review = play(saying(["B"], "Answer", **dict(zip("abc", answers, strict=True))), chosen, item)
    target = Target(item="sum", kind="answer")
    records = [
        ItemRecord(item=item),
        RunRecord(name="r", protocol="refer", settings=chosen.model_dump(mode="json")),
        TraceRecord(run="r", item="sum", events=tuple(review.events)),
        *(LabelRecord(label=Label(target=target, annotator=who, value=value)) for who, value in labelled),
    ]
    imports.load(engine, "reasoning", records)
    with reading(engine) as session:
        return peer_errors.errors(session, run_named(session, "reasoning"))


def test_the_truth_of_an_answer_is_the_reference(engine):
    (one,) = reasoning(engine, "B) 60 km/h").reviewed
    assert (one.truth, one.chair, [value for _, value in one.peers]) == ("B", "B", ["B", "A", "B"])


def test_people_s_answer_stands_above_the_reference(engine):
    (one,) = reasoning(engine, "B", labelled=[("ann", "C"), ("bob", "C"), ("cat", "B")]).reviewed
    assert one.truth == "C"


def test_a_trace_without_a_truth_is_left_out_and_counted(engine):
    found = reasoning(engine, "it depends")
    assert not found.reviewed and found.without_truth == 1


def test_a_run_of_another_chair_has_another_cast(engine):
    """Two peer reviews with different chairs are told apart where judges are compared."""
    from storage.reports.opinions import _cast

    one = settings().model_dump(mode="json")
    two = settings(chair=Reviewer(name="chair", spec=Spec(model="larger", temperature=1))).model_dump(mode="json")
    assert _cast(one) != _cast(two) and len(_cast(one)) == 4
