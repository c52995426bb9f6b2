"""Runs: what they are doing, and the form that starts them."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.formats.records import CriterionRecord, ItemRecord
from core.items import Criterion
from core.protocols.registry import PROTOCOLS
from pages.parts import resources
from pages.setup.parts import judges_form
from storage import database, runs, studies
from storage.runs import Run
from storage.tables import RunRow
from storage.transfer import imports
from tests.conftest import an_item
from tests.pages.opened import prepared, visit, whole

HELPFUL = Criterion(name="helpfulness", definition="Of use.", rubric=("Poor - No.", "Good - Yes."))
SETTINGS = """
judges:
  - {name: ann, model: local, temperature: 0.5}
  - {name: ben, model: qwen, address: "http://127.0.0.1:8000/v1", key_variable: MY_API_KEY}
criterion: helpfulness
rounds: 2
stopping: majority
"""


@pytest.fixture(autouse=True)
def _a_study() -> None:
    prepared([CriterionRecord(criterion=HELPFUL), *(ItemRecord(item=an_item(f"item {n}")) for n in range(3))])


def a_form() -> AppTest:
    return visit("setup/runs", view="new")


def loaded(text: str = SETTINGS) -> AppTest:
    """The form after settings were pasted."""
    app = a_form()
    app.text_area(key="settings_yaml").set_value(text)
    next(button for button in app.button if button.label == "Use these").click()
    return app.run()


def made() -> list[Run]:
    with database.reading(resources.engine()) as session:
        return runs.of_study(session, studies.get(session, "s").id)


def a_run(state: str = "requested", problem: str = "") -> Run:
    with database.writing(resources.engine()) as session:
        study = studies.get(session, "s")
        number = runs.create(
            session, study.id, "trio", protocol="scaleeval", criterion="helpfulness", settings={}, prompts={}
        )
        row = session.get_one(RunRow, number)
        row.state, row.problem = state, problem
    return made()[0]


def test_without_a_study_the_page_leads_to_the_import(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TIEBREAK_DATABASE_URL", f"sqlite:///{tmp_path / 'other.db'}")
    prepared()
    app = visit("setup/runs")
    assert not app.exception
    assert "There is no study yet" in whole(app)


def test_without_a_run_the_page_says_what_a_run_is() -> None:
    app = visit("setup/runs")
    assert not app.exception
    assert "This study has no runs yet" in whole(app)
    app.button(key="new_run").click().run()
    assert "New run" in whole(app)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_has_a_form(protocol: str) -> None:
    app = a_form()
    app.selectbox(key="protocol").set_value(protocol).run()
    assert not app.exception
    assert PROTOCOLS[protocol].description in whole(app)


def test_the_sample_shows_its_runs_with_what_came_of_them() -> None:
    imports.load(resources.engine(), "Sample: ScaleEval", resources.tiebreak.read(resources.samples.path()))
    app = visit("setup/runs", study="Sample: ScaleEval")
    assert not app.exception
    assert "agreed" in whole(app) and "need a person" in whole(app)


def test_the_form_is_ready_with_the_local_model_and_says_that_it_is_weak() -> None:
    app = a_form()
    assert not app.exception
    assert "weak judge" in whole(app)
    assert "**3 items: at most 27 calls, about" in whole(app)
    assert "free of charge" in whole(app)


def test_the_estimate_follows_the_settings() -> None:
    app = a_form()
    app.number_input(key="scaleeval0_rounds").set_value(1).run()
    app.segmented_control(key="run_items").set_value("The first").run()
    app.number_input(key="run_limit").set_value(2).run()
    assert "**2 items: at most 6 calls, about" in whole(app)


def test_start_makes_the_run() -> None:
    app = a_form()
    app.text_input(key="run_name").set_value("first try").run()
    app.button(key="start").click().run()
    assert not app.exception
    run = made()[0]
    assert (run.name, run.protocol, run.criterion, run.state) == ("first try", "scaleeval", "helpfulness", "requested")
    assert run.prompts == PROTOCOLS["scaleeval"].prompts
    assert "Starts in a moment" in whole(app)


def test_settings_are_pasted_and_start_as_they_are() -> None:
    app = loaded()
    assert app.text_input(key="scaleeval1_judge0_name").value == "ann"
    assert app.text_input(key="scaleeval1_judge1_variable").value == "MY_API_KEY"
    assert "price unknown" in whole(app)
    app.button(key="start").click().run()
    settings = made()[0].settings
    assert settings["judges"][0]["spec"]["temperature"] == 0.5
    assert settings["judges"][1]["spec"]["address"] == "http://127.0.0.1:8000/v1"
    assert (settings["rounds"], settings["stopping"]) == (2, "majority")
    assert settings["criterion"]["rubric"] == list(HELPFUL.rubric)


def test_wrong_settings_are_one_sentence() -> None:
    app = loaded("rounds: many")
    assert not app.exception
    assert len(app.error) == 1
    assert "field" in app.error[0].value


def test_a_criterion_that_is_written_in_the_form_belongs_to_the_study_then() -> None:
    app = a_form()
    app.selectbox(key="scaleeval0_criterion").set_value("another one …").run()
    assert "The criterion needs a name." in whole(app)
    app.text_input(key="scaleeval0_criterion_name").set_value("clarity").run()
    app.text_area(key="scaleeval0_criterion_rubric").set_value("Low - a\nHigh - b").run()
    app.button(key="start").click().run()
    with database.reading(resources.engine()) as session:
        known = studies.criteria(session, studies.get(session, "s").id)
    assert Criterion(name="clarity", rubric=("Low - a", "High - b")) in known


@pytest.mark.parametrize(
    ("model", "address", "variable", "sentence"),
    [
        ("sk-proj-abcdefghijklmnopqrstuv", "", "", "looks like a key"),
        ("gpt", "", "gsk_abcdefghij0123456789abcd", "looks like a key"),
        ("gpt", "", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA", "looks like a key"),
        ("gpt", "", "MY_SECRET", "_API_KEY"),
        ("gpt", "http://me:secret@host/v1", "", "more than an address"),
        ("gpt", "https://host/v1?api_key=abc", "", "more than an address"),
        ("gpt", "host:8000", "", "should look like"),
    ],
)
def test_a_key_is_refused_wherever_it_is_typed(model: str, address: str, variable: str, sentence: str) -> None:
    assert sentence in judges_form.refusal(model, address, variable)


@pytest.mark.parametrize(
    "model",
    ["gpt-5.4-mini", "claude-sonnet-4-5-20250929", "Qwen2.5-72B-Instruct-GPTQ-Int4", "groq/openai/gpt-oss-120b"],
)
def test_the_name_of_a_model_is_not_a_key(model: str) -> None:
    assert judges_form.refusal(model, "http://127.0.0.1:8000/v1", "MY_SERVER_API_KEY") == ""


def test_a_typed_key_stops_the_form_and_is_not_stored() -> None:
    app = a_form()
    app.text_input(key="scaleeval0_judge0_variable").set_value("sk-abcdefghijklmnopqrstuvwx").run()
    assert "Keys are never typed here" in whole(app)
    assert not [button for button in app.button if button.key == "start"]


def test_a_judge_is_added_and_left_out() -> None:
    app = a_form()
    app.button(key="scaleeval0_add_judge").click().run()
    assert "Choose a model for judge 4." in whole(app)
    app.button(key="scaleeval0_judge3_remove").click().run()
    assert "at most 27 calls" in whole(app)


def test_a_study_keeps_its_own_prompt_and_goes_back_to_ours() -> None:
    app = a_form()
    ours = PROTOCOLS["scaleeval"].prompts["opinion"]
    app.text_area(key="prompt_1_scaleeval_opinion_True").set_value(f"Listen.\n{ours}").run()
    app.button(key="prompt_1_scaleeval_opinion_keep").click().run()
    app.button(key="start").click().run()
    assert made()[0].prompts["opinion"].startswith("Listen.")
    app.button(key="new_run").click().run()
    app.button(key="prompt_1_scaleeval_opinion_back").click().run()
    app.button(key="start").click().run()
    assert made()[0].prompts["opinion"] == ours


@pytest.mark.parametrize(("text", "sentence"), [("Just decide.", "leaves out"), ("$question $answer", "nothing fills")])
def test_a_prompt_with_wrong_blanks_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    app = a_form()
    app.text_area(key="prompt_1_scaleeval_opinion_True").set_value(text).run()
    app.button(key="prompt_1_scaleeval_opinion_keep").click().run()
    assert len(app.error) == 1
    assert sentence in app.error[0].value


def test_a_run_is_cancelled_and_resumed() -> None:
    run = a_run()
    app = visit("setup/runs")
    app.button(key=f"cancel_{run.id}").click().run()
    assert "Cancelled" in whole(app)
    app.button(key=f"resume_{run.id}").click().run()
    assert not app.exception
    assert made()[0].state == "requested"


def test_a_run_that_stopped_says_why() -> None:
    a_run("stopped", "The ceiling of $1.00 is reached.")
    app = visit("setup/runs")
    assert "The ceiling of" in whole(app) and "Stopped" in whole(app)


def test_an_old_run_lends_its_settings_to_a_new_one() -> None:
    loaded().button(key="start").click().run()
    app = visit("setup/runs")
    app.button(key=f"again_{made()[0].id}").click().run()
    assert app.text_input(key="scaleeval1_judge0_name").value == "ann"
