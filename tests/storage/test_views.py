"""Views of opinions end blindness, also those of visitors who sign in later."""

import pytest

from storage.db.connections import reading, writing
from storage.labels import targets, views
from storage.studies import annotators
from tests.conftest import make_target
from tests.storage.shared import store_label


@pytest.fixture
def target(engine, a_study):
    """A target that one annotator has labelled."""
    with writing(engine) as session:
        store_label(session, a_study.id, make_target(), "ann", 1)
    return make_target()


def is_blind(engine, study, target, annotator):
    with writing(engine) as session:
        return store_label(session, study.id, target, annotator, 1).blind


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
    with reading(engine) as session:
        assert views.is_study_viewed(session, a_study.id, "ben")
    assert not is_blind(engine, a_study, target, "ben")
