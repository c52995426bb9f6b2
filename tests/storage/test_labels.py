from datetime import UTC, datetime, timedelta, timezone

import pytest

from core.errors import TiebreakError
from core.formats.records import CriterionRecord, ScaleRecord
from core.items import Criterion
from core.labels import Label, Scale
from storage.db.connections import reading, writing
from storage.db.fingerprints import FileFingerprints, fingerprint, label_row
from storage.db.tables import LabelRow
from storage.labelling import queue
from storage.labels import labels, targets, views
from storage.studies import annotators, studies
from storage.transfer import imports
from tests.conftest import make_label, make_target
from tests.sessions import read, write
from tests.storage.labelling.workbench import find_draft, lease
from tests.storage.shared import RUN, a_trace, a_verdict, store_label


def save(engine, study, annotator, value, target=None, **fields):
    return write(engine, store_label, study.id, target or make_target(), annotator, value, **fields)


def history(engine, study, **fields):
    return read(engine, labels.history, study.id, make_target(), **fields)


def test_the_newest_label_is_current_and_a_withdrawal_is_one_without_a_value(engine, a_study):
    save(engine, a_study, "ann", 1, reason="at first sight", seconds=4.5)
    save(engine, a_study, "ann", 2)
    assert [label.value for label in history(engine, a_study)] == [1, 2]
    assert (history(engine, a_study)[0].reason, history(engine, a_study)[0].seconds) == ("at first sight", 4.5)
    with reading(engine) as session:
        assert labels.current(session, a_study.id, make_target(), "ann").value == 2
        assert list(labels.frame(session, a_study.id)["value"]) == [2]
    save(engine, a_study, "ann", None)
    assert [label.value for label in history(engine, a_study)] == [1, 2, None]
    with reading(engine) as session:
        assert labels.current(session, a_study.id, make_target(), "ann") is None
        assert labels.frame(session, a_study.id).empty


def test_a_value_keeps_its_type(engine, a_study):
    target = make_target(kind="answer", criterion="")
    for value in (True, False, 1, 0, 1.0, 0.5, "1", "", {"clarity": 40.0, "depth": 60.0}, 2**70):
        save(engine, a_study, "ann", value, target)
        with reading(engine) as session:
            label = labels.current(session, a_study.id, target, "ann")
            values = [label.value, labels.frame(session, a_study.id)["value"][0]]
        assert [(type(stored), stored) for stored in values] == [(type(value), value)] * 2


def test_true_and_one_differ_in_the_frame_and_in_gold(engine, a_study):
    target = make_target(kind="answer")
    save(engine, a_study, "ann", True, target)
    save(engine, a_study, "bob", 1, target)
    with reading(engine) as session:
        assert [type(value) for value in labels.frame(session, a_study.id)["value"]] == [bool, int]
        (gold,) = labels.gold_labels(session, a_study.id)
    assert (gold.source, len(gold.distribution)) == ("unresolved", 2)


def test_a_view_ends_blindness_on_its_target_only_as_an_imported_label_does(engine, a_study):
    for _ in range(2):
        write(engine, views.record, a_study.id, [make_target()], "ann")
    assert not save(engine, a_study, "ann", 1).blind
    assert save(engine, a_study, "ann", 1, make_target("item 1")).blind
    assert save(engine, a_study, "bob", 1).blind
    imports.import_records(engine, "s", [make_label(1, "cyd", blind=False)])
    assert not save(engine, a_study, "cyd", 2).blind


def test_a_value_that_is_not_on_the_scale_and_a_label_of_no_item_are_refused(engine, a_study):
    with pytest.raises(TiebreakError, match="no item 'item 9'"):
        save(engine, a_study, "ann", 1, make_target("item 9"))
    with pytest.raises(
        TiebreakError, match=r"3 is not on the scale of preference on 'helpfulness': expected 1 or 2 or 0"
    ):
        save(engine, a_study, "ann", 3)
    with pytest.raises(TiebreakError, match="True is not on the scale"):
        save(engine, a_study, "ann", True)
    scale = ScaleRecord(kind="score", criterion="depth", scale=Scale(level="interval", low=1, high=5))
    imports.import_records(engine, "s", [CriterionRecord(criterion=Criterion(name="depth")), scale])
    with pytest.raises(TiebreakError, match=r"expected a number from 1\.0 to 5\.0"):
        save(engine, a_study, "ann", 6, make_target(kind="score", criterion="depth"))
    assert save(engine, a_study, "ann", 4.5, make_target(kind="score", criterion="depth")).value == 4.5


def test_a_scale_that_excludes_existing_labels_is_refused(engine, a_study):
    save(engine, a_study, "ann", 7, make_target(kind="score"))
    narrow = ScaleRecord(kind="score", criterion="helpfulness", scale=Scale(level="ordinal", categories=(1, 2, 3)))
    with writing(engine) as session, pytest.raises(TiebreakError, match="7 is not on the scale"):
        studies.declare_scale(session, a_study.id, narrow)


def test_gold_comes_from_adjudications_then_labels_and_never_from_judges(engine, a_study):
    agreed = [a_trace(f"item {n}", a_verdict("agreed", (2, 2, 2))) for n in range(3)]
    imports.import_records(engine, "s", [RUN, *agreed])
    for annotator, value in (("ann", 1), ("bob", 1), ("cyd", 2)):
        save(engine, a_study, annotator, value)
    for annotator, value in (("ann", 1), ("bob", 2)):
        save(engine, a_study, annotator, value, make_target("item 1"))

    def gold_values():
        return [(gold.target.item, gold.source, gold.value) for gold in read(engine, labels.gold_labels, a_study.id)]

    assert gold_values() == [("item 0", "majority", 1), ("item 1", "unresolved", None)]
    with writing(engine) as session:
        labels.adjudicate(
            session, a_study.id, make_target("item 1"), 0, rule="discussion", reason="equally good", adjudicator="dee"
        )
    assert gold_values()[1] == ("item 1", "adjudicated", 0)
    with reading(engine) as session:
        decided = [labels.decision(session, a_study.id, make_target(f"item {n}")) for n in range(3)]
        assert [one and (one[0].value, one[1]) for one in decided] == [(1, ""), (0, "dee"), None]
        assert labels.annotators_of(session, a_study.id) == ["ann", "bob", "cyd"]
        assert labels.annotators_of(session, a_study.id + 1) == []


def test_the_frame_has_one_row_for_each_current_label(engine, a_study):
    save(engine, a_study, "ann", 1)
    save(engine, a_study, "bob", 2, make_target("item 2"))
    with reading(engine) as session:
        frame = labels.frame(session, a_study.id)
        assert labels.frame(session, 0).columns.tolist() == frame.columns.tolist()
    assert frame.columns.tolist() == ["item", "scenario", "group", "kind", "criterion", "part", "rater", "value"]
    assert frame[["item", "scenario", "rater", "value"]].to_numpy().tolist() == [
        ["item 0", "math", "ann", 1],
        ["item 2", "math", "bob", 2],
    ]


def test_a_label_ends_the_draft_and_the_lease_of_its_annotator_only(engine, a_study):
    with writing(engine) as session:
        for annotator in ("ann", "bob"):
            lease(session, a_study.id, make_target(), annotator)
            target_id = targets.get_or_create_id(session, a_study.id, make_target())
            queue.save_draft(session, target_id, annotators.get_or_create_id(session, annotator), {"value": 1})
    save(engine, a_study, "ann", 1)
    with reading(engine) as session:
        assert find_draft(session, a_study.id, make_target(), "ann") is None
        assert find_draft(session, a_study.id, make_target(), "bob") is not None


def test_labels_are_never_changed_or_deleted(engine, a_study):
    save(engine, a_study, "ann", 1)
    with reading(engine) as session:
        before = [row.model_dump() for row in session.query(LabelRow).order_by(LabelRow.id)]
    save(engine, a_study, "ann", 2)
    save(engine, a_study, "ann", None)
    with writing(engine) as session:
        views.record(session, a_study.id, [make_target()], "ann")
        labels.adjudicate(session, a_study.id, make_target(), 1, rule="expert", reason="so", adjudicator="dee")
        queue.set_mark(session, a_study.id, make_target(), "ann", "skip")
    imports.import_records(engine, "s", [make_label(0)])
    with reading(engine) as session:
        after = [row.model_dump() for row in session.query(LabelRow).order_by(LabelRow.id)]
    assert after[:1] == before
    assert len(after) == 4


def test_a_surplus_label_counts_in_agreement_and_gold_like_any_other(engine, a_study):
    with writing(engine) as session:
        first = store_label(session, a_study.id, make_target(), "ann", 1)
        assert not {"evidence", "surplus", "guidelines"} & first.model_dump().keys(), "as before they were fields"
        store_label(session, a_study.id, make_target(), "bob", 2, surplus=True)
    with reading(engine) as session:
        assert set(labels.frame(session, a_study.id)["rater"]) == {"ann", "bob"}
        assert [gold.annotators for gold in labels.gold_labels(session, a_study.id)] == [2]


# Views of opinions end blindness, also those of visitors who sign in later


@pytest.fixture
def target(engine, a_study):
    """A target that one annotator has labelled."""
    write(engine, store_label, a_study.id, make_target(), "ann", 1)
    return make_target()


def is_blind(engine, study, target, annotator):
    return write(engine, store_label, study.id, target, annotator, 1).blind


def test_what_a_visitor_saw_counts_for_the_annotator_as_whom_they_sign_in(engine, a_study, target):
    with writing(engine) as session:
        views.record_visitor(session, a_study.id, [target], "token")
        views.record_visitor(session, a_study.id, [target], "token")
    assert is_blind(engine, a_study, target, "zoe"), "another browser"
    with writing(engine) as session:
        views.assign_to_annotator(session, "token", "ben")
        views.assign_to_annotator(session, "token", "max")
    assert not is_blind(engine, a_study, target, "ben")
    assert is_blind(engine, a_study, target, "max"), "the token was used"


def test_a_view_matters_while_the_target_is_not_labelled(engine, a_study, target):
    with writing(engine) as session:
        assert views.record(session, a_study.id, [target], "ben")
        target_id = targets.find_id(session, a_study.id, target)
        of_each = {
            name: views.viewed(session, annotators.find_id(session, name), [target_id]) for name in ("ann", "ben")
        }
        assert of_each == {"ann": set(), "ben": {target_id}}
        assert not views.record(session, a_study.id, [target], "ann")
        assert not views.record(session, a_study.id, [], "ben")


def test_a_whole_study_can_be_viewed(engine, a_study, target):
    with writing(engine) as session:
        assert views.is_study_viewed(session, a_study.id, "ann"), "everything is labelled"
        assert not views.is_study_viewed(session, a_study.id, "ben")
        views.record_study(session, a_study.id, "ben")
    assert read(engine, views.is_study_viewed, a_study.id, "ben")
    assert not is_blind(engine, a_study, target, "ben")


# Fingerprints of labels, by which an import recognises what is stored


AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def label_fingerprint(value=1, target=1, annotator=1, **fields):
    label = Label(target=make_target(), annotator="ann", value=value, **fields)
    return fingerprint(label_row(label, 1, target, annotator))


def test_every_column_changes_the_fingerprint():
    fingerprints = [
        *(label_fingerprint(value) for value in (1, 1.0, True, "1", "true", None, {"a": 1.0})),
        label_fingerprint(target=2),
        label_fingerprint(annotator=2),
        label_fingerprint(blind=False),
        label_fingerprint(reason="so"),
        label_fingerprint(seconds=1.0),
        label_fingerprint(at=AT),
    ]
    assert len(set(fingerprints)) == len(fingerprints)


def test_equal_content_has_the_same_fingerprint_in_all_versions():
    assert label_fingerprint(at=AT) == "ac576b7f4628d537fe73699c4d31d6e4"
    assert label_fingerprint(at=AT) == label_fingerprint(at=AT.astimezone(timezone(timedelta(hours=-5))))
    assert label_fingerprint({"a": 1.0, "b": 2.0}) == label_fingerprint({"b": 2.0, "a": 1.0})


def test_identical_lines_have_different_fingerprints():
    add_fingerprint = FileFingerprints().add_to
    row = label_row(Label(target=make_target(), annotator="ann", value=1), 1, 1, 1)
    first, second, third = (add_fingerprint(row)["fingerprint"] for _ in range(3))
    assert len({first, second, third}) == 3
    second_file = FileFingerprints().add_to
    assert [second_file(row)["fingerprint"] for _ in range(3)] == [first, second, third]
