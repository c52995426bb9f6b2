"""The page of a peer review's errors."""

from tests.pages.reviews import option_review, prepare_sample
from tests.pages.visits import page_text, prepare_study, visit


def test_the_errors_of_a_run_have_three_shares() -> None:
    prepare_study(option_review())
    app = visit("results/peer_errors", "")
    text = page_text(app)
    assert "Right with some peers right" in text and "100 %" in text and "1 of 1 trace" in text


def test_the_tolerance_can_be_set_for_scores() -> None:
    prepare_sample()
    app = visit("results/peer_errors", "")
    assert "a score is right if it is at most 0.5 from people's mean" in page_text(app)
    app.slider(key="within").set_value(100).run()
    assert "at most 2 from" in page_text(app)


def test_a_slice_in_the_address_lists_its_items() -> None:
    prepare_study(option_review(answers="ABC"))
    app = visit("results/peer_errors", "", slice="1 of 3, chair right")
    assert "Selected traces: 1" in page_text(app)
    row = app.dataframe[0].value.to_dict("records")[0]
    assert row == {"Item": "sum", "Truth": "B", "a": "A ✗", "b": "B ✓", "c": "C ✗", "Chair": "B ✓"}
