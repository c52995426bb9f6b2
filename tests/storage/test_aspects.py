"""Sets of aspects in the store: what they hold, what people give them, and the figures that come of it."""

import pytest
from sqlalchemy import Engine

from core.aspects import part
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord
from core.items import Item
from core.labels import Label, Target
from core.problems import Problem
from core.statistics.reports.weight_distances import top_k
from storage import aspects, labels, studies
from storage.database import reading, writing
from storage.labelling import queue as assignments
from storage.labelling.queue import Queue
from storage.reports import weights
from storage.studies import Study
from storage.transfer import imports, samples

GIVEN = ("accuracy", "helpfulness", "relevance", "level of detail")
NOTE = Target(item="farewell note", kind="aspect_weights", part=part(GIVEN))


@pytest.fixture
def study(engine: Engine) -> Study:
    """The sample of DnA-Eval."""
    imports.load(engine, "s", tiebreak.read(samples.path("dna_eval")))
    with reading(engine) as session:
        return studies.get(session, "s")


def weighed(engine: Engine, study: Study, given: dict[str, float], annotator: str = "zoe") -> None:
    with writing(engine) as session:
        aspects.weigh(session, study.id, NOTE, annotator, given)


def test_the_aspects_of_a_target_come_in_the_order_of_the_settings(engine: Engine, study: Study) -> None:
    with reading(engine) as session:
        assert aspects.of_target(session, study.id, NOTE) == GIVEN


def test_proposed_aspects_come_from_the_judges_turn(engine: Engine, study: Study) -> None:
    with reading(engine) as session:
        queue = assignments.queue(session, Queue(study.id, "aspect_weights", every=True), "zoe", 3)
        own = next(one.target for one in queue if one.target.item == NOTE.item and one.target.part != NOTE.part)
        assert aspects.of_target(session, study.id, own)[1] == "Is there humour that fits an office farewell?"


def test_aspects_that_only_a_label_names_are_known_by_it(engine: Engine) -> None:
    target = Target(item="i", kind="aspect_weights", part=part(("x", "y")))
    label = Label(target=target, annotator="ann", value={"y": 60, "x": 40})
    imports.load(engine, "bare", [ItemRecord(item=Item(id="i", prompt="?")), LabelRecord(label=label)])
    with reading(engine) as session:
        there = studies.get(session, "bare")
        assert aspects.of_target(session, there.id, target) == ("y", "x")
        with pytest.raises(Problem, match="aspects of item 'i' are not known"):
            aspects.of_target(session, there.id, target.model_copy(update={"part": "other"}))


def test_definitions_are_those_of_the_run(engine: Engine, study: Study) -> None:
    with reading(engine) as session:
        assert aspects.definitions(session, study.id, NOTE)["relevance"] == "It keeps to what was asked."


def test_weights_are_kept_in_the_order_of_the_aspects(engine: Engine, study: Study) -> None:
    weighed(engine, study, {"relevance": 30, "accuracy": 40, "level of detail": 10, "helpfulness": 20})
    with reading(engine) as session:
        own = labels.own(session, study.id, NOTE, "zoe")
    assert own and list(own.value.items()) == [
        ("accuracy", 40),
        ("helpfulness", 20),
        ("relevance", 30),
        ("level of detail", 10),
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"accuracy": 50, "helpfulness": 50},
        {"accuracy": 50, "helpfulness": 50, "relevance": 50, "level of detail": -50},
        {"accuracy": 25, "helpfulness": 25, "relevance": 25, "level of detail": 20},
        {"accuracy": 25, "helpfulness": 25, "relevance": 25, "other": 25},
        {},
    ],
)
def test_weights_that_are_none_are_refused(engine: Engine, study: Study, given: dict[str, float]) -> None:
    with pytest.raises(Problem, match="sum to 100"):
        weighed(engine, study, given)


def test_ratings_are_on_their_scale_and_said_once(engine: Engine, study: Study) -> None:
    for ratings in ({"clarity": 4}, {"clarity": 4, "relevance": 5}):
        with writing(engine) as session:
            aspects.rate(session, study.id, NOTE, "zoe", ratings)
    with reading(engine) as session:
        assert aspects.ratings_of(session, study.id, NOTE, "zoe") == {"clarity": 4, "relevance": 5}
        assert len(labels.history(session, study.id, aspects.quality_of(NOTE, "clarity"), "zoe")) == 1
    with pytest.raises(Problem, match="not on the scale"), writing(engine) as session:
        aspects.rate(session, study.id, NOTE, "zoe", {"clarity": 6})
    with pytest.raises(Problem, match="not on 'charm'"), writing(engine) as session:
        aspects.rate(session, study.id, NOTE, "zoe", {"charm": 3})


def test_a_judges_weights_and_other_peoples_stand_beside(engine: Engine, study: Study) -> None:
    with reading(engine) as session:
        judged = aspects.weights_of_judges(session, study.id, NOTE)
        assert judged["judge B"] == {"accuracy": 20, "helpfulness": 40, "relevance": 30, "level of detail": 10}
        assert aspects.weights_of_people(session, study.id, NOTE).keys() == {
            "annotator 1",
            "annotator 2",
            "annotator 3",
        }


def test_distances_of_the_sample(engine: Engine, study: Study) -> None:
    rows = {(row.rater_a, row.rater_b): row for row in weights.rows(engine, study, resamples=0)}
    assert rows["annotator 1", "annotator 3"].undefined == 1 and rows["people", "people"].items == 8
    pairs = {(row.rater_a, row.rater_b): row for row in weights.rows(engine, study, top_k(2), resamples=0)}
    assert pairs["people", "people"].undefined == 0 and weights.largest(engine, study) == 4


def test_weights_taken_back_do_not_count(engine: Engine, study: Study) -> None:
    weighed(engine, study, {"accuracy": 40, "helpfulness": 20, "relevance": 30, "level of detail": 10})
    before = {row.rater_b for row in weights.rows(engine, study, resamples=0)}
    with writing(engine) as session:
        labels.put(session, study.id, NOTE, "zoe", None)
    assert "zoe" in before and "zoe" not in {row.rater_b for row in weights.rows(engine, study, resamples=0)}


def test_averages_are_by_scenario(engine: Engine, study: Study) -> None:
    told = {
        (row.rater, row.scenario, row.aspect): row.weight.value
        for row in weights.by_category(engine, study, resamples=0)
    }
    assert told["judge A", "math", "accuracy"] == 50 and told["annotator 2", "math", "accuracy"] == 60


def test_the_quality_of_a_judges_aspects_is_the_mean_over_people_and_items(engine: Engine, study: Study) -> None:
    rated = {(row.judge, row.quality): row.rating for row in weights.qualities(engine, study, resamples=0)}
    assert rated["judge A", "relevance"].value == pytest.approx((4.5 + 5 + 5) / 3)
    assert (rated["judge A", "relevance"].items, rated["judge A", "relevance"].pairs) == (3, 5)


def test_agreement_is_told_with_and_without_ties(engine: Engine, study: Study) -> None:
    told = {row.run: row for row in weights.agreed(engine, study)}
    own = told["judge A · aspects of its own"]
    assert (own.with_ties.value, own.with_ties.items) == (pytest.approx(5 / 6), 6)
    assert (own.without_ties.value, own.without_ties.items) == (1, 5)
    assert told["two judges · given aspects"].no_verdict == 4


def test_what_is_behind_a_row_is_hidden_from_who_has_not_weighed_it(engine: Engine, study: Study) -> None:
    row = next(
        one for one in weights.rows(engine, study, resamples=0) if (one.rater_a, one.rater_b) == ("judge B", "people")
    )
    everything = weights.behind(engine, study, row)
    assert len(everything) == row.items and not any(one.blind for one in everything)
    assert everything[0].given["judge B"] and everything[0].trace is not None
    seen = weights.behind(engine, study, row, viewer="annotator 3")
    hidden = [one for one in seen if one.blind]
    assert {one.item for one in hidden} == {"grumpy lighthouse", "dedupe list"}
    assert all(not one.given and one.distance is None for one in hidden)
