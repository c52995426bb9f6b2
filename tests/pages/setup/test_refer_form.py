"""The settings form of ReFeR."""

from tests.pages.reviews import prepare_sample
from tests.pages.visits import page_text, visit


def test_a_sampled_chair_has_temperature_1() -> None:
    prepare_sample()
    app = visit("setup/runs", view="new")
    app.selectbox(key="protocol").set_value("refer").run()
    samples_control = next(widget for widget in app.button_group if "1 (Lite)" in widget.options)
    samples_control.set_value("20 (Turbo)").run()
    assert not app.exception
    assert "8 items: at most 184 calls" in page_text(app)
