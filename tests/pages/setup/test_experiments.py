"""The page of experiments: the form that starts from a run, the cards, and the results."""

import asyncio

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from core import experiments as files
from core.formats.records import CriterionRecord, ItemRecord, Record
from core.items import Criterion
from core.llm.client import ScriptedModel
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse_settings
from pages.parts import resources
from storage.db import connections
from storage.runs import experiments
from storage.runs.experiments import Experiment
from storage.studies import studies
from storage.studies.studies import Study
from storage.worker import RunRequest, create_run, execute_experiment, plan, start
from tests.conftest import make_item, make_label
from tests.pages.visits import page_links, page_text, prepare_copy, visit

FILE = """
name: formats
protocol: single-judge
base: {judge: {name: j, model: local}, criterion: helpfulness}
axes: {format: [general, masked]}
"""


@pytest.fixture(autouse=True)
def _a_study() -> None:
    prepare_copy(four_labelled_items)


def four_labelled_items() -> list[Record]:
    items = [ItemRecord(item=make_item(f"item {n}")) for n in range(4)]
    labels = [make_label(1 + n % 2, item=f"item {n}") for n in range(4)]
    return [CriterionRecord(criterion=Criterion(name="helpfulness", definition="Of use.")), *items, *labels]


def a_study() -> Study:
    with connections.reading(resources.engine()) as session:
        return studies.get(session, "s")


def stored_experiments() -> list[Experiment]:
    with connections.reading(resources.engine()) as session:
        return experiments.of_study(session, a_study().id)


def an_experiment(*, executed: bool = False) -> int:
    engine = resources.engine()
    experiment_id = start(engine, a_study(), plan(engine, a_study(), files.parse(FILE)))
    if executed:
        model = ScriptedModel(lambda ask: "Final answer: 1")
        asyncio.run(execute_experiment(engine, experiment_id, lambda progress: None, model))
    return experiment_id


def a_run() -> None:
    protocol = PROTOCOLS["single-judge"]
    settings = parse_settings("judge: {name: j, model: local}\ncriterion: helpfulness", protocol, ())
    create_run(resources.engine(), RunRequest(a_study(), protocol, settings, "first run"))


def click(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click()
    return app.run()


def test_a_table_of_a_paper_is_started_with_fewer_items() -> None:
    app = visit("setup/experiments", view="new")
    app = app.segmented_control(key="experiment_source").set_value("A table of a paper").run()
    app = app.selectbox(key="experiment_paper").set_value("chateval/table-3").run()
    app = app.number_input(key="experiment_paper_sample").set_value(2).run()
    assert "3 cells: 3 runs" in page_text(app)
    app = click(app, "Estimate")
    assert "3 new runs, 6 traces\\: expected about 36 calls" in page_text(app)
    click(app, "Start")
    (stored,) = stored_experiments()
    assert (stored.name, stored.definition.sample) == ("chateval-table-3", 2)


def test_an_experiment_is_built_from_the_settings_of_a_run() -> None:
    a_run()
    app = visit("setup/experiments", view="new")
    app.text_input(key="experiment_name").set_value("panel")
    axes = next(widget for widget in app.multiselect if widget.label == "Axes")
    assert {"format", "judge.model", "temperature", "seed", "reasons"} <= set(axes.options)
    app = axes.set_value(["format", "words"]).run()
    formats = next(widget for widget in app.multiselect if widget.label == "Values of format")
    formats.set_value(["general", "masked"])
    next(w for w in app.text_input if w.label.startswith("Values of words")).set_value("50, 150")
    app.number_input(key="experiment_repeats").set_value(2)
    app = app.run()
    assert "4 cells x 2 repeats: 8 runs" in page_text(app)
    written = yaml.safe_load(app.code[0].value)
    assert written["axes"] == {"format": ["general", "masked"], "words": [50, 150]}
    assert (written["name"], written["repeats"], written["protocol"]) == ("panel", 2, "single-judge")
    app = click(app, "Estimate")
    assert "8 new runs, 32 traces" in page_text(app) and "expected about 32 calls" in page_text(app)
    assert "Texts stay on this machine" in page_text(app)
    app = click(app, "Start")
    (experiment,) = stored_experiments()
    assert experiment.definition == files.parse(files.to_yaml(files.from_fields(written)))
    assert "0 of 8 runs finished" in page_text(app)


def test_an_experiment_can_be_cancelled_and_resumed() -> None:
    an_experiment()
    app = click(visit("setup/experiments"), "Cancel")
    assert "Cancelled" in page_text(app)
    app = click(app, "Resume")
    assert "Waiting" in page_text(app)


def test_the_results_have_a_table_a_chart_and_differences() -> None:
    an_experiment(executed=True)
    app = visit("setup/experiments")
    assert "Finished" in page_text(app)
    app = click(app, "Results")
    text = page_text(app)
    assert "4 items, 1 repeat" in text and "95 % interval over items" in text
    states, table, differences = (frame.value for frame in app.dataframe)
    assert {*states["State"]} == {"Finished"} and {*states["Traces"]} == {"4 of 4"}
    assert list(table.columns) == ["general", "masked"] and table.iloc[0, 0].startswith("0.500")
    assert list(differences["Level"]) == ["general"]
    link = page_links(app)[-1]
    assert link.label.startswith("Compare runs") and link.query_string.count("runs=formats") == 2
    app = next(widget for widget in app.selectbox if widget.label == "Statistic").set_value("disputed_rate").run()
    assert app.dataframe[1].value.iloc[0, 0] == "0.000"
