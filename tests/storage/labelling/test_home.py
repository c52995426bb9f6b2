"""What the home of an annotator lists: counts, where to go on, and search."""

import pytest
from sqlalchemy import delete, update

from core.critiques import Critique
from core.errors import TiebreakError
from core.formats.records import ItemRecord
from core.items import Response
from storage.db.connections import reading, writing
from storage.db.tables import TargetRow, UndoEntryRow
from storage.labelling import home
from storage.labelling.queue import set_mark
from storage.labelling.queue_view import open_view
from storage.labels import targets
from storage.reports import contents, overview
from storage.studies import annotators, studies
from storage.transfer import imports
from tests.conftest import make_item, make_label, make_target
from tests.sessions import read, write
from tests.storage.labelling.workbench import Client
from tests.storage.shared import RUN, a_trace, debates, import_study, stored_study


@pytest.fixture
def queue(engine):
    """Six disputed debates."""
    return debates(engine, 6)


def summary(engine, annotator="ann"):
    write(engine, annotators.get_or_create_id, annotator)
    with reading(engine) as session:
        (found,) = home.summaries(session, studies.get(session, "s"), annotator)
        return found


def listed(engine, tab="todo", search="", annotator="ann"):
    work = Client(engine, annotator).work()
    with reading(engine) as session:
        view = open_view(session, work)
        return home.listed_tasks(session, work, view, home.listed_ids(session, work, view, tab, search))


def test_the_list_names_a_label_by_the_place_of_its_response_on_the_screen(engine, queue):
    client = Client(engine)
    for task in client.tasks():
        client.label(task, task["shown"][1], shown=task["shown"])
    assert [task.value for task in listed(engine, "done")] == [2] * 6


def test_every_task_is_in_the_tabs_it_belongs_to(engine, queue):
    client = Client(engine)
    first, second, third, fourth, *_ = client.tasks()
    client.label(first, first["shown"][0], shown=first["shown"])  # the key 1
    client.do("skip", second)
    client.do("flag", third)
    client.do("draft", fourth, value=2)
    found = summary(engine)
    assert (found.todo, found.done, found.skipped, found.flagged, found.drafts, found.total) == (4, 1, 1, 1, 1, 6)
    assert [task.value for task in listed(engine, "done")] == [1]
    assert [task.name for task in listed(engine, "skipped")] == [second["id"]]
    assert [task.number for task in listed(engine, "flagged")] == [third["number"]]
    assert [task.draft for task in listed(engine, "drafts")] == [True]


def test_the_list_is_in_the_order_of_the_workbench_and_names_nobody(engine, queue):
    tasks = Client(engine).tasks()
    assert [(task.name, task.number) for task in listed(engine)] == [(task["id"], task["number"]) for task in tasks]
    Client(engine, "bob").label(Client(engine, "bob").tasks()[0], 2)
    text = repr(listed(engine))
    assert "bob" not in text and "j0" not in text
    assert all(task.value is None for task in listed(engine))


def test_a_page_of_a_list_has_the_rows_of_the_whole_list_and_a_search_reads_it_in_parts(engine, queue, monkeypatch):
    whole, work = listed(engine), Client(engine, "ann").work()
    monkeypatch.setattr(home, "SEARCHED", 2)
    with reading(engine) as session:
        view = open_view(session, work)
        ids = home.listed_ids(session, work, view, "todo")
        assert ids == [task.id for task in whole] and len(ids) == 6
        assert home.listed_tasks(session, work, view, ids[2:4]) == whole[2:4]
        words = whole[3].question.split()[-1]
        found = [task.id for task in whole if words.casefold() in task.question.casefold()]
        assert home.listed_ids(session, work, view, "todo", words) == found and whole[3].id in found


def test_an_entry_of_the_undo_stack_of_an_earlier_version_is_left_out(engine, queue):
    client = Client(engine)
    client.do("skip", client.tasks()[0], on=True)
    with writing(engine) as session:
        session.execute(update(UndoEntryRow).values(type="skips"))  # of several tasks at once
    assert client.history()["undo"] == []


def test_a_search_finds_all_words_in_the_texts_in_any_case_and_form_and_no_names(engine):
    answers = (Response(text="Le Café est fermé", system="claude"), Response(text="Straße", system="gpt"))
    items = [ItemRecord(item=make_item("gpt3.5_vs_claude/1", prompt="Where?", responses=answers))]
    imports.import_records(engine, "s", [*items, RUN, a_trace("gpt3.5_vs_claude/1")])
    found = {
        words: len(listed(engine, search=words))
        for words in ("cafe\N{COMBINING ACUTE ACCENT} WHERE", "STRASSE", "claude", "gpt", "café closed", "  ")
    }
    assert found == {
        "cafe\N{COMBINING ACUTE ACCENT} WHERE": 1,
        "STRASSE": 1,
        "claude": 0,
        "gpt": 0,
        "café closed": 0,
        "  ": 1,
    }


def test_critiques_are_listed_after_an_import_of_this_and_of_an_earlier_version(engine):
    critiques = (Critique(author="a", text="Too short."), Critique(author="b", text="Too long."))
    study = import_study(engine, [ItemRecord(item=make_item("item 0", critiques=critiques))])
    home.prepare(engine, study.id, "ann")
    assert read(engine, contents.progress)[study.id].targets == 5
    for _ in range(2):
        summaries = read(engine, home.summaries, study, "ann")
        assert {one.name: one.todo for one in summaries} == {"aius": 2, "critiques": 1, "critique_ratings": 2}
        with writing(engine) as session:
            session.execute(delete(TargetRow))  # as the earlier version left it
        for _ in range(2):
            home.prepare(engine, study.id, "ann")


def test_a_changed_label_is_counted_once_and_a_withdrawn_one_not_at_all(engine):
    given = [make_label(1), make_label(2), make_label(1, "ben"), make_label(None, "ben")]
    study = import_study(engine, [ItemRecord(item=make_item("item 0")), *given])
    with reading(engine) as session:
        progress, counts = contents.progress(session)[study.id], overview.counts(session, study.id)
    assert (progress.labels, progress.labelled, progress.annotators) == (1, 1, 1)
    assert (counts.labels, counts.annotators) == (1, 1)


# Flags and notes with their replies, until they are closed


def mark(engine, annotator, type, text="", on=True, item="item 0"):
    write(engine, set_mark, stored_study(engine).id, make_target(item), annotator, type, text=text, on=on)


def threads(engine, annotator=None):
    return read(engine, home.threads, stored_study(engine).id, annotator)


def reply(engine, text, closed=False, annotator="ann", item="item 0"):
    study_id = stored_study(engine).id
    target_id = read(engine, targets.find_id, study_id, make_target(item)) or 0
    write(engine, home.reply, study_id, target_id, annotator, "eve", text, closed=closed)


def test_a_flag_and_a_note_on_one_target_are_one_thread(engine, a_study):
    mark(engine, "ann", "flag")
    mark(engine, "ann", "note", "what of ties?")
    mark(engine, "bob", "flag")
    mark(engine, "ann", "skip", item="item 1")
    found = {thread.annotator: thread for thread in threads(engine)}
    assert len(found) == 2
    assert (found["ann"].flagged, found["ann"].note, found["ann"].target.item) == (True, "what of ties?", "item 0")
    assert (found["bob"].flagged, found["bob"].note) == (True, "")
    assert [thread.annotator for thread in threads(engine, "ann")] == ["ann"]


def test_what_was_withdrawn_is_not_listed_unless_it_was_answered(engine, a_study):
    mark(engine, "ann", "flag")
    mark(engine, "ann", "flag", on=False)
    assert threads(engine) == []
    mark(engine, "ann", "note", "why?")
    reply(engine, "see section 2")
    mark(engine, "ann", "note", on=False)
    assert [(thread.note, thread.replies[0].text) for thread in threads(engine)] == [("", "see section 2")]


def test_a_thread_is_closed_by_a_reply_and_opened_by_a_new_note_or_a_further_reply(engine, a_study):
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


def test_an_empty_reply_and_a_reply_to_nothing_are_refused(engine, a_study):
    mark(engine, "ann", "note", "why?")
    with pytest.raises(TiebreakError, match="needs a text"):
        reply(engine, "  ")
    with pytest.raises(TiebreakError, match="at most"):
        reply(engine, "x" * 5001)
    with pytest.raises(TiebreakError, match="no such flag"):
        reply(engine, "hello", annotator="bob")
