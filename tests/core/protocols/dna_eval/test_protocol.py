"""Scoring by aspect with scripted judges, after Section 3 of the paper."""

from collections.abc import Callable

import pytest
from pydantic import ValidationError

from core.llm.client import Reply
from core.protocols.dna_baselines import Settings as BaselineSettings
from core.protocols.dna_eval.protocol import short_names
from core.protocols.dna_eval.settings import Totals
from core.protocols.dna_eval.verdicts import collect_judgements
from core.trace import Ask, TraceFailed, Verdict, completed_turns
from tests.core.protocols.scorings import (
    TABLE_11,
    make_flow,
    make_item,
    make_judges,
    make_settings,
    run_scripted,
    scores_script,
)


def test_the_worked_example_of_table_11_gives_8_05_and_7_8() -> None:
    trace = run_scripted(scores_script(), make_settings())
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("agreed", 1)
    assert trace.verdict.reason == "response 1 is ahead, 8.05 to 7.8"
    assert trace.values_by_judge("aspect_weights") == {"a": {name: weight for name, (weight, _, _) in TABLE_11.items()}}


def test_direct_scores_of_the_worked_example_prefer_the_other_response() -> None:
    direct = run_scripted(lambda ask: "8 9", BaselineSettings(judges=make_judges("a")))
    assert direct.verdict and direct.verdict.value == 2 and direct.verdict.reason == "response 2 is ahead, 8 to 9"


def test_unreadable_direct_scores_are_no_verdict() -> None:
    trace = run_scripted(lambda ask: "Both are fine.", BaselineSettings(judges=make_judges("a")))
    assert trace.verdict and trace.verdict.outcome == "no_verdict"
    assert trace.verdict.reason == "no scores: it gives no score for Response 1 and Response 2"


def test_the_baselines_name_the_aspects_of_an_item() -> None:
    settings, item = BaselineSettings(judges=make_judges("a")), make_item(aspects=("Warmth: Are the hands warm?",))
    (ask,) = next(make_flow(settings, item))
    assert "- Warmth: Are the hands warm?" in ask.prompt


@pytest.mark.parametrize(("totals", "factor"), [("normalise", 0.5), ("as stated", 1.0)])
def test_weights_that_do_not_sum_to_100_are_stored_as_stated_and_used_as_the_settings_say(
    totals: Totals, factor: float
) -> None:
    exact = run_scripted(scores_script("40% 20% 10% 10% 10% 10%"), make_settings())
    trace = run_scripted(scores_script("80% 40% 20% 20% 20% 20%"), make_settings(totals=totals))
    stated = list(trace.values_by_judge("aspect_weights")["a"].values())
    assert stated == [80, 40, 20, 20, 20, 20]
    assert trace.verdict and exact.verdict and trace.verdict.value == exact.verdict.value
    (judgement,) = collect_judgements(completed_turns(trace.events), make_settings(totals=totals), 2)
    (of_exact,) = collect_judgements(completed_turns(exact.events), make_settings(), 2)
    assert judgement.overalls and of_exact.overalls
    assert judgement.overalls == pytest.approx([score * 2 * factor for score in of_exact.overalls])


def test_weights_that_do_not_sum_to_100_are_refused_if_the_settings_say_so() -> None:
    trace = run_scripted(scores_script("80% 40% 20% 20% 20% 20%"), make_settings(totals="refuse"))
    assert trace.verdict and trace.verdict.reason == "no weights: the weights sum to 200, not to 100"


def test_proposed_aspects_have_no_markup_and_their_short_names_are_weighted() -> None:
    replies = {"aspects": "1. **Accuracy**: Are the facts right?\n2. __Tone__: Is it polite?", "score": "7 6"}
    trace = run_scripted(
        lambda ask: replies.get(ask.step, "Tone: 30%\nAccuracy: 70%"), make_settings(aspects=(), proposed=2)
    )
    weights = {"Accuracy: Are the facts right?": 70.0, "Tone: Is it polite?": 30.0}
    assert trace.values_by_judge("aspect_weights") == {"a": weights}
    assert "\nTone: Is it polite?\n" in trace.asked[1].prompt
    assert trace.asked[1].prompt.endswith("Accuracy: (percentage)\nTone: (percentage)")


def test_short_names_are_those_before_the_definitions_or_numbers() -> None:
    assert short_names(("Accuracy: Right?", "Tone")) == ("Accuracy", "Tone")
    assert short_names(("Tone: Kind?", "tone: Loud?")) == ("Aspect 1", "Aspect 2")
    assert short_names(("Is it true?", "Tone")) == ("Aspect 1", "Aspect 2")


def test_one_proposer_names_the_aspects_of_all_judges() -> None:
    (proposer,) = make_judges("p")
    trace = run_scripted(
        lambda ask: {"aspects": "1. x\n2. y", "weights": "50% 50%"}.get(ask.step, "7 6"),
        make_settings("ab", aspects=(), proposed=2, proposer=proposer),
    )
    assert [(ask.speaker, ask.step) for ask in trace.asked if ask.step in ("aspects", "weights")] == [
        ("p", "aspects"),
        ("a", "weights"),
        ("b", "weights"),
    ]
    assert trace.verdict and trace.verdict.reason == "response 1 is ahead, 7 to 6 on average over 2 judges"


def test_a_judge_without_readable_aspects_has_no_weights_of_another_set() -> None:
    (weigher,) = make_judges("w")
    replies = {"a": "Depends.", "b": "1. x\n2. y"}
    trace = run_scripted(
        lambda ask: replies[ask.speaker] if ask.step == "aspects" else "50% 50%" if ask.step == "weights" else "7 6",
        make_settings("ab", aspects=(), proposed=2, weigher=weigher),
    )
    assert trace.verdict and trace.verdict.outcome == "no_verdict"
    assert trace.verdict.reason == "a: no aspects: its number of aspects is 1, not 2"


def decided_alike(*judges: str, **fields) -> Verdict:
    """Return the verdict of judges that decide as given, 1 or 2."""
    names = "abcdefgh"[: len(judges)]
    chosen = dict(zip(names, judges, strict=True))
    script = scores_script("x: 100%")
    trace = run_scripted(
        lambda ask: script(ask) if ask.step == "weights" else {"1": "7 6", "2": "6 7"}.get(chosen[ask.speaker], "?"),
        make_settings(names, aspects=("x",), **fields),
    )
    assert trace.verdict
    return trace.verdict


@pytest.mark.parametrize(
    ("judges", "outcome", "value", "contention"),
    [
        ("11", "agreed", 1, 0.0),
        ("12", "disputed", None, 1.0),
        ("112", "agreed", 1, 0.5),
        ("1122", "disputed", None, pytest.approx(2 / 3)),
        ("11112", "agreed", 1, 0.25),
        ("11?", "no_verdict", None, 0.0),
        ("12?", "disputed", None, 1.0),
        ("??", "no_verdict", None, None),
    ],
)
def test_contention_decides_whether_judges_are_disputed(judges, outcome, value, contention) -> None:
    verdict = decided_alike(*judges)
    assert (verdict.outcome, verdict.value, verdict.contention) == (outcome, value, contention)


def test_a_tie_is_not_lost_to_floating_point_errors() -> None:
    trace = run_scripted(
        scores_script("10 20 70", scores=["3 0", "0 1.5", "1 1"]), make_settings(aspects=("x", "y", "z"), lowest=0)
    )
    assert trace.verdict and trace.verdict.value == 0


@pytest.mark.parametrize(
    ("replies", "problem"),
    [
        ({"weights": "It depends."}, "no weights: it gives no weight for accuracy"),
        ({"weights": "I cannot tell."}, "no weights: it declines to answer"),
        ({"weights": Reply(text="", finish="refused")}, "no weights: the model refused to answer"),
        ({"score": "11 3"}, "no score on accuracy: Response 1: 11 is not a number from 1 to 10"),
        ({"score": Reply(text="7", finish="cut off")}, "no score on accuracy: the reply was cut off"),
    ],
)
def test_an_unreadable_reply_is_no_verdict_with_a_reason(replies: dict[str, Reply | str], problem: str) -> None:
    trace = run_scripted(scores_script(**replies), make_settings())
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == ("no_verdict", None)
    assert trace.verdict.reason.startswith(problem)
    assert trace.values_by_judge("preference") == {"a": None}


def test_three_responses_are_scored_alike_and_ranked() -> None:
    trace = run_scripted(
        scores_script("60 40", scores=["7 9 8", "5 6 7"]), make_settings(aspects=("x", "y")), make_item(3)
    )
    assert trace.verdict and trace.verdict.outcome == "agreed"
    assert trace.verdict.value == pytest.approx({"1": 6.2, "2": 7.8, "3": 7.6})
    assert trace.verdict.reason == "response 2 is ahead, response 2 (7.8), response 3 (7.6), response 1 (6.2)"
    values = {o.part: o.value for o in trace.verdict.opinions if (o.kind, o.stage) == ("score", "verdict")}
    assert values == pytest.approx({"1": 6.2, "2": 7.8, "3": 7.6})


def test_one_response_is_refused_before_anything_is_asked() -> None:
    trace = run_scripted(scores_script(), make_settings(), make_item(1))
    assert trace.verdict is None and not trace.asked
    assert isinstance(trace.events[-1], TraceFailed) and "compares two or more" in trace.events[-1].problem


def test_scores_in_a_swapped_order_are_mapped_to_the_items_own() -> None:
    settings = make_settings(shuffle_responses=True)
    swapped = next(seed for seed in range(20) if next(make_flow(settings, seed=seed))[1].shown == (2, 1))
    trace = run_scripted(scores_script(), settings, seed=swapped)
    assert "<response_1>\nThey are fast.\n</response_1>" in trace.asked[1].prompt
    assert trace.turns[1].reading == {"1": 8.0, "2": 7.0}
    assert trace.verdict and trace.verdict.value == 2


def test_in_a_chain_of_aspects_the_judge_gives_the_overall_scores() -> None:
    trace = run_scripted(scores_script(overall="7 9"), make_settings(aggregation="chain of aspects"))
    assert [ask.step for ask in trace.asked] == ["score"] * 6 + ["overall"]
    assert "relevance - Response 1: 10, Response 2: 8" in trace.asked[-1].prompt
    assert trace.verdict and (trace.verdict.value, trace.verdict.reason) == (2, "response 2 is ahead, 7 to 9")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"judges": ()}, "at least 1 item"),
        ({"judges": make_judges("aa")}, "two judges are called 'a'"),
        ({"aspects": ("Depth", "depth")}, "the aspect 'depth' is given twice"),
        ({"lowest": 5, "highest": 5}, "has to be above"),
        ({"proposed": 0}, "greater than or equal to 1"),
    ],
)
def test_inconsistent_settings_are_refused(fields, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        make_settings(**fields)


def position_script(scores: dict[tuple[int, ...], str]) -> Callable[[Ask], str]:
    """Return a script with the scores of every aspect in each order, as the judge reads the responses."""
    return lambda ask: "accuracy: 100" if ask.step == "weights" else scores[ask.shown]


@pytest.mark.parametrize(
    ("swapped", "outcome", "value", "apart"),
    [("6 8", "agreed", 1, 0.0), ("8 6", "disputed", 0, 1.0), ("7 7", "agreed", 1, 0.0), ("9 8", "disputed", 1, 1.0)],
)
def test_in_both_orders_scores_are_means_and_an_opposite_preference_is_disputed(
    swapped: str, outcome: str, value: int, apart: float
) -> None:
    settings = make_settings(aspects=("accuracy",), both_orders=True)
    trace = run_scripted(position_script({(1, 2): "8 6", (2, 1): swapped}), settings)
    assert [(ask.step, ask.shown) for ask in trace.asked] == [("weights", ()), ("score", (1, 2)), ("score", (2, 1))]
    assert trace.verdict and (trace.verdict.outcome, trace.verdict.value) == (outcome, value)
    assert trace.verdict.contention == apart
    assert ("the preference of a changes with the order" in trace.verdict.reason) is (outcome == "disputed")


def test_both_orders_need_readable_scores_in_each() -> None:
    settings = make_settings(aspects=("accuracy",), both_orders=True)
    trace = run_scripted(position_script({(1, 2): "8 6", (2, 1): "?"}), settings)
    assert trace.verdict and trace.verdict.outcome == "no_verdict"
    assert "no score on accuracy" in trace.verdict.reason
