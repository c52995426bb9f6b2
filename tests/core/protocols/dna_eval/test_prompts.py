"""Every prompt of DnA-Eval and its baselines as a model receives it."""

from core.items import Criterion
from core.protocols.dna_baselines.settings import Settings as Baseline
from core.trace import Ask
from tests.core.protocols.scorings import (
    ScriptedTrace,
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


def run_two_aspects(**replies) -> ScriptedTrace:
    return run_scripted(scores_script("60 40", scores=["7 6", "5 8"], **replies), make_settings(aspects=GIVEN))


def test_a_proposal_of_aspects() -> None:
    assert_golden(
        "dna_eval/aspects.txt", prompt(run_scripted(scores_script(aspects="?"), make_settings(aspects=())), "aspects")
    )


def test_weights() -> None:
    assert_golden("dna_eval/weights.txt", prompt(run_two_aspects(), "weights"))


def test_scores_on_one_aspect() -> None:
    assert_golden("dna_eval/score.txt", prompt(run_two_aspects(), "score", 1))


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


def test_the_retry_prompts() -> None:
    def last(step: str, **fields) -> str:
        asked: list[Ask] = run_scripted(scores_script(**{step: "Hm."}), make_settings(**fields)).asked
        return [ask.prompt for ask in asked if ask.step == step][-1]

    assert_golden("dna_eval/retry_aspects.txt", last("aspects", aspects=()))
    assert_golden("dna_eval/retry_weights.txt", last("weights", aspects=GIVEN))
    assert_golden("dna_eval/retry_scores.txt", last("score", aspects=("depth",)))


def test_direct_scoring() -> None:
    assert_golden(
        "dna_baselines/direct.txt", prompt(run_scripted(lambda ask: "7 8", Baseline(judges=make_judges("a"))), "direct")
    )


def test_direct_scoring_with_criteria() -> None:
    settings = Baseline(judges=make_judges("a"), aspects=GIVEN)
    assert_golden("dna_baselines/direct_with_criteria.txt", prompt(run_scripted(lambda ask: "7 8", settings), "direct"))


def test_scoring_with_reasons() -> None:
    settings = Baseline(judges=make_judges("a"), reasons=True, words=100)
    assert_golden("dna_baselines/reasoned.txt", prompt(run_scripted(lambda ask: "Both.\n\n7 8", settings), "reasoned"))
