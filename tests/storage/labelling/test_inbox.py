"""Flags and notes with their replies, until they are closed."""

import pytest

from core.errors import TiebreakError
from storage.db.connections import reading, writing
from storage.labelling import home, queue
from storage.labels import targets
from storage.studies import studies
from tests.conftest import make_target

pytestmark = pytest.mark.usefixtures("a_study")


def mark(engine, annotator, type, text="", on=True, item="item 0"):
    with writing(engine) as session:
        study = studies.get(session, "s")
        queue.set_mark(session, study.id, make_target(item), annotator, type, text=text, on=on)


def threads(engine, annotator=None):
    with reading(engine) as session:
        return home.threads(session, studies.get(session, "s").id, annotator)


def reply(engine, text, closed=False, annotator="ann", item="item 0"):
    with writing(engine) as session:
        study = studies.get(session, "s")
        target_id = targets.find_id(session, study.id, make_target(item)) or 0
        home.reply(session, study.id, target_id, annotator, "eve", text, closed=closed)


def test_a_flag_and_a_note_on_one_target_are_one_thread(engine):
    mark(engine, "ann", "flag")
    mark(engine, "ann", "note", "what of ties?")
    mark(engine, "bob", "flag")
    mark(engine, "ann", "skip", item="item 1")
    found = {thread.annotator: thread for thread in threads(engine)}
    assert len(found) == 2
    assert (found["ann"].flagged, found["ann"].note, found["ann"].target.item) == (True, "what of ties?", "item 0")
    assert (found["bob"].flagged, found["bob"].note) == (True, "")
    assert [thread.annotator for thread in threads(engine, "ann")] == ["ann"]


def test_what_was_withdrawn_is_not_listed_unless_it_was_answered(engine):
    mark(engine, "ann", "flag")
    mark(engine, "ann", "flag", on=False)
    assert threads(engine) == []
    mark(engine, "ann", "note", "why?")
    reply(engine, "see section 2")
    mark(engine, "ann", "note", on=False)
    assert [(thread.note, thread.replies[0].text) for thread in threads(engine)] == [("", "see section 2")]


def test_a_thread_is_closed_by_a_reply_and_opened_by_a_new_note_or_a_further_reply(engine):
    mark(engine, "ann", "note", "why?")
    mark(engine, "bob", "flag", item="item 1")
    reply(engine, "see section 2", closed=True)
    assert [(thread.annotator, thread.closed) for thread in threads(engine)] == [("bob", False), ("ann", True)]
    mark(engine, "ann", "note", "section 2 says nothing")
    assert [thread.closed for thread in threads(engine, "ann")] == [False]
    reply(engine, "", closed=True)
    assert [thread.closed for thread in threads(engine, "ann")] == [True]
    reply(engine, "one more thing")
    (thread,) = threads(engine, "ann")
    assert not thread.closed
    assert [(one.author, one.text, one.closed) for one in thread.replies][1:] == [
        ("eve", "", True),
        ("eve", "one more thing", False),
    ]


def test_an_empty_reply_and_a_reply_to_nothing_are_refused(engine):
    mark(engine, "ann", "note", "why?")
    with pytest.raises(TiebreakError, match="needs a text"):
        reply(engine, "  ")
    with pytest.raises(TiebreakError, match="at most"):
        reply(engine, "x" * 5001)
    with pytest.raises(TiebreakError, match="no such flag"):
        reply(engine, "hello", annotator="bob")
