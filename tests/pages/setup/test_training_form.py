"""The tab of training and checks: rules, items from gold, an item of one's own."""

import pytest

from core.formats.records import AdjudicationRecord, ItemRecord
from core.labels import Adjudication, Target
from storage.labelling import training
from tests.conftest import make_item, make_label
from tests.pages.visits import page_text, prepare_study, study_session, visit


@pytest.fixture
def page():
    """The settings of a study with four items, two of which are adjudicated."""
    items = [ItemRecord(item=make_item(f"item {number}")) for number in range(4)]
    rulings = [
        AdjudicationRecord(
            ruling=Adjudication(target=target(number), value=2, rule="r", reason="because", adjudicator="owner")
        )
        for number in range(2)
    ]
    prepare_study([*items, *rulings, make_label(1, "ann", "item 3")])
    return visit("setup/studies", "owner", view="study", open="s")


def target(number):
    return Target(item=f"item {number}", kind="preference", criterion="helpfulness")


def listed():
    with study_session() as (session, study):
        return training.list_items(session, study.id)


def test_the_rules_are_saved(page):
    fields = {field.label: field for field in page.number_input}
    fields["Pass mark, percent"].set_value(60)
    fields["Hidden checks, percent"].set_value(5)
    fields["Repeats, percent"].set_value(10)
    next(button for button in page.button if "training_rules" in button.key).click().run()
    with study_session() as (_, study):
        rules = study.rules
    assert (rules.training_pass_mark, rules.check_share, rules.training_required) == (0.6, 0.05, True)
    assert rules.repeat_share == 0.1


def test_items_are_taken_from_gold_and_entered(page):
    assert "no training items" in page_text(page)
    page.button(key="training_draw").click().run()
    assert [(item.item, item.value, item.reason) for item in listed()] == [
        ("item 0", 2, "because"),
        ("item 1", 2, "because"),
    ]
    page.toggle(key="training_add").set_value(True).run()
    page.selectbox(key="training_value").set_value(0)
    page.text_area(key="training_reason").set_value("They are equal.")
    page.button(key="training_save").click().run()
    assert [(item.item, item.value, item.reason) for item in listed()][2:] == [("item 3", 0, "They are equal.")]
