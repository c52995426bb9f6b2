import pytest

from core.errors import TiebreakError
from core.formats.records import ItemRecord
from storage.db.connections import reading, writing
from storage.studies import annotators, items, studies
from storage.studies.studies import Guidelines
from storage.transfer import imports
from tests.conftest import make_item
from tests.sessions import read, write


def update(engine, study, text):
    write(engine, studies.update, study.id, description="", guidelines=text, rules=study.rules)


def test_a_new_text_is_a_new_version_and_the_same_text_is_not(engine, a_study):
    assert read(engine, studies.current_guidelines, a_study.id) == Guidelines(0, "")
    for text in ("Be fair.", "Be fair.", "Be very fair."):
        update(engine, a_study, text)
    assert read(engine, studies.current_guidelines, a_study.id) == Guidelines(2, "Be very fair.")


def test_the_newest_version_that_was_read_and_exists_counts(engine, a_study):
    for text in ("one", "two"):
        update(engine, a_study, text)
    with writing(engine) as session:
        ann = annotators.get_or_create_id(session, "ann")
        assert studies.read_guidelines_version(session, a_study.id, ann) == 0
        for version in (2, 1, 99):
            studies.mark_guidelines_read(session, a_study.id, ann, version)
            assert studies.read_guidelines_version(session, a_study.id, ann) == 2


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
