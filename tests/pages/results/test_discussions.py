"""The page Discussions: a sentence, changed opinions with their targets, and fewer rounds."""

from itertools import pairwise

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord
from core.statistics.reports.discussions import InfluenceRow
from pages.parts import charts
from pages.results.parts import discussion_chart
from storage.transfer import samples
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_study, visit

PAGE = "results/discussions"


def test_a_debate_has_changes_adoptions_and_ablations() -> None:
    prepare_study(list(tiebreak.read(samples.path("scaleeval"))))
    app = visit(PAGE)
    assert not app.exception
    assert "opinions changed" in page_text(app) and "adopts the opinion of" in page_text(app).replace("\\", "")
    changes, ablations = (table.value.to_dict("records") for table in app.dataframe[:2])
    assert {row["Judge"] for row in changes} == {"judge A", "judge B", "judge C"}
    assert ablations[0]["Judges"] == "all" and "without judge A" in {row["Judges"] for row in ablations}
    chosen = changes[2]
    app = visit(PAGE, change=chosen["Judge"])
    assert not app.exception
    assert f"Selected targets: {chosen['Changed'].split()[0]}" in {header.value for header in app.subheader}
    listed = app.dataframe[1].value.to_dict("records")
    assert listed and all("→" in row[chosen["Judge"]] for row in listed)


def test_a_study_without_debates_says_so() -> None:
    prepare_study([ItemRecord(item=make_item())])
    assert "No judge of this study speaks twice" in page_text(visit(PAGE))


def test_the_chart_has_the_pairs_whose_intervals_begin_highest() -> None:
    few = InfluenceRow("judge 0", "judge 1", 1, 1, 1.0, 0.21, 1.0)
    others = [InfluenceRow(f"judge {n}", "judge 0", 50, 20, 0.4, 0.28, 0.54) for n in range(1, 31)]
    shown = discussion_chart.strongest([few, *others])
    assert shown == others[: discussion_chart.MAX_PAIRS]
    assert discussion_chart.strongest([few, *others[:3]]) == [few, *others[:3]]


def test_both_judges_of_a_pair_with_long_names_are_legible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "theme", lambda: "light")
    names = [f"evaluator {n:02} · a model with a long name, temperature 0.7, strict rubric" for n in range(20)]
    rows = [InfluenceRow(a, b, 50, 20, 0.4, 0.28, 0.54) for a, b in pairwise(names)]
    labels = discussion_chart.influence_figure(rows).layout.yaxis.ticktext
    for label, (judge, source) in zip(labels, pairwise(names), strict=True):
        ends = label.replace("<br>", " ").split(" ← ")
        assert [f"{n:02}" in end for n, end in zip((names.index(judge), names.index(source)), ends, strict=True)] == [
            True
        ] * 2
