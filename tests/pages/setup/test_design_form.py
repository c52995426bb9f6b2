"""The form of which pairs people label."""

import pytest
from streamlit.testing.v1 import AppTest

from core.designs import Form
from core.formats.records import AdjudicationRecord, CriterionRecord, ItemRecord
from core.formats.study_records import ScaleRecord, StudyRecord, StudyRules
from core.items import Criterion
from core.labels import Adjudication, Scale, Target
from pages.parts import resources
from storage.db.connections import reading
from storage.labelling import training
from storage.labels import designs
from storage.labels.designs import Stratum
from storage.studies import studies
from tests.conftest import make_item, make_label
from tests.pages.visits import page_text, prepare_study, study_session, visit
from tests.storage.test_designs import add_run

RULES = StudyRecord(rules=StudyRules(agreed_share=0.1))
CRITERION = CriterionRecord(criterion=Criterion(name="helpfulness"))


def open_form(items: int = 40, *, judged: bool = True) -> AppTest:
    prepare_study([RULES, CRITERION, *(ItemRecord(item=make_item(f"item {n}")) for n in range(items))])
    with reading(resources.engine()) as session:
        study = studies.get(session, "s").id
    if judged:
        add_run(resources.engine(), study)
    return visit("setup/studies", "zoe", view="study", open="s")


def strata() -> dict[str, Stratum]:
    with reading(resources.engine()) as session:
        study = studies.get(session, "s").id
        return {one.name: one for one in designs.counts(session, study, "helpfulness")}


def form() -> Form:
    with reading(resources.engine()) as session:
        study = studies.get(session, "s").id
        return designs.current(session, study)["preference", "helpfulness"].form


def test_the_design_is_described_and_more_agreed_pairs_are_one_number() -> None:
    app = open_form()
    text = page_text(app)
    assert "Disputed pairs and a random part of the others. People label 10 of 10 disputed pairs" in text
    assert "0 have labels" in text
    number = next(one for one in app.number_input if one.label == "Agreed pairs that people label")
    number.set_value(12).run()
    assert "The win rate of all pairs is then known to about ±23 points." in page_text(app)
    app.button(key="design_draw").click().run()
    assert (strata()["agreed"].drawn, strata()["agreed"].share) == (12, 0.4)


def test_disputes_alone_say_what_figures_describe() -> None:
    app = open_form()
    next(one for one in app.selectbox if one.label == "Pairs").set_value("Disputed pairs only").run()
    assert "then describe disputed pairs alone, and those of all pairs are not known." in page_text(app)
    app.button(key="offer").click().run()
    assert (form(), strata()["agreed"].drawn) == (Form.disputed, 0)


def test_pairs_can_be_drawn_before_any_run() -> None:
    app = open_form(judged=False)
    assert "The first run draws every disputed pair and 10 % of the agreed ones" in page_text(app)
    app.number_input(key="offer_pairs").set_value(15).run()
    app.button(key="offer").click().run()
    assert (form(), strata()[""].drawn) == (Form.random, 15)
    next(one for one in app.selectbox if one.label == "Pairs").set_value("Every pair").run()
    app.button(key="offer").click().run()
    assert (form(), strata()[""].drawn) == (Form.everything, 40)


def test_scores_have_a_design_on_request() -> None:
    scale = ScaleRecord(kind="score", criterion="clarity", scale=Scale(level="interval", low=1, high=5))
    prepare_study([scale, *(ItemRecord(item=make_item(f"item {n}")) for n in range(40))])
    app = visit("setup/studies", "zoe", view="study", open="s")
    assert "people are asked about every score." in page_text(app)
    app.number_input(key="offer_pairs").set_value(15).run()
    app.button(key="offer").click().run()
    with reading(resources.engine()) as session:
        study = studies.get(session, "s").id
        (stratum,) = designs.counts(session, study, "clarity", "score")
    assert (stratum.drawn, stratum.targets) == (15, 80)
    assert "The mean score of all scores is then known to about ±1" in page_text(app)


# The tab of training and checks: rules, items from gold, an item of one's own


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
    fields["Pass mark, share of the items"].set_value(0.6)
    fields["Hidden checks, share of a queue"].set_value(0.05)
    fields["Repeats, share of a queue"].set_value(0.1)
    next(button for button in page.button if "training_rules" in button.key).click().run()
    with study_session() as (_, study):
        rules = study.rules
    assert (rules.training_pass_mark, rules.check_share, rules.training_required) == (0.6, 0.05, True)
    assert rules.repeat_share == 0.1


def test_items_are_taken_from_gold_and_entered(page):
    assert "no training items" in page_text(page)
    page.button(key="training_draw").click().run()
    assert [(item.target.item, item.value, item.reason) for item in listed()] == [
        ("item 0", 2, "because"),
        ("item 1", 2, "because"),
    ]
    page.toggle(key="training_add").set_value(True).run()
    page.selectbox(key="training_value").set_value(0)
    page.text_area(key="training_reason").set_value("They are equal.")
    page.button(key="training_save").click().run()
    assert [(item.target.item, item.value, item.reason) for item in listed()][2:] == [("item 3", 0, "They are equal.")]
