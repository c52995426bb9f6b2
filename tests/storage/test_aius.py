"""Edits of AIUs in the database, their export, and views of judges' answers."""

import pytest
from sqlalchemy import Engine

from core.aius import Adopt, Merge, NotAtomic, Piece, Undo, apply_edits
from core.critiques import Aiu, Critique, precision_target, recall_target
from core.errors import TiebreakError
from core.formats.records import ItemRecord
from storage.db import connections
from storage.labels import labels, views
from storage.reports import critiques
from storage.runs import aius
from storage.studies import items
from storage.studies.studies import Study
from storage.transfer import imports
from tests.conftest import make_item
from tests.sessions import read, write
from tests.storage.critique_studies import (
    SPLIT,
    answers,
    save_answer,
    save_edit,
)
from tests.storage.critique_studies import study as study


def test_a_split_keeps_labels_is_made_once_and_an_undo_restores_them(engine: Engine, study: Study) -> None:
    save_answer(engine, study, precision_target("ladder", "c1.1"), True, "bob")
    save_edit(engine, study, SPLIT)
    values = answers(engine, study, "bob")
    assert "c1.1" not in values and values["c1.e1a"] is None and values["c1.e1b"] is None
    history = read(engine, labels.history, study.id, precision_target("ladder", "c1.1"))
    assert [(label.annotator, label.value) for label in history] == [("bob", True)]
    with pytest.raises(TiebreakError, match="changed in the meantime"):
        save_edit(engine, study, SPLIT, "bob")
    save_edit(engine, study, Undo(edit=1))
    assert answers(engine, study, "bob")["c1.1"] is True


def test_an_undo_is_added_to_the_history(engine: Engine, study: Study) -> None:
    save_edit(engine, study, SPLIT)
    save_edit(engine, study, Undo(edit=1))
    save_edit(engine, study, NotAtomic(aiu="c1.2"))
    history = read(engine, aius.history, study.id, "ladder")
    assert [(edit.number, edit.change.type, edit.annotator) for edit in history] == [
        (1, "split", "ann"),
        (2, "undo", "ann"),
        (3, "not_atomic", "ann"),
    ]
    assert all(edit.at is not None for edit in history)


def test_the_current_states_are_those_of_items_with_critiques_or_edits(engine: Engine, study: Study) -> None:
    plain = [ItemRecord(item=make_item(name)) for name in ("plain 1", "plain 2")]
    imports.import_records(engine, study.name, plain)
    adopted = Adopt(run="r", critiques=(Critique(author="a", text="Too long.", aius=(Aiu(id="a.1", text="Long."),)),))
    write(engine, aius.save_edit, study.id, "plain 2", "ann", adopted)
    with connections.reading(engine) as session:
        every = items.of_study(session, study.id)
        whole = {item.id: apply_edits(item, aius.history(session, study.id, item.id)) for item in every}
        found = aius.current_states(session, study.id)
    assert "plain 1" in whole and "plain 1" not in found and "plain 2" in found
    assert list(found.items()) == [(item, state) for item, state in whole.items() if state.critiques]


def test_a_merged_aiu_counts_only_labels_of_its_own(engine: Engine, study: Study) -> None:
    save_answer(engine, study, precision_target("ladder", "c1.1"), True)
    save_answer(engine, study, precision_target("ladder", "c1.2"), False)
    save_edit(engine, study, Merge(aius=("c1.1", "c1.2"), piece=Piece(text="Both.")))
    save_answer(engine, study, precision_target("ladder", "c1.e1"), True)
    rows = {(row.author, row.level): row for row in critiques.leaderboard(engine, study, resamples=20).rows}
    assert (rows["author 1", "micro"].precision.value, rows["author 1", "micro"].aius) == (1.0, 1)


def test_a_file_with_other_edits_under_the_same_numbers_is_refused(engine: Engine, study: Study) -> None:
    save_edit(engine, study, SPLIT)
    (record,) = read(engine, aius.records, study.id)
    other_change = record.model_copy(update={"edit": record.edit.model_copy(update={"change": NotAtomic(aiu="c1.2")})})
    with pytest.raises(TiebreakError, match="edited differently"):
        imports.import_records(engine, "s", [other_change])
    gap = record.model_copy(update={"edit": record.edit.model_copy(update={"number": 5})})
    with pytest.raises(TiebreakError, match="not numbered"):
        imports.import_records(engine, "s", [gap])


def test_a_view_of_judges_answers_ends_blindness(engine: Engine, study: Study) -> None:
    revealed = [precision_target("ladder", "c1.1"), recall_target("ladder", "ref.1", "c1")]
    with connections.writing(engine) as session:
        assert views.record(session, study.id, revealed, "ann")
        assert not views.record(session, study.id, revealed, "ann")
    save_answer(engine, study, revealed[0], True)
    assert [label.blind for label in read(engine, labels.history, study.id, revealed[0])] == [False]
