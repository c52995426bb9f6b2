"""Training and hidden checks of critiques, whose tasks have several AIUs, and of aspect weights."""

import pytest

from core.critiques import critique_targets, reference_critique
from core.errors import TiebreakError
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord
from core.labels import Adjudication, Label, Target
from storage.db.connections import reading, writing
from storage.labelling import critique_queue as stored_targets
from storage.labelling import home
from storage.labelling import training as training_items
from storage.labels import targets
from storage.reports import annotators
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item
from tests.core.protocols.critiques import make_complete_item
from tests.storage.critique_studies import import_study
from tests.storage.labelling.workbench import Client, set_rules, stored
from tests.storage.shared import store_label, stored_study

ITEM = make_complete_item(2)
ASPECTS = {"clarity": 60.0, "tone": 40.0}


def aius_of(number: int, item=ITEM) -> list[Target]:
    """Return the targets of the AIUs of a critique."""
    return critique_targets(item.id, item.critiques[number], reference_critique(item.critiques))


@pytest.fixture
def critiques(engine):
    """Two critiques with two AIUs each and a reference with one."""
    study = import_study(engine, ItemRecord(item=ITEM), overlap=1)
    stored_targets.create_missing_targets(engine, study.id)
    return study


def know(engine, study, *known: tuple[Target, object]) -> None:
    with writing(engine) as session:
        for target, value in known:
            training_items.add_item(session, study.id, target, value, reason="because")


def answer(client: Client, task, *values) -> list[dict]:
    return [
        client.do("label", task, part=place, value=value, base=task["targets"][place]["version"])
        for place, value in enumerate(values)
    ]


def test_a_critique_with_known_answers_asks_these_aius_only_and_opens_the_queue(engine, critiques):
    first, second, _ = aius_of(0)
    know(engine, critiques, (first, True), (second, False))
    ann = Client(engine, queue="aius")
    [task] = ann.tasks()
    assert (task["training"], [target["group"] for target in task["targets"]]) == (True, ["precision", "precision"])
    with reading(engine) as session:
        summary = next(one for one in home.summaries(session, critiques, "ann") if one.name == "aius")
    assert (summary.todo, summary.training) == (1, 1)
    results = answer(ann, task, True, True)
    assert [result["feedback"]["correct"] for result in results] == [True, False]
    assert results[-1]["feedback"] == {"correct": False, "expected": False, "text": "because", "passed": False}
    [again] = ann.tasks()
    results = answer(ann, again, True, False)
    assert results[-1]["feedback"]["passed"] is True
    [opened] = ann.tasks(again=False)
    assert (opened["training"], len(opened["targets"])) == (False, 6), "three AIUs and three ratings"
    assert stored(engine) == []
    with reading(engine) as session:
        [found] = annotators.results(session, critiques)
    assert (found.attempts, found.first.hits, found.first.n, found.passed) == (2, 1, 2, True)


def test_aius_of_a_training_item_are_not_edited_and_others_come_later(engine, critiques):
    other = Client(engine, "bob", queue="aius")
    untrained = {task["id"]: task for task in other.tasks()}
    know(engine, critiques, (aius_of(0)[0], True))
    ann = Client(engine, queue="aius")
    [task] = ann.tasks()
    change = {"type": "remove", "aiu": task["targets"][0]["claim"]["aiu"]}
    assert ann.do("edit", task, change=change)["message"] == "The AIUs of a training item cannot be edited."
    same = untrained.pop(task["id"])
    assert ann.do("label", same, part=1, value=True)["message"].startswith("Only the AIUs with known answers")
    [later] = untrained.values()
    assert ann.label(later, True)["message"] == "The training comes first."
    edit = ann.do("edit", later, change={"type": "remove", "aiu": later["targets"][0]["claim"]["aiu"]})
    assert edit["message"] == "The training comes first."


def test_a_decided_critique_is_a_hidden_check(engine, critiques):
    with writing(engine) as session:
        for target in aius_of(0):
            store_label(session, critiques.id, target, "bob", True)
    decision = {"value": True, "rule": "imported", "reason": "", "adjudicator": "owner"}
    rulings = [Adjudication(target=target, **decision) for target in aius_of(0)]
    set_rules(engine, check_share=0.4)
    ann = Client(engine, queue="aius")
    assert len(ann.tasks()) == 1, "the other one is complete"
    imports.import_records(engine, "s", [AdjudicationRecord(ruling=ruling) for ruling in rulings])
    tasks = ann.tasks()
    checked = next(task for task in tasks if _is_of(ann, task, "c1"))
    assert len(tasks) == 2
    assert checked["claim"] == "free"
    assert [result["status"] for result in answer(ann, checked, True, False, True)] == ["accepted"] * 3
    with reading(engine) as session:
        study = studies.get(session, "s")
        found = annotators.results(session, study)
    assert [(one.annotator, one.checks.hits, one.checks.n) for one in found] == [("ann", 2, 3), ("bob", 3, 3)]


def _is_of(client: Client, task, critique: str) -> bool:
    with reading(client.engine) as session:
        return targets.get(session, client.work().ids.decode("t", task["id"])).part == critique


@pytest.mark.parametrize(("given", "correct"), [(65.0, True), (66.0, False)])
def test_weights_are_right_within_the_tolerance_of_the_study(engine, given, correct):
    records = [ItemRecord(item=make_item(name)) for name in ("i", "j")]
    records += [
        LabelRecord(label=Label(target=weights_of(name), annotator="bob", value=ASPECTS)) for name in ("i", "j")
    ]
    imports.import_records(engine, "s", records)
    study = stored_study(engine)
    with pytest.raises(TiebreakError, match="sum to 100"):
        know(engine, study, (weights_of("i"), {"clarity": 60.0, "tone": 41.0}))
    know(engine, study, (weights_of("i"), ASPECTS))
    set_rules(engine, training_required=False)
    ann = Client(engine, queue="weights")
    task = ann.tasks()[0]
    assert (task["training"], len(task["targets"])) == (True, 1), "ratings of the aspects are not part of the training"
    result = ann.label(task, {"clarity": given, "tone": 100 - given})
    assert (result["feedback"]["correct"], result["feedback"]["expected"]) == (correct, ASPECTS)
    set_rules(engine, weight_tolerance=0)
    with reading(engine) as session:
        assert not studies.get(session, "s").rules.is_correct({"clarity": 60.5, "tone": 39.5}, ASPECTS)


def weights_of(item: str) -> Target:
    return Target(item=item, kind="aspect_weights", part="p1")


def test_the_owner_chooses_among_current_aius_and_not_among_ratings(engine, critiques):
    with reading(engine) as session:
        kinds = {target.kind for target in training_items.possible_targets(session, critiques.id)}
        texts = training_items.aiu_texts(session, critiques.id)
    assert "aiu_precision" in kinds and "aiu_recall" in kinds
    assert texts[aius_of(0)[0].item, "aiu_precision", aius_of(0)[0].part] == ITEM.critiques[0].aius[0].text
    rating = Target(item=ITEM.id, kind="likert", criterion="AIU extraction", part="c1")
    with writing(engine) as session, pytest.raises(TiebreakError, match="no training"):
        training_items.add_item(session, critiques.id, rating, 4)
