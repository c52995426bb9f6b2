import pytest

from core.errors import TiebreakError
from core.formats.records import ItemRecord
from storage.db.connections import reading
from storage.studies import items
from storage.transfer import imports
from tests.conftest import make_item


def load(engine, *new):
    return imports.import_records(engine, "s", [ItemRecord(item=item) for item in new])


def test_items_have_the_order_of_their_files_and_are_added_once(engine, a_study):
    assert load(engine, make_item("z"), make_item("item 1"), make_item("a"), make_item("a")).items == 2
    with reading(engine) as session:
        assert [item.id for item in items.of_study(session, a_study.id)] == ["item 0", "item 1", "item 2", "z", "a"]
        assert len(items.of_study(session, a_study.id, limit=2)) == 2


def test_a_known_item_with_different_content_is_refused(engine, a_study):
    with pytest.raises(TiebreakError, match="Item 'item 1' is in this study already, with different content"):
        load(engine, make_item("new"), make_item("item 1", prompt="another"))
    with pytest.raises(TiebreakError, match="twice, with different content"):
        load(engine, make_item("new"), make_item("new", prompt="another"))
    with reading(engine) as session:
        assert len(items.of_study(session, a_study.id)) == 3
