"""Every page opens where there is nothing to show."""

import pytest

from core.formats.records import ItemRecord
from pages.parts.sections import SECTIONS, Section
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_copy, switch_to, visit


def one_item() -> list[ItemRecord]:
    return [ItemRecord(item=make_item())]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.script)
def test_a_page_opens_for_a_study_of_one_item(section: Section) -> None:
    prepare_copy(one_item)
    page = (switch_to if section.name else visit)(section.script.removesuffix(".py"), "ann")
    assert not page.error
    assert page_text(page).strip()


@pytest.mark.parametrize("page", ["results/overview", "results/judges", "watch/traces", "label/disagreements"])
def test_a_page_opens_without_a_study(page: str) -> None:
    opened = visit(page, "ann")
    assert "no studies yet" in page_text(opened)
