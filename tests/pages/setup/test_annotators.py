"""The page of the annotators: figures with intervals and n, and who sees whose."""

from datetime import UTC, datetime

import pytest

from core.formats.records import AdjudicationRecord, ItemRecord, RepeatRecord, StudyRecord, StudyRules
from core.labels import Adjudication
from pages.parts import live, resources
from storage.db import connections
from storage.labels import views
from storage.studies import studies
from storage.transfer import imports
from tests.conftest import make_item, make_label, make_target
from tests.pages.visits import page_text, prepare_study, visit
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, store_label


def prepare(**rules):
    items = [ItemRecord(item=make_item(f"item {number}")) for number in range(6)]
    given = [make_label(1, "ann", f"item {n}", seconds=9.0) for n in range(6)]
    given += [make_label(1 + n % 2, "bob", f"item {n}") for n in range(6)]
    prepare_study([StudyRecord(rules=StudyRules(**rules)), *items, *given])


def test_every_annotator_has_a_row_with_intervals_and_n_which_has_a_new_label_at_once():
    prepare()
    page = visit("setup/annotators", "eve")
    pace, quality = (table.value.set_index("Annotator") for table in page.dataframe)
    assert pace["Labels"].to_dict() == {"ann": 6, "bob": 6}
    assert pace.loc["ann", ["Per hour", "Seconds, median"]].tolist() == [400, 9]
    assert pace.loc["bob", ["Per hour", "Seconds, median"]].isna().all()
    assert quality.loc["ann", "With others"].startswith("0.50 [")
    assert quality.loc["ann", "n others"] == 6
    assert quality.loc["ann", ["With gold", "Changed"]].tolist() == ["–", "–"]
    assert "2 annotators · 12 labels" in page_text(page)
    save_label(1, "item 1")
    page.run()
    assert page.dataframe[1].value.set_index("Annotator").loc["ann", "With others"].startswith("0.67 [")


def test_annotators_are_in_natural_order_with_a_dash_for_no_time():
    names = [f"Dr. Maximiliane Freifrau von und zu Hohenlohe-Waldenburg {number}" for number in (10, 9, 1)]
    items = [ItemRecord(item=make_item(f"item {number}")) for number in range(3)]
    prepare_study([*items, *(make_label(1, name, "item 0", seconds=None) for name in names)])
    page = visit("setup/annotators", "eve")
    for table in page.dataframe[:2]:
        shown = table.value["Annotator"].tolist()
        assert [name.rpartition(" ")[2] for name in shown] == ["1", "9", "10"]
    assert set(page.dataframe[0].value["Per hour"]) == {None}
    assert "no label has a time" in page_text(page)


def test_a_named_annotator_sees_the_own_row_only():
    prepare(annotators=("ann", "bob"))
    page = visit("setup/annotators", "ann")
    assert page.dataframe[0].value["Annotator"].tolist() == ["ann"]
    assert "bob" not in page_text(page)


@pytest.mark.parametrize("viewer", ["ann", "bob"])
def test_a_study_can_hide_the_statistics_from_its_annotators(viewer):
    prepare(annotators=("ann", "bob"), own_statistics=False)
    page = visit("setup/annotators", viewer)
    assert len(page.dataframe) == 0
    assert "does not show annotators their statistics" in page_text(page)


def with_gold(**rules):
    """Return ann's page of a study in which the values of four items were known before ann labelled."""
    prepare(**rules)
    rulings = [
        AdjudicationRecord(
            ruling=Adjudication(target=make_target(f"item {n}"), value=1, rule="r", reason="", adjudicator="owner")
        )
        for n in range(4)
    ]
    later = [make_label(2, "ann", "item 0", at=datetime(2030, 1, 1, tzinfo=UTC))]
    imports.import_records(resources.engine(), "s", [*rulings, *later])


def test_hidden_checks_are_shown_to_the_owner_with_interval_and_n():
    with_gold(check_share=0.1)
    page = visit("setup/annotators", "eve")
    checks = page.dataframe[2].value.set_index("Annotator")
    assert checks.loc["ann", ["Hidden checks", "n checks"]].tolist() == ["0.75 [0.30, 0.95]", 4]
    assert checks.loc["ann", ["Training", "n training"]].tolist() == ["–", 0]


def test_the_owner_sees_with_interval_and_n_on_how_many_repeats_an_annotator_gave_the_same_answer():
    prepare()
    repeats = [
        RepeatRecord(target=make_target(f"item {n}"), annotator="ann", number=1, value=1 + (n == 0)) for n in range(4)
    ]
    imports.import_records(resources.engine(), "s", repeats)
    results = visit("setup/annotators", "eve").dataframe[2].value.set_index("Annotator")
    assert results.loc["ann", ["Same on repeats", "n repeats"]].tolist() == ["0.75 [0.30, 0.95]", 4]


def test_an_annotator_sees_nothing_that_changes_with_a_check():
    with_gold(check_share=0.1, annotators=("ann", "bob"))
    page = visit("setup/annotators", "ann")
    assert len(page.dataframe) == 2
    assert page.dataframe[1].value.loc[0, ["With gold", "n gold"]].tolist() == ["–", 0]


def save_label(value, item):
    imports.import_records(
        resources.engine(), "s", [make_label(value, "bob", item, at=datetime(2030, 1, 2, tzinfo=UTC))]
    )


def test_figures_that_took_long_are_shown_for_some_time_after_a_newer_label():
    prepare()
    page = visit("setup/annotators", "eve")
    (figures,) = live._figures.values()
    figures.seconds = 10 * live.LIMIT
    save_label(1, "item 1")
    page.run()
    assert page.dataframe[1].value.set_index("Annotator").loc["ann", "With others"].startswith("0.50 [")
    assert "The figures are computed with them in a while." in page_text(page)
    figures.computed_at -= live.PAUSE * figures.seconds
    page.run()
    assert page.dataframe[1].value.set_index("Annotator").loc["ann", "With others"].startswith("0.67 [")
    assert "The figures are computed with them in a while." not in page_text(page)


def test_a_label_that_was_changed_after_the_reveal_is_counted_on_the_page():
    prepare()
    trace = [RUN, a_trace("item 0", a_turn(), a_verdict("disputed", (2, 2, 1)))]
    imports.import_records(resources.engine(), "s", trace)
    with connections.writing(resources.engine()) as session:
        study = studies.get(session, "s")
        views.record(session, study.id, [make_target("item 0")], "ann")
        store_label(session, study.id, make_target("item 0"), "ann", 2)
    quality = visit("setup/annotators", "eve").dataframe[1].value.set_index("Annotator")
    assert quality.loc["ann", "Changed"].startswith("1.00 [")
