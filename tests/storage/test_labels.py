from datetime import UTC, datetime

import pytest

from core.formats.records import CriterionRecord, RunRecord, ScaleRecord
from core.items import Criterion
from core.labels import Scale
from core.problems import Problem
from storage import labels, studies
from storage.database import reading, writing
from storage.labelling import queue
from storage.tables import LabelRow
from storage.transfer import imports
from tests.conftest import a_label, a_target
from tests.storage.shared import RUN, a_trace, a_verdict


def put(engine, study, annotator, value, target=None, **fields):
    with writing(engine) as session:
        return labels.put(session, study.id, target or a_target(), annotator, value, **fields)


def history(engine, study, **fields):
    with reading(engine) as session:
        return labels.history(session, study.id, a_target(), **fields)


def test_the_newest_label_stands_and_the_older_ones_are_kept(engine, a_study):
    put(engine, a_study, "ann", 1, reason="at first sight", seconds=4.5)
    put(engine, a_study, "ann", 2)
    assert [label.value for label in history(engine, a_study)] == [1, 2]
    assert (history(engine, a_study)[0].reason, history(engine, a_study)[0].seconds) == ("at first sight", 4.5)
    with reading(engine) as session:
        assert labels.own(session, a_study.id, a_target(), "ann").value == 2
        assert list(labels.frame(session, a_study.id)["value"]) == [2]


def test_undo_is_a_label_too(engine, a_study):
    put(engine, a_study, "ann", 1)
    put(engine, a_study, "ann", None)
    assert [label.value for label in history(engine, a_study)] == [1, None]
    with reading(engine) as session:
        assert labels.own(session, a_study.id, a_target(), "ann") is None
        assert labels.frame(session, a_study.id).empty


def test_moments_come_back_with_their_zone(engine, a_study):
    put(engine, a_study, "ann", 1)
    at = history(engine, a_study)[0].at
    assert at.tzinfo is UTC
    assert abs((datetime.now(UTC) - at).total_seconds()) < 60


@pytest.mark.parametrize("value", [True, False, 1, 0, 1.0, 0.5, "1", "", {"clarity": 40.0, "depth": 60.0}, 2**70])
def test_a_value_comes_back_as_what_it_was(engine, a_study, value):
    target = a_target(kind="answer", criterion="")
    put(engine, a_study, "ann", value, target)
    with reading(engine) as session:
        there = [labels.own(session, a_study.id, target, "ann").value, labels.frame(session, a_study.id)["value"][0]]
    assert [(type(found), found) for found in there] == [(type(value), value)] * 2


def test_true_and_one_stay_apart_in_the_frame_and_in_gold(engine, a_study):
    target = a_target(kind="answer")
    put(engine, a_study, "ann", True, target)
    put(engine, a_study, "bob", 1, target)
    with reading(engine) as session:
        assert [type(value) for value in labels.frame(session, a_study.id)["value"]] == [bool, int]
        (gold,) = labels.golds(session, a_study.id)
    assert (gold.source, len(gold.distribution)) == ("unresolved", 2)


def test_a_label_after_the_reveal_is_not_blind(engine, a_study):
    put(engine, a_study, "bob", 2)
    assert put(engine, a_study, "ann", 1).blind
    with writing(engine) as session:
        (others,) = labels.reveal(session, a_study.id, a_target(), "ann")
    assert (others.annotator, others.value) == ("bob", 2)
    assert not put(engine, a_study, "ann", 2).blind
    assert [label.blind for label in history(engine, a_study, annotator="ann")] == [True, False]


def test_others_are_shown_only_to_those_who_have_labelled(engine, a_study):
    put(engine, a_study, "bob", 2)
    with writing(engine) as session, pytest.raises(Problem, match="after your own"):
        labels.reveal(session, a_study.id, a_target(), "ann")
    put(engine, a_study, "ann", 1)
    put(engine, a_study, "ann", None)
    with writing(engine) as session, pytest.raises(Problem, match="after your own"):
        labels.reveal(session, a_study.id, a_target(), "ann")


def test_who_saw_the_judges_first_is_not_blind_on_that_target_only(engine, a_study):
    for _ in range(2):
        with writing(engine) as session:
            labels.see(session, a_study.id, a_target(), "ann")
    assert not put(engine, a_study, "ann", 1).blind
    assert put(engine, a_study, "ann", 1, a_target("item 1")).blind
    assert put(engine, a_study, "bob", 1).blind


def test_who_was_not_blind_in_an_imported_label_is_not_blind_afterwards(engine, a_study):
    imports.load(engine, "s", [a_label(1, blind=False)])
    assert not put(engine, a_study, "ann", 2).blind


def test_a_value_that_is_not_on_the_scale_is_refused(engine, a_study):
    with pytest.raises(Problem, match=r"3 is not on the scale of preference on 'helpfulness': expected 1 or 2 or 0"):
        put(engine, a_study, "ann", 3)
    with pytest.raises(Problem, match="True is not on the scale"):
        put(engine, a_study, "ann", True)
    scale = ScaleRecord(kind="score", criterion="depth", scale=Scale(level="interval", low=1, high=5))
    imports.load(engine, "s", [CriterionRecord(criterion=Criterion(name="depth")), scale])
    with pytest.raises(Problem, match=r"expected a number from 1\.0 to 5\.0"):
        put(engine, a_study, "ann", 6, a_target(kind="score", criterion="depth"))
    assert put(engine, a_study, "ann", 4.5, a_target(kind="score", criterion="depth")).value == 4.5


def test_a_scale_that_the_labels_are_not_on_cannot_be_declared(engine, a_study):
    put(engine, a_study, "ann", 7, a_target(kind="score"))
    narrow = ScaleRecord(kind="score", criterion="helpfulness", scale=Scale(level="ordinal", categories=(1, 2, 3)))
    with writing(engine) as session, pytest.raises(Problem, match="7 is not on the scale"):
        studies.put_scale(session, a_study.id, narrow)


def test_an_item_that_is_not_there_cannot_be_labelled(engine, a_study):
    with pytest.raises(Problem, match="no item 'item 9'"):
        put(engine, a_study, "ann", 1, a_target("item 9"))


NAMES = ['=HYPERLINK("http://x")', "'; DROP TABLE label; --", "100%", "a_b", "日本 🙂"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_look_like_formulas_or_sql_are_only_data(engine, a_study, name):
    target = a_target(kind="answer", criterion=name, part=name)
    put(engine, a_study, name, name, target, reason=name)
    with reading(engine) as session:
        (said,) = labels.history(session, a_study.id, target, name)
        row = labels.frame(session, a_study.id).iloc[0]
    assert (said.annotator, said.value, said.reason, said.target) == (name, name, name, target)
    assert (row["rater"], row["value"], row["criterion"]) == (name, name, name)


def test_text_that_no_database_holds_is_mended(engine, a_study):
    put(engine, a_study, "ann", 1, reason="zero \x00 and half \ud83d")
    assert history(engine, a_study)[0].reason == "zero \N{REPLACEMENT CHARACTER} and half \N{REPLACEMENT CHARACTER}"


def test_gold_comes_from_rulings_then_labels_then_the_judges(engine, a_study):
    agreed = [a_trace(f"item {n}", a_verdict("agreed", (2, 2, 2))) for n in range(3)]
    imports.load(engine, "s", [RUN, *agreed])
    for annotator, value in (("ann", 1), ("bob", 1), ("cyd", 2)):
        put(engine, a_study, annotator, value)
    for annotator, value in (("ann", 1), ("bob", 2)):
        put(engine, a_study, annotator, value, a_target("item 1"))

    def golds():
        with reading(engine) as session:
            return [(gold.target.item, gold.source, gold.value) for gold in labels.golds(session, a_study.id)]

    assert golds() == [("item 0", "majority", 1), ("item 1", "unresolved", None), ("item 2", "judges", 2)]
    with writing(engine) as session:
        labels.rule(
            session, a_study.id, a_target("item 1"), 0, rule="discussion", reason="equally good", adjudicator="dee"
        )
    assert golds()[1] == ("item 1", "adjudicated", 0)


def test_runs_whose_verdicts_differ_leave_gold_unresolved(engine, a_study):
    one, other = RunRecord(name="one", protocol="scaleeval"), RunRecord(name="other", protocol="scaleeval")
    first = a_trace("item 0", a_verdict("agreed", (2, 2, 2)), run="one")
    second = a_trace("item 0", a_verdict("agreed", (1, 1, 1)), run="other")
    imports.load(engine, "s", [one, other, first, second])
    with reading(engine) as session:
        (gold,) = labels.golds(session, a_study.id)
    assert (gold.source, gold.value) == ("unresolved", None)


def test_a_ruling_needs_a_reason_and_a_value_on_the_scale(engine, a_study):
    with writing(engine) as session:
        with pytest.raises(Problem, match="needs a reason"):
            labels.rule(session, a_study.id, a_target(), 1, rule="expert", reason=" ", adjudicator="dee")
        with pytest.raises(Problem, match="not on the scale"):
            labels.rule(session, a_study.id, a_target(), 9, rule="expert", reason="so", adjudicator="dee")


def test_the_version_changes_with_every_label_and_opinion(engine, a_study):
    def version():
        with reading(engine) as session:
            return labels.version(session, a_study.id)

    versions = [version()]
    put(engine, a_study, "ann", 1)
    versions.append(version())
    put(engine, a_study, "ann", 1)
    versions.append(version())
    imports.load(engine, "s", [RUN, a_trace("item 0")])
    versions.append(version())
    assert len(set(versions)) == 4
    assert version() == versions[-1]


def test_the_frame_tells_where_each_label_stands(engine, a_study):
    put(engine, a_study, "ann", 1)
    put(engine, a_study, "bob", 2, a_target("item 2"))
    with reading(engine) as session:
        frame = labels.frame(session, a_study.id)
        assert labels.frame(session, 0).columns.tolist() == frame.columns.tolist()
    assert frame.columns.tolist() == ["item", "scenario", "group", "kind", "criterion", "part", "rater", "value"]
    assert frame[["item", "scenario", "rater", "value"]].to_numpy().tolist() == [
        ["item 0", "math", "ann", 1],
        ["item 2", "math", "bob", 2],
    ]


def test_a_label_ends_the_draft_and_the_lease_but_only_its_own(engine, a_study):
    with writing(engine) as session:
        for annotator in ("ann", "bob"):
            queue.hold(session, a_study.id, a_target(), annotator, 30)
            queue.save_draft(session, a_study.id, a_target(), annotator, {"value": 1})
    put(engine, a_study, "ann", 1)
    with reading(engine) as session:
        assert queue.draft(session, a_study.id, a_target(), "ann") is None
        assert queue.draft(session, a_study.id, a_target(), "bob") is not None


def test_labels_are_never_changed_or_deleted(engine, a_study):
    put(engine, a_study, "ann", 1)
    with reading(engine) as session:
        before = [row.model_dump() for row in session.query(LabelRow).order_by(LabelRow.id)]
    put(engine, a_study, "ann", 2)
    put(engine, a_study, "ann", None)
    with writing(engine) as session:
        labels.see(session, a_study.id, a_target(), "ann")
        labels.rule(session, a_study.id, a_target(), 1, rule="expert", reason="so", adjudicator="dee")
        queue.mark(session, a_study.id, a_target(), "ann", "skip")
    imports.load(engine, "s", [a_label(0)])
    with reading(engine) as session:
        after = [row.model_dump() for row in session.query(LabelRow).order_by(LabelRow.id)]
    assert after[:1] == before
    assert len(after) == 4
