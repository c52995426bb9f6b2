"""The page of weight distances."""

import re

import pytest

from core.aspects import aspect_set_id
from core.formats import tiebreak
from core.formats.records import ItemRecord, LabelRecord, TraceRecord
from core.items import Item
from core.labels import Label, Target
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, visit

ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")


def prepare_sample() -> None:
    prepare_study(list(tiebreak.read(samples.path("dna_eval"))))


def test_figures_of_the_sample() -> None:
    prepare_sample()
    app = visit("results/weights")
    assert not app.exception
    text = page_text(app).replace("\\", "")
    assert "Between people: 0.06 " in text and "(8 weightings, 3 annotators)." in text
    assert "Of 2 judges, the nearest weights are those of " in text and "from people (" in text
    pairs, averages, quality, agreement = (table.value for table in app.dataframe)
    assert pairs[["Rater", "Other rater"]].to_numpy().tolist()[:4] == [
        ["people", "people"],
        ["judge A", "people"],
        ["judge B", "people"],
        ["annotator 1", "annotator 2"],
    ]
    assert averages.set_index("Category").loc["math", "accuracy"] == "50.0"
    assert list(quality["Judge"]) == ["judge A"] and list(agreement["No verdict"]) == ["4", "0", "0"]


def test_the_share_of_weightings_that_do_not_sum_to_100_is_stated() -> None:
    records = [
        TraceRecord.model_validate_json(record.model_dump_json().replace('"accuracy":50.0', '"accuracy":90.0'))
        if isinstance(record, TraceRecord)
        else record
        for record in tiebreak.read(samples.path("dna_eval"))
    ]
    prepare_study(records)
    app = visit("results/weights")
    assert not app.exception
    assert re.search(r"judge [AB]: \d of \d weightings \(\d+%\) did not sum to 100 %", page_text(app).replace("\\", ""))


def test_heaviest_aspects_use_the_distance_of_fagin() -> None:
    prepare_sample()
    app = visit("results/weights")
    app.segmented_control[0].set_value("heaviest").run()
    assert not app.exception
    assert [box.label for box in app.selectbox][:3] == ["Study", "Number of aspects", "Penalty p for a tie"]


def test_without_weights_the_page_says_what_to_do() -> None:
    prepare_study([ItemRecord(item=Item(id="i", prompt="?"))])
    assert "This study has no weights yet" in page_text(visit("results/weights"))


def test_a_single_annotator_has_no_distance() -> None:
    target = Target(item="i", kind="aspect_weights", part=aspect_set_id(("x", "y")))
    label = LabelRecord(label=Label(target=target, annotator="ann", value={"x": 60, "y": 40}))
    prepare_study([ItemRecord(item=Item(id="i", prompt="?")), label])
    app = visit("results/weights")
    assert not app.exception
    text = page_text(app).replace("\\", "")
    assert "No distance between people: at least two have to give weights to the same aspects." in text
    assert "No distance of a judge from people: both have to give weights to the same aspects." in text


@pytest.mark.parametrize("page", ["results/agreement", "watch/traces", "label/disagreements", "setup/studies"])
def test_other_pages_open_a_study_of_weights(page: str) -> None:
    prepare_sample()
    app = visit(page)
    app.session_state["annotator"] = "annotator 1"
    app.run()
    assert not app.exception and not app.error
