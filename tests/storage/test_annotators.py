import pytest

from core.errors import TiebreakError
from storage.db.connections import reading, writing
from storage.db.tables import AnnotatorRow, now
from storage.studies import annotators


def test_a_name_is_stored_on_one_line(engine):
    with writing(engine) as session:
        assert annotators.get_or_create_id(session, "  Ann \n Lee ") == annotators.get_or_create_id(session, "Ann Lee")
    with reading(engine) as session:
        assert annotators.names(session) == ["Ann Lee"]
        assert annotators.find_id(session, "Ann  Lee") is not None
        assert annotators.find_id(session, "ann leigh") is None


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


def test_ids_are_returned_by_the_names_as_passed(engine):
    with writing(engine) as session:
        ids = annotators.get_or_create_ids(session, ["b", "a", " a "])
        assert ids["a"] == ids[" a "] != ids["b"]
        assert annotators.get_or_create_ids(session, ["a"]) == {"a": ids["a"]}
