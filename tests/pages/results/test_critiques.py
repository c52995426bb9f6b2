"""The page of critique scores."""

import pytest

from tests.pages.reviews import option_review
from tests.pages.visits import page_text, prepare_sample, prepare_study, switch_to, visit


@pytest.fixture
def sample() -> None:
    prepare_sample("metacritique")


def test_the_leaderboard_shows_authors_and_judges(sample: None) -> None:
    app = switch_to("results/critiques", study="s")
    board, accuracies = app.dataframe
    assert list(board.value["Author"]) == ["all people", "all models", "a colleague", "model K"]
    assert list(accuracies.value["Judge"]) == ["judge A", "judge A", "judge B", "judge B"]
    assert "Pairs of critiques by models" not in page_text(app)
    text = page_text(app)
    assert " is not clearly ahead of " in text and "Most accurate judge of precision judge " in text
    assert "F1: macro average, judged by people." in text


def test_unread_judgements_show_as_coverage_and_an_author_lists_their_critiques(sample: None) -> None:
    app = switch_to("results/critiques", study="s", source="judge B", level="micro")
    board = app.dataframe[0].value
    of_model = board[board["Author"] == "model K"].iloc[0]
    assert of_model["Coverage"] == "98%"
    app = switch_to("results/critiques", study="s", author="model K", source="judge B")
    assert "Selected: 6 critiques by model K" in page_text(app)
    assert set(app.dataframe[1].value["Author"]) == {"model K"}


# The page of a peer review's errors


def test_the_tolerance_can_be_set_for_scores() -> None:
    prepare_sample("refer")
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
