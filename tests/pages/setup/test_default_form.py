"""The default form, made from a settings class."""

from typing import Any

from streamlit.testing.v1 import AppTest

from core.items import Criterion
from tests.pages.visits import page_text, prepare_sample, visit


def page() -> None:
    """The script of a page with the form of a class that has a list of criteria."""
    import streamlit as st
    from pydantic import Field

    from core.frozen import Frozen
    from core.items import Criterion
    from core.protocols import Judge
    from pages.setup.parts import default_form
    from pages.setup.parts.settings_form import SettingsForm

    class Settings(Frozen):
        judge: Judge
        criteria: tuple[Criterion, ...] = ()
        rounds: int = 2

    class SettingsWithDefault(Frozen):
        judge: Judge
        criteria: tuple[Criterion, ...] = Field((Criterion(name="tone"), Criterion(name="clarity")), min_length=1)
        main: Criterion | None = Criterion(name="tone")
        words: str = Field(default_factory=lambda: "few")

    study_criteria = (Criterion(name="clarity", definition="Easy to follow."), Criterion(name="brevity"))
    settings = SettingsWithDefault if st.session_state["with_default"] else Settings
    form = SettingsForm(settings, st.session_state["start"], "form_", study_criteria, needs_scale=True)
    st.session_state["draft"] = default_form.render(form)
    st.session_state["problems"] = form.problems


def open_form(with_default: bool = False, **start: Any) -> AppTest:
    app = AppTest.from_function(page)
    app.session_state["with_default"] = with_default
    app.session_state["start"] = start
    app.run()
    return app


def chosen_names(app: AppTest) -> list[str]:
    return [criterion["name"] for criterion in app.session_state["draft"]["criteria"]]


def test_several_criteria_of_the_study_are_chosen() -> None:
    app = open_form()
    assert chosen_names(app) == app.session_state["problems"] == []
    app.multiselect(key="form_criteria").set_value(["clarity", "brevity"]).run()
    assert app.session_state["draft"]["criteria"][0]["definition"] == "Easy to follow."
    assert chosen_names(app) == ["clarity", "brevity"]


def test_new_criteria_are_entered() -> None:
    app = open_form()
    app.button(key="form_criteria_new").click().run()
    assert chosen_names(app) == []
    app.text_input(key="form_criteria_new0_name").set_value("depth").run()
    app.text_area(key="form_criteria_new0_rubric").set_value("Low - a\nHigh - b").run()
    app.button(key="form_criteria_new").click().run()
    app.text_input(key="form_criteria_new1_name").set_value("tone").run()
    assert chosen_names(app) == ["depth", "tone"]
    assert app.session_state["draft"]["criteria"][0]["rubric"] == ["Low - a", "High - b"]
    app.text_input(key="form_criteria_new0_categories").set_value("1, 2, 3").run()
    scale = Criterion.model_validate(app.session_state["draft"]["criteria"][0]).scale
    assert scale is not None and (scale.level, scale.categories) == ("ordinal", (1, 2, 3))


def test_loaded_criteria_are_preselected_and_replace_the_default() -> None:
    app = open_form(criteria=[Criterion(name="tone").model_dump(mode="json")], rounds=5)
    assert chosen_names(app) == ["tone"]
    assert app.session_state["draft"]["rounds"] == 5
    app = open_form(with_default=True, criteria=[Criterion(name="depth").model_dump(mode="json")])
    assert chosen_names(app) == ["depth"]


def test_defaults_of_the_settings_class_are_preselected_and_an_empty_required_list_is_a_problem() -> None:
    app = open_form(with_default=True)
    assert chosen_names(app) == ["tone", "clarity"]
    draft = app.session_state["draft"]
    assert draft["criteria"][1]["definition"] == "Easy to follow."
    assert (draft["main"]["name"], draft["words"]) == ("tone", "few")
    assert app.session_state["problems"] == []
    app.multiselect(key="form_criteria").set_value([]).run()
    assert app.session_state["problems"] == ["Choose at least one criterion under Criteria."]


# The settings form of ReFeR


def test_a_sampled_chair_has_temperature_1_and_a_reasoning_task_needs_no_criterion() -> None:
    prepare_sample("refer")
    app = visit("setup/runs", view="new")
    app.selectbox(key="protocol").set_value("refer").run()
    next(widget for widget in app.number_input if str(widget.key).endswith("_samples")).set_value(20).run()
    assert "184 calls" in page_text(app)
    next(widget for widget in app.selectbox if str(widget.key).endswith("_verdict")).set_value("option").run()
    assert "The criterion needs a name." not in page_text(app)
