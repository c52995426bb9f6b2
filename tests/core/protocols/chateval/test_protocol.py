"""ChatEval by its paper: who hears what and when (Algorithms 1 to 3), and how the answer is taken (Appendix B)."""

import re

import pytest
from pydantic import ValidationError

from core.items import Criterion
from core.llm.client import Reply
from core.llm.costs import estimate
from core.problems import Problem
from core.protocols.chateval.protocol import Persona, Settings, heard
from core.protocols.chateval.settings import ROLES
from core.protocols.registry import PROTOCOLS
from core.trace import EVENT, Ask, Spec, TraceFailed, TurnTaken
from tests.core.protocols.talks import (
    NATURAL,
    Talk,
    a_flow,
    an_item,
    one_response,
    play,
    rounds,
    saying,
    scored,
    settings,
    voting,
)


def marked(ask: Ask) -> str:
    if ask.step == "summary":
        return f"mark-s{ask.round} sums up."
    return f"mark-{ask.speaker}{ask.round}. {scored(5, 5)}"


def who_hears_what(talk: Talk) -> dict[str, str]:
    """{"b0": "a0"}: persona and turn -> whose contributions stand in its prompt, in their order."""
    found = {}
    for ask in talk.asked:
        name = "s" if ask.step == "summary" else ask.speaker
        found[f"{name}{ask.round}"] = " ".join(re.findall(r"mark-(\w\d)", ask.prompt))
    return found


def test_algorithm_1_one_by_one_each_hears_all_that_was_said_before() -> None:
    assert who_hears_what(play(marked, settings(strategy="one by one"))) == {
        **{"a0": "", "b0": "a0", "c0": "a0 b0"},
        **{"a1": "a0 b0 c0", "b1": "a0 b0 c0 a1", "c1": "a0 b0 c0 a1 b1"},
    }


def test_algorithm_1_by_the_letter_of_its_box_the_first_hears_nobody_and_the_others_those_before_them() -> None:
    assert who_hears_what(play(marked, settings(hearing="speakers before"))) == {
        **{"a0": "", "b0": "a0", "c0": "a0 b0"},
        **{"a1": "", "b1": "a0 b0 a1", "c1": "a0 b0 c0 a1 b1"},
    }


def test_algorithm_2_simultaneous_talk_hears_the_turns_before() -> None:
    assert who_hears_what(play(marked, settings(strategy="simultaneous", turns=3))) == {
        **{"a0": "", "b0": "", "c0": ""},
        **{"a1": "a0 b0 c0", "b1": "a0 b0 c0", "c1": "a0 b0 c0"},
        **{name: "a0 b0 c0 a1 b1 c1" for name in ("a2", "b2", "c2")},
    }


def test_algorithm_3_a_summary_of_all_that_was_said_takes_the_place_of_the_history() -> None:
    assert who_hears_what(play(marked, settings(strategy="simultaneous with summary", turns=3))) == {
        **{"a0": "", "b0": "", "c0": "", "s0": "a0 b0 c0"},
        **{"a1": "s0", "b1": "s0", "c1": "s0", "s1": "a0 b0 c0 a1 b1 c1"},
        **{"a2": "s1", "b2": "s1", "c2": "s1"},
    }


def test_an_ensemble_is_asked_once_and_hears_nobody() -> None:
    assert who_hears_what(play(marked, settings(strategy="alone", turns=3))) == {"a0": "", "b0": "", "c0": ""}


@pytest.mark.parametrize("hearing", ["everybody", "speakers before"])
@pytest.mark.parametrize("strategy", ["one by one", "simultaneous", "simultaneous with summary", "alone"])
def test_what_is_told_of_who_heard_what_is_what_stood_in_the_prompts(strategy: str, hearing: str) -> None:
    chosen = settings(strategy=strategy, hearing=hearing, both_orders=True, turns=3)
    talk = play(marked, chosen)
    for ask, turn in zip(talk.asked, talk.turns, strict=True):
        before = heard(chosen, turn, talk.turns)
        marks = [f"{'s' if one.step == 'summary' else one.speaker}{one.round}" for one in before]
        assert marks == re.findall(r"mark-(\w\d)", ask.prompt)


def test_one_by_one_is_rounds_of_one_and_a_simultaneous_turn_goes_out_together() -> None:
    assert rounds(settings("ab")) == ["a0", "b0", "a1", "b1"]
    assert rounds(settings("ab", strategy="simultaneous")) == ["a0 b0", "a1 b1"]
    assert rounds(settings("ab", strategy="simultaneous with summary")) == ["a0 b0", "summariser0", "a1 b1"]
    assert rounds(settings("ab", strategy="alone")) == ["a0 b0"]


def test_the_talks_in_both_orders_go_side_by_side_and_hear_nothing_of_each_other() -> None:
    assert rounds(settings("ab", both_orders=True)) == ["a0 a0", "b0 b0", "a1 a1", "b1 b1"]
    talk = play(lambda ask: f"order{ask.shown[0]}. {scored(5, 5)}", settings("ab", both_orders=True))
    for ask in talk.asked:
        other = "order2" if ask.shown == (1, 2) else "order1"
        assert other not in ask.prompt
        sun, moon = ask.prompt.index("the sun"), ask.prompt.index("the moon")
        assert (sun < moon) == (ask.shown == (1, 2))


def test_scores_are_averaged_over_the_last_turn_of_every_persona() -> None:
    talk = play(saying(a=[(1, 9), (8, 6)], b=[(9, 1), (7, 8)], c=[(5, 5)]), settings())
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("agreed", 1)
    assert talk.verdict.reason == "6.67 for response 1 and 6.33 for response 2 on average"
    assert talk.opinions() == {
        **{("a", "first"): 2, ("b", "first"): 1, ("c", "first"): 0},
        **{("a", "last"): 1, ("b", "last"): 2, ("c", "last"): 0, ("chateval", "verdict"): 1},
    }


def test_a_judge_who_likes_what_stands_first_is_calibrated_away() -> None:
    talk = play(saying(a=[(9, 7)], b=[(9, 7)]), settings("ab", both_orders=True))
    assert talk.turns[0].reading == {"1": 9, "2": 7} and talk.turns[1].reading == {"1": 7, "2": 9}
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("agreed", 0)
    assert talk.verdict.reason == "both responses have 8.00 on average"


def test_what_is_better_in_both_orders_wins() -> None:
    def likes_the_moon(ask: Ask) -> str:
        return scored(6, 8) if ask.shown == (1, 2) else scored(9, 5)

    talk = play(likes_the_moon, settings("ab", both_orders=True))
    assert talk.verdict and talk.verdict.value == 2
    assert talk.verdict.reason == "5.50 for response 1 and 8.50 for response 2 on average"


def test_votes_are_counted_by_majority_of_all_that_were_asked_for() -> None:
    talk = play(voting(a="12", b="2", c="1"), settings(outcome="vote"))
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("agreed", 2)
    assert talk.verdict.reason == "2 of 3 votes for response 2"
    assert (talk.opinions()["a", "first"], talk.opinions()["a", "last"]) == (1, 2)


def test_a_vote_without_majority_is_for_a_person_and_no_tie() -> None:
    talk = play(voting(a="1", b="2"), settings("ab", outcome="vote"))
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("disputed", None)
    assert talk.verdict.reason == "no majority of the 2 votes: 1 for response 1, 1 for response 2"


def test_a_vote_that_follows_the_order_is_no_opinion() -> None:
    talk = play(voting(a="1", b="1"), settings("ab", outcome="vote", both_orders=True))
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("disputed", None)
    assert talk.opinions()["a", "last"] is None
    assert talk.problems()["a", "last"] == (
        "its vote changes with the order of the responses: response 1 and response 2"
    )


def test_everybody_may_find_that_neither_is_better() -> None:
    talk = play(voting(a="0", b="0", c="1"), settings(outcome="vote"))
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("agreed", 0)
    assert talk.verdict.reason == "2 of 3 votes for neither"


def test_one_response_is_rated_on_the_criterions_scale_and_ratings_are_averaged() -> None:
    chosen = settings("ab", outcome="rating", criterion=NATURAL, both_orders=True)
    talk = play(lambda ask: f"Well.\nRating: {'32'['ab'.index(ask.speaker)]}", chosen, one_response())
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("agreed", 2.5)
    assert talk.verdict.reason == "the mean of 2 ratings"
    assert {(one.kind, one.criterion) for one in talk.verdict.opinions} == {("score", "natural")}
    assert len(talk.asked) == 4 and {ask.shown for ask in talk.asked} == {()}


@pytest.mark.parametrize("outcome", ["scores", "vote"])
def test_a_refusal_is_no_verdict_and_never_a_tie(outcome: str) -> None:
    talk = play(lambda ask: Reply(text="", finish="refused"), settings("ab", outcome=outcome))
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("no_verdict", None)
    assert talk.opinions() == {
        ("chateval", "verdict"): None,
        **{(name, stage): None for name in "ab" for stage in ("first", "last")},
    }
    assert talk.problems()["a", "last"] == "the model refused to answer"


def test_an_unreadable_vote_counts_for_nobody_and_is_still_asked_for() -> None:
    talk = play(voting(a="1", b="1", c="?"), settings(outcome="vote"))
    assert talk.verdict and talk.verdict.value == 1
    assert talk.verdict.reason == "2 of 3 votes for response 1; 1 of 3 could not be read"
    alone = play(voting(a="1", b="?", c="?"), settings(outcome="vote"))
    assert alone.verdict and (alone.verdict.outcome, alone.verdict.value) == ("no_verdict", None)


def test_scores_that_could_not_be_read_are_left_out_and_said() -> None:
    talk = play(saying(a=[(8, 6)], b=["Both are fine."]), settings("ab"))
    assert talk.verdict and talk.verdict.value == 1
    assert talk.verdict.reason == (
        "8.00 for response 1 and 6.00 for response 2 on average; 1 of 2 scorings could not be read"
    )


def test_an_order_in_which_nobody_could_be_read_leaves_no_verdict() -> None:
    def half(ask: Ask) -> str:
        return scored(9, 5) if ask.shown == (1, 2) else "Hm."

    talk = play(half, settings("ab", both_orders=True))
    assert talk.verdict and (talk.verdict.outcome, talk.verdict.value) == ("no_verdict", None)
    assert talk.verdict.reason == "only 2 of 4 scorings could be read"


def test_an_unread_reply_in_one_order_does_not_tip_the_balance() -> None:
    def likes_first(ask: Ask) -> str:
        return "Hm." if ask.speaker == "b" and ask.shown == (2, 1) else scored(9, 7)

    talk = play(likes_first, settings("ab", both_orders=True))
    assert talk.verdict and talk.verdict.value == 0


def test_the_last_turn_counts_and_not_the_last_that_could_be_read() -> None:
    talk = play(saying(a=[(9, 1), "Hm."], b=[(5, 6)]), settings("ab"))
    assert talk.verdict and talk.verdict.value == 2
    assert (talk.opinions()["a", "first"], talk.opinions()["a", "last"]) == (1, None)


def test_a_summary_that_could_not_be_had_leaves_the_contributions_themselves() -> None:
    def answer(ask: Ask) -> Reply | str:
        return Reply(text="mark-s", finish="cut off") if ask.step == "summary" else marked(ask)

    heard = who_hears_what(play(answer, settings(strategy="simultaneous with summary")))
    assert heard["a1"] == heard["b1"] == "a0 b0 c0"


def test_the_summariser_has_the_first_personas_model_or_its_own() -> None:
    chosen = settings(strategy="simultaneous with summary")
    asked = [ask for ask in play(marked, chosen).asked if ask.step == "summary"]
    assert [(ask.speaker, ask.spec.model) for ask in asked] == [("summariser", "model-a")]
    own = settings(strategy="simultaneous with summary", summariser={"name": "clerk", "spec": {"model": "m"}})
    asked = [ask for ask in play(marked, own).asked if ask.step == "summary"]
    assert [(ask.speaker, ask.spec.model) for ask in asked] == [("clerk", "m")]


def test_a_persona_of_the_papers_has_a_role_in_our_words_and_any_other_can_be_written() -> None:
    critic = Persona(name="Critic", spec=Spec(model="m"))
    assert critic.role == ROLES["Critic"] and len(ROLES) == 5
    assert Persona(name="Guido", role="You made Python.", spec=Spec(model="m")).role == "You made Python."
    assert Persona(name="Critic", role="", spec=Spec(model="m")).role == ""


def test_prompts_name_no_model() -> None:
    talk = play(marked, settings(strategy="simultaneous with summary", both_orders=True))
    assert not any("model-" in ask.prompt for ask in talk.asked)


def test_position_calibration_is_on_by_default_and_the_papers_defaults_stand() -> None:
    plain = Settings(personas=(Persona(name="Critic", spec=Spec(model="m")),))
    assert (plain.strategy, plain.turns, plain.both_orders, plain.outcome) == ("one by one", 2, True, "scores")
    assert (plain.lowest, plain.highest) == (1, 10)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"names": "aa"}, "two speakers are called 'a'"),
        ({"strategy": "simultaneous with summary", "summariser": {"name": "a", "spec": {"model": "m"}}}, "called 'a'"),
        ({"lowest": 5, "highest": 5}, "above the worst"),
        ({"outcome": "rating"}, "a scale of numbers"),
        ({"outcome": "rating", "criterion": Criterion(name="tone")}, "a scale of numbers"),
    ],
)
def test_settings_that_make_no_sense_are_refused(fields: dict, words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        settings(**fields)


def test_an_item_with_another_number_of_responses_is_a_problem_in_words() -> None:
    talk = play(marked, settings(), one_response())
    assert talk.events == [TraceFailed(problem="Item tides has 1 responses; this talk compares two.")]
    with pytest.raises(Problem, match="has 2 responses; this talk rates one"):
        next(a_flow(settings(outcome="rating", criterion=NATURAL)))


def test_text_with_dollars_and_braces_is_data() -> None:
    talk = play(marked, settings(), an_item(prompt="$history ${x} $$5 {criteria} %s"))
    assert all("$history ${x} $$5 {criteria} %s" in ask.prompt for ask in talk.asked)


@pytest.mark.parametrize("strategy", ["one by one", "simultaneous", "simultaneous with summary"])
def test_resuming_asks_only_for_what_is_missing(strategy: str) -> None:
    chosen = settings(strategy=strategy, both_orders=True)
    whole = play(marked, chosen)
    kept = [EVENT.validate_json(EVENT.dump_json(event)) for event in whole.events[:8]]
    assert all(isinstance(event, TurnTaken) for event in kept)
    again = play(marked, chosen, stored=kept)
    assert len(again.asked) == len(whole.asked) - 8
    assert again.verdict == whole.verdict and again.turns == whole.turns


@pytest.mark.parametrize(
    ("fields", "calls"),
    [
        ({}, 6),
        ({"both_orders": True}, 12),
        ({"strategy": "simultaneous with summary", "turns": 3}, 11),
        ({"strategy": "alone"}, 3),
        ({"outcome": "vote"}, 6),
    ],
)
def test_an_estimate_counts_every_call(fields: dict, calls: int) -> None:
    told = estimate(PROTOCOLS["chateval"], [an_item()], settings(**fields))
    assert (told.calls_at_least, told.calls_at_most) == (calls, calls)
    assert told.completion_tokens == calls * 160
