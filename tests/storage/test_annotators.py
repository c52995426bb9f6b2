import pytest

from core.problems import Problem
from storage import annotators
from storage.database import reading, writing


def test_a_name_is_kept_on_one_line(engine):
    with writing(engine) as session:
        assert annotators.annotator_id(session, "  Ann \n Lee ") == annotators.annotator_id(session, "Ann Lee")
    with reading(engine) as session:
        assert annotators.names(session) == ["Ann Lee"]
        assert annotators.find(session, "Ann  Lee") is not None
        assert annotators.find(session, "ann lee") is None


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\x00b", "\ud83d", "bell\x07"])
def test_a_name_that_cannot_be_seen_or_is_too_long_is_refused(name):
    with pytest.raises(Problem, match=r"name"):
        annotators.name_of(name)


def test_many_are_known_by_the_names_as_given(engine):
    with writing(engine) as session:
        there = annotators.annotator_ids(session, ["b", "a", " a "])
        assert there["a"] == there[" a "] != there["b"]
        assert annotators.annotator_ids(session, ["a"]) == {"a": there["a"]}
