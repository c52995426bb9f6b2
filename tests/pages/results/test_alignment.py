"""The page of alignment, and its tables and charts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from core.formats.records import (
    ItemRecord,
    LabelRecord,
    Record,
    RunRecord,
    ScaleRecord,
    TraceRecord,
)
from core.labels import Label, Opinion, Scale
from core.statistics.data.dataset import Frames, build_datasets
from core.statistics.reports.alignment import AlignmentRow
from core.trace import Verdict, VerdictReached
from pages.parts import charts, resources
from pages.results.parts import alignment_rows
from pages.results.parts.alignment_rows import Line
from storage.reports import alignment, disagreements
from storage.reports.disagreements import JudgeQuery, JudgeValues
from storage.studies import studies
from tests.conftest import make_item, make_label, make_target
from tests.pages.visits import page_text, prepare_study, visit
from tests.sessions import read
from tests.storage.shared import (
    RUN,
    RUN_WITHOUT_CRITERION,
    a_trace,
    a_turn,
    a_verdict,
    verdict_on_criteria,
)

PAGE = "results/judges"
PEOPLE = ("ann", "ben", "cat")


def debate_records(*words: str, scenario: str = "math") -> list[Record]:
    """Return one debate a word: labels of ann, ben and cat, then last opinions of j0, j1 and j2; "-" for none."""
    records: list[Record] = []
    for number, word in enumerate(words):
        name = f"{scenario} {number}"
        records.append(ItemRecord(item=make_item(name, scenario=scenario)))
        annotator_votes = zip(PEOPLE, word[:3], strict=True)
        records += [make_label(int(vote), annotator, name) for annotator, vote in annotator_votes if vote != "-"]
        last = tuple(None if vote == "-" else int(vote) for vote in word[3:])
        records += [RUN, a_trace(name, *(a_turn(n) for n in range(3)), a_verdict(last=last))] if last else []
    return one_run_record(records)


def one_run_record(records: Sequence[Record]) -> list[Record]:
    """Return the records with the run only once, before its first trace."""
    return [record for n, record in enumerate(records) if record is not RUN or records.index(RUN) == n]


def a_row(value: float | None = 0.5, statistic: str = "accuracy_majority", **fields: object) -> AlignmentRow:
    defaults = {
        "judge": "j0",
        "kind": "preference",
        "criterion": "helpfulness",
        "group": "all",
        "low": None,
        "high": None,
    }
    counts = {"items": 30, "raters": 3, "pairs": 30, "reason": ""}
    return AlignmentRow(**{**defaults, **counts, "value": value, "statistic": statistic, **fields})


def visit_page(viewer: str = "", **parameters: str) -> AppTest:
    """Open the page at an address, signed in as `viewer`; "" is nobody."""
    return visit(PAGE, viewer, section="Alignment", **parameters)


def readable_text(app: AppTest) -> str:
    """Everything that is written on the page, as a reader sees it."""
    return page_text(app).replace("\\", "")


def table_line(app: AppTest, judge: str) -> dict[str, object]:
    """The line of a judge."""
    lines = app.dataframe[0].value.set_index("Judge")
    return dict(lines.loc[judge])


def test_each_judge_has_a_row_with_ceiling_difference_and_counts() -> None:
    prepare_study(debate_records(*["111112", "222221", "112112", "000000"] * 5))
    app = visit_page()
    line = table_line(app, "j0")
    assert (line["Targets"], line["Annotators"]) == (20, 3)
    assert line["Accuracy"].startswith("1.00")
    assert line["Human ceiling"].startswith("0.9")
    assert line["No verdict"].startswith("0.00 [")


def test_an_undefined_figure_is_a_dash_with_its_reason() -> None:
    prepare_study(debate_records("111111", "111111"))
    app = visit_page()
    line = table_line(app, "j0")
    assert line["Kappa"] == "–" and line["Winning rate"] == "–"
    assert "Kappa: both used one and the same category" in line["Undefined"]
    assert "the test needs 30 items" in line["Undefined"]


def test_no_page_shows_nan() -> None:
    prepare_study(debate_records("111111", "12-2-2", "---111"))
    app = visit_page(statistic="Cohen's kappa with the reference", among="math")
    assert "nan" not in readable_text(app).lower().split()
    assert not any("nan" in str(cell).lower() for cell in app.dataframe[0].value.to_numpy().ravel())


def test_a_cell_in_the_address_lists_its_items() -> None:
    prepare_study(debate_records("111222", "112111", "222222"))
    app = visit_page(judge="j1", cell="2 × 1", item="math 0")
    assert "Selected targets: 1" in readable_text(app)
    assert "j1: Response 2 · people: Response 1" in readable_text(app)
    assert list(app.dataframe[1].value["Item"]) == ["math 0"]
    assert "Which is better for math 0?" in readable_text(app)
    app.button(key="close_items").click().run()
    assert "Selected targets" not in readable_text(app) and "cell" not in app.query_params


def pooled_records() -> list[Record]:
    """Return three items with a verdict and a label on each of two criteria."""
    records: list[Record] = [RUN_WITHOUT_CRITERION]
    for number in range(3):
        name = f"item {number}"
        records.append(ItemRecord(item=make_item(name)))
        records.append(a_trace(name, verdict_on_criteria(accuracy=1, politeness=2)))
        for criterion in ("accuracy", "politeness"):
            target = make_target(name, criterion=criterion)
            records += [LabelRecord(label=Label(target=target, annotator=person, value=1)) for person in PEOPLE]
    return records


def test_all_criteria_are_pooled_in_the_drilldown() -> None:
    prepare_study(pooled_records())
    app = visit_page(cell="2 × 1", item="item 1")
    assert app.selectbox(key="criterion").value == "all"
    assert "Selected targets: 3" in readable_text(app)
    assert list(app.dataframe[1].value["Item"]) == ["item 0", "item 1", "item 2"]
    engine, query = resources.engine(), JudgeQuery("j0", "preference", "all")
    data = alignment.load_data(engine, read(engine, studies.get, "s"))
    values = disagreements.load_values(data, query)
    assert values is not None
    assert Counter(zip(*values.texts, strict=True)) == {("1", "1"): 3, ("2", "1"): 3}
    assert alignment_rows.count_targets(values) == "6 targets of 3 items"
    one = disagreements.load_values(data, replace(query, criterion="accuracy"))
    assert one is not None and alignment_rows.count_targets(one) == "3 items"


def test_unknown_values_in_the_address_list_nothing() -> None:
    prepare_study(debate_records("111221", "112111"))
    app = visit_page(judge="nobody", cell="<b> × 7", bias="other", statistic="no such")
    assert "Selected targets: 0" in readable_text(app)


def test_the_former_address_opens_the_section_with_its_parameters() -> None:
    prepare_study(one_run_record([*debate_records("111222"), *debate_records("111222", scenario="writing")]))
    app = visit("results/alignment", judge="j1", scenario="writing", cell="differ", study="s")
    assert app.query_params["section"] == "Alignment" and app.query_params["among"] == "writing"
    assert app.selectbox(key="judge").value == "j1"
    assert list(app.dataframe[1].value["Item"]) == ["writing 0"]
    assert table_line(app, "j0")["Targets"] == 1


def test_unlabelled_items_are_not_listed_for_a_cell() -> None:
    prepare_study(debate_records("11-222", "111222"))
    app = visit_page("cat", judge="j0", cell="differ")
    assert list(app.dataframe[1].value["Item"]) == ["math 1"]
    assert "1 target hidden until you have labelled them" in readable_text(app)


def a_line(judge: str, *rows: AlignmentRow) -> Line:
    return Line(judge, {row.statistic: row for row in rows})


def test_the_difference_from_the_ceiling_is_read_from_its_own_interval() -> None:
    view = alignment_rows.VIEWS["accuracy_majority"]
    comparisons = [
        alignment_rows.compare_with_ceiling(a_line("j", a_row(value, view.difference, low=low, high=high)), view)
        for value, low, high in ((-0.2, -0.3, -0.1), (0.2, 0.1, 0.3), (0.04, -0.0016, 0.08))
    ]
    assert comparisons == [
        "j: below the human ceiling: -0.20 [-0.30, -0.10], n 30.",
        "j: above the human ceiling: +0.20 [+0.10, +0.30], n 30.",
        "j: not distinguishable from the human ceiling: +0.04 [-0.00, +0.08], n 30.",
    ]
    assert alignment_rows.compare_with_ceiling(a_line("j"), view) == ""
    silent = a_line("j", a_row(0.2, view.difference), a_row(0.6, "no_verdict_rate"))
    assert "that it decided: no verdict on 60%" in alignment_rows.compare_with_ceiling(silent, view)


def test_judges_are_sorted_best_first_and_those_that_often_abstain_after_the_others() -> None:
    lines = [
        a_line("silent", a_row(0.98), a_row(0.6, "no_verdict_rate")),
        a_line("good", a_row(0.8), a_row(0.0, "no_verdict_rate")),
        a_line("poor", a_row(0.5), a_row(0.05, "no_verdict_rate")),
        a_line("undefined", a_row(None)),
    ]
    ordered = alignment_rows.sort_lines(lines, "accuracy_majority")
    assert [line.judge for line in ordered] == ["good", "poor", "silent", "undefined"]
    distances = [a_line(name, a_row(value, "rank_distance")) for name, value in (("far", 0.9), ("near", 0.1))]
    assert alignment_rows.sort_lines(distances, "rank_distance")[0].judge == "near"


@pytest.mark.usefixtures("light_theme")
def test_scores_are_drawn_against_peoples_mean_without_missing_verdicts() -> None:
    target = {"kind": "score", "criterion": "clarity", "part": "", "scenario": None, "group": None}
    target |= {"judge": "j", "stage": "verdict", "run": 1, "trace": 1}
    opinions = pd.DataFrame([{"item": "a", "value": 2.5} | target, {"item": "b", "value": None} | target])
    labels = pd.DataFrame(
        [
            {"item": item, "rater": rater, "value": value} | target
            for item in "ab"
            for rater, value in (("ann", 1), ("ben", 2))
        ]
    )
    frames = Frames(labels, opinions.assign(rater="j"), None, {("score", "clarity"): Scale(level="interval")})
    (dataset,) = build_datasets(frames, "all")
    figure = alignment_rows.score_figure(JudgeValues(dataset, "j"), "t")
    assert list(figure.data[1].x) == [1.5] and list(figure.data[1].y) == [2.5]
    assert list(figure.data[1].customdata) == ["a"]
    assert figure.layout.yaxis.title.text == "j<br>on the scale of the labels"


def test_numbers_without_categories_show_no_table_of_values() -> None:
    scale = ScaleRecord(kind="preference", criterion="helpfulness", scale=Scale(level="interval", low=0, high=10))
    prepare_study([scale, *debate_records("111222", "222111", "121212", "212121")])
    app = visit_page(judge="j0", cell="differ")
    assert "largest difference first" in readable_text(app)


@pytest.fixture
def light_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts ask the visitor's browser for its theme; here there is none."""
    monkeypatch.setattr(charts, "theme", lambda: "light")


def test_the_reference_is_in_the_address_and_changes_the_figures() -> None:
    """Two judges that agree in a debate are right by it, and wrong by people."""
    verdict = Verdict(outcome="agreed", value=1, opinions=(a_verdict_opinion("solo", 1),))
    records: list[Record] = [ItemRecord(item=make_item()), RUN, a_trace("item 0", a_verdict("agreed", (1, 1, 1)))]
    records += [RunRecord(name="single", protocol="single-judge"), make_label(2)]
    records += [TraceRecord(run="single", item="item 0", events=(VerdictReached(verdict=verdict),))]
    prepare_study(records)
    assert table_line(visit_page(statistic="Accuracy with the reference"), "solo")["Accuracy"].startswith("0.00")
    app = visit_page(reference="debate:r")
    assert app.selectbox(key="reference").value == "debate:r"
    assert table_line(app, "solo")["Accuracy"].startswith("1.00")
    assert "Reference debate:r: 1 by the debate" in page_text(app).replace("\\", "")


def a_verdict_opinion(judge: str, value: int) -> Opinion:
    return Opinion(kind="preference", judge=judge, stage="verdict", value=value, criterion="helpfulness")


def test_a_latex_table_has_the_names_of_statistics_and_dashes_for_missing_references() -> None:
    known = AlignmentRow("a", "score", "quality", "all", "spearman", 0.8, 0.7, 0.9, 40, 3, 0, "")
    rows = [
        replace(known, reference="gold: 40 by people"),
        replace(known, statistic="judge_against_others_spearman"),
        replace(known, statistic="human_ceiling_spearman", value=0.75),
    ]
    chart = (go.Figure(), charts.ChartData(rows), "c", "Caption.")
    table, figures = (charts.make_file(*chart, suffix).decode() for suffix in ("tex", "csv"))
    assert "_spearman" not in table and "_spearman" in figures
    assert (
        r"$^{a}$} \\ {rho}} & \stack[c]{{.800} \\ {\scriptsize [.70, .90]}} \\" in table
        and "gold: 40 by people." in table
    )
    assert r"rho}} & \stack[c]{{.750} \\ {\scriptsize [.70, .90]}} \\" in table
