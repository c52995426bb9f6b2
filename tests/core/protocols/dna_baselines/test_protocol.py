"""Direct scoring and scoring with chain of thought; what a run of each would take."""

import pytest

from core.llm.costs import estimate
from core.protocols.dna_baselines.protocol import Settings
from core.protocols.registry import PROTOCOLS
from tests.core.protocols.scorings import an_item, judges, play, settings


def test_scores_come_after_the_reasons() -> None:
    scoring = play(lambda ask: "The first has 9 lines.\n\n6 8", Settings(judges=judges("a"), reasons=True))
    assert scoring.verdict and scoring.verdict.value == 2
    assert scoring.told("preference") == {"a": 2}
    assert scoring.told("preference", "verdict") == {"dna_baselines": 2}


def test_scores_that_cannot_be_read_are_no_verdict() -> None:
    scoring = play(lambda ask: "Both are fine.", Settings(judges=judges("a")))
    assert scoring.verdict and scoring.verdict.outcome == "no_verdict"
    assert scoring.verdict.reason == "no scores: the last line is not 2 scores"


def test_judges_that_differ_leave_it_to_a_person() -> None:
    scoring = play(lambda ask: {"a": "6 8", "b": "8 6"}[ask.speaker], Settings(judges=judges("ab")))
    assert scoring.verdict and scoring.verdict.outcome == "disputed"


@pytest.mark.parametrize(
    ("chosen", "name", "calls"),
    [
        (Settings(judges=judges("ab")), "dna_baselines", 2),
        (settings("a"), "dna_eval", 7),
        (settings("a", aspects=(), proposed=4), "dna_eval", 6),
        (settings("ab", aspects=(), aggregation="chain of aspects"), "dna_eval", 10),
    ],
)
def test_calls_are_known_before_the_start(chosen, name: str, calls: int) -> None:
    told = estimate(PROTOCOLS[name], [an_item()], chosen)
    assert (told.calls_at_least, told.calls_at_most) == (calls, calls)
