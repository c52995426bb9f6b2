"""The first page of a study: its rows, the next step, and the steps of an empty study."""

import pytest

from core.formats.records import ItemRecord, LabelRecord, ScaleRecord
from core.labels import Label, Scale
from pages.parts import resources
from storage.db import connections
from storage.studies import studies
from storage.transfer import samples
from tests.conftest import make_item, make_label, make_target
from tests.pages.visits import page_text, prepare_sample, prepare_study, visit
from tests.storage.reports.test_judge_ranking import partly_labelled_records
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict

ITEMS = [ItemRecord(item=make_item(f"item {number}")) for number in range(4)]
DISPUTED = [RUN, *(a_trace(f"item {number}") for number in range(4))]
AGREED = [RUN, *(a_trace(f"item {number}", a_turn(), a_verdict("agreed", (1, 1, 1))) for number in range(4))]


def test_a_study_without_items_shows_its_steps():
    prepare_study()
    with connections.writing(resources.engine()) as session:
        studies.get_or_create(session, "s")
    text = page_text(visit("results/overview", "ann"))
    assert "1. Import" in text and "3. Label" in text


def test_waiting_targets_are_counted_for_the_annotator():
    prepare_study([*ITEMS, *DISPUTED])
    text = page_text(visit("results/overview", "ann"))
    assert "**4 targets** to label" in text and "4 traces · 4 disputed" in text
    assert "Label the 4 targets waiting for you." in text
    visit("results/overview", "ann", trace="1")


def test_agreement_and_the_best_judge_have_their_n():
    labels = [make_label(1, name, f"item {number}") for name in ("ann", "bob") for number in range(4)]
    prepare_study([*ITEMS, *AGREED, *labels, make_label(2, "cyd", "item 0")])
    text = page_text(visit("results/overview", "ann"))
    assert "**3 annotators** · 9 labels" in text
    assert "Fleiss' kappa" in text and "· n 4 ·" in text
    assert "Judges are not ranked: not enough data · n 4" in text and "Most accurate" not in text


def test_ratings_in_steps_have_the_agreement_of_an_ordinal_scale():
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    values = {"ann": (1, 2, 3, 3), "bob": (2, 2, 3, 1)}
    labels = [
        LabelRecord(
            label=Label(
                target=make_target(f"item {number}", kind="score", criterion="clarity"), annotator=name, value=value
            )
        )
        for name, given in values.items()
        for number, value in enumerate(given)
    ]
    prepare_study([ScaleRecord(kind="score", criterion="clarity", scale=scale), *ITEMS, *labels])
    text = page_text(visit("results/overview", "ann"))
    assert "Krippendorff's alpha, ordinal" in text and "Fleiss" not in text


def test_contested_targets_are_the_next_step():
    prepare_study([*ITEMS, *AGREED, make_label(1, "ann", "item 0"), make_label(2, "bob", "item 0")])
    text = page_text(visit("results/overview"))
    assert "1 target to adjudicate" in text
    assert "Decide the 1 target on which people or judges disagree." in text


def test_judges_that_cannot_be_told_apart_need_more_labels():
    prepare_study(partly_labelled_records())
    helps = [element.help or "" for element in visit("results/overview").markdown]
    text = "".join(helps).replace("\\", "")
    assert "more labels separate" in text and "such targets wait" in text


@pytest.mark.parametrize("protocol", sorted(samples.studies().values()))
def test_every_sample_has_an_overview_and_an_alignment(protocol):
    prepare_sample(protocol)
    page = visit("results/overview", "ann")
    assert not page.error
    assert "first opinion" not in page_text(page)
    page = visit("results/judges", section="Alignment")
    assert not page.error and page.dataframe
