"""The page of inputs: references and aspects of items, and AIUs that were extracted again."""

from core.formats.records import ItemRecord
from pages.parts import resources
from storage.db.columns import START
from storage.db.connections import reading, writing
from storage.runs import inputs
from storage.runs.inputs import Input
from storage.studies import studies
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_study, study_session, visit


def standing(study="s"):
    with reading(resources.engine()) as session:
        return {row.item: row for row in inputs.standing(session, studies.get(session, study).id)}


def test_the_standing_inputs_of_every_item_are_listed():
    prepare_study([ItemRecord(item=make_item("item 0", reference="Own.", aspects=("depth",))), *items(1, 3)])
    with study_session() as (session, study):
        inputs.save(session, study.id, "eve", {"item 1": Input(aspects=("tone: Polite?", "length"))})
    page = visit("setup/inputs", "eve")
    table = page.dataframe[0].value.set_index("Item")
    assert table["Aspects"].to_dict() == {"item 0": "depth", "item 1": "tone: Polite?; length", "item 2": ""}
    assert table["Aspects by"].to_dict() == {"item 0": "imported", "item 1": "eve", "item 2": ""}
    assert table.loc["item 0", ["Reference", "Reference by"]].tolist() == ["Own.", "imported"]


def test_a_page_of_inputs_has_those_of_its_items_and_a_search_those_with_the_text():
    prepare_study([*items(0, 3), ItemRecord(item=make_item("100% Élan"))])
    with writing(resources.engine()) as session:
        study = studies.get(session, "s").id
        inputs.save(session, study, "eve", {"item 1": Input(reference="Own.")})
        rows = inputs.standing(session, study)
        first = inputs.page(session, study, after=START, size=3)
        assert (first.rows, first.previous) == (rows[:3], None)
        second = inputs.page(session, study, after=first.next, size=3)
        assert (second.rows, second.previous, second.next, second.last) == (rows[3:], START, None, None)
        (one,) = inputs.page(session, study, "ITEM", after=START, size=1).rows
        assert one == rows[0]
        last = inputs.page(
            session, study, "ITEM", after=inputs.page(session, study, "ITEM", after=START, size=1).last, size=1
        )
        assert (last.rows, last.next) == (rows[2:3], None)
        assert inputs.page(session, study, "0% élan", after=START, size=5).rows == rows[3:]
        assert inputs.page(session, study, "x_z", after=START, size=5).rows == []


def items(first, last):
    return [ItemRecord(item=make_item(f"item {number}")) for number in range(first, last)]


def test_nobody_changes_inputs_without_a_name():
    prepare_study(items(0, 1))
    page = visit("setup/inputs", "")
    assert "Sign in" in page_text(page)
