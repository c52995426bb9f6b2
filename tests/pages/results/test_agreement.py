"""The agreement page, as a visitor meets it."""

import csv
import io

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from core.formats.records import ItemRecord, Record, ScaleRecord
from core.labels import Scale
from core.statistics.reports.agreement import Row
from pages.parts import charts, resources
from pages.results.parts import agreement_rows
from storage import database, labels, studies
from tests.conftest import a_label, a_target, an_item
from tests.pages.opened import prepared, visit, whole
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict

PAGE = "results/agreement"


def votes(*items: str, scenario: str = "math") -> list[Record]:
    """One item for each word: a digit for each of ann, ben and cat, "-" for no label."""
    records: list[Record] = []
    for number, word in enumerate(items):
        name = f"{scenario} {number}"
        records.append(ItemRecord(item=an_item(name, scenario=scenario)))
        given = zip(("ann", "ben", "cat"), word, strict=False)
        records += [a_label(int(vote), annotator, name) for annotator, vote in given if vote != "-"]
    return records


def debates() -> list[Record]:
    """Two debates that are kept, and one with an opinion that could not be read."""
    lasts = {"a": (1, 1, 1), "b": (1, 2, 2), "c": (1, None, 2)}
    told = [a_trace(item, a_turn(), a_verdict(last=last)) for item, last in lasts.items()]
    return [*(ItemRecord(item=an_item(item)) for item in lasts), RUN, *told]


def a_row(value: float | None = 0.5, group: str = "all", **fields: object) -> Row:
    told = {"kind": "preference", "criterion": "helpfulness", "statistic": "fleiss_kappa", "low": None, "high": None}
    return Row(**{**told, "items": 3, "raters": 3, "pairs": 9, "reason": "", "value": value, "group": group, **fields})


def clicked(viewer: str, **parameters: str) -> AppTest:
    """The page after a click that put the parameters in the address; `viewer` is signed in, "" is nobody."""
    app = visit(PAGE)
    app.session_state["annotator"] = viewer
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def test_without_a_label_the_page_says_where_to_begin() -> None:
    prepared([ItemRecord(item=an_item())])
    app = visit(PAGE)
    assert not app.exception
    assert "Nobody has labelled anything in this study yet" in whole(app)


def test_without_a_debate_the_judges_side_says_so() -> None:
    prepared(votes("11"))
    app = visit(PAGE, between="Judges")
    assert not app.exception
    assert "No judge has given an opinion in this study yet" in whole(app)


def test_the_headline_tells_the_interval_items_raters_and_labels_in() -> None:
    prepared(votes(*["111", "222", "112", "000"] * 5, "1--"))
    text = whole(visit(PAGE))
    assert "Overall: Fleiss' kappa" in text
    assert "## 0.7" in text
    assert "20 items · 3 raters · 97 % of labels in" in text


def test_every_figure_is_in_the_table_and_undefined_ones_say_why() -> None:
    prepared([*votes("111", "112", "222"), *votes("111", "111", scenario="writing")])
    app = visit(PAGE)
    (table,) = app.dataframe
    assert list(table.value["Scenario"]) == ["all", "math", "writing"]
    assert list(table.value["Fleiss"])[2] == "–"
    assert list(table.value["Percent"])[2] == "1.00"
    assert app.expander[0].label == "Undefined: 1 scenario"
    assert "all raters chose 1" in app.expander[0].caption[0].value


def test_judges_show_first_and_last_and_what_was_left_out() -> None:
    prepared(debates())
    app = visit(PAGE, between="Judges")
    text = whole(app)
    assert "First opinions: Fleiss' kappa" in text and "Last opinions: Fleiss' kappa" in text
    assert "2 debates · 3 judges" in text
    assert "1 of 3 debates left out: an opinion could not be read" in text.replace("\\", "")
    assert list(app.dataframe[0].value["Opinions"]) == ["first", "last"]


def test_prevalence_is_explained() -> None:
    prepared(votes(*["111"] * 18, "112", "121"))
    assert "agreement but kappa -0.03: nearly everybody chose 1" in whole(visit(PAGE)).replace("\\", "")


def test_what_was_clicked_is_in_the_address_with_its_items() -> None:
    prepared([*votes("111", "120"), *votes("111", scenario="writing")])
    app = clicked("", scenario="math", item="math 1")
    assert "Items behind what you clicked: 2" in whole(app)
    behind = app.dataframe[1].value
    assert list(behind["Item"]) == ["math 1", "math 0"]
    assert list(behind.loc[0, ["ann", "ben", "cat"]]) == ["1", "2", "0"]
    assert "Which is better for math 1?" in whole(app)
    app.button(key="close_items").click().run()
    assert "Items behind" not in whole(app)
    assert "scenario" not in app.query_params


def test_somebody_who_has_not_labelled_an_item_is_not_told_what_others_said() -> None:
    prepared([*votes("11-", "112")])
    app = clicked("cat", scenario="math", item="math 0")
    behind = app.dataframe[1].value.set_index("Item")
    assert list(behind.loc["math 0", ["ann", "ben"]]) == ["hidden", "hidden"]
    assert list(behind.loc["math 1", ["ann", "ben"]]) == ["1", "1"]
    assert "Label it first" in whole(app)


def test_a_saved_label_changes_the_figures() -> None:
    prepared(votes("111", "222", "12-"))
    app = visit(PAGE)
    before = list(app.dataframe[0].value["Percent"])
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "s")
        labels.put(session, study.id, a_target("math 2"), "cat", 1)
    app.run()
    assert list(app.dataframe[0].value["Percent"]) != before


def test_ordered_scores_show_ordinal_alpha_and_spearman() -> None:
    scale = Scale(level="ordinal", categories=(0, 1, 2, 3))
    declared = ScaleRecord(kind="preference", criterion="helpfulness", scale=scale)
    prepared([declared, *votes("110", "223", "332", "001", "123")])
    app = visit(PAGE)
    assert "Overall: Krippendorff's alpha, ordinal" in whole(app)
    assert {"Alpha, ordinal", "Spearman"} <= set(app.dataframe[0].value)
    assert "Fleiss" not in app.dataframe[0].value


@pytest.mark.usefixtures("_light")
def test_points_are_sorted_with_whiskers_and_n() -> None:
    rows = {"low": a_row(0.2, low=0.1, high=0.4), "high": a_row(0.8, items=1200), "none": a_row(None)}
    order = agreement_rows.order(rows)
    assert order == ["high", "low"]
    ceiling = charts.Ceiling("people", 0.62)
    figure = charts.points([charts.Series("", rows)], title="t", axis="a", order=order, chosen="low", ceiling=ceiling)
    marks, sizes = figure.data
    assert list(marks.y) == [0, 1] and list(marks.customdata) == ["low", "high"]
    assert marks.error_x.array == pytest.approx((0.2, 0)) and marks.error_x.arrayminus == pytest.approx((0.1, 0))
    assert [text.strip() for text in sizes.text] == ["n 3", "n 1,200"]
    assert list(figure.layout.yaxis.ticktext) == ["low", "high"]
    assert figure.layout.annotations[0].text == "people 0.62"
    assert list(marks.selectedpoints) == [0]


@pytest.mark.usefixtures("_light")
def test_a_cell_holds_kappa_and_n_and_names_are_text() -> None:
    pairs = agreement_rows.by_raters(
        [a_row(0.5, "ann × <b>ben"), a_row(None, "ann × cat"), a_row(-0.2, "<b>ben × cat")]
    )
    figure: go.Figure = charts.pairs(pairs, {("ann", "cat"): a_row(0.1)}, title="t", chosen=("ann", "cat"))
    _, words, marks = figure.data
    assert words.text[0] == "<b>0.50</b><br>n 3"
    assert words.text[1] == "<b>–</b><br>first 0.10<br>n 3"
    assert [list(pair) for pair in marks.customdata] == [["ann", "<b>ben"], ["ann", "cat"], ["<b>ben", "cat"]]
    assert "&lt;b&gt;ben" in figure.layout.xaxis.ticktext
    assert len(figure.layout.shapes) == 1


def test_the_download_is_every_row_and_safe_from_spreadsheet_formulas() -> None:
    rows = list(csv.reader(io.StringIO(agreement_rows.as_csv([a_row(-0.25, '=cmd("x")')]))))
    assert rows[0][:5] == ["kind", "criterion", "group", "statistic", "value"]
    assert rows[1][2] == '\'=cmd("x")'
    assert rows[1][4] == "-0.25"


@pytest.fixture
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts ask the visitor's browser for its theme; here there is none."""
    monkeypatch.setattr(charts, "theme", lambda: "light")
