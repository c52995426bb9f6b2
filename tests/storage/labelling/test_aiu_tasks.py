"""AIUs in the workbench: every answer, rating and edit is an action on its own target, and can be undone."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, update

from core import critique_ratings
from core.critiques import precision_target, recall_target
from core.formats.records import ItemRecord
from storage.db.connections import writing
from storage.db.tables import LeaseRow, now
from storage.labels import labels, targets
from storage.reports import critiques
from storage.runs import aius
from storage.studies import studies
from tests.core.protocols.critiques import make_complete_item, make_item, worked_example_reply
from tests.sessions import read
from tests.storage.critique_studies import import_study, run_records
from tests.storage.labelling.workbench import Client, leases, set_rules, stored
from tests.storage.shared import stored_study

RATIONALE = "Evidence: e.\nReasoning: r.\nTherefore, the claim is false."


class Critiques(Client):
    """A window on the page of AIUs."""

    def answer(self, task, *values, first=0):
        """Label targets of a task one after the other in one request."""
        return self.send(
            *(
                self.action("label", task, part, value=value, base=task["targets"][part]["version"])
                for part, value in enumerate(values, first)
            )
        )

    def edit(self, task, change, part=None):
        """Edit AIUs; changes name them by their place in the task."""
        about = {} if part is None else {"target": task["targets"][part]["id"]}
        return self.do("edit", task, change=change, **about)


def critiques_of(engine: Engine, *records, annotator="ann", **rules) -> Critiques:
    import_study(engine, *records, **rules)
    return Critiques(engine, annotator, queue="aius")


@pytest.fixture
def ann(engine) -> Critiques:
    """An annotator in a study with two critiques of two AIUs each, and a reference with one; a judge denies all."""
    item = make_complete_item(2)
    return critiques_of(engine, ItemRecord(item=item), *run_records(item, lambda ask: RATIONALE), overlap=2)


def aiu(task, part):
    return task["targets"][part]["claim"]["aiu"]


def texts(task):
    return [target["claim"]["text"] for target in task["targets"] if "claim" in target]


def history(engine, target, annotator="ann"):
    found = read(engine, labels.history, stored_study(engine).id, target, annotator)
    return [(one.value, one.blind) for one in found]


def test_a_task_has_aius_then_ratings_and_no_author(ann):
    task = ann.tasks()[0]
    assert task["panel"] == "aius"
    assert [target["group"] for target in task["targets"]] == ["precision"] * 2 + ["recall"] + ["rating"] * 3
    assert [target["required"] for target in task["targets"]] == [True] * 3 + [False] * 3
    assert [block["title"] for block in task["above"]] == ["Question", "Answer", "Reference answer"]
    assert [block["title"] for block in task["columns"]] == ["Critique", "Reference critique"]
    assert not any(hidden in str(task) for hidden in ("author 1", "'c1", "c1.1", "opinions", "Therefore"))


def test_eleven_trues_are_eleven_labels_of_eleven_aius(engine):
    ann = critiques_of(engine, ItemRecord(item=make_item()), *run_records(make_item(), worked_example_reply))
    task = ann.tasks()[0]
    assert (task["adopts"], task["missing"]) == (True, ["Critique"])
    task = ann.edit(task, {"type": "adopt"})["task"]
    assert [target["group"] for target in task["targets"]] == ["precision"] * 7 + ["recall"] * 5 + ["rating"] * 3
    results = ann.answer(task, *[True] * 11)
    assert {result["status"] for result in results} == {"accepted"}
    rows = stored(engine)
    assert [row.value for row in rows] == [True] * 11
    assert len({row.target_id for row in rows}) == 11 and all(row.blind for row in rows)
    assert ann.progress() | {"flagged": 0} == {"labelled": 11, "total": 12, "skipped": 0, "flagged": 0, "drafts": 1}
    study = stored_study(engine)
    board = critiques.leaderboard(engine, study, resamples=20)
    assert [row.aius for row in board.accuracies if (row.task, row.critiques) == ("precision", "all")] == [7]


def test_opinions_come_with_labelled_aius_only(ann, engine):
    task = ann.tasks()[0]
    result = ann.answer(task, True)[0]
    [opinion] = result["reveal"]["opinions"]
    assert (opinion["judge"], opinion["value"], opinion["problem"], opinion["evidence"]) == ("a", False, "", "e.")
    assert opinion["reason"].startswith("r.")
    changed = ann.label(task, False, base="1")
    assert changed["status"] == "accepted"
    assert [(row.value, row.blind) for row in stored(engine)] == [(True, True), (False, False)]
    again = ann.label(task, True, base="2")
    assert again["entry"]
    other = Critiques(engine, "bob", queue="aius")
    assert not any(target["reveal"] for task in other.tasks() for target in task["targets"])


def test_a_study_without_reveal_shows_no_opinion_and_a_required_reason_has_no_field_here(ann, engine):
    set_rules(engine, reveal=False, reason="required")
    result = ann.answer(ann.tasks()[0], True)[0]
    assert result["status"] == "accepted" and "reveal" not in result


def test_ratings_declare_their_scale_and_are_shared_by_the_critiques_of_an_item(ann, engine):
    first, second = ann.tasks()
    assert [len(target["options"]) for target in first["targets"][3:]] == [7, 7, 7]
    assert ann.answer(first, 6, first=5)[0]["status"] == "accepted"
    scale = read(engine, studies.scale, stored_study(engine).id, "likert", "reference answer")
    assert scale == critique_ratings.SEVEN_POINT_SCALE
    assert first["targets"][5]["id"] == second["targets"][5]["id"]
    for value in (0, 8, 4.5, True):
        assert ann.do("label", first, 3, value=value)["status"] == "rejected"
    assert ann.tasks()[1]["targets"][5]["standing"]["value"] == 6


def test_a_split_is_undone_and_done_again_with_its_labels(ann, engine):
    task = ann.tasks()[0]
    before = texts(task)
    ann.answer(task, True)
    split = ann.edit(task, {"type": "split", "aiu": aiu(task, 0), "into": ["One a.", "One b."]}, part=0)
    assert texts(split["task"]) == ["One a.", "One b.", *before[1:]]
    assert split["focus"] == split["task"]["targets"][0]["id"]
    ann.answer(split["task"], False)
    ann.do("undo", entry=ann.history()["undo"][-1]["id"], task=task)
    undone = ann.do("undo", task, entry=split["entry"])
    assert texts(undone["task"]) == before
    assert undone["task"]["targets"][0]["standing"]["value"] is True, "the label of the old AIU counts again"
    redone = ann.do("redo", task, entry=split["entry"])
    assert [target["id"] for target in redone["task"]["targets"]] == [t["id"] for t in split["task"]["targets"]]
    label = ann.history()["redo"][-1]
    assert ann.do("redo", task, entry=label["id"])["standing"]["value"] is False
    again = ann.do("undo", task, entry=label["id"])
    assert again["status"] == "accepted"
    assert texts(ann.do("undo", task, entry=split["entry"])["task"]) == before
    assert [entry["type"] for entry in ann.history()["undo"]] == ["label"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda task: {"type": "merge", "aius": [aiu(task, 0), aiu(task, 1)], "text": "Both."}, ["Both."]),
        (lambda task: {"type": "edit", "aiu": aiu(task, 1), "text": "New words."}, [None, "New words."]),
        (lambda task: {"type": "add", "block": "critique", "text": "More.", "at": [0, 3]}, [None, None, "More."]),
        (lambda task: {"type": "add", "block": "reference-critique", "text": "More."}, [None, None, None, "More."]),
    ],
)
def test_every_edit_is_undone_and_done_again(ann, change, expected):
    task = ann.tasks()[0]
    before = texts(task)
    result = ann.edit(task, change(task))
    after = [text or old for text, old in zip(expected, [*before, ""], strict=False)]
    assert texts(result["task"])[: len(expected)] == after
    assert texts(ann.do("undo", task, entry=result["entry"])["task"]) == before
    assert texts(ann.do("redo", task, entry=result["entry"])["task"])[: len(expected)] == after


def test_a_mark_of_an_aiu_that_is_not_atomic_is_undone(ann):
    task = ann.tasks()[0]
    marked = ann.edit(task, {"type": "not_atomic", "aiu": aiu(task, 0), "on": True}, part=0)
    assert marked["task"]["targets"][0]["claim"]["atomic"] is False
    undone = ann.do("undo", task, entry=marked["entry"])
    assert undone["task"]["targets"][0]["claim"]["atomic"] is True


WRONG_EDITS = (
    {},
    {"type": "explode"},
    {"type": "split", "into": ["One.", "Two."]},
    {"type": "split", "aiu": "c1.1", "into": ["One.", "Two."]},
    {"type": "add", "block": "critique", "text": "   "},
    {"type": "add", "block": "question", "text": "More."},
    {"type": "add", "block": "critique", "text": "x" * 2001},
    {"type": "merge", "aius": 7, "text": "Both."},
    {"type": "merge", "aius": [], "text": "Both."},
    {"type": "adopt"},
)


def test_a_wrong_edit_is_refused_with_a_sentence_and_changes_nothing(ann, engine):
    task = ann.tasks()[0]
    for change in WRONG_EDITS:
        result = ann.edit(task, change)
        assert result["status"] == "rejected" and result["message"].endswith("."), change
    assert read(engine, aius.history, stored_study(engine).id, "ladder") == []


def test_an_answer_to_an_aiu_that_somebody_has_split_is_refused_with_the_new_task(ann, engine):
    task = next(one for one in ann.tasks())
    bob = Critiques(engine, "bob", queue="aius")
    same = next(one for one in bob.tasks() if one["id"] == task["id"])
    bob.edit(same, {"type": "split", "aiu": aiu(same, 0), "into": ["One a.", "One b."]})
    result = ann.answer(task, True)[0]
    assert (result["status"], result["message"]) == (
        "rejected",
        "This AIU was changed in the meantime. Review it again.",
    )
    assert texts(result["task"])[:2] == ["One a.", "One b."]
    assert stored(engine) == []


def test_a_label_of_an_aiu_that_somebody_has_edited_can_be_undone(ann, engine):
    task = ann.tasks()[0]
    entry = ann.answer(task, True)[0]["entry"]
    bob = Critiques(engine, "bob", queue="aius")
    same = next(one for one in bob.tasks() if one["id"] == task["id"])
    bob.edit(same, {"type": "edit", "aiu": aiu(same, 0), "text": "Other words."})
    undone = ann.do("undo", task, entry=entry)
    assert undone["status"] == "accepted" and texts(undone["task"])[0] == "Other words."
    assert [row.value for row in stored(engine)] == [True, None]


def test_an_edit_that_somebody_built_on_is_not_undone_and_does_not_block_the_stack(ann, engine):
    task = ann.tasks()[0]
    first = ann.answer(task, True)[0]["entry"]
    split = ann.edit(task, {"type": "split", "aiu": aiu(task, 0), "into": ["One a.", "One b."]})
    bob = Critiques(engine, "bob", queue="aius")
    same = next(one for one in bob.tasks() if one["id"] == task["id"])
    bob.edit(same, {"type": "edit", "aiu": aiu(same, 0), "text": "Other words."})
    refused = ann.do("undo", task, entry=split["entry"])
    assert (refused["status"], refused["message"]) == (
        "rejected",
        "A later edit depends on this one: undo that one first.",
    )
    assert [entry["id"] for entry in ann.history()["undo"]] == [first]


def test_a_flag_marks_one_aiu_and_a_skip_the_critique(ann):
    task = ann.tasks()[0]
    ann.do("flag", task, target=task["targets"][1]["id"], on=True)
    assert [target["flagged"] for target in ann.tasks()[0]["targets"]] == [False, True, False, False, False, False]
    assert [one["id"] for one in ann.tasks(tab="flagged")] == [task["id"]]
    skip = ann.do("skip", task, on=True)
    assert [one["id"] for one in ann.tasks(tab="skipped")] == [task["id"]]
    assert task["id"] not in [one["id"] for one in ann.tasks()]
    ann.do("undo", task, entry=skip["entry"])
    assert ann.tasks(tab="skipped") == []


def test_looking_claims_nothing_and_the_first_answer_claims_the_critique(ann, engine):
    task = ann.tasks()[0]
    assert leases(engine) == []
    ann.answer(task, True)
    assert len(leases(engine)) == 1
    ann.answer(task, True, True, first=1)
    assert leases(engine) == [], "the claim ends with the last label"
    assert [one["id"] for one in ann.tasks(tab="done")] == [task["id"]]
    assert ann.progress()["labelled"] == 3


def test_a_critique_is_open_to_as_many_as_the_overlap_allows(ann, engine):
    task = ann.tasks()[0]
    bob, cat = Critiques(engine, "bob", queue="aius"), Critiques(engine, "cat", queue="aius")
    for client in (ann, bob):
        client.answer(task, True)
    assert task["id"] not in [one["id"] for one in cat.tasks()]
    with writing(engine) as session:
        session.execute(update(LeaseRow).values(until=now() - timedelta(minutes=1)))
    assert task["id"] in [one["id"] for one in cat.tasks()], "two AIUs are left"
    late = cat.answer(task, True, True)
    assert [result["status"] for result in late] == ["surplus", "accepted"]


def test_a_complete_critique_of_adjudicated_aius_is_a_check_for_all_but_who_decided(ann, engine):
    set_rules(engine, overlap=1, check_share=0.5)
    task = ann.tasks()[0]
    ann.answer(task, *[True] * 3)
    bob, eve = (Critiques(engine, name, queue="aius") for name in ("bob", "eve"))
    assert bob.do("draft", task, value=True)["claim"] == "full"
    with writing(engine) as session:
        study_id = studies.get(session, "s").id
        for row in stored(engine):
            target = targets.get(session, row.target_id)
            labels.adjudicate(session, study_id, target, True, rule="expert", reason="", adjudicator="eve")
    assert bob.do("draft", task, value=True)["claim"] == "mine"
    assert eve.do("draft", task, value=True)["claim"] == "full"


def test_a_finished_critique_is_open_again_when_an_aiu_is_split(ann, engine):
    task = ann.tasks()[0]
    ann.answer(task, True, True, True)
    assert task["id"] not in [one["id"] for one in ann.tasks()]
    bob = Critiques(engine, "bob", queue="aius")
    same = next(one for one in bob.tasks() if one["id"] == task["id"])
    bob.edit(same, {"type": "split", "aiu": aiu(same, 0), "into": ["One a.", "One b."]})
    assert ann.tasks()[0]["id"] == task["id"], "a critique that was begun comes first"


def test_labels_of_aius_have_the_targets_of_the_judges(ann, engine):
    for task in ann.tasks():
        ann.answer(task, True, True, False)
    assert history(engine, precision_target("ladder", "c1.1")) == [(True, True)]
    recalls = [history(engine, recall_target("ladder", "ref.1", critique)) for critique in ("c1", "c2")]
    assert recalls == [[(False, True)]] * 2
