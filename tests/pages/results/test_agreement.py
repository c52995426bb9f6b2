"""The page of agreement, its table and charts, and the table of targets behind a figure."""

import json

from core.formats.records import ItemRecord, Record
from core.statistics.reports.agreement import AgreementRow
from pages.results.parts import agreement_rows, item_drilldown
from storage.reports.agreement import TargetValues
from tests.conftest import make_item, make_target
from tests.pages.results.test_alignment import debate_records as labelled_items
from tests.pages.visits import page_text, prepare_study, study_session, visit
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, store_label

PAGE = "results/agreement"


def debate_records() -> list[Record]:
    """Return two complete debates, and one with an unreadable opinion."""
    last_opinions = {"a": (1, 1, 1), "b": (1, 2, 2), "c": (1, None, 2)}
    traces = [a_trace(item, a_turn(), a_verdict(last=last)) for item, last in last_opinions.items()]
    return [*(ItemRecord(item=make_item(item)) for item in last_opinions), RUN, *traces]


def a_row(value: float | None = 0.5, group: str = "all", **fields: object) -> AgreementRow:
    defaults = {
        "kind": "preference",
        "criterion": "helpfulness",
        "statistic": "fleiss_kappa",
        "low": None,
        "high": None,
    }
    return AgreementRow(
        **{**defaults, "items": 3, "raters": 3, "pairs": 9, "reason": "", "value": value, "group": group, **fields}
    )


def test_the_headline_has_interval_items_and_annotators() -> None:
    prepare_study(labelled_items(*["111", "222", "112", "000"] * 5, "1--"))
    text = page_text(visit(PAGE))
    assert ": Fleiss' kappa" in text
    assert "## 0.7" in text
    assert "20 items · 3 annotators" in text


def test_every_figure_is_in_the_table_and_undefined_values_have_a_reason() -> None:
    prepare_study([*labelled_items("111", "112", "222"), *labelled_items("111", "111", scenario="writing")])
    app = visit(PAGE)
    (table,) = app.dataframe
    assert list(table.value["Scenario"]) == ["all", "math", "writing"]
    assert list(table.value["Fleiss"])[2] == "–"
    assert list(table.value["Percent"])[2] == "1.00"
    assert app.expander[0].label == "Undefined values: 1"
    assert "all raters chose 1" in app.expander[0].caption[0].value


def test_judges_have_first_and_last_opinions_and_excluded_debates() -> None:
    prepare_study(debate_records())
    app = visit(PAGE, between="Judges")
    text = page_text(app)
    assert "First opinions: Fleiss' kappa" in text and "Last opinions: Fleiss' kappa" in text
    assert "2 debates · 3 judges" in text
    assert "1 of 3 debates left out: an opinion could not be read" in text.replace("\\", "")
    assert list(app.dataframe[0].value["Opinions"]) == ["first", "last"]


def test_a_selection_in_the_address_lists_its_items() -> None:
    prepare_study([*labelled_items("111", "120"), *labelled_items("111", scenario="writing")])
    app = visit(PAGE, "", scenario="math", item="math 1")
    assert "Selected targets: 2" in page_text(app)
    items = app.dataframe[1].value
    assert list(items["Item"]) == ["math 1", "math 0"]
    assert list(items.loc[0, ["ann", "ben", "cat"]]) == ["1", "2", "0"]
    assert "Which is better for math 1?" in page_text(app)
    app.button(key="close_items").click().run()
    assert "Selected targets" not in page_text(app)
    assert "scenario" not in app.query_params


def test_opinions_on_unlabelled_items_are_hidden() -> None:
    prepare_study([*labelled_items("11-", "112")])
    app = visit(PAGE, "cat", scenario="math", item="math 0")
    items = app.dataframe[1].value.set_index("Item")
    assert list(items.loc["math 0", ["ann", "ben"]]) == ["hidden", "hidden"]
    assert list(items.loc["math 1", ["ann", "ben"]]) == ["1", "1"]
    assert "shown after you have labelled it" in page_text(app)


def test_a_saved_label_changes_the_figures() -> None:
    prepare_study(labelled_items("111", "222", "12-"))
    app = visit(PAGE)
    before = list(app.dataframe[0].value["Percent"])
    with study_session() as (session, study):
        store_label(session, study.id, make_target("math 2"), "cat", 1)
    app.run()
    assert list(app.dataframe[0].value["Percent"]) != before


def test_a_cell_has_kappa_and_n_under_the_diagonal_of_names_in_natural_order() -> None:
    rows = [a_row(0.5, "rater 2 × rater 10"), a_row(None, "rater 1 × rater 2"), a_row(-0.2, "rater 1 × rater 10")]
    pairs = agreement_rows.rows_by_pair(rows)
    names = agreement_rows.rater_names(pairs)
    assert names == ["rater 1", "rater 2", "rater 10"]
    previous = {("rater 1", "rater 2"): a_row(0.1)}
    cells = agreement_rows.pair_cells(pairs, previous, names, with_texts=True)
    assert [cell[:4] for cell in cells][:2] == [
        ("rater 10", "rater 2", 0.5, "<b>0.50</b><br>n 3"),
        ("rater 2", "rater 1", 0.0, "<b>–</b><br>first 0.10<br>n 3"),
    ]
    assert cells[0][5] == ["rater 2", "rater 10"]
    assert not any(cell[3] for cell in agreement_rows.pair_cells(pairs, {}, names, with_texts=False))


def test_the_chart_and_the_table_name_items_without_a_scenario_alike() -> None:
    prepare_study([*labelled_items("111", "112", "222"), *labelled_items("112", "221", scenario="")])
    app = visit(PAGE)
    assert "(no scenario)" in set(app.dataframe[0].value["Scenario"])
    chart = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert any(name.startswith("(no scenario) · n") for name in chart["layout"]["yaxis"]["ticktext"])
    assert chart["layout"]["title"]["text"].endswith(", by scenario")


def line(*, blind: bool) -> dict[str, str]:
    values = {"a": (1,), "b": (2, 1), "d": (0,)}
    judged = TargetValues(make_target("i"), "math", values, trace=None, blind=blind)
    return item_drilldown.table_line(judged, ["a"], ["b", "c", "d"], several_criteria=False, with_trace=False)


def test_raters_without_a_column_share_one_that_hides_their_values_before_the_label() -> None:
    assert line(blind=False) == {"Item": "i", "Scenario": "math", "a": "1", item_drilldown.OTHERS: "2 → 1 · 0"}
    hidden = item_drilldown.HIDDEN_TEXT
    assert line(blind=True) == {"Item": "i", "Scenario": "math", "a": hidden, item_drilldown.OTHERS: hidden}
