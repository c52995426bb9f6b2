"""The labelling screen of a critique: the annotator's answers and ratings, and the judges' answers."""

import pytest
from sqlalchemy import Engine

from core import critique_ratings
from core.critiques import precision_target
from core.formats.records import ItemRecord
from core.problems import Problem
from storage import database, labels, studies
from storage.labelling import critique_workbench
from storage.labelling.critique_queue import CritiqueKey
from storage.reports import critiques
from storage.studies import Study
from tests.core.protocols.critiques import make_complete_item, make_item, worked_example_reply
from tests.storage.critique_studies import answers, import_study, load_task, run_records, save_answer
from tests.storage.critique_studies import study as study


def test_aius_of_a_run_can_be_adopted_and_labelled(engine: Engine) -> None:
    study = import_study(engine, ItemRecord(item=make_item()), *run_records(make_item(), worked_example_reply))
    key = CritiqueKey("ladder", "model")
    assert not load_task(engine, study, key=key).questions
    with database.writing(engine) as session:
        assert critique_workbench.adopt_from_run(session, study, key, "ann")
        assert not critique_workbench.adopt_from_run(session, study, key, "ann")
    task = load_task(engine, study, key=key)
    kinds = [question.target.kind for question in task.questions]
    assert kinds == ["aiu_precision"] * 7 + ["aiu_recall"] * 5 + ["likert"] * 3 and task.answer
    save_answer(engine, study, task.questions[0].target, False, key=key)
    board = critiques.leaderboard(engine, study, resamples=20)
    (row,) = [row for row in board.accuracies if (row.task, row.critiques) == ("precision", "all")]
    assert (row.accuracy, row.aius) == (1.0, 1)


def test_judges_answers_are_revealed_for_labelled_aius_only(engine: Engine) -> None:
    item = make_complete_item(2)
    script = "Evidence: e.\nReasoning: r.\nTherefore, the claim is false."
    study = import_study(engine, ItemRecord(item=item), *run_records(item, lambda ask: script))
    assert not any(question.judges for question in load_task(engine, study).questions)
    save_answer(engine, study, precision_target("ladder", "c1.1"), True)
    revealed = {q.target.part: q.judges for q in load_task(engine, study).questions if q.judges}
    assert set(revealed) == {"c1.1"}
    (answer,) = revealed["c1.1"]
    assert (answer.judge, answer.value, answer.evidence) == ("a", False, "e.")
    assert answer.reasoning.splitlines()[0] == "r."
    assert not any(question.judges for question in load_task(engine, study, "bob").questions)


def test_an_answer_changed_after_the_reveal_is_not_blind(engine: Engine) -> None:
    item = make_complete_item(2)
    study = import_study(engine, ItemRecord(item=item), *run_records(item, lambda ask: "False"))
    target = precision_target("ladder", "c1.1")
    save_answer(engine, study, target, True)
    load_task(engine, study)
    save_answer(engine, study, target, False)
    with database.reading(engine) as session:
        history = labels.history(session, study.id, target)
    assert [(label.value, label.blind) for label in history] == [(True, True), (False, False)]


def test_judges_answers_stay_hidden_in_a_study_without_reveal(engine: Engine) -> None:
    item = make_complete_item(2)
    study = import_study(engine, ItemRecord(item=item), *run_records(item, lambda ask: "False"), reveal=False)
    save_answer(engine, study, precision_target("ladder", "c1.1"), True)
    assert not any(question.judges for question in load_task(engine, study).questions)


def test_the_answers_of_a_judges_newest_run_are_shown(engine: Engine) -> None:
    item = make_complete_item(2)
    runs = [*run_records(item, lambda ask: "False", "old"), *run_records(item, lambda ask: "True", "new")]
    study = import_study(engine, ItemRecord(item=item), *runs)
    save_answer(engine, study, precision_target("ladder", "c1.1"), True)
    assert [answer.value for q in load_task(engine, study).questions for answer in q.judges] == [True]


def test_ratings_have_seven_anchored_points_and_a_declared_scale(engine: Engine, study: Study) -> None:
    questions = {q.criterion.name: q for q in load_task(engine, study).questions if q.criterion}
    assert set(questions) == {criterion.name for criterion in critique_ratings.CRITERIA}
    assert all(len(question.criterion.rubric) == 7 for question in questions.values() if question.criterion)
    save_answer(engine, study, questions["reference answer"].target, 6)
    with database.reading(engine) as session:
        assert studies.scale(session, study.id, "likert", "reference answer") == critique_ratings.SEVEN_POINT_SCALE
    for value in (0, 8, 4.5, True):
        with pytest.raises(Problem, match="from 1 to 7"):
            save_answer(engine, study, questions["AIU extraction"].target, value)


def test_withdrawing_an_answer_adds_a_label(engine: Engine, study: Study) -> None:
    target = precision_target("ladder", "c1.1")
    save_answer(engine, study, target, True)
    save_answer(engine, study, target, None)
    assert answers(engine, study)["c1.1"] is None
    with database.reading(engine) as session:
        assert len(labels.history(session, study.id, target)) == 2


def test_a_missing_critique_is_a_problem(engine: Engine, study: Study) -> None:
    with pytest.raises(Problem, match="There is no critique 'x' of item 'ladder'"):
        load_task(engine, study, key=CritiqueKey("ladder", "x"))
