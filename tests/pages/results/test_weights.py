"""The page of weight distances."""

import re

from sqlalchemy import select

from core.formats.records import TraceRecord
from pages.parts import resources
from storage.db import connections
from storage.db.tables import OpinionViewRow
from tests.databases import sample_records
from tests.pages.visits import page_text, prepare_sample, prepare_study, visit

ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")


def test_figures_of_the_sample_and_of_its_heaviest_aspects() -> None:
    prepare_sample("dna_eval")
    app = visit("results/weights")
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
    assert list(quality["Judge"]) == ["judge A"] and list(agreement["No verdict"]) == [4, 0, 0]
    app.segmented_control[0].set_value("heaviest").run()
    assert [box.label for box in app.selectbox][:3] == ["Study", "Number of aspects", "Penalty p for a tie"]


def test_the_share_of_weightings_that_do_not_sum_to_100_is_stated() -> None:
    records = [
        TraceRecord.model_validate_json(record.model_dump_json().replace('"accuracy":50.0', '"accuracy":90.0'))
        if isinstance(record, TraceRecord)
        else record
        for record in sample_records("dna_eval")
    ]
    prepare_study(records)
    app = visit("results/weights")
    assert re.search(r"judge [AB]: \d of \d weightings \(\d+%\) did not sum to 100 %", page_text(app).replace("\\", ""))


def test_other_pages_open_a_study_of_weights() -> None:
    prepare_sample("dna_eval")
    for page in ("results/agreement", "watch/traces", "label/disagreements", "setup/studies"):
        app = visit(page, "annotator 1")
        assert not app.error


# The page of the weights laboratory


def test_the_answer_is_shown_and_a_listed_item_is_recorded_as_seen() -> None:
    prepare_sample("dna_eval")
    app = visit("results/laboratory", annotator="zoe")
    assert "equal weights" in list(app.dataframe[0].value["Weights"])
    assert "too few for a conclusion" in page_text(app) and not blindness_lost()
    app.toggle[0].set_value(True).run()
    assert "Reference" in app.dataframe[-1].value.columns
    assert blindness_lost()


def blindness_lost() -> bool:
    """Whether a view of an opinion is recorded for zoe."""
    with connections.reading(resources.engine()) as session:
        return bool(session.scalars(select(OpinionViewRow)).all())
