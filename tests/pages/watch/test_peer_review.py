"""The view of a peer review."""

from core.labels import Target
from tests.core.protocols import reviews
from tests.pages.reviews import prepare_sample
from tests.pages.visits import label_is_blind, page_text, prepare_study, recorded, visit_trace


def test_peers_chair_and_problems_are_shown() -> None:
    prepare_sample()
    app = visit_trace("bees")
    text = page_text(app)
    assert "**peer 1** · **2**" in text and "**peer 3** · **1**" in text
    assert "Area chair, 10 samples" in text and "Comment 1 of 10 · **2**" in text
    assert "The mean of 9 samples, 1 more could not be read" in text
    assert any("could not be read" in expander.label for expander in app.expander)
    assert "no verdict: the reply was cut off at the limit of 128 tokens" in page_text(visit_trace("chess"))


def test_peoples_scores_are_hidden_until_the_annotators_label_which_is_not_blind_then() -> None:
    prepare_sample()
    text = page_text(visit_trace("bees", annotator="annotator 1"))
    assert "are shown after you have labelled" in text and "recorded as not blind" in text
    assert "are shown after you have labelled" not in page_text(visit_trace("bees", annotator="annotator 2"))
    assert not label_is_blind(Target(item="bees", kind="score", criterion="engaging"), "annotator 1", 2)


def test_a_review_on_several_criteria_shows_the_part_on_the_selected_one() -> None:
    fluent = reviews.ENGAGING.model_copy(update={"name": "fluent"})
    chosen = reviews.make_settings("ab", criteria=(fluent,), samples=2)
    played = reviews.run_scripted(lambda ask: f"Analysis: hm.\nRating: {3 if ask.criterion == 'fluent' else 1}", chosen)
    prepare_study(recorded(reviews.make_item(), "refer", chosen, played.events))
    app = visit_trace("flamingos")
    assert "**a** · **1**" in page_text(app) and "**3**" not in page_text(app)
    app.segmented_control[0].set_value("fluent").run()
    assert "**a** · **3**" in page_text(app) and "of 2 · **3**" in page_text(app)
