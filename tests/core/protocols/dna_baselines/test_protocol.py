"""Direct scoring, scoring with chain of thought, and estimates of their calls."""

import pytest

from core.llm.costs import estimate_run
from core.protocols.dna_baselines import Settings
from core.protocols.registry import PROTOCOLS
from tests.core.protocols.scorings import make_item, make_judges, make_settings, run_scripted


def test_unreadable_scores_are_no_verdict() -> None:
    trace = run_scripted(lambda ask: "Both are fine.", Settings(judges=make_judges("a")))
    assert trace.verdict and trace.verdict.outcome == "no_verdict"
    assert trace.verdict.reason == "no scores: it gives no score for Response 1 and Response 2"


@pytest.mark.parametrize(
    ("settings", "name", "calls"),
    [
        (Settings(judges=make_judges("ab")), "dna_baselines", 2),
        (make_settings("a"), "dna_eval", 7),
        (make_settings("a", aspects=(), proposed=4), "dna_eval", 6),
        (make_settings("ab", aspects=(), aggregation="chain of aspects"), "dna_eval", 10),
    ],
)
def test_the_number_of_calls_is_estimated_exactly(settings, name: str, calls: int) -> None:
    estimate = estimate_run(PROTOCOLS[name], [make_item()], settings)
    assert (estimate.calls_at_least, estimate.calls_at_most) == (calls, calls)
