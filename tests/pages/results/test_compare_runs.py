"""The page Compare runs, on the runs of `tests.storage.reports.test_run_comparison`."""

from streamlit.testing.v1 import AppTest

from core.formats.records import ItemRecord
from pages.parts import resources
from storage.transfer import imports
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_copy, prepare_study, visit
from tests.storage.reports.test_run_comparison import a_run, a_trace, planted

PAGE = "results/compare_runs"


def test_runs_without_verdicts_show_their_settings() -> None:
    prepare_study([ItemRecord(item=make_item()), a_run("one", "small"), a_run("two", "large")])
    app = visit(PAGE)
    assert "no verdicts that can be compared yet" in page_text(app)
    assert app.dataframe[0].value.iloc[0].to_dict() == {"Setting": "judge.model", "one": "small", "two": "large"}


def test_two_runs_are_compared() -> None:
    prepare_copy(planted)
    app = visit(PAGE)
    text = page_text(app).replace("\\", "")
    assert "second has another verdict than first on 17 of 40 targets. The difference in accuracy is +0.410 [" in text
    figures, pairs, changes, settings = (frame.value for frame in app.dataframe)
    assert pairs.iloc[0]["Changed verdicts"].startswith("17 of 40: 0.4") and pairs.iloc[0]["p"] == "< 0.001"
    assert len(changes) == 17 and {"first", "second", "ann", "ben", "Trace"} <= set(changes.columns)
    assert list(figures["Run"]) == ["first", "second"] and figures.iloc[0]["Accuracy"].startswith("0.50 [")
    assert figures.iloc[0]["Tokens"] == "100.00" and figures.iloc[0]["$ per 1,000"] == "1.00"
    assert list(settings["Setting"]) == ["judge.model"]
    assert "+Judge twice." in app.code[-1].value


def test_runs_of_different_criteria_have_no_empty_table_of_pairs() -> None:
    of_first = [record for record in planted() if getattr(record, "run", "") != "second"]
    prepare_study(of_first + [a_trace("second", n, 1, kind="answer") for n in range(3)])
    app = visit(PAGE)
    assert "No two of these runs have verdicts on this criterion" in page_text(app)
    assert all(len(frame.value) for frame in app.dataframe) and "Verdicts that changed" not in page_text(app)


def test_the_address_selects_runs_and_an_item_unless_its_opinions_are_hidden() -> None:
    prepare_copy(planted)
    app = visit(PAGE, runs=["second", "first"], item="item 0")
    assert "**Item item 0**" in page_text(app)
    app = visit(PAGE, item="item 0", among="even")
    scenario = app.selectbox(key="among")
    scenario.select("odd").run()
    # A browser refuses to delete the parameter of a widget.
    assert "among" in app.query_params and "item" not in app.query_params
    app = visit(PAGE, annotator="zoe")
    assert "17 targets hidden until you have labelled them" in page_text(app)
    assert len(app.dataframe) == 3


def chosen_runs(app: AppTest) -> list[str]:
    return list(next(one for one in app.multiselect if one.label == "Runs").value)


def test_an_open_page_follows_the_newest_runs_and_has_no_default_in_its_address() -> None:
    prepare_copy(planted)
    app = visit(PAGE)
    assert chosen_runs(app) == ["first", "second"] and "runs" not in app.query_params
    imports.import_records(resources.engine(), "s", [a_run("third", "m"), a_trace("third", 0, 1)])
    assert chosen_runs(app.run()) == chosen_runs(visit(PAGE)) == ["second", "third"]
    assert "runs" not in app.query_params


def test_chosen_runs_stay_and_are_in_the_address() -> None:
    prepare_copy(planted)
    app = visit(PAGE)
    app.multiselect[0].set_value(["second", "first"]).run()
    assert app.query_params["runs"] == ["second", "first"]
    app.multiselect[0].set_value(["first", "second"]).run()
    imports.import_records(resources.engine(), "s", [a_run("third", "m"), a_trace("third", 0, 1)])
    assert chosen_runs(app.run()) == ["first", "second"] == app.query_params["runs"]
    assert chosen_runs(visit(PAGE, runs=["second", "first"])) == ["second", "first"]
