"""The settings form of ReFeR, and its draft of evaluation guidelines."""

import pytest

from core.llm.client import Reply, ScriptedModel
from core.protocols.refer.auto_prompt import Draft
from pages.parts import resources
from tests.pages.reviews import prepare_sample
from tests.pages.visits import page_text, visit


def test_a_sampled_chair_has_temperature_1_and_a_reasoning_task_needs_no_criterion() -> None:
    prepare_sample()
    app = visit("setup/runs", view="new")
    app.selectbox(key="protocol").set_value("refer").run()
    next(widget for widget in app.number_input if str(widget.key).endswith("_samples")).set_value(20).run()
    assert "184 calls" in page_text(app)
    next(widget for widget in app.selectbox if str(widget.key).endswith("_verdict")).set_value("option").run()
    assert "The criterion needs a name." not in page_text(app)


def test_a_draft_is_written_to_the_field_with_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_sample()
    drafter = ScriptedModel([Reply(text="- A score of 1: dull.\n- A score of 3: fun.")])
    monkeypatch.setattr(resources, "model_client", lambda: drafter)
    app = visit("setup/runs", view="new")
    app.selectbox(key="protocol").set_value("refer").run()
    model = next(widget for widget in app.selectbox if str(widget.key).endswith("guidelines_model"))
    model.set_value("local").run()
    next(widget for widget in app.button if widget.label == "Draft").click().run()
    field = next(widget for widget in app.text_area if str(widget.key).endswith("_guidelines"))
    assert field.value == Draft("- A score of 1: dull.\n- A score of 3: fun.", True).text
    assert "Drafted by local from 6 examples" in page_text(app)
    assert "People's score:\n1" in drafter.asked[0].prompt
