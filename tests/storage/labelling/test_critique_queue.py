"""Critiques are claimed by at most as many annotators as the overlap allows."""

from datetime import timedelta

from sqlalchemy import Engine, update

from core import critique_ratings
from storage import database
from storage.labelling import critique_queue
from storage.labelling.critique_queue import CritiqueKey
from storage.studies import Study
from storage.tables import LeaseRow, now
from tests.storage.critique_studies import KEY, SPLIT, load_task, save_answer, save_edit
from tests.storage.critique_studies import study as study


def claim(engine: Engine, study: Study, annotator: str, after: CritiqueKey | None = None) -> CritiqueKey | None:
    with database.writing(engine) as session:
        return critique_queue.claim_next(session, study, annotator, after=after)


def finish(engine: Engine, study: Study, annotator: str, key: CritiqueKey) -> None:
    for question in load_task(engine, study, annotator, key).questions:
        if question.aiu is not None:
            save_answer(engine, study, question.target, True, annotator, key)


def test_critiques_are_claimed_in_order(engine: Engine, study: Study) -> None:
    first = claim(engine, study, "ann")
    assert first == KEY
    finish(engine, study, "ann", KEY)
    second = claim(engine, study, "ann", KEY)
    assert second == CritiqueKey("ladder", "c2")
    finish(engine, study, "ann", second)
    assert claim(engine, study, "ann", second) is None
    with database.reading(engine) as session:
        entries = critique_queue.entries(session, study.id, "ann")
    assert [(entry.done, entry.labelled, len(entry.targets)) for entry in entries] == [(True, 3, 3)] * 2


def test_leases_of_an_aiu_never_exceed_the_overlap(engine: Engine, study: Study) -> None:
    assert [claim(engine, study, annotator) for annotator in ("ann", "bob", "cat")] == [
        KEY,
        KEY,
        CritiqueKey("ladder", "c2"),
    ]
    with database.writing(engine) as session:
        session.execute(update(LeaseRow).values(until=now() - timedelta(minutes=1)))
    assert claim(engine, study, "dan") == KEY


def test_a_critique_with_enough_labels_is_not_claimed(engine: Engine, study: Study) -> None:
    for annotator in ("ann", "bob"):
        finish(engine, study, annotator, KEY)
    assert claim(engine, study, "cat") == CritiqueKey("ladder", "c2")


def test_a_critique_with_a_split_aiu_can_be_claimed_again(engine: Engine, study: Study) -> None:
    finish(engine, study, "ann", KEY)
    save_edit(engine, study, SPLIT, "bob")
    assert claim(engine, study, "ann") == KEY


def test_a_skipped_critique_is_not_claimed(engine: Engine, study: Study) -> None:
    from storage.labelling import queue

    with database.writing(engine) as session:
        target = critique_ratings.extraction_target("ladder", "c1")
        queue.set_mark(session, study.id, target, "ann", "skip")
    assert claim(engine, study, "ann") == CritiqueKey("ladder", "c2")
    with database.reading(engine) as session:
        assert [entry.skipped for entry in critique_queue.entries(session, study.id, "ann")] == [True, False]
