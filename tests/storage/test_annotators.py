import pytest

from core.errors import TiebreakError
from storage import annotators
from storage.database import reading, writing


def test_a_name_is_stored_on_one_line(engine):
    with writing(engine) as session:
        assert annotators.get_or_create_id(session, "  Ann \n Lee ") == annotators.get_or_create_id(session, "Ann Lee")
    with reading(engine) as session:
        assert annotators.names(session) == ["Ann Lee"]
        assert annotators.find_id(session, "Ann  Lee") is not None
        assert annotators.find_id(session, "ann lee") is None


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\x00b", "\ud83d", "bell\x07"])
def test_an_invalid_name_is_refused(name):
    with pytest.raises(TiebreakError, match=r"name"):
        annotators.normalize_name(name)


def test_ids_are_returned_by_the_names_as_passed(engine):
    with writing(engine) as session:
        ids = annotators.get_or_create_ids(session, ["b", "a", " a "])
        assert ids["a"] == ids[" a "] != ids["b"]
        assert annotators.get_or_create_ids(session, ["a"]) == {"a": ids["a"]}
