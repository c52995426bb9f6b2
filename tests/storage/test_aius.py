"""Edits of AIUs in the database, what a run wrote, and the desk of a person who judges critiques."""

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, update

from core import critique_ratings
from core.aius import Add, Merge, NotAtomic, Piece, Split
from core.critiques import covered, factual
from core.formats import tiebreak
from core.formats.records import ItemRecord, RunRecord, StudyRecord, StudyRules, TraceRecord
from core.items import Item
from core.labels import Target
from core.problems import Problem
from core.protocols.registry import PROTOCOLS
from storage import aius, database, labels, studies
from storage.labelling import critique_queue, critique_workbench
from storage.labelling.critique_queue import Unit
from storage.reports import critiques
from storage.studies import Study
from storage.tables import LeaseRow, now
from storage.transfer import exports, imports
from tests.core.protocols.critiques import an_item, brought, play, settings, worked

UNIT = Unit("ladder", "c1")
SPLIT = Split(aiu="c1.1", into=(Piece(text="One a."), Piece(text="One b.")))


def a_study(engine: Engine, *records: Any, name: str = "s", **rules: Any) -> Study:
    imports.load(engine, name, [StudyRecord(rules=StudyRules(**rules)), *records])
    with database.reading(engine) as session:
        return studies.get(session, name)


@pytest.fixture
def study(engine: Engine) -> Study:
    """Two critiques with two AIUs each, and a reference with one."""
    return a_study(engine, ItemRecord(item=brought(2)), overlap=2)


def judged(item: Item, script: Any, run: str = "run", **fields: Any) -> list[Any]:
    """A run with the trace that the real flow makes of scripted replies."""
    chosen = settings(**fields)
    told = play(script, chosen, item)
    made = RunRecord(
        name=run,
        protocol="metacritique",
        settings=chosen.model_dump(mode="json"),
        prompts=PROTOCOLS["metacritique"].prompts,
    )
    return [made, TraceRecord(run=run, item=item.id, events=tuple(told.events))]


def put(engine: Engine, study: Study, change: Any, who: str = "ann") -> None:
    with database.writing(engine) as session:
        aius.put(session, study.id, "ladder", who, change)


def label(engine: Engine, study: Study, target: Target, value: Any, who: str = "ann", unit: Unit = UNIT) -> None:
    with database.writing(engine) as session:
        critique_workbench.answer(session, study, unit, who, target, value, 1.0)


def sheet(engine: Engine, study: Study, who: str = "ann", unit: Unit = UNIT) -> critique_workbench.Sheet:
    with database.writing(engine) as session:
        return critique_workbench.sheet(session, study, unit, who)


def answers(engine: Engine, study: Study, who: str = "ann") -> dict[str, Any]:
    return {q.target.part or q.target.criterion: q.own for q in sheet(engine, study, who).questions}


def test_a_split_moves_nobodys_label_and_an_undo_brings_them_back(engine: Engine, study: Study) -> None:
    label(engine, study, factual("ladder", "c1.1"), True, "bob")
    put(engine, study, SPLIT)
    asked = answers(engine, study, "bob")
    assert "c1.1" not in asked and asked["c1.e1a"] is None and asked["c1.e1b"] is None
    with database.reading(engine) as session:
        kept = labels.history(session, study.id, factual("ladder", "c1.1"))
    assert [(one.annotator, one.value) for one in kept] == [("bob", True)]
    with database.writing(engine) as session:
        aius.undo(session, study.id, "ladder", "ann", "c1")
    assert answers(engine, study, "bob")["c1.1"] is True


def test_history_is_kept_whatever_is_taken_back(engine: Engine, study: Study) -> None:
    put(engine, study, SPLIT)
    with database.writing(engine) as session:
        aius.undo(session, study.id, "ladder", "ann", "c1")
    put(engine, study, NotAtomic(aiu="c1.2"))
    with database.reading(engine) as session:
        told = aius.history(session, study.id, "ladder")
    assert [(one.number, one.change.type, one.annotator) for one in told] == [
        (1, "split", "ann"),
        (2, "undo", "ann"),
        (3, "not_atomic", "ann"),
    ]
    assert all(one.at is not None for one in told)


def test_only_ones_own_edit_is_undone(engine: Engine, study: Study) -> None:
    put(engine, study, SPLIT)
    with database.writing(engine) as session, pytest.raises(Problem, match="There is no edit of yours"):
        aius.undo(session, study.id, "ladder", "bob", "c1")


def test_an_edit_of_what_another_just_split_is_refused_in_words(engine: Engine, study: Study) -> None:
    put(engine, study, SPLIT)
    with pytest.raises(Problem, match="changed meanwhile"):
        put(engine, study, SPLIT, "bob")
    with pytest.raises(Problem, match="changed meanwhile"):
        label(engine, study, factual("ladder", "c1.1"), True, "bob")


def test_the_scores_of_a_merged_aiu_wait_for_labels_of_its_own(engine: Engine, study: Study) -> None:
    label(engine, study, factual("ladder", "c1.1"), True)
    label(engine, study, factual("ladder", "c1.2"), False)
    put(engine, study, Merge(aius=("c1.1", "c1.2"), piece=Piece(text="Both.")))
    label(engine, study, factual("ladder", "c1.e1"), True)
    rows = {(row.author, row.level): row for row in critiques.rows(engine, study, resamples=20)}
    assert (rows["author 1", "micro"].precision, rows["author 1", "micro"].aius) == (1.0, 1)


def test_a_study_goes_out_and_in_again_with_its_edits(engine: Engine, study: Study, tmp_path: Path) -> None:
    put(engine, study, SPLIT)
    put(engine, study, Add(critique="c2", piece=Piece(text="Five.", at=(0, 3))), "bob")
    label(engine, study, factual("ladder", "c1.e1a"), True)
    told = io.StringIO()
    tiebreak.write(exports.records(engine, study), told)
    path = tmp_path / "study.jsonl"
    path.write_text(told.getvalue())
    copy = a_study(engine, *tiebreak.read(path), name="copy")
    assert imports.load(engine, "copy", tiebreak.read(path)).edits == 0
    again = io.StringIO()
    tiebreak.write(exports.records(engine, copy), again)
    assert again.getvalue() == told.getvalue()
    assert sum('"aiu_edit"' in line for line in told.getvalue().splitlines()) == 2


def test_a_file_with_other_edits_under_the_same_numbers_is_refused(engine: Engine, study: Study) -> None:
    put(engine, study, SPLIT)
    with database.reading(engine) as session:
        (record,) = aius.records(session, study.id)
    put_elsewhere = record.model_copy(update={"edit": record.edit.model_copy(update={"change": NotAtomic(aiu="c1.2")})})
    with pytest.raises(Problem, match="edited otherwise"):
        imports.load(engine, "s", [put_elsewhere])
    gap = record.model_copy(update={"edit": record.edit.model_copy(update={"number": 5})})
    with pytest.raises(Problem, match="not numbered"):
        imports.load(engine, "s", [gap])


def test_what_a_run_wrote_can_be_taken_over_and_then_labelled(engine: Engine) -> None:
    study = a_study(engine, ItemRecord(item=an_item()), *judged(an_item(), worked))
    unit = Unit("ladder", "model")
    assert not sheet(engine, study, unit=unit).questions
    with database.writing(engine) as session:
        assert critique_workbench.adopt(session, study, unit, "ann")
        assert not critique_workbench.adopt(session, study, unit, "ann")
    asked = sheet(engine, study, unit=unit)
    kinds = [question.target.kind for question in asked.questions]
    assert kinds == ["aiu_precision"] * 7 + ["aiu_recall"] * 5 + ["likert"] * 3 and asked.answer
    label(engine, study, asked.questions[0].target, False, unit=unit)
    found = critiques.board(engine, study, resamples=20)
    (one,) = [a for a in found.accuracies if (a.task, a.critiques) == ("precision", "all")]
    assert (one.accuracy, one.aius) == (1.0, 1)


def test_a_judges_answer_is_shown_for_what_one_has_answered_and_for_nothing_else(engine: Engine) -> None:
    item = brought(2)
    script = "Evidence: e.\nReasoning: r.\nTherefore, the claim is false."
    study = a_study(engine, ItemRecord(item=item), *judged(item, lambda ask: script))
    assert not any(question.judges for question in sheet(engine, study).questions)
    label(engine, study, factual("ladder", "c1.1"), True)
    shown = {q.target.part: q.judges for q in sheet(engine, study).questions if q.judges}
    assert set(shown) == {"c1.1"}
    (said,) = shown["c1.1"]
    assert (said.judge, said.value, said.evidence, said.reasoning.splitlines()[0]) == ("a", False, "e.", "r.")
    assert not any(question.judges for question in sheet(engine, study, "bob").questions)


def test_an_answer_that_is_changed_after_the_judges_is_not_blind(engine: Engine) -> None:
    item = brought(2)
    study = a_study(engine, ItemRecord(item=item), *judged(item, lambda ask: "False"))
    target = factual("ladder", "c1.1")
    label(engine, study, target, True)
    sheet(engine, study)
    label(engine, study, target, False)
    with database.reading(engine) as session:
        assert [(one.value, one.blind) for one in labels.history(session, study.id, target)] == [
            (True, True),
            (False, False),
        ]


def test_where_nothing_is_revealed_judges_stay_hidden(engine: Engine) -> None:
    item = brought(2)
    study = a_study(engine, ItemRecord(item=item), *judged(item, lambda ask: "False"), reveal=False)
    label(engine, study, factual("ladder", "c1.1"), True)
    assert not any(question.judges for question in sheet(engine, study).questions)


def test_of_two_runs_of_a_judge_the_newest_is_shown(engine: Engine) -> None:
    item = brought(2)
    told = [*judged(item, lambda ask: "False", "old"), *judged(item, lambda ask: "True", "new")]
    study = a_study(engine, ItemRecord(item=item), *told)
    label(engine, study, factual("ladder", "c1.1"), True)
    assert [said.value for q in sheet(engine, study).questions for said in q.judges] == [True]


def test_ratings_have_seven_steps_with_anchors_and_a_declared_scale(engine: Engine, study: Study) -> None:
    asked = {q.criterion.name: q for q in sheet(engine, study).questions if q.criterion}
    assert set(asked) == {one.name for one in critique_ratings.ALL}
    assert all(len(one.criterion.rubric) == 7 for one in asked.values() if one.criterion)
    label(engine, study, asked["reference answer"].target, 6)
    with database.reading(engine) as session:
        assert studies.scale(session, study.id, "likert", "reference answer") == critique_ratings.SEVEN
    for value in (0, 8, 4.5, True):
        with pytest.raises(Problem, match="from 1 to 7"):
            label(engine, study, asked["AIU extraction"].target, value)


def test_taking_an_answer_back_adds_a_label(engine: Engine, study: Study) -> None:
    target = factual("ladder", "c1.1")
    label(engine, study, target, True)
    label(engine, study, target, None)
    assert answers(engine, study)["c1.1"] is None
    with database.reading(engine) as session:
        assert len(labels.history(session, study.id, target)) == 2


def claim(engine: Engine, study: Study, who: str, after: Unit | None = None) -> Unit | None:
    with database.writing(engine) as session:
        return critique_queue.claim(session, study, who, after=after)


def finish(engine: Engine, study: Study, who: str, unit: Unit) -> None:
    for question in sheet(engine, study, who, unit).questions:
        if question.aiu is not None:
            label(engine, study, question.target, True, who, unit)


def test_people_are_given_one_critique_after_the_other(engine: Engine, study: Study) -> None:
    first = claim(engine, study, "ann")
    assert first == UNIT
    finish(engine, study, "ann", UNIT)
    second = claim(engine, study, "ann", UNIT)
    assert second == Unit("ladder", "c2")
    finish(engine, study, "ann", second)
    assert claim(engine, study, "ann", second) is None
    with database.reading(engine) as session:
        places = critique_queue.queue(session, study.id, "ann")
    assert [(place.done, place.labelled, len(place.targets)) for place in places] == [(True, 3, 3)] * 2


def test_an_aiu_is_held_by_at_most_as_many_as_are_wanted(engine: Engine, study: Study) -> None:
    assert [claim(engine, study, who) for who in ("ann", "bob", "cat")] == [UNIT, UNIT, Unit("ladder", "c2")]
    with database.writing(engine) as session:
        session.execute(update(LeaseRow).values(until=now() - timedelta(minutes=1)))
    assert claim(engine, study, "dan") == UNIT


def test_a_critique_that_others_have_labelled_enough_is_not_given_out(engine: Engine, study: Study) -> None:
    for who in ("ann", "bob"):
        finish(engine, study, who, UNIT)
    assert claim(engine, study, "cat") == Unit("ladder", "c2")


def test_a_critique_whose_aiu_was_split_is_given_out_again(engine: Engine, study: Study) -> None:
    finish(engine, study, "ann", UNIT)
    put(engine, study, SPLIT, "bob")
    assert claim(engine, study, "ann") == UNIT


def test_a_skipped_critique_comes_back_only_when_it_is_asked_for(engine: Engine, study: Study) -> None:
    from storage.labelling import queue

    with database.writing(engine) as session:
        target = critique_ratings.of_extraction("ladder", "c1")
        queue.mark(session, study.id, target, "ann", "skip")
    assert claim(engine, study, "ann") == Unit("ladder", "c2")
    with database.reading(engine) as session:
        assert [place.skipped for place in critique_queue.queue(session, study.id, "ann")] == [True, False]


def test_looking_at_the_judges_first_makes_a_label_not_blind(engine: Engine, study: Study) -> None:
    shown = [factual("ladder", "c1.1"), covered("ladder", "ref.1", "c1")]
    with database.writing(engine) as session:
        assert aius.see(session, study.id, shown, "ann")
        assert not aius.see(session, study.id, shown, "ann")
    label(engine, study, shown[0], True)
    with database.reading(engine) as session:
        assert [one.blind for one in labels.history(session, study.id, shown[0])] == [False]


def test_a_critique_that_is_not_there_is_a_problem_in_words(engine: Engine, study: Study) -> None:
    with pytest.raises(Problem, match="There is no critique 'x' of item 'ladder'"):
        sheet(engine, study, unit=Unit("ladder", "x"))
