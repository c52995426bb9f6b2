"""The alignment page, as a visitor meets it."""

import csv
import io
from collections.abc import Sequence

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.formats import tiebreak
from core.formats.records import ItemRecord, Record, ScaleRecord
from core.labels import Scale
from core.statistics.reports.agreement import AlignmentRow
from core.trace import Usage
from pages.parts import charts, resources
from pages.results.parts import alignment_charts, alignment_rows
from pages.results.parts.alignment_charts import Judges, Naming
from storage import database, labels, studies
from storage.reports.disagreements import DIVIDED, SILENT, Matrix, Pair
from storage.reports.judge_costs import Cost
from storage.transfer import samples
from tests.conftest import a_label, a_target, an_item
from tests.pages.opened import APP, prepared, visit, whole
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict

PAGE = "results/alignment"
PEOPLE = ("ann", "ben", "cat")


def judged(*items: str, scenario: str = "math") -> list[Record]:
    """One debate for each word: what ann, ben and cat said, then what j0, j1 and j2 ended on; "-" for nothing."""
    records: list[Record] = []
    for number, word in enumerate(items):
        name = f"{scenario} {number}"
        records.append(ItemRecord(item=an_item(name, scenario=scenario)))
        people = zip(PEOPLE, word[:3], strict=True)
        records += [a_label(int(vote), who, name) for who, vote in people if vote != "-"]
        last = tuple(None if vote == "-" else int(vote) for vote in word[3:])
        records += [RUN, a_trace(name, *(a_turn(n) for n in range(3)), a_verdict(last=last))] if last else []
    return _once(records)


def _once(records: Sequence[Record]) -> list[Record]:
    """The run is told once, before its first trace."""
    return [one for n, one in enumerate(records) if one is not RUN or records.index(RUN) == n]


def a_row(value: float | None = 0.5, statistic: str = "accuracy_majority", **fields: object) -> AlignmentRow:
    told = {"judge": "j0", "kind": "preference", "criterion": "helpfulness", "group": "all", "low": None, "high": None}
    counts = {"items": 30, "raters": 3, "pairs": 30, "reason": ""}
    return AlignmentRow(**{**told, **counts, "value": value, "statistic": statistic, **fields})


def opened(viewer: str = "", **parameters: str) -> AppTest:
    """The page at an address; `viewer` is signed in, "" is nobody."""
    st.cache_data.clear()
    st.cache_resource.clear()
    app = AppTest.from_file(str(APP), default_timeout=20)
    app.switch_page(str(APP.parent / "pages" / f"{PAGE}.py"))
    app.session_state["annotator"] = viewer
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def read(app: AppTest) -> str:
    """Everything that is written on the page, as a reader sees it."""
    return whole(app).replace("\\", "")


def table(app: AppTest, judge: str) -> dict[str, object]:
    """The line of a judge."""
    lines = app.dataframe[0].value.set_index("Judge")
    return dict(lines.loc[judge])


def test_without_a_judge_the_page_says_what_to_do() -> None:
    prepared(judged("11-", "12-"))
    app = visit(PAGE)
    assert not app.exception
    assert "People have labelled this study, but no judge has given an opinion in it yet" in read(app)
    assert not app.dataframe


def test_with_neither_judges_nor_labels_the_page_says_what_to_do() -> None:
    prepared([ItemRecord(item=an_item())])
    assert "No judge has given an opinion in it yet" in read(visit(PAGE))


def test_without_people_the_page_links_to_labelling_and_shows_what_stands_without_them() -> None:
    prepared(judged("---112", "---1-2"))
    app = visit(PAGE, judge="j2")
    assert not app.exception
    assert "Judges gave their opinions on 2 items, but nobody has labelled any of them yet" in read(app)
    lines = app.dataframe[0].value.set_index("Judge")
    assert lines.loc["j1", "No verdict"].startswith("0.50 [")
    assert "Changed 2 opinions of 2" in read(app)


def test_each_judge_has_a_line_with_ceiling_difference_and_counts() -> None:
    prepared(judged(*["111112", "222221", "112112", "000000"] * 5))
    app = visit(PAGE)
    assert not app.exception
    line = table(app, "j0")
    assert (line["Items"], line["Raters"]) == (20, 3)
    assert line["Accuracy"].startswith("1.00")
    assert line["Human ceiling"].startswith("0.9")
    assert line["No verdict"].startswith("0.00 [")
    assert line["$ per 1,000"] == "$250.00"
    assert "above the human ceiling" in read(app) or "not told apart from the human ceiling" in read(app)


def test_an_undefined_figure_is_a_dash_with_its_reason() -> None:
    prepared(judged("111111", "111111"))
    line = table(visit(PAGE), "j0")
    assert line["Kappa"] == "–" and line["Winning rate"] == "–"
    assert "Kappa: both used one and the same category" in str(line[alignment_rows.WHY])
    assert "the test needs 30 items" in str(line[alignment_rows.WHY])


def test_no_page_shows_nan() -> None:
    prepared(judged("111111", "12-2-2", "---111"))
    for statistic in ("Accuracy with the majority", "Cohen's kappa with gold"):
        app = opened(statistic=statistic, by_scenario="true", firsts="true")
        assert not app.exception
        assert "nan" not in read(app).lower().split()
        assert not any("nan" in str(cell).lower() for cell in app.dataframe[0].value.to_numpy().ravel())


def test_first_opinions_and_scenarios_come_on_request() -> None:
    prepared(_once([*judged("111112", "222221"), *judged("112112", scenario="writing")]))
    app = visit(PAGE)
    assert "Scenario" not in app.dataframe[0].value
    assert not any("first opinion" in judge for judge in app.dataframe[0].value["Judge"])
    app.toggle(key="by_scenario").set_value(True)
    app.toggle(key="firsts").set_value(True).run()
    lines = app.dataframe[0].value
    assert list(lines[lines["Judge"] == "j0"]["Scenario"]) == ["all", "math", "writing"]
    assert "j0, first opinion" in set(lines["Judge"])


def test_a_cell_in_the_address_opens_its_items() -> None:
    prepared(judged("111222", "112111", "222222"))
    app = opened(judge="j1", cell="2 × 1", item="math 0")
    assert "Items behind what you clicked: 1" in read(app)
    assert "j1: Response 2 · people: Response 1" in read(app)
    assert list(app.dataframe[1].value["Item"]) == ["math 0"]
    assert "Which is better for math 0?" in read(app)
    app.button(key="close_items").click().run()
    assert "Items behind" not in read(app) and "cell" not in app.query_params


def test_a_move_in_the_address_opens_its_items() -> None:
    prepared(judged("111221", "112111"))
    app = opened(judge="j0", move="1 × 2")
    assert "First Response 1 · last Response 2" in read(app)
    assert list(app.dataframe[1].value["j0"]) == ["1 → 2"]


def test_a_scenario_in_the_address_narrows_the_items() -> None:
    prepared(_once([*judged("111222"), *judged("111222", scenario="writing")]))
    app = opened(judge="j0", scenario="writing", cell="differ")
    assert list(app.dataframe[1].value["Item"]) == ["writing 0"]
    app.button(key="all_scenarios").click().run()
    assert "scenario" not in app.query_params


def test_somebody_who_has_not_labelled_an_item_is_not_told_what_its_cell_gives_away() -> None:
    prepared(judged("11-222", "111222"))
    app = opened("cat", judge="j0", cell="differ")
    assert list(app.dataframe[1].value["Item"]) == ["math 1"]
    assert "1 more item: not told, because you have not labelled them yourself" in read(app)


def test_an_address_that_means_nothing_shows_no_items_and_no_trouble() -> None:
    prepared(judged("111222"))
    app = opened(judge="nobody", cell="<b> × 7", leaning="other", statistic="no such")
    assert not app.exception
    assert "Items behind what you clicked: 0" in read(app)


def test_a_saved_label_changes_the_figures() -> None:
    prepared(judged("11-111", "22-211", "1--211"))
    app = visit(PAGE)
    before = table(app, "j0")["Accuracy"]
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "s")
        for who in ("ben", "cat"):
            labels.put(session, study.id, a_target("math 2"), who, 2)
    app.run()
    assert table(app, "j0")["Accuracy"] != before


@pytest.mark.parametrize("name", samples.studies().values())
def test_every_sample_opens_without_trouble(name: str) -> None:
    prepared(tiebreak.read(samples.path(name)))
    app = visit(PAGE)
    assert not app.exception and not app.error
    assert app.dataframe


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("dna_eval", "Aspect weights", "Weights have a page of their own"),
        ("metacritique", "Critiques as a whole", "The verdicts behind these are the AIUs"),
    ],
)
def test_kinds_with_a_page_of_their_own_say_where_their_items_are(name: str, kind: str, words: str) -> None:
    prepared(tiebreak.read(samples.path(name)))
    app = opened(kind=kind)
    assert not app.exception
    assert words in read(app)
    assert "judge" not in {box.key for box in app.selectbox}


def test_scores_show_spearman_and_what_lies_between_categories_says_so() -> None:
    prepared(tiebreak.read(samples.path("refer")))
    app = opened(statistic="Accuracy with the majority")
    assert {"Accuracy", "Kappa"} <= set(app.dataframe[0].value)
    assert "No value for area chair: its scores are means" in read(app)
    assert {"Spearman", "Pearson", "Tau-b"} <= set(visit(PAGE).dataframe[0].value)


def test_a_price_that_is_not_known_says_so() -> None:
    free = a_trace("math 1", *(a_turn(n, usage=Usage(seconds=1.0)) for n in range(3)), a_verdict(last=(1, 1, 1)))
    prepared([*judged("111111"), ItemRecord(item=an_item("math 1")), free])
    line = table(visit(PAGE), "j0")
    assert line["$ per 1,000"] == "–"
    assert "$: the price of 1 call is not known" in str(line[alignment_rows.WHY])


def test_the_difference_from_the_ceiling_is_read_from_its_own_interval() -> None:
    choice = alignment_rows.CHOICES["accuracy_majority"]
    told = {
        name: alignment_rows.against_ceiling({choice.less: a_row(value, choice.less, low=low, high=high)}, choice)
        for name, value, low, high in (
            ("below", -0.2, -0.3, -0.1),
            ("above", 0.2, 0.1, 0.3),
            ("neither", 0.1, -0.1, 0.3),
        )
    }
    assert told == {
        "below": "below the human ceiling by 0.20 [0.10, 0.30]",
        "above": "above the human ceiling by 0.20 [0.10, 0.30]",
        "neither": "not told apart from the human ceiling: 0.10 [-0.10, 0.30]",
    }
    assert alignment_rows.against_ceiling({}, choice) == ""


def test_judges_stand_best_first_each_with_its_scenarios_and_distances_the_nearest_first() -> None:
    def found(statistic: str) -> alignment_rows.Figures:
        rows = {("a", "all"): 0.2, ("a", "x"): 0.9, ("b", "all"): 0.5, ("c", "all"): None}
        return {at: {statistic: a_row(value, statistic)} for at, value in rows.items()}

    assert alignment_rows.order(found("accuracy_majority"), "accuracy_majority") == [
        ("b", "all"),
        ("a", "all"),
        ("a", "x"),
        ("c", "all"),
    ]
    assert alignment_rows.order(found("rank_distance"), "rank_distance")[0] == ("a", "all")


def test_details_hold_items_raters_silence_and_dollars() -> None:
    rows = {"accuracy_majority": a_row(), "no_verdict_rate": a_row(0.325, "no_verdict_rate")}
    told = alignment_rows.details(rows, "accuracy_majority", Cost(0.24, 40, 0))
    assert told == "30 items · 3 raters · no verdict 32.5 % · $6.00 per 1,000"
    assert "$" not in alignment_rows.details(rows, "accuracy_majority", Cost(0.24, 40, 1))


def test_the_download_is_every_row_and_safe_from_spreadsheet_formulas() -> None:
    rows = list(csv.reader(io.StringIO(alignment_rows.as_csv([a_row(-0.25, judge='=cmd("x")', reason="-1")]))))
    assert rows[0][:5] == ["judge", "kind", "criterion", "group", "statistic"]
    assert rows[1][0] == '\'=cmd("x")' and rows[1][-1] == "'-1"
    assert rows[1][5] == "-0.25"


@pytest.mark.usefixtures("_light")
def test_a_judge_stands_over_its_own_ceiling_with_its_details_as_text() -> None:
    point = alignment_rows.as_point(a_row(0.8, low=0.7, high=0.9))
    ceiling = alignment_rows.as_point(a_row(0.85, low=0.8, high=0.9))
    told = Judges({"<b>j": point}, {"<b>j": point}, {"<b>j": ceiling}, {"<b>j": "n <i>"})
    figure = alignment_charts.judges(told, title="t", axis="a", names=("one", "other"), chosen=None)
    band, line = figure.layout.shapes
    assert (band.x0, band.x1) == (0.8, 0.9)
    assert line.x0 == line.x1 == 0.85 and line.line.dash == "dash"
    assert "&lt;b&gt;j" in figure.layout.annotations[0].text and "n &lt;i&gt;" in figure.layout.annotations[0].text
    assert figure.data[0].error_x.array == pytest.approx((0.1,))
    assert [trace.name for trace in figure.data if trace.showlegend is not False][:2] == ["one", "other"]


@pytest.mark.usefixtures("_light")
def test_a_cell_is_clickable_where_it_counts_and_what_is_missing_has_a_dashed_edge() -> None:
    found = Matrix(("1", "2", SILENT), ("1", "2", DIVIDED), {("1", "1"): 3, ("2", "1"): 1})
    naming = Naming("Judge", "People", {"1": "Response 1", "2": "<i>"})
    figure = alignment_charts.matrix(found, naming, title="t", chosen="2 × 1")
    _, words, marks = figure.data
    assert list(words.text) == ["<b>3</b>", "0", "0", "1", "<b>0</b>", "0", "0", "0", "0"]
    assert list(marks.customdata) == ["1 × 1", "2 × 1"]
    assert "&lt;i&gt;" in marks.hovertext[1]
    edges = [shape.line.dash for shape in figure.layout.shapes]
    assert edges.count("dash") == 5 and edges.count(None) == 1


@pytest.mark.usefixtures("_light")
def test_scores_are_drawn_beside_peoples_mean_and_no_verdict_is_left_out() -> None:
    pairs = [Pair(a_target(item), "", 1, said, None, {"ann": 1, "ben": 2}) for item, said in (("a", 2.5), ("b", None))]
    figure = alignment_charts.scores(pairs, judge="j", title="t", chosen="a")
    assert list(figure.data[1].x) == [1.5] and list(figure.data[1].y) == [2.5]
    assert list(figure.data[1].customdata) == ["a"]


def test_numbers_without_categories_show_no_table_of_values() -> None:
    scale = ScaleRecord(kind="preference", criterion="helpfulness", scale=Scale(level="interval", low=0, high=10))
    prepared([scale, *judged("111222", "222111", "121212", "212121")])
    app = opened(judge="j0", cell="differ")
    assert not app.exception
    assert "the furthest apart first" in read(app)


@pytest.fixture
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts ask the visitor's browser for its theme; here there is none."""
    monkeypatch.setattr(charts, "theme", lambda: "light")
