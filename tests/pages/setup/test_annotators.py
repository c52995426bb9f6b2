"""The page of the annotators: figures with intervals and n, and who sees whose."""

import pytest

from core.formats.records import ItemRecord, StudyRecord, StudyRules
from tests.conftest import make_item, make_label
from tests.pages.visits import page_text, prepare_study, visit


def prepare(**rules):
    items = [ItemRecord(item=make_item(f"item {number}")) for number in range(6)]
    given = [make_label(1, "ann", f"item {n}", seconds=9.0) for n in range(6)]
    given += [make_label(1 + n % 2, "bob", f"item {n}") for n in range(6)]
    prepare_study([StudyRecord(rules=StudyRules(**rules)), *items, *given])


def test_every_annotator_has_a_row_with_intervals_and_n():
    prepare()
    page = visit("setup/annotators", "eve")
    assert not page.exception
    pace, quality = (table.value.set_index("Annotator") for table in page.dataframe)
    assert pace["Labels"].to_dict() == {"ann": 6, "bob": 6}
    assert pace.loc["ann", ["Per hour", "Seconds, median"]].tolist() == [400, 9]
    assert pace.loc["bob", ["Per hour", "Seconds, median"]].isna().all()
    assert quality.loc["ann", "With others"].startswith("0.50 [")
    assert quality.loc["ann", "n others"] == 6
    assert quality.loc["ann", ["With gold", "Changed"]].tolist() == ["–", "–"]
    assert "2 annotators · 12 labels" in page_text(page)


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


def test_a_study_without_labels_says_so():
    prepare_study([ItemRecord(item=make_item())])
    assert "Nobody has labelled" in page_text(visit("setup/annotators", "eve"))
