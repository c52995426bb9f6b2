"""The view of scoring by aspect."""

from core.aspects import aspect_set_id
from core.formats.records import Record
from core.labels import Target
from tests.core.protocols.scorings import make_item, make_settings, run_scripted, scores_script
from tests.pages.visits import label_is_blind, page_text, prepare_sample, prepare_study, recorded, visit_trace

ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")


def table_11() -> list[Record]:
    """The paper's worked example as a recorded run."""
    chosen = make_settings()
    return recorded(make_item(), "dna_eval", chosen, run_scripted(scores_script(), chosen).events)


def test_table_11_has_its_scores_and_the_weight_that_would_change_the_verdict() -> None:
    prepare_study(table_11())
    text = page_text(visit_trace("dryers", "r"))
    assert "response 1 is ahead, 8.05 to 7.8" in text.replace("\\", "")
    assert "| **C** | relevance | 25 % | 10 | 8 | under 14.3 %: response 2 |" in text


def test_the_sample_shows_scores_beside_an_unreadable_reply_a_baseline_and_replies_on_request() -> None:
    prepare_sample("dna_eval")
    app = visit_trace("why leaves turn", "two judges · given aspects")
    app.segmented_control[0].set_value("judge B").run()
    text = page_text(app)
    assert "judge B has no verdict: no score on helpfulness" in text.replace("\\", "")
    assert "| **B** | helpfulness | 30 % |" in text and "| – | – |" in text
    app = visit_trace("dedupe list", "judge A · direct scores")
    assert "the best responses are equal, 8 to 8" in page_text(app)
    app = visit_trace("three boxes", "two judges · given aspects")
    app.toggle[0].set_value(True).run()
    assert "accuracy: 45%\nhelpfulness: 20%\nrelevance: 20%\nlevel of detail: 15%" in page_text(app)
    assert "scores on A accuracy" in page_text(app)


def test_peoples_weights_are_shown_after_the_annotators_own_and_viewing_judges_first_is_not_blind() -> None:
    prepare_sample("dna_eval")
    text = page_text(visit_trace("farewell note", "two judges · given aspects", "annotator 1"))
    assert "Rank distance from judge A to annotator 1: 0.04" in text
    text = page_text(visit_trace("farewell note", "two judges · given aspects", "zoe"))
    assert "Rank distance" not in text and "You have seen the judge's weights." in text
    target = Target(item="farewell note", kind="aspect_weights", part=aspect_set_id(ASPECTS))
    assert not label_is_blind(target, "zoe", dict.fromkeys(ASPECTS, 25.0))


def test_three_responses_have_one_column_each() -> None:
    chosen, item = make_settings(aspects=("x", "y")), make_item(3)
    events = run_scripted(scores_script("60 40", scores=["7 9 8", "5 6 7"]), chosen, item).events
    prepare_study(recorded(item, "dna_eval", chosen, events))
    app = visit_trace("dryers", "r")
    assert "| **A** | x | 60 % | 7 | 9 | 8 | under" in page_text(app)


def test_an_unfinished_trace_shows_its_scores_so_far() -> None:
    chosen, item = make_settings(aspects=("x", "y")), make_item()
    events = run_scripted(scores_script("60 40", scores=["7 9", "5 6"]), chosen, item).events[:2]
    prepare_study(recorded(item, "dna_eval", chosen, events))
    app = visit_trace("dryers", "r")
    assert "| **A** | x | 60 % | 7 | 9 |" in page_text(app) and "| **B** | y | 40 % | – | – |" in page_text(app)
