"""Scoring by aspect with scripted judges, after Section 3 of the paper."""

import pytest
from pydantic import ValidationError

from core.aspects import part
from core.items import Criterion
from core.llm.client import Reply
from core.problems import Stopped
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse
from core.trace import Ask, TraceFailed
from tests.core.protocols.scorings import TABLE_11, a_flow, an_item, judges, play, saying, settings


def test_the_worked_example_of_table_11_comes_to_8_05_and_7_8() -> None:
    scoring = play(saying(), settings())
    assert scoring.verdict and (scoring.verdict.outcome, scoring.verdict.value) == ("agreed", 1)
    assert scoring.verdict.reason == "response 1 is ahead, 8.05 to 7.8"
    assert scoring.told("aspect_weights") == {"a": {name: weight for name, (weight, _, _) in TABLE_11.items()}}


def test_the_worked_examples_direct_scores_would_have_chosen_the_other() -> None:
    from core.protocols.dna_baselines.protocol import Settings

    direct = play(lambda ask: "8 9", Settings(judges=judges("a")))
    assert direct.verdict and direct.verdict.value == 2 and direct.verdict.reason == "response 2 is ahead, 8 to 9"


def test_scores_and_weights_go_out_together_each_in_an_ask_of_its_own() -> None:
    asks = next(a_flow(settings("ab")))
    assert [(ask.speaker, ask.step, ask.round) for ask in asks if ask.speaker == "a"] == [
        ("a", "weights", 0),
        *(("a", "score", number) for number in range(1, 7)),
    ]
    assert len(asks) == 14


def test_weights_are_asked_from_the_question_and_aspects_alone() -> None:
    weights = next(ask for ask in play(saying(), settings()).asked if ask.step == "weights")
    assert "What of hand dryers?" in weights.prompt and "6. depth" in weights.prompt
    assert "They are loud." not in weights.prompt


def test_proposed_aspects_come_from_the_question_alone_and_before_everything() -> None:
    chosen = settings(aspects=(), proposed=2)
    scoring = play(saying("70% 30%", aspects="1. Is it true?\n2. Is it fun?", scores=["5 6", "9 1"]), chosen)
    first = scoring.asked[0]
    assert first.step == "aspects" and "They are loud." not in first.prompt and "exactly 2 aspects" in first.prompt
    assert [ask.step for ask in scoring.asked[1:]] == ["weights", "score", "score"]
    assert "Is it fun?" in scoring.asked[-1].prompt
    assert scoring.told("aspect_weights") == {"a": {"Is it true?": 70.0, "Is it fun?": 30.0}}
    assert scoring.verdict and scoring.verdict.reason == "response 1 is ahead, 6.2 to 4.5"


def test_each_judge_goes_by_the_aspects_that_it_proposed() -> None:
    def answer(ask: Ask) -> str:
        if ask.step == "aspects":
            return f"1. {ask.speaker} one\n2. {ask.speaker} two"
        return "50% 50%" if ask.step == "weights" else "6 4"

    scoring = play(answer, settings("ab", aspects=(), proposed=2))
    assert scoring.verdict
    parts = {one.judge: one.part for one in scoring.verdict.opinions if one.kind == "aspect_weights"}
    assert parts == {"a": part(("a one", "a two")), "b": part(("b two", "b one"))} and parts["a"] != parts["b"]


def test_weights_that_do_not_sum_to_100_are_brought_to_it_and_the_reply_is_kept() -> None:
    scoring = play(saying("80% 40% 20% 20% 20% 20%"), settings())
    assert list(scoring.told("aspect_weights")["a"].values()) == [40, 20, 10, 10, 10, 10]
    assert next(turn.reply for turn in scoring.turns if turn.step == "weights") == "80% 40% 20% 20% 20% 20%"


def test_the_local_model_is_held_to_what_can_be_read() -> None:
    asked = {
        ask.step: ask
        for ask in play(
            saying("60% 40%", scores=["7 6"] * 2, aspects="1. Is it\n2. Or"), settings(aspects=(), proposed=2)
        ).asked
    }
    assert asked["aspects"].grammar == 'root ::= "1. " line "\\n2. " line\nline ::= [A-Z] [a-z ,]{10,80} [?]'
    assert asked["weights"].grammar == 'root ::= weight " " weight\nweight ::= [1-9] [0-9]? [%]'
    assert asked["score"].grammar.startswith('root ::= score " " score\nscore ::= "1" | "2"')


def test_equal_sums_are_a_tie() -> None:
    scoring = play(saying("50 50", scores=["7 8", "8 7"]), settings(aspects=("x", "y")))
    assert scoring.verdict and (scoring.verdict.outcome, scoring.verdict.value) == ("agreed", 0)


def test_a_tie_is_not_lost_to_the_computers_fractions() -> None:
    scoring = play(saying("10 20 70", scores=["3 0", "0 1.5", "1 1"]), settings(aspects=("x", "y", "z"), lowest=0))
    assert scoring.verdict and scoring.verdict.value == 0


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"weights": "I cannot tell."}, "no weights: there is no line with nothing but 6 weights"),
        ({"weights": Reply(text="", finish="refused")}, "no weights: the model refused to answer"),
        ({"score": "11 3"}, "no score on accuracy: 11 is not a score from 1 to 10"),
        ({"score": Reply(text="7", finish="cut off")}, "no score on accuracy: the reply was cut off"),
    ],
)
def test_what_cannot_be_read_is_no_verdict_and_says_why(more: dict[str, Reply | str], problem: str) -> None:
    scoring = play(saying(**more), settings())
    assert scoring.verdict and (scoring.verdict.outcome, scoring.verdict.value) == ("no_verdict", None)
    assert scoring.verdict.reason.startswith(problem)
    assert scoring.told("preference") == {"a": None}


def test_weights_are_kept_where_a_score_is_missing() -> None:
    assert scoring_without_scores().told("aspect_weights")["a"]["relevance"] == 25


def scoring_without_scores():
    return play(saying(score="no idea"), settings())


def test_a_proposal_that_cannot_be_read_ends_it_without_another_ask() -> None:
    scoring = play(saying(aspects="Depends."), settings(aspects=()))
    assert {ask.step for ask in scoring.asked} == {"aspects"}
    assert scoring.verdict and scoring.verdict.reason == "no aspects: it names 1 aspects, not 3"


def test_a_reply_is_asked_for_once_more_in_other_words() -> None:
    replies = iter(["Hm.", "60 40"])
    scoring = play(
        lambda ask: next(replies) if ask.step == "weights" else "7 6",
        settings(aspects=("x", "y")),
    )
    assert scoring.verdict and scoring.verdict.value == 1
    assert "one line that holds 2 percentages" in [ask for ask in scoring.asked if ask.step == "weights"][1].prompt


def test_judges_that_differ_leave_it_to_a_person() -> None:
    scoring = play(
        lambda ask: "5 5" if ask.step == "weights" else {"a": "7 6", "b": "6 7"}[ask.speaker],
        settings("ab", aspects=("x", "y")),
    )
    assert scoring.verdict and (scoring.verdict.outcome, scoring.verdict.value) == ("disputed", None)
    assert scoring.verdict.reason == "the judges differ: a has 7 to 6; b has 6 to 7"
    assert scoring.told("preference") == {"a": 1, "b": 2} and scoring.told("preference", "verdict") == {
        "dna_eval": None
    }


def test_one_judge_that_cannot_be_read_is_no_verdict_even_where_the_other_decided() -> None:
    scoring = play(
        lambda ask: "?" if ask.speaker == "b" else "60 40" if ask.step == "weights" else "7 6",
        settings("ab", aspects=("x", "y")),
    )
    assert scoring.verdict and scoring.verdict.outcome == "no_verdict"
    assert scoring.verdict.reason.startswith("b: no weights")


def test_three_responses_are_scored_alike_and_ranked() -> None:
    scoring = play(saying("60 40", scores=["7 9 8", "5 6 7"]), settings(aspects=("x", "y")), an_item(3))
    assert scoring.verdict and scoring.verdict.outcome == "agreed"
    assert scoring.verdict.value == pytest.approx({"1": 6.2, "2": 7.8, "3": 7.6})
    assert scoring.verdict.reason == "response 2 is ahead, response 2 (7.8), response 3 (7.6), response 1 (6.2)"
    told = {one.part: one.value for one in scoring.verdict.opinions if one.kind == "score" and one.stage == "verdict"}
    assert told == pytest.approx({"1": 6.2, "2": 7.8, "3": 7.6})


def test_one_response_is_refused_before_anything_is_asked() -> None:
    scoring = play(saying(), settings(), an_item(1))
    assert scoring.verdict is None and not scoring.asked
    assert isinstance(scoring.events[-1], TraceFailed) and "compares two or more" in scoring.events[-1].problem


def test_scores_of_a_swapped_order_are_told_in_the_items_own() -> None:
    chosen = settings(shuffle_responses=True)
    swapped = next(seed for seed in range(20) if next(a_flow(chosen, seed=seed))[1].shown == (2, 1))
    scoring = play(saying(), chosen, seed=swapped)
    assert "[Response 1]:\n'''\nThey are fast.\n'''" in scoring.asked[1].prompt
    assert scoring.turns[1].reading == {"1": 8.0, "2": 7.0}
    assert scoring.verdict and scoring.verdict.value == 2


def test_in_a_chain_of_aspects_the_judge_adds_up() -> None:
    scoring = play(saying(overall="7 9"), settings(aggregation="chain of aspects"))
    assert [ask.step for ask in scoring.asked] == ["score"] * 6 + ["overall"]
    assert "relevance - Response 1: 10, Response 2: 8" in scoring.asked[-1].prompt
    assert scoring.verdict and (scoring.verdict.value, scoring.verdict.reason) == (2, "response 2 is ahead, 7 to 9")


def test_after_a_kill_no_turn_is_paid_twice() -> None:
    def until_the_fourth(ask: Ask) -> str:
        if (ask.step, ask.round) == ("score", 4):
            raise Stopped("The run was cancelled.")
        return saying()(ask)

    events = []
    with pytest.raises(Stopped):
        interrupted(until_the_fourth, events)
    assert len(events) == 6
    resumed = play(saying(), settings(), stored=events)
    assert [(ask.step, ask.round) for ask in resumed.asked] == [("score", 4)]
    assert resumed.verdict and resumed.verdict.reason == "response 1 is ahead, 8.05 to 7.8"


def interrupted(script, events) -> None:
    import asyncio

    from core.llm.client import ScriptedModel
    from core.runner import run_flow

    async def record(event) -> None:
        events.append(event)

    asyncio.run(run_flow(a_flow(settings()), ScriptedModel(script), record))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"judges": ()}, "at least 1 item"),
        ({"judges": judges("aa")}, "two judges are called 'a'"),
        ({"aspects": ("Depth", "depth")}, "the aspect 'depth' is given twice"),
        ({"lowest": 5, "highest": 5}, "has to be above"),
        ({"proposed": 0}, "greater than or equal to 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(fields, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings(**fields)


def test_a_settings_file_may_name_the_studys_criteria_as_aspects() -> None:
    text = "judges: [{name: a, model: m}]\naspects: [truth, {name: charm, definition: It smiles.}, depth]"
    chosen = parse(text, PROTOCOLS["dna_eval"], [Criterion(name="truth", definition="Nothing is wrong.")])
    assert [(one.name, one.definition) for one in chosen.aspects] == [
        ("truth", "Nothing is wrong."),
        ("charm", "It smiles."),
        ("depth", ""),
    ]
