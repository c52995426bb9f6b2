"""The page of runs, and the form of a new run."""

import pytest
from sqlalchemy import select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from core.formats.records import CriterionRecord, ItemRecord, Record, ScaleRecord
from core.items import Criterion, Pairs, Response
from core.labels import Scale
from core.protocols.registry import PROTOCOLS
from pages.parts import resources
from pages.parts.text import escape_markdown
from pages.setup.parts import settings_form
from storage.db import connections
from storage.db.tables import RunRow, TraceRow
from storage.runs import aius, claims, runs
from storage.runs.runs import Run
from storage.studies import studies
from storage.transfer import text_metrics
from tests.conftest import make_item
from tests.core.protocols.critiques import make_item as make_critiqued_item
from tests.core.protocols.critiques import worked_example_reply
from tests.pages.test_queries import statements_of
from tests.pages.visits import page_text, prepare_copy, prepare_study, study_session, visit
from tests.sessions import read, write
from tests.storage.critique_studies import run_records

HELPFULNESS = Criterion(name="helpfulness", definition="Of use.", rubric=("Poor - No.", "Good - Yes."))
SETTINGS = """
judges:
  - {name: ann, model: local, temperature: 0.5}
  - {name: ben, model: qwen, address: "http://127.0.0.1:8000/v1", key_variable: MY_API_KEY}
criterion: helpfulness
rounds: 2
stopping: majority
"""


@pytest.fixture(autouse=True)
def _a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIEBREAK_KEY_ADDRESSES", "MY_API_KEY=http://127.0.0.1:8000/v1")
    prepare_copy(three_items)


def three_items() -> list[Record]:
    return [CriterionRecord(criterion=HELPFULNESS), *(ItemRecord(item=make_item(f"item {n}")) for n in range(3))]


def visit_form() -> AppTest:
    return visit("setup/runs", view="new")


def visit_form_with(content: str = SETTINGS) -> AppTest:
    """Open the form and load settings."""
    app = visit_form()
    app.file_uploader(key="settings_upload").set_value(("trio.yaml", content.encode(), "application/yaml"))
    return app.run()


def test_settings_that_are_not_loaded_are_reported_and_no_run_starts() -> None:
    app = visit_form_with("rounds: many")
    [error] = app.error
    assert "trio.yaml was not loaded: field 'judges'" in error.value.replace("\\", "")  # Markdown is escaped
    assert not [button for button in app.button if button.key == "start"]
    app.file_uploader(key="settings_upload").set_value([]).run()
    assert not app.error and [button for button in app.button if button.key == "start"]


def study_runs() -> list[Run]:
    with study_session() as (session, study):
        return runs.of_study(session, study.id)


def a_run(state: str = "requested", problem: str = "") -> Run:
    with study_session() as (session, study):
        number = runs.create(
            session, study.id, "trio", protocol="scaleeval", criterion="helpfulness", settings={}, prompts={}
        )
        row = session.get_one(RunRow, number)
        row.state, row.problem = state, problem
    return study_runs()[0]


def test_every_protocol_has_a_form() -> None:
    app = visit_form()
    for name, protocol in PROTOCOLS.items():
        app.selectbox(key="protocol").set_value(name).run()
        assert protocol.description in page_text(app)


def test_the_form_begins_with_the_local_model_estimates_what_is_chosen_and_creates_the_run() -> None:
    app = visit_form()
    assert "weak judge" in page_text(app)
    assert "9 to 27 calls, up to about" in page_text(app)
    app.button(key="scaleeval0_add_judge").click().run()
    assert "Choose a model for judge 4." in page_text(app)
    app.button(key="scaleeval0_judge3_remove").click().run()
    assert "9 to 27 calls" in page_text(app)
    app.number_input(key="scaleeval0_rounds").set_value(1).run()
    app.segmented_control(key="run_items").set_value("First").run()
    app.number_input(key="run_limit").set_value(2).run()
    assert ": 6 calls, up to about" in page_text(app)
    app.text_input(key="run_name").set_value("first try").run()
    app.button(key="start").click().run()
    run = study_runs()[0]
    assert (run.name, run.protocol, run.criterion, run.state) == ("first try", "scaleeval", "helpfulness", "requested")
    assert run.prompts == PROTOCOLS["scaleeval"].prompts
    assert "Waiting" in page_text(app)
    assert [toast.value for toast in app.toast] == ["The new run is the first of the list."]


def test_the_reply_length_of_the_local_model_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = visit_form()
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    app.run()
    assert app.number_input(key="scaleeval0_judge0_max_tokens").value == settings_form.LOCAL_MAX_TOKENS
    app.number_input(key="scaleeval0_judge1_max_tokens").set_value(77).run()
    for judge in (0, 1):
        app.selectbox(key=f"scaleeval0_judge{judge}_model").set_value("gpt-5.4-mini").run()
    assert not app.warning
    app.button(key="start").click().run()
    specs = [judge["spec"] for judge in study_runs()[0].settings["judges"]]
    assert [spec["max_tokens"] for spec in specs] == [1024, 77, settings_form.LOCAL_MAX_TOKENS]
    assert [spec["model"] for spec in specs] == ["gpt-5.4-mini", "gpt-5.4-mini", "local"]


def test_items_with_three_responses_are_compared_in_pairs_or_with_a_baseline() -> None:
    responses = tuple(Response(text=name, system=name) for name in ("ant", "bee", "cat"))
    prepare_study([ItemRecord(item=make_item("three", responses=responses))])
    app = visit_form()
    assert ": 18 to 54 calls, up to about" in page_text(app)
    assert "at most 108 calls if every reply has to be requested twice" in page_text(app)
    choice = app.selectbox(key="scaleeval0_pairs")
    assert choice.options[1:] == [f"Compare each response with that of {name}" for name in ("ant", "bee", "cat")]
    choice.set_value(Pairs(baseline="bee")).run()
    assert "1 item\\:" not in page_text(app) and app.warning[0].value.startswith("Item item 0 has no response")


def test_uploaded_settings_are_used_unchanged_and_loaded_again_from_their_run() -> None:
    app = visit_form_with()
    assert app.text_input(key="scaleeval1_judge0_name").value == "ann"
    assert app.text_input(key="scaleeval1_judge1_variable").value == "MY_API_KEY"
    assert "price unknown" in page_text(app)
    app.button(key="start").click().run()
    settings = study_runs()[0].settings
    assert settings["judges"][0]["spec"]["temperature"] == 0.5
    assert settings["judges"][1]["spec"]["address"] == "http://127.0.0.1:8000/v1"
    assert (settings["rounds"], settings["stopping"]) == (2, "majority")
    assert settings["criterion"]["rubric"] == list(HELPFULNESS.rubric)
    app = visit("setup/runs")
    app.button(key=f"again_{study_runs()[0].id}").click().run()
    assert app.text_input(key="scaleeval1_judge0_name").value == "ann"


def test_a_new_criterion_of_a_run_is_added_to_the_study() -> None:
    app = visit_form()
    app.selectbox(key="scaleeval0_criterion").set_value("new criterion …").run()
    assert "The criterion needs a name." in page_text(app)
    app.text_input(key="scaleeval0_criterion_name").set_value("clarity").run()
    app.text_area(key="scaleeval0_criterion_rubric").set_value("Low - a\nHigh - b").run()
    app.button(key="start").click().run()
    with study_session() as (session, study):
        criteria = studies.criteria(session, study.id)
    assert Criterion(name="clarity", rubric=("Low - a", "High - b")) in criteria


def test_an_entered_key_stops_the_form_and_is_not_stored() -> None:
    app = visit_form()
    app.text_input(key="scaleeval0_judge0_variable").set_value("sk-abcdefghijklmnopqrstuvwx").run()
    assert "Keys are never typed here" in page_text(app)
    assert not [button for button in app.button if button.key == "start"]


def test_a_prompt_with_wrong_placeholders_is_refused_and_another_one_is_replaced_and_restored() -> None:
    app = visit_form()
    ours = PROTOCOLS["scaleeval"].prompts["opinion"]
    app.text_area(key="prompt_1_scaleeval_opinion_True").set_value("$question $mood").run()
    app.button(key="prompt_1_scaleeval_opinion_keep").click().run()
    assert len(app.error) == 1 and "nothing fills" in app.error[0].value
    with study_session() as (_, study):
        assert study.prompts == {}
    app.text_area(key="prompt_1_scaleeval_opinion_True").set_value(f"Listen.\n{ours}").run()
    app.button(key="prompt_1_scaleeval_opinion_keep").click().run()
    app.button(key="start").click().run()
    assert study_runs()[0].prompts["opinion"].startswith("Listen.")
    app.button(key="new_run").click().run()
    app.button(key="prompt_1_scaleeval_opinion_back").click().run()
    app.button(key="start").click().run()
    assert study_runs()[0].prompts["opinion"] == ours


def test_a_run_is_cancelled_and_resumed() -> None:
    run = a_run()
    app = visit("setup/runs")
    app.button(key=f"cancel_{run.id}").click().run()
    assert "Cancelled" in page_text(app)
    app.button(key=f"resume_{run.id}").click().run()
    assert study_runs()[0].state == "requested"


def test_a_run_at_its_cost_limit_is_resumed_with_a_higher_one() -> None:
    run = a_run("stopped", "The ceiling of $1.00 is reached.")
    with connections.writing(resources.engine()) as session:
        session.get_one(RunRow, run.id).ceiling = 1.0
    app = visit("setup/runs")
    app.number_input(key=f"ceiling_{run.id}").set_value(5.0).run()
    app.button(key=f"resume_{run.id}").click().run()
    assert (study_runs()[0].state, study_runs()[0].ceiling) == ("requested", 5.0)


def test_a_requested_run_without_any_worker_says_how_to_start_one(monkeypatch: pytest.MonkeyPatch) -> None:
    a_run()
    assert "Requested runs wait for a worker" not in page_text(visit("setup/runs"))
    monkeypatch.setenv("TIEBREAK_OWN_WORKER", "off")
    assert "Requested runs wait for a worker" in page_text(visit("setup/runs"))
    write(resources.engine(), claims.claim_run, study_runs()[0].id, "another machine")
    assert "Requested runs wait for a worker" not in page_text(visit("setup/runs"))


def statements_with_runs(count: int) -> int:
    """Return the number of statements of the page when every state has this many more runs, one with a failed trace."""
    for _ in range(count):
        for state in ("requested", "cancelling", "cancelled", "stopped"):
            run = a_run(state)
            with connections.writing(resources.engine()) as session:
                trace = session.scalars(select(TraceRow).where(col(TraceRow.run_id) == run.id).limit(1)).one()
                trace.outcome, trace.problem = "failed", f"Run {run.id} failed."
    visit("setup/runs")  # some values are cached by the first visit
    # A value that is cached for a time can end between two visits.
    return min(len(statements_of(resources.engine(), lambda: visit("setup/runs"))) for _ in range(2))


def test_the_number_of_statements_does_not_grow_with_the_runs() -> None:
    assert statements_with_runs(1) == statements_with_runs(3)
    assert len(study_runs()) == 16


EVERY_SETTING = """
judges:
  - name: ann
    model: openai/gpt-5.4-mini
    answer_format: text
    top_p: 0.9
    seed: 7
    reasoning_effort: low
    max_tokens: 700
    max_tokens_ceiling: 3000
    transcript_tokens: 5000
    timeout: 30.0
    prompt_price: 0.5
    completion_price: 2.0
    system: Be brief.
    extra: {top_k: 20}
  - {name: ben, model: qwen, address: "http://127.0.0.1:8000/v1"}
criterion: helpfulness
prompts:
  opinion: "Which? $submission_1 $submission_2"
extractor: {model: gemini/gemini-3-flash, max_tokens: 200}
"""


def test_every_setting_of_a_model_is_on_the_form_and_kept() -> None:
    app = visit_form_with(EVERY_SETTING)
    assert not app.error
    next(button for button in app.button if button.label == "Start").click().run()
    (run,) = study_runs()
    ann, ben = run.settings["judges"]
    expected = {
        "answer_format": "text", "top_p": 0.9, "seed": 7, "reasoning_effort": "low", "max_tokens": 700,
        "max_tokens_ceiling": 3000, "transcript_tokens": 5000, "timeout": 30.0,
        "system": "Be brief.", "extra": {"top_k": 20},
        "prompt_price": 0.5, "completion_price": 2.0,
    }  # fmt: skip
    assert {name: ann["spec"][name] for name in expected} == expected
    assert (ben["spec"]["top_p"], ben["spec"]["max_tokens"], ben["spec"]["extra"]) == (None, 1024, {})
    assert run.extractor is not None
    assert (run.extractor["model"], run.extractor["max_tokens"]) == ("gemini/gemini-3-flash", 200)
    assert run.prompts["opinion"] == "Which? $submission_1 $submission_2"
    assert read(resources.engine(), studies.get, "s").prompts == {}, "the study's prompts are unchanged"


def test_the_receivers_of_texts_are_named_before_the_start() -> None:
    shown = page_text(visit_form_with(EVERY_SETTING))
    assert "will be sent to" in shown
    for receiver in ("openai", escape_markdown("http://127.0.0.1:8000/v1"), "gemini"):
        assert receiver in shown
    local = "judges: [{name: a, model: local}, {name: b, model: local}]\ncriterion: helpfulness"
    assert "Texts stay on this machine" in page_text(visit_form_with(local))


def test_shared_settings_reach_every_judge_if_they_are_names_and_values() -> None:
    app = visit_form()
    prefix = "scaleeval0_"
    app.text_area(key=f"{prefix}extra").set_value("- 1").run()
    assert "names and values" in page_text(app)
    assert not [button for button in app.button if button.label == "Start"]
    app.number_input(key=f"{prefix}top_p").set_value(0.5)
    app.selectbox(key=f"{prefix}answer_format").set_value("json")
    app.text_area(key=f"{prefix}extra").set_value("top_k: 20").run()
    next(button for button in app.button if button.label == "Start").click().run()
    (run,) = study_runs()
    for judge in run.settings["judges"]:
        assert (judge["spec"]["top_p"], judge["spec"]["answer_format"]) == (0.5, "json")
        assert judge["spec"]["extra"] == {"top_k": 20}


def test_a_prompt_is_replaced_for_one_run_only() -> None:
    app = visit_form()
    area = next(element for element in app.text_area if str(element.key).startswith("prompt_1_"))
    area.set_value("Choose. $submission_1 $submission_2").run()
    next(button for button in app.button if button.label == "Use in this run only").click().run()
    assert not app.error
    next(button for button in app.button if button.label == "Start").click().run()
    (run,) = study_runs()
    assert "Choose. $submission_1 $submission_2" in run.prompts.values()
    with study_session() as (_, study):
        assert study.prompts == {}


def test_the_aius_of_a_run_are_adopted_for_all_items() -> None:
    item = make_critiqued_item()
    prepare_study([ItemRecord(item=item), *run_records(item, worked_example_reply)])
    app = visit("setup/runs", "zoe")
    (button,) = [button for button in app.button if button.label == "Adopt AIUs"]
    button.click().run()
    assert app.toast[0].value == "Adopted for 1 item."
    with study_session() as (session, study):
        assert not aius.current_state(session, study.id, item.id).lacks_aius()


def test_a_metric_becomes_a_run_or_names_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        text_metrics, "load_metric", lambda name: (lambda texts, references: [0.5] * len(texts), "library 1")
    )
    app = visit("setup/runs")
    next(button for button in app.button if button.label == "Score").click().run()
    assert "No item has a reference" in page_text(app)
    scale = ScaleRecord(kind="score", criterion="helpfulness", scale=Scale(level="interval", low=0, high=10))
    prepare_study([ItemRecord(item=make_item("a", responses=(Response(text="x"),), reference="y")), scale])
    app = visit("setup/runs")
    next(button for button in app.button if button.label == "Score").click().run()
    with study_session() as (session, study):
        assert [run.name for run in runs.of_study(session, study.id)] == ["ROUGE-1"]
