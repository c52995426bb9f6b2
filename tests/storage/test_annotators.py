"""The names of annotators: as they are stored, found in any case, and told apart from names that look alike."""

import pytest

from core.annotator_names import similarity_key
from core.errors import TiebreakError
from storage.db.connections import writing
from storage.db.tables import AnnotatorRow, now
from storage.studies import annotators


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


def test_a_new_name_that_looks_like_another_one_is_found(engine):
    with writing(engine) as session:
        annotators.get_or_create_ids(session, ["José", "Ann"])
        assert annotators.similar_names(session, "jose ") == ["José"]
        assert annotators.similar_names(session, "JOSÉ") == []


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
