import pytest

from core.formats.records import ItemRecord
from core.items import Item, Response
from core.problems import Problem
from storage import items
from storage.database import reading
from storage.transfer import imports
from tests.conftest import an_item


def load(engine, *wanted):
    return imports.load(engine, "s", [ItemRecord(item=item) for item in wanted])


def test_an_item_comes_back_whole(engine, a_study):
    whole = Item(
        id="日本 =1+1",
        prompt="p\n",
        responses=(Response(text="a", system="x", image="a.png"), Response(text="")),
        context="c",
        reference="r",
        scenario="coding",
        group="dialogue 1",
    )
    load(engine, whole)
    with reading(engine) as session:
        assert items.get(session, a_study.id, whole.id) == whole
        assert items.scenarios(session, a_study.id) == ["coding", "math"]
        with pytest.raises(Problem, match="no item 'item 9'"):
            items.get(session, a_study.id, "item 9")


def test_items_stand_in_the_order_of_their_files(engine, a_study):
    load(engine, an_item("z"), an_item("item 1"), an_item("a"))
    with reading(engine) as session:
        assert [item.id for item in items.all_of(session, a_study.id)] == ["item 0", "item 1", "item 2", "z", "a"]
        assert len(items.all_of(session, a_study.id, limit=2)) == 2


def test_an_item_with_other_words_is_refused(engine, a_study):
    with pytest.raises(Problem, match="Item 'item 1' is in this study already, with other words"):
        load(engine, an_item("new"), an_item("item 1", prompt="another"))
    with pytest.raises(Problem, match="twice, with different words"):
        load(engine, an_item("new"), an_item("new", prompt="another"))
    with reading(engine) as session:
        assert len(items.all_of(session, a_study.id)) == 3


def test_the_same_item_twice_in_a_file_is_one(engine, a_study):
    assert load(engine, an_item("new"), an_item("new")).items == 1
