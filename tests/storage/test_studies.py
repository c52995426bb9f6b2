import pytest

from core.formats.records import CriterionRecord, ScaleRecord, StudyRecord, StudyRules
from core.items import Criterion
from core.labels import PREFERENCE, TRUTH, Scale
from core.problems import Problem
from storage import labels, studies
from storage.database import reading, writing
from storage.transfer import imports
from tests.conftest import a_label, a_target
from tests.storage.shared import RUN, a_trace


def test_a_study_is_found_by_its_name(engine):
    rules = StudyRules(overlap=2, reveal=False, lease_minutes=5)
    with writing(engine) as session:
        made = studies.create(session, "  My\n study ", StudyRecord(description="d", guidelines="g", rules=rules))
    with reading(engine) as session:
        assert studies.get(session, "My study") == studies.of_id(session, made.id) == made
        assert (made.description, made.guidelines, made.rules, made.sample) == ("d", "g", rules, False)
        assert studies.names(session) == ["My study"]


def test_a_name_that_is_taken_or_empty_is_refused(engine, a_study):
    for name, sentence in (("s", "'s' already"), (" ", "needs a name"), ("x" * 121, "at most 120")):
        with writing(engine) as session, pytest.raises(Problem, match=sentence):
            studies.create(session, name)


def test_a_study_that_is_not_there_is_told_with_those_that_are(engine, a_study):
    with reading(engine) as session, pytest.raises(Problem, match=r"no study called 'x'; studies here: 's'\."):
        studies.get(session, "x")


def test_a_criterion_can_be_changed_but_not_by_a_file(engine, a_study):
    depth = Criterion(name="depth", definition="How deep.", rubric=("shallow", "deep"))
    other = depth.model_copy(update={"definition": "How far down."})
    with writing(engine) as session:
        studies.put_criterion(session, a_study.id, CriterionRecord(criterion=depth))
        studies.add_criterion(session, a_study.id, CriterionRecord(criterion=Criterion(name="depth")))
        assert studies.criteria(session, a_study.id) == [depth]
        with pytest.raises(Problem, match="'depth' is in this study already, with other words"):
            studies.add_criterion(session, a_study.id, CriterionRecord(criterion=other))
        studies.put_criterion(session, a_study.id, CriterionRecord(criterion=other))
        assert studies.criteria(session, a_study.id) == [other]


def test_a_scale_is_declared_once(engine, a_study):
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    with writing(engine) as session:
        for _ in range(2):
            studies.put_scale(session, a_study.id, ScaleRecord(kind="score", criterion="depth", scale=scale))
        with pytest.raises(Problem, match="declared otherwise"):
            studies.put_scale(session, a_study.id, ScaleRecord(kind="score", criterion="depth", scale=TRUTH))
        assert studies.scales(session, a_study.id) == {("score", "depth"): scale}
        assert studies.scale(session, a_study.id, "score", "depth") == scale
        assert studies.scale(session, a_study.id, "score", "breadth") is None
        assert studies.scale(session, a_study.id, "preference", "breadth") == PREFERENCE


def test_own_templates_are_kept(engine, a_study):
    with writing(engine) as session:
        studies.change_prompts(session, a_study.id, {"opinion": "Choose!"})
    with reading(engine) as session:
        assert studies.get(session, "s").prompts == {"opinion": "Choose!"}


def test_progress_counts_each_study_by_itself(engine, a_study):
    imports.load(engine, "s", [RUN, a_trace("item 0"), a_label(1), a_label(2), a_label(1, "bob", "item 1")])
    with writing(engine) as session:
        empty = studies.create(session, "empty")
        labels.put(session, a_study.id, a_target(kind="answer"), "cyd", "yes")
    with reading(engine) as session:
        progress = studies.progress(session)
    told = progress[a_study.id]
    assert (told.items, told.runs, told.labels, told.labelled, told.annotators) == (3, 1, 4, 3, 3)
    assert (progress[empty.id].items, progress[empty.id].labels) == (0, 0)
