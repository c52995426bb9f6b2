"""The view of a critique evaluation."""

from typing import Any

import pytest

from core.critiques import precision_target
from core.formats.records import ItemRecord
from core.protocols.critique_baselines.protocol import (
    PAIRWISE_NAME,
    REFINEMENT_NAME,
    SINGLE_NAME,
    PairwiseSettings,
    RefinementSettings,
    SingleSettings,
)
from core.trace import TurnCompleted
from tests.core.protocols.critiques import make_complete_item, make_item, make_judges, run_scripted
from tests.pages.visits import (
    label_is_blind,
    page_links,
    page_text,
    prepare_sample,
    prepare_study,
    recorded,
    visit_trace,
)
from tests.storage.critique_studies import run_records


@pytest.fixture
def sample() -> None:
    prepare_sample("metacritique")


def test_a_trace_shows_the_scores_of_each_judge(sample: None) -> None:
    app = visit_trace("train")
    assert "P 1.00 · R 0.75 · F1 0.86" in page_text(app)
    assert [link.label for link in page_links(app)] == ["Label its AIUs"]


def test_texts_written_in_the_trace_are_shown(sample: None) -> None:
    app = visit_trace("regex")
    assert [expander.label for expander in app.expander if expander.label.startswith("Written")] == [
        "Written by writer: 5 texts"
    ]
    assert "The hours from 20 to 23 need an alternative of their own." in page_text(app)


def test_viewing_the_judges_is_recorded_and_reported(sample: None) -> None:
    assert "not blind" in page_text(visit_trace("bread", annotator="zoe"))
    assert "not blind" not in page_text(visit_trace("bread", annotator="zoe"))
    assert not label_is_blind(precision_target("bread", "human.1"), "zoe", True)


def test_an_unfinished_trace_shows_what_is_known() -> None:
    run, trace = run_records(make_item(), lambda ask: "none" if ask.step == "extract" else "x")
    half = tuple(event for event in trace.events if isinstance(event, TurnCompleted))[:2]
    prepare_study([ItemRecord(item=make_item()), run, trace.model_copy(update={"events": half})])
    app = visit_trace("ladder")
    assert "P – · R – · F1 –" in page_text(app)


# The view of critique ratings, comparisons and refinements


@pytest.mark.parametrize(
    ("name", "settings", "shown"),
    [
        (SINGLE_NAME, SingleSettings(judges=make_judges("ab")), "**6 of 7**"),
        (PAIRWISE_NAME, PairwiseSettings(judges=make_judges("ab"), shuffle=False), "second**"),
        (REFINEMENT_NAME, RefinementSettings(judges=make_judges("ab"), shuffle=False), "Second: answer refined"),
    ],
)
def test_ratings_and_comparisons_show_critiques_and_values(name: str, settings: Any, shown: str) -> None:
    item = make_complete_item(2)
    events = run_scripted(lambda ask: "[[6]]" if ask.step == "rate" else "[[B]]", settings, item, name).events
    prepare_study(recorded(item, name, settings, events))
    app = visit_trace("ladder")
    assert shown in page_text(app) and "Critique 2." in page_text(app)
