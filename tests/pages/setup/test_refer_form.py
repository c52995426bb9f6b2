"""The settings form of ReFeR."""

from tests.pages.reviews import prepare_sample
from tests.pages.visits import page_text, visit


def test_a_sampled_chair_has_temperature_1_and_a_reasoning_task_needs_no_criterion() -> None:
    prepare_sample()
    app = visit("setup/runs", view="new")
    app.selectbox(key="protocol").set_value("refer").run()
    next(widget for widget in app.number_input if str(widget.key).endswith("_samples")).set_value(20).run()
    assert not app.exception and "184 calls" in page_text(app)
    next(widget for widget in app.selectbox if str(widget.key).endswith("_verdict")).set_value("option").run()
    assert not app.exception and "The criterion needs a name." not in page_text(app)
