"""The page of critique scores."""

import pytest

from core.formats import tiebreak
from core.formats.records import ItemRecord
from storage.transfer import samples
from tests.core.protocols.critiques import make_item
from tests.pages.visits import page_text, prepare_study, switch_to


@pytest.fixture
def sample() -> None:
    prepare_study(list(tiebreak.read(samples.path("metacritique"))))


def test_a_study_without_critiques_says_what_to_do() -> None:
    prepare_study([ItemRecord(item=make_item(critiques=()))])
    assert "This study has no critiques." in page_text(switch_to("label/aius", study="s"))
    app = switch_to("results/critiques", study="s")
    assert "No critique of this study has been judged yet." in page_text(app) and not app.exception


def test_the_leaderboard_shows_authors_and_judges(sample: None) -> None:
    app = switch_to("results/critiques", study="s")
    assert not app.exception
    board, accuracies = app.dataframe
    assert list(board.value["Author"]) == ["all people", "all models", "a colleague", "model K"]
    assert list(accuracies.value["Judge"]) == ["judge A", "judge A", "judge B", "judge B"]
    assert "Pairs of critiques by models" not in page_text(app)


def test_unread_judgements_show_as_coverage_and_possible_scores(sample: None) -> None:
    app = switch_to("results/critiques", study="s", source="judge B", level="micro")
    board = app.dataframe[0].value
    of_model = board[board["Author"] == "model K"].iloc[0]
    assert (of_model["Coverage"], of_model["Possible P"], of_model["Possible R"]) == ("98%", "0.79 to 0.81", "")
    assert "Possible: the score if all of them were false" in page_text(app)


def test_an_author_in_the_address_lists_their_critiques(sample: None) -> None:
    app = switch_to("results/critiques", study="s", author="model K", source="judge B")
    assert "Selected: 6 critiques by model K" in page_text(app)
    assert set(app.dataframe[1].value["Author"]) == {"model K"}
