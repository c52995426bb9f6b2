"""Merging two annotators who are one person, and names that look alike."""

import unicodedata

import pytest
from sqlalchemy import select, update

from core.annotator_names import similarity_key
from core.errors import TiebreakError
from storage.db.connections import reading, writing
from storage.db.tables import AnnotatorRow, LabelRow, Table, TargetRow, now
from storage.labelling import queue
from storage.labels import labels, merges, views
from storage.studies import annotators, studies
from tests.conftest import make_target
from tests.sessions import read, write
from tests.storage.labelling.workbench import Client, set_rules
from tests.storage.shared import debates, store_label

MOVED = {
    *(table.__tablename__ for table in merges.FINGERPRINTED),
    *(table.__tablename__ for table in merges.UNIQUE),
    *(table.__tablename__ for table in merges.OTHERS),
    "reply",
}


@pytest.fixture
def study_id(engine):
    """Four debates; Ann labelled the first two, "Anne" the last two, both as one person."""
    found = debates(engine, 4).study_id
    with writing(engine) as session:
        for number, name in enumerate(("Ann", "Ann", "Anne", "Anne")):
            store_label(session, found, make_target(f"item {number}"), name, 1 + number % 2)
    return found


def current(engine, study_id) -> dict[tuple[str, str], object]:
    """Return (annotator, item) -> the current value."""
    with reading(engine) as session:
        rows = labels.of_study(session, study_id)
        return {(label.annotator, label.target.item): label.value for label in rows if label.value is not None}


def test_every_table_with_an_annotator_is_part_of_a_merge():
    tables = Table.metadata.tables.values()
    named = {
        table.name
        for table in tables
        for column in table.columns
        for key in column.foreign_keys
        if key.target_fullname.startswith("annotator.")
    }
    assert named - {"account"} == MOVED


def test_a_merge_moves_everything_and_removes_the_former_name(engine, study_id):
    set_rules(engine, annotators=("Anne", "bob"), groups={"math": ("Ann", "Anne")})
    with writing(engine) as session:
        queue.set_mark(session, study_id, make_target("item 0"), "Anne", "flag")
        for name in ("Ann", "Anne"):
            views.record(session, study_id, [make_target("item 3")], name)
            studies.mark_guidelines_read(session, study_id, annotators.get_or_create_id(session, name), 1)
    before = {item: value for (_, item), value in current(engine, study_id).items()}
    planned = read(engine, merges.plan, "Anne", "Ann")
    assert (planned.rows["label"], planned.rows["mark"], planned.both) == (2, 1, ())
    assert len({name for name, _ in current(engine, study_id)}) == 2, "a plan changes nothing"
    write(engine, merges.merge, "Anne", "Ann")
    assert current(engine, study_id) == {("Ann", item): value for item, value in before.items()}
    with reading(engine) as session:
        assert annotators.names(session) == ["Ann"]
        rules = studies.get(session, "s").rules
        prints = session.scalars(select(LabelRow.fingerprint)).all()
    assert (rules.annotators, rules.groups) == (("Ann", "bob"), {"math": ("Ann",)})
    assert len(set(prints)) == 4
    assert len(Client(engine, "Ann").tasks(tab="done")) == 4


@pytest.mark.parametrize(("prefer", "value"), [("Ann", 1), ("Anne", 2)])
def test_a_target_that_both_labelled_needs_a_preference(engine, study_id, prefer, value):
    write(engine, store_label, study_id, make_target("item 0"), "Anne", 2)
    with writing(engine) as session, pytest.raises(TiebreakError, match="Both have labelled 1 of the same"):
        merges.merge(session, "Anne", "Ann")
    with writing(engine) as session, pytest.raises(TiebreakError, match="no annotator called 'bob'"):
        merges.merge(session, "Anne", "Ann", "bob")
    write(engine, merges.merge, "Anne", "Ann", prefer)
    with reading(engine) as session:
        newest = {}
        for label in labels.of_study(session, study_id):
            newest[label.annotator, label.target.item] = label.value
        counted = session.scalars(select(TargetRow.counted).order_by(TargetRow.id)).all()
    assert newest["Ann", "item 0"] == value
    assert newest["Anne", "item 0"] is None, "withdrawn, and stored under the former name"
    assert list(counted) == [1, 1, 1, 1]


def test_two_unicode_forms_of_one_name_are_found_and_merged_by_id(engine, study_id):
    decomposed = unicodedata.normalize("NFD", "José")
    with writing(engine) as session:  # as an older version stored it
        former = annotators.get_or_create_id(session, "x")
        store_label(session, study_id, make_target("item 0"), "x", 1)
        store_label(session, study_id, make_target("item 1"), "José", 2)
        session.execute(update(AnnotatorRow).where(AnnotatorRow.id == former).values(name=decomposed))
    with reading(engine) as session:
        [group] = merges.similar_groups(session)
        assert {one.id for one in group} == {former, annotators.find_id(session, decomposed)}
        assert merges.similar_names(session, "jose ") == [decomposed, "José"]
        assert merges.similar_names(session, "José") == []
    write(engine, merges.merge, f"#{former}", "José")
    assert {("José", "item 0"), ("José", "item 1")} <= current(engine, study_id).keys()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna", "Аnnа"),
        ("ann", "ANN"),
        ("ann 1", "ann1"),
        ("ann", "ａｎｎ"),
        ("José", "Jose"),
        ("a.b", "a b"),
        ("Ω", "ω"),
    ],
)
def test_names_that_look_alike_share_a_key(one, other):
    assert similarity_key(one) == similarity_key(other)


def test_different_names_do_not():
    names = ["annotator 1", "annotator 2", "annotator 11", "Ann", "Anne", "李", "王", "!!", "??"]
    assert len({similarity_key(name) for name in names}) == len(names)


def test_names_are_stored_on_one_line_and_returned_as_passed(engine):
    with writing(engine) as session:
        assert annotators.get_or_create_id(session, "  Ann \n Lee ") == annotators.get_or_create_id(session, "Ann Lee")
        assert annotators.names(session) == ["Ann Lee"]
        assert annotators.find_id(session, "Ann  Lee") is not None
        assert annotators.find_id(session, "ann leigh") is None
        ids = annotators.get_or_create_ids(session, ["b", "a", " a "])
        assert ids["a"] == ids[" a "] != ids["b"]
        assert annotators.get_or_create_ids(session, ["a"]) == {"a": ids["a"]}


def test_names_that_differ_in_case_only_are_one_annotator(engine):
    with writing(engine) as session:
        ann = annotators.get_or_create_id(session, "Ann")
        assert annotators.get_or_create_id(session, "ann") == annotators.find_id(session, "ANN") == ann
        assert annotators.get_or_create_ids(session, ["aNN", "Bob"])["aNN"] == ann
        assert annotators.stored_name(session, "ann") == "Ann" and annotators.stored_name(session, "Cat") == "Cat"
        assert annotators.names(session) == ["Ann", "Bob"]


@pytest.mark.parametrize("names", [["Eve", "eve"], ["Ann", "ann"]])
def test_two_names_of_a_file_that_differ_in_case_only_are_refused(engine, names):
    with writing(engine) as session:
        annotators.get_or_create_id(session, "Ann")
        with pytest.raises(TiebreakError, match="differ in case only and would be two: write one name"):
            annotators.get_or_create_ids(session, names)


def test_annotators_of_former_versions_that_differ_in_case_only_stay_two(engine):
    with writing(engine) as session:
        session.add_all([AnnotatorRow(name="Ann", created_at=now()), AnnotatorRow(name="ann", created_at=now())])
        session.flush()
        ids = annotators.get_or_create_ids(session, ["Ann", "ann"])
        assert len(set(ids.values())) == 2 and annotators.find_id(session, "ann") == ids["ann"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\x00b", "\ud83d", "bell\x07"])
def test_an_invalid_name_is_refused(name):
    with pytest.raises(TiebreakError, match=r"name"):
        annotators.normalize_name(name)
