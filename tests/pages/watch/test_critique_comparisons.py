"""The view of critique ratings, comparisons and refinements."""

from typing import Any

import pytest

from core.protocols.critique_baselines.protocol import (
    PAIRWISE_NAME,
    REFINEMENT_NAME,
    SINGLE_NAME,
    PairwiseSettings,
    RefinementSettings,
    SingleSettings,
)
from tests.core.protocols.critiques import make_complete_item, make_judges, run_scripted
from tests.pages.visits import page_text, prepare_study, recorded, visit_trace


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
