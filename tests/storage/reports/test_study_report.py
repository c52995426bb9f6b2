"""The report of a study for an appendix."""

import pytest

from core.formats import tiebreak
from storage.reports import study_report
from storage.transfer import samples
from tests.storage.shared import import_study


@pytest.mark.slow
def test_sections_have_the_figures_of_the_study(engine):
    study = import_study(engine, tiebreak.read(samples.path()), "tour")
    overview, judges, comparisons, causes, systems, biases, agreement, alignment = study_report.sections(engine, study)
    assert "32 items" in overview.sentences[1] and "0.6" in overview.sentences[-1]
    assert [row["judge"] for row in judges.rows][:1] == ["judge A"]  # by name: they are not ranked
    assert "n = 24 targets" in judges.table_caption and "seed 0" in judges.table_caption
    assert "ω at least 0.5" in judges.table_caption and "count as errors" in judges.table_caption
    assert {row["targets"] for row in comparisons.rows} == {24} and "Holm" in comparisons.table_caption
    assert causes.rows and "a cause is drawn" in causes.table_caption
    assert all("[" in row["together"] for row in systems.rows if row["scenario"] == "all")
    assert "prediction-powered" in systems.table_caption.lower() and "labelled targets" in systems.table_caption
    assert {row["bias"] for row in biases.rows} >= {"position", "length"} and "Holm" in biases.table_caption
    assert any(row["statistic"] == "fleiss_kappa" and row["value"].startswith("0.636") for row in agreement.rows)
    assert len(alignment.rows) > 20 and all("n" in row for row in alignment.rows)


def test_a_study_without_labels_has_reasons_in_place_of_figures(engine, a_study):
    sections = study_report.sections(engine, a_study)
    assert [section.title for section in sections if not section.rows and section.sentences] == [
        "Overview", "Judges", "Differences between judges", "Causes of disagreements", "Systems", "Biases of judges",
        "Inter-annotator agreement", "Alignment of judges",
    ]  # fmt: skip
