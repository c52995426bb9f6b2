"""Sets of aspects in the database: their members, and their weights and ratings."""

import pytest
from sqlalchemy import Engine

from core.aspects import aspect_set_id
from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord
from core.items import Item
from core.labels import Label, Target
from storage.db.connections import reading
from storage.labels import targets
from storage.runs import aspects
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports, samples
from tests.storage.shared import import_study

ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")
NOTE = Target(item="farewell note", kind="aspect_weights", part=aspect_set_id(ASPECTS))


@pytest.fixture
def study(engine: Engine) -> Study:
    """Import the sample study of DnA-Eval."""
    return import_study(engine, tiebreak.read(samples.path("dna_eval")))


def test_aspects_definitions_and_weights_are_those_of_the_run(engine: Engine, study: Study) -> None:
    with reading(engine) as session:
        assert aspects.of_target(session, study.id, NOTE) == ASPECTS
        relevance = aspects.definitions(session, study.id, NOTE)["relevance"]
        assert relevance == "The response answers the question that was asked."
        by_judge = aspects.judge_weights(session, study.id, NOTE)
        assert by_judge["judge B"] == {"accuracy": 20, "helpfulness": 40, "relevance": 30, "level of detail": 10}
        annotators = {f"annotator {number}" for number in (1, 2, 3)}
        assert aspects.annotator_weights(session, study.id, NOTE).keys() == annotators
    with pytest.raises(TiebreakError, match="not on 'charm'"):
        aspects.quality_target(NOTE, "charm")


def test_proposed_aspects_are_read_from_the_judges_turn(engine: Engine, study: Study) -> None:
    with reading(engine) as session:
        weighted = [target for _, target in targets.of_study(session, study.id) if target.kind == "aspect_weights"]
        proposed = next(one for one in weighted if one.item == NOTE.item and one.part != NOTE.part)
        assert aspects.of_target(session, study.id, proposed)[1] == "Is there humour that fits an office farewell?"


def test_aspects_without_a_run_are_read_from_a_label(engine: Engine) -> None:
    target = Target(item="i", kind="aspect_weights", part=aspect_set_id(("x", "y")))
    label = Label(target=target, annotator="ann", value={"y": 60, "x": 40})
    imports.import_records(engine, "bare", [ItemRecord(item=Item(id="i", prompt="?")), LabelRecord(label=label)])
    with reading(engine) as session:
        bare = studies.get(session, "bare")
        assert aspects.of_target(session, bare.id, target) == ("y", "x")
        with pytest.raises(TiebreakError, match="aspects of item 'i' are not known"):
            aspects.of_target(session, bare.id, target.model_copy(update={"part": "other"}))
