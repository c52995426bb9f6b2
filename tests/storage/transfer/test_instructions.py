"""What is taken from a store: examples for instruction tuning, rated items to learn from, runs that need eyes."""

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord, RunRecord
from core.items import Response
from core.labels import Scale
from core.problems import Problem
from core.protocols.registry import PROTOCOLS
from storage import studies
from storage.database import reading
from storage.reports import rated_items
from storage.transfer import imports, instructions, samples
from storage.worker import launch
from tests.conftest import an_item
from tests.core.protocols.reviews import settings


def the_sample(engine):
    imports.load(engine, "tour", tiebreak.read(samples.path("refer")))
    with reading(engine) as session:
        return studies.get(session, "tour")


def test_one_example_a_trace_or_every_sample(engine):
    study = the_sample(engine)
    one = list(instructions.of_study(engine, study))
    assert [example.item for example in one][:2] == ["lighthouse", "sourdough"] and len(one) == 8
    assert one[0].output.startswith("Analysis: ") and one[0].output.endswith("Rating: 3")
    assert len(list(instructions.of_study(engine, study, every=True))) == 78  # two samples could not be read


def test_a_study_without_a_peer_review_has_none(engine, a_study):
    with pytest.raises(Problem, match="no peer review"):
        next(instructions.of_study(engine, a_study))


def test_a_run_with_odd_settings_is_passed_over(engine):
    run = RunRecord(name="odd", protocol="refer", settings={"peers": 3})
    imports.load(engine, "s", [ItemRecord(item=an_item()), run])
    with reading(engine) as session:
        study = studies.get(session, "s")
    assert list(instructions.of_study(engine, study)) == []


def test_rated_items_carry_people_s_mean(engine):
    study = the_sample(engine)
    with reading(engine) as session:
        found = {one.item.id: one.value for one in rated_items.scored(session, study.id, "engaging")}
        assert rated_items.scored(session, study.id, "another") == []
    assert found["octopus"] == 8 / 3 and found["sleep"] == 1.5 and len(found) == 8


def an_order(study, **specs):
    chosen = settings()
    peers = tuple(peer.model_copy(update={"spec": peer.spec.model_copy(update=specs)}) for peer in chosen.peers)
    return launch.Order(study, PROTOCOLS["refer"], chosen.model_copy(update={"peers": peers}), "run")


def with_an_image(engine):
    imports.load(engine, "s", [ItemRecord(item=an_item(responses=(Response(text="", image="https://a.org/b.png"),)))])
    with reading(engine) as session:
        return studies.get(session, "s")


def test_a_run_over_images_is_refused_before_it_starts_where_a_model_cannot_see(engine):
    study = with_an_image(engine)
    for start in (launch.make, launch.estimate):
        with pytest.raises(Problem, match="local cannot see"):
            start(engine, an_order(study, model="local"))
    assert launch.make(engine, an_order(study, model="gpt-4o-mini"))


def test_a_mean_may_be_concluded_and_not_labelled():
    declared = {("score", "engaging"): Scale(level="ordinal", categories=(1, 2, 3))}
    studies.must_span(declared, "score", "engaging", 2.35)
    for wrong in (0.5, 3.5):
        with pytest.raises(Problem, match="is not on the scale"):
            studies.must_span(declared, "score", "engaging", wrong)
    with pytest.raises(Problem):
        studies.must_hold(declared, "score", "engaging", 2.35)
    with pytest.raises(Problem):
        studies.must_span({}, "preference", "", 0.5)
