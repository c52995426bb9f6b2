import pytest

from core.errors import TiebreakError
from core.formats.records import CriterionRecord, ScaleRecord, StudyRecord, StudyRules
from core.items import Criterion
from core.labels import PREFERENCE, TRUTH, Scale
from storage.db.connections import reading, writing
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_label, make_target
from tests.storage.shared import RUN, a_trace, store_label


def test_a_study_is_read_by_its_name(engine):
    rules = StudyRules(overlap=2, reveal=False, lease_minutes=5)
    with writing(engine) as session:
        study = studies.create(session, "  My\n study ", StudyRecord(description="d", guidelines="g", rules=rules))
    with reading(engine) as session:
        assert studies.get(session, "My study") == studies.by_id(session, study.id) == study
        assert (study.description, study.guidelines, study.rules, study.sample) == ("d", "g", rules, False)
        assert studies.names(session) == ["My study"]


def test_a_name_that_is_in_use_or_empty_is_refused(engine, a_study):
    for name, sentence in (("s", "'s' already"), (" ", "needs a name"), ("x" * 121, "at most 120")):
        with writing(engine) as session, pytest.raises(TiebreakError, match=sentence):
            studies.create(session, name)


@pytest.mark.parametrize("character", ["\u200b", "\u202e", "\u2066", "\ufeff", "\x07", "\u3164", "\ufe0f"])
def test_a_name_that_looks_like_another_because_of_an_invisible_character_is_refused(engine, a_study, character):
    sentence = rf"visible characters only, and this one has U\+{ord(character):04X}\.$"
    with writing(engine) as session:
        for store in (studies.create, studies.get_or_create, lambda s, name: studies.rename(s, a_study.id, name)):
            with pytest.raises(TiebreakError, match=sentence):
                store(session, f"La{character}b")
        studies.rename(session, a_study.id, "Étude 研究 – दो 😀")
        assert studies.names(session) == ["Étude 研究 – दो 😀"]


def test_a_missing_study_is_reported_with_the_existing_ones(engine, a_study):
    with reading(engine) as session, pytest.raises(TiebreakError, match=r"no study called 'x'; studies here: 's'\."):
        studies.get(session, "x")


def test_a_file_cannot_change_a_criterion(engine, a_study):
    depth = Criterion(name="depth", definition="How deep.", rubric=("shallow", "deep"))
    other = depth.model_copy(update={"definition": "How far down."})
    with writing(engine) as session:
        studies.save_criterion(session, a_study.id, CriterionRecord(criterion=depth))
        studies.add_criterion(session, a_study.id, CriterionRecord(criterion=Criterion(name="depth")))
        assert studies.criteria(session, a_study.id) == [depth]
        with pytest.raises(TiebreakError, match="'depth' is in this study already, with a different definition"):
            studies.add_criterion(session, a_study.id, CriterionRecord(criterion=other))
        studies.save_criterion(session, a_study.id, CriterionRecord(criterion=other))
        assert studies.criteria(session, a_study.id) == [other]


def test_a_scale_is_declared_once(engine, a_study):
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    with writing(engine) as session:
        for _ in range(2):
            studies.declare_scale(session, a_study.id, ScaleRecord(kind="score", criterion="depth", scale=scale))
        with pytest.raises(TiebreakError, match="declared differently"):
            studies.declare_scale(session, a_study.id, ScaleRecord(kind="score", criterion="depth", scale=TRUTH))
        assert studies.scales(session, a_study.id) == {("score", "depth"): scale}
        assert studies.scale(session, a_study.id, "score", "depth") == scale
        assert studies.scale(session, a_study.id, "score", "breadth") is None
        assert studies.scale(session, a_study.id, "preference", "breadth") == PREFERENCE


def test_a_studys_templates_are_stored(engine, a_study):
    with writing(engine) as session:
        studies.update_prompts(session, a_study.id, {"opinion": "Choose!"})
    with reading(engine) as session:
        assert studies.get(session, "s").prompts == {"opinion": "Choose!"}


def test_progress_counts_each_study_separately(engine, a_study):
    imports.import_records(
        engine, "s", [RUN, a_trace("item 0"), make_label(1), make_label(2), make_label(1, "bob", "item 1")]
    )
    with writing(engine) as session:
        empty = studies.create(session, "empty")
        store_label(session, a_study.id, make_target(kind="answer"), "cyd", "yes")
    with reading(engine) as session:
        progress = studies.progress(session)
    counts = progress[a_study.id]
    assert (counts.items, counts.runs, counts.labels, counts.labelled, counts.annotators) == (3, 1, 4, 3, 3)
    assert (progress[empty.id].items, progress[empty.id].labels) == (0, 0)


def test_a_mean_is_valid_as_a_verdict_and_not_as_a_label():
    declared = {("score", "engaging"): Scale(level="ordinal", categories=(1, 2, 3))}
    studies.check_verdict(declared, "score", "engaging", 2.35)
    for outside in (0.5, 3.5):
        with pytest.raises(TiebreakError, match="is not on the scale"):
            studies.check_verdict(declared, "score", "engaging", outside)
    with pytest.raises(TiebreakError):
        studies.check_value(declared, "score", "engaging", 2.35)
    with pytest.raises(TiebreakError):
        studies.check_verdict({}, "preference", "", 0.5)
