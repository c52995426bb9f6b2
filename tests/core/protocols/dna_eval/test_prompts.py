"""Every prompt of DnA-Eval and its baselines as a model receives it."""

import pytest

from core.items import Criterion
from core.protocols.dna_baselines import Settings as Baseline
from core.trace import Ask
from tests.core.protocols.scorings import (
    ScriptedTrace,
    make_flow,
    make_item,
    make_judges,
    make_settings,
    run_scripted,
    scores_script,
)
from tests.golden.files import assert_golden

GIVEN = (Criterion(name="truth", definition="Nothing in it is wrong."), Criterion(name="depth"))


def prompt(trace: ScriptedTrace, step: str, number: int = 0) -> str:
    return next(ask.prompt for ask in trace.asked if (ask.step, ask.round) == (step, number))


def test_a_proposal_of_aspects() -> None:
    assert_golden(
        "dna_eval/aspects.txt", prompt(run_scripted(scores_script(aspects="?"), make_settings(aspects=())), "aspects")
    )


@pytest.mark.parametrize(("name", "number"), [("weights", 0), ("score", 1)])
def test_weights_and_scores_on_one_aspect(name: str, number: int) -> None:
    trace = run_scripted(scores_script("60 40", scores=["7 6", "5 8"]), make_settings(aspects=GIVEN))
    assert_golden(f"dna_eval/{name}.txt", prompt(trace, name, number))


def test_scores_of_three_responses() -> None:
    trace = run_scripted(
        scores_script("100", scores=["7 6 5"]),
        make_settings(aspects=("depth",)),
        make_item(3, context="At an airport."),
    )
    assert_golden("dna_eval/score_of_three.txt", prompt(trace, "score", 1))


def test_overall_scores_in_a_chain_of_aspects() -> None:
    script = scores_script(scores=["7 6", "5 8"], overall="6 7")
    assert_golden(
        "dna_eval/overall.txt",
        prompt(run_scripted(script, make_settings(aspects=GIVEN, aggregation="chain of aspects")), "overall"),
    )


def test_the_second_requests() -> None:
    def last(step: str, **fields) -> str:
        asked: list[Ask] = run_scripted(scores_script(**{step: "Hm."}), make_settings(**fields)).asked
        return [ask.prompt for ask in asked if ask.step == step][-1]

    assert_golden("dna_eval/retry_aspects.txt", last("aspects", aspects=()))
    assert_golden("dna_eval/retry_weights.txt", last("weights", aspects=GIVEN))
    assert_golden("dna_eval/retry_scores.txt", last("score", aspects=("depth",)))


def test_the_requests_as_json() -> None:
    settings = make_settings(aspects=(), proposed=2)
    (aspects,) = next(make_flow(settings))
    weights, score, *_ = next(make_flow(make_settings(aspects=GIVEN)))
    assert_golden("dna_eval/aspects_json.txt", aspects.request("json"))
    assert_golden("dna_eval/weights_json.txt", weights.request("json"))
    assert_golden("dna_eval/score_json.txt", score.request("json"))


@pytest.mark.parametrize(("name", "aspects"), [("direct", ()), ("direct_with_criteria", GIVEN)])
def test_direct_scoring(name: str, aspects: tuple[Criterion, ...]) -> None:
    settings = Baseline(judges=make_judges("a"), aspects=aspects)
    assert_golden(f"dna_baselines/{name}.txt", prompt(run_scripted(lambda ask: "7 8", settings), "direct"))


def test_scoring_with_reasons() -> None:
    settings = Baseline(judges=make_judges("a"), reasons=True, words=100)
    assert_golden("dna_baselines/reasoned.txt", prompt(run_scripted(lambda ask: "Both.\n\n7 8", settings), "reasoned"))
