"""Training: known answers first, feedback, a pass mark, and nothing of it among the labels."""

import pytest

from core.critiques import critique_targets, reference_critique
from core.errors import TiebreakError
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord
from core.labels import Adjudication, Label, Target
from storage.db.connections import reading, writing
from storage.labelling import critique_queue as stored_targets
from storage.labelling import home, training
from storage.labelling import training as training_items
from storage.labels import labels, targets
from storage.reports import annotators
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item
from tests.core.protocols.critiques import make_complete_item
from tests.sessions import read
from tests.storage.critique_studies import import_study
from tests.storage.labelling.workbench import Client, leases, set_rules, stored
from tests.storage.shared import debates, store_label, stored_study


def debate(number: int) -> Target:
    return Target(item=f"item {number}", kind="preference", criterion="helpfulness")


@pytest.fixture
def ann(engine):
    """An annotator of eight debates, two of which are training items whose right answers are 2."""
    queue = debates(engine, 8)
    with writing(engine) as session:
        for number in (3, 5):
            training.add_item(session, queue.study_id, debate(number), 2, reason=f"because {number}")
    return Client(engine)


def answer_all(client: Client, value: int, again: bool = True) -> list[dict]:
    return [client.label(task, value, base=task["targets"][0]["version"]) for task in client.tasks(again=again)]


def test_only_the_training_is_offered_until_it_is_passed(ann, engine):
    first = ann.tasks()
    assert [task["training"] for task in first] == [True, True]
    progress = ann.progress()
    assert (progress["labelled"], progress["total"], progress["training"]["needed"]) == (0, 2, 2)
    results = answer_all(ann, 2)
    assert [result["feedback"]["correct"] for result in results] == [True, True]
    assert [result["feedback"]["passed"] for result in results] == [None, True]
    after = ann.tasks(again=False)
    assert [task["training"] for task in after] == [False] * 6
    assert not {task["id"] for task in after} & {task["id"] for task in first}
    assert (ann.progress()["total"], "training" in ann.progress()) == (6, False)


def test_the_feedback_has_the_known_answer_and_its_reason_and_no_judge(ann):
    task = ann.tasks()[0]
    result = ann.label(task, 1)
    assert (result["status"], result["entry"], result["version"]) == ("accepted", None, "1")
    feedback = result["feedback"]
    assert (feedback["correct"], feedback["expected"]) == (False, 2)
    assert feedback["text"] in ("because 3", "because 5")
    assert "reveal" not in result
    [done] = ann.tasks(tab="done")
    assert done["targets"][0]["feedback"] == feedback
    standing = done["targets"][0]["standing"]
    assert (standing["value"], standing["blind"]) == (1, True)
    assert done["targets"][0]["reveal"] is None


def test_a_training_answer_is_no_label(ann, engine):
    answer_all(ann, 2)
    assert stored(engine) == []
    assert leases(engine) == []
    with reading(engine) as session:
        study = studies.get(session, "s")
        assert list(labels.gold_labels(session, study.id)) == []
        assert labels.frame(session, study.id).empty
    assert ann.history()["undo"] == []


def test_the_first_answer_counts(ann):
    task = ann.tasks()[0]
    ann.label(task, 1)
    second = ann.label(task, 2, base="1")
    assert (second["status"], second["standing"]["value"]) == ("rejected", 1)
    assert ann.label(task, 2)["status"] == "stale"


def test_a_failed_training_starts_again_on_the_next_visit(ann):
    results = answer_all(ann, 1)
    assert results[-1]["feedback"]["passed"] is False
    assert ann.tasks(again=False) == []
    assert ann.progress()["training"]["passed"] is False
    second = ann.tasks()
    assert [task["training"] for task in second] == [True, True]
    assert all(task["targets"][0]["standing"] is None for task in second)
    assert answer_all(ann, 2)[-1]["feedback"]["passed"] is True
    assert len(ann.tasks(again=False)) == 6


def test_a_repeated_training_has_other_items_and_as_many_as_the_owner_sets(ann, engine):
    with writing(engine) as session:
        study = studies.get(session, "s")
        for number in (1, 2, 4, 6, 7):
            training.add_item(session, study.id, debate(number), 2)
    set_rules(engine, training_number=3)
    attempts = []
    for _ in range(3):
        asked = ann.tasks()
        assert [task["training"] for task in asked] == [True] * 3
        results = answer_all(ann, 1)
        assert [result["feedback"]["passed"] for result in results] == [None, None, False]
        attempts.append({task["id"] for task in asked})
    assert not attempts[0] & attempts[1]
    assert len(attempts[0] | attempts[1] | attempts[2]) == 7
    assert (ann.progress()["training"]["total"], ann.progress()["training"]["needed"]) == (3, 3)
    assert answer_all(ann, 2)[-1]["feedback"]["passed"] is True
    assert [task["training"] for task in ann.tasks()] == [False]


def test_the_pass_mark_is_a_share_of_all_items(ann, engine):
    set_rules(engine, training_pass_mark=0.5)
    one, two = ann.tasks()
    ann.label(one, 1)
    assert ann.label(two, 2)["feedback"]["passed"] is True


def test_without_the_requirement_the_training_comes_first_and_once(ann, engine):
    set_rules(engine, training_required=False)
    assert [task["training"] for task in ann.tasks()] == [True, True, *[False] * 6]
    for task in ann.tasks()[:2]:
        ann.label(task, 1)
    assert [task["training"] for task in ann.tasks()] == [False] * 6


def test_a_label_from_before_stays_a_label(ann, engine):
    """The owner made an item a training item after somebody had labelled it."""
    other = Client(engine, "other")
    answer_all(other, 2)
    task = other.tasks(again=False)[0]
    other.label(task, 1)
    number = int(stored(engine)[0].target_id)
    with writing(engine) as session:
        study = studies.get(session, "s")
        target = targets.get(session, number)
        training.add_item(session, study.id, target, 2)
    assert len(stored(engine)) == 1
    assert task["id"] not in {one["id"] for one in other.tasks(again=False)}


def test_drafts_and_skips_of_training_items_hold_nothing(ann, engine):
    one, two = ann.tasks()
    assert ann.do("draft", one, value=1)["claim"] == "mine"
    assert ann.tasks()[0]["targets"][0]["draft"]["value"] == 1
    ann.do("skip", two, on=True)
    assert [task["id"] for task in ann.tasks(tab="skipped")] == [two["id"]]
    ann.label(one, 2)
    assert ann.label(two, 2)["feedback"]["passed"] is True
    assert ann.progress()["drafts"] == 0


def test_a_removed_item_can_finish_the_training(ann, engine):
    task = ann.tasks()[0]
    ann.label(task, 2)
    answered = ann.work().ids.decode("t", task["id"])
    with writing(engine) as session:
        study = studies.get(session, "s")
        items = training.list_items(session, study.id)
        training.remove_item(session, study.id, [item.target_id for item in items if item.target_id != answered])
    assert [task["training"] for task in ann.tasks()] == [False] * 7


def test_adjudicated_targets_can_be_drawn_unlabelled_ones_first(engine):
    queue = debates(engine, 6)
    rulings = [
        AdjudicationRecord(
            ruling=Adjudication(target=debate(n), value=1, rule="imported", reason=f"r{n}", adjudicator="owner")
        )
        for n in range(4)
    ]
    imports.import_records(engine, "s", rulings)
    with writing(engine) as session:
        store_label(session, queue.study_id, debate(0), "somebody", 1)
        assert training.draw_items(session, queue.study_id, 3) == 3
        listed = training.list_items(session, queue.study_id)
        assert [(item.target.item, item.value, item.reason) for item in listed] == [
            ("item 1", 1, "r1"),
            ("item 2", 1, "r2"),
            ("item 3", 1, "r3"),
        ]
        assert training.draw_items(session, queue.study_id, 3) == 1


def test_an_answer_that_is_not_on_the_scale_is_no_training_item(engine):
    queue = debates(engine, 1)
    with writing(engine) as session, pytest.raises(TiebreakError, match="not on the scale"):
        training.add_item(session, queue.study_id, debate(0), 7)
    quality = Target(item="item 0", kind="aspect_quality", criterion="clarity")
    with writing(engine) as session, pytest.raises(TiebreakError, match="no training"):
        training.add_item(session, queue.study_id, quality, 3)


@pytest.mark.parametrize(
    "action", [{"type": "label", "value": 1}, {"type": "skip"}, {"type": "flag"}, {"type": "note", "text": "odd"}]
)
def test_other_items_are_neither_labelled_nor_marked_before_the_training_is_passed(ann, engine, action):
    trained = Client(engine, annotator="bob")
    answer_all(trained, 2)
    other = trained.tasks()[0]
    result = ann.do(task=other, **action)
    assert (result["status"], result["message"]) == ("rejected", "The training comes first.")
    assert stored(engine) == []
    assert ann.do(task=ann.tasks()[0], **action)["status"] == "accepted"
    assert trained.do(task=other, **action)["status"] == "accepted"


def test_a_skip_is_not_undone_before_the_training_is_passed(engine):
    queue = debates(engine, 8)
    ann = Client(engine)
    first, second = ann.tasks()[:2]
    entry = ann.do("skip", first, on=True)["entry"]
    work = ann.work()
    with writing(engine) as session:
        known = targets.get(session, work.ids.decode("t", second["id"]))
        training.add_item(session, queue.study_id, known, 2)
    assert ann.do("undo", entry=entry)["message"] == "The training comes first."
    answer_all(ann, 2)
    assert ann.do("undo", entry=entry)["status"] == "accepted"
    assert ann.do("redo", entry=entry)["status"] == "accepted"


# Training and hidden checks of critiques, whose tasks have several AIUs, and of aspect weights


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
    summary = next(one for one in read(engine, home.summaries, critiques, "ann") if one.name == "aius")
    assert (summary.todo, summary.done, summary.training) == (1, 0, 1)
    results = answer(ann, task, True, True)
    assert [result["feedback"]["correct"] for result in results] == [True, False]
    assert results[-1]["feedback"] == {"correct": False, "expected": False, "text": "because", "passed": False}
    [again] = ann.tasks()
    results = answer(ann, again, True, False)
    assert results[-1]["feedback"]["passed"] is True
    [opened] = ann.tasks(again=False)
    assert (opened["training"], len(opened["targets"])) == (False, 6), "three AIUs and three ratings"
    assert stored(engine) == []
    [found] = read(engine, annotators.results, critiques)
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
    assert not read(engine, studies.get, "s").rules.is_correct({"clarity": 60.5, "tone": 39.5}, ASPECTS)


def weights_of(item: str) -> Target:
    return Target(item=item, kind="aspect_weights", part="p1")


def test_the_owner_chooses_among_current_aius_and_not_among_ratings(engine, critiques):
    texts = read(engine, training_items.possible_targets, critiques.id)
    assert {"aiu_precision", "aiu_recall"} <= {target.kind for target in texts}
    assert texts[aius_of(0)[0]] == ITEM.critiques[0].aius[0].text
    rating = Target(item=ITEM.id, kind="likert", criterion="AIU extraction", part="c1")
    with writing(engine) as session, pytest.raises(TiebreakError, match="no training"):
        training_items.add_item(session, critiques.id, rating, 4)
