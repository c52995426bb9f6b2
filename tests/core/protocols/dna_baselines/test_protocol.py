"""Direct scoring, scoring with chain of thought, and estimates of their calls."""

import pytest

from core.llm.costs import estimate_run
from core.protocols.dna_baselines import Settings
from core.protocols.registry import PROTOCOLS
from tests.core.protocols.scorings import make_item, make_judges, make_settings, run_scripted


def test_scores_follow_the_reasons() -> None:
    trace = run_scripted(lambda ask: "The first has 9 lines.\n\n6 8", Settings(judges=make_judges("a"), reasons=True))
    assert trace.verdict and trace.verdict.value == 2
    assert trace.values_by_judge("preference") == {"a": 2}
    assert trace.values_by_judge("preference", "verdict") == {"dna_baselines": 2}


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


def test_both_orders_average_the_overall_scores() -> None:
    settings = Settings(judges=make_judges("a"), both_orders=True)
    trace = run_scripted(lambda ask: "8 6" if ask.shown == (1, 2) else "4 8", settings)
    assert [ask.shown for ask in trace.asked] == [(1, 2), (2, 1)]
    assert trace.verdict and (trace.verdict.value, trace.verdict.contention) == (1, 0)
    assert "8 to 5" in trace.verdict.reason
    flipped = run_scripted(lambda ask: "8 6", settings).verdict
    assert flipped and (flipped.outcome, flipped.contention) == ("disputed", 1)
