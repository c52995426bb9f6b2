"""Debates with scripted judges, after Section 4.1 of the paper."""

from collections import Counter

import pytest
from pydantic import ValidationError

from core.llm.client import Reply
from core.protocols.scaleeval.protocol import conclude
from core.trace import Ask, TraceFailed, Turn
from tests.core.protocols.debates import Debate, an_item, following, play, settings


def test_agreement_at_once_ends_the_debate() -> None:
    debate = play(following(a="1", b="1", c="1"), settings())
    assert debate.picks() == ["a1 b1 c1"]
    assert debate.verdict and (debate.verdict.outcome, debate.verdict.value) == ("agreed", 1)
    assert debate.verdict.reason == "all 3 judges chose response 1"


def test_a_judge_can_be_won_over() -> None:
    debate = play(following(a="12", b="2", c="2"), settings())
    assert debate.picks() == ["a1 b2 c2", "a2 b2 c2"]
    assert debate.verdict and debate.verdict.value == 2
    told = {(o.judge, o.stage): o.value for o in debate.verdict.opinions}
    assert (told["a", "first"], told["a", "last"], told["scaleeval", "verdict"]) == (1, 2, 2)


def test_first_opinions_are_round_0_so_three_rounds_are_two_of_discussion() -> None:
    debate = play(following(a="1", b="2", c="0"), settings(rounds=3))
    assert debate.picks() == ["a1 b2 c0"] * 3
    assert debate.verdict and debate.verdict.outcome == "disputed" and debate.verdict.value is None
    assert debate.verdict.reason == "the judges still differ: 1 for response 1, 1 for response 2, 1 for neither"


def test_one_round_is_no_discussion() -> None:
    assert play(following(a="1", b="2", c="0"), settings(rounds=1)).picks() == ["a1 b2 c0"]


def test_agreeing_that_neither_is_better_is_agreement() -> None:
    debate = play(following(a="0", b="0", c="0"), settings())
    assert debate.verdict and (debate.verdict.outcome, debate.verdict.value) == ("agreed", 0)
    assert debate.verdict.reason == "all 3 judges chose neither"


@pytest.mark.parametrize(("judges", "rounds", "outcome"), [("112", 1, "agreed"), ("120", 3, "disputed")])
def test_a_majority_is_more_than_half(judges: str, rounds: int, outcome: str) -> None:
    debate = play(following(**dict(zip("abc", judges, strict=True))), settings(stopping="majority"))
    assert debate.verdict and debate.verdict.outcome == outcome
    assert len(debate.picks()) == rounds


def test_a_majority_counts_judges_who_cannot_be_read() -> None:
    debate = play(following(a="1", b="1", c="x", d="x"), settings("abcd", stopping="majority"))
    assert debate.verdict and debate.verdict.outcome == "no_verdict"


def test_half_is_no_majority() -> None:
    debate = play(following(a="1", b="1", c="2", d="2"), settings("abcd", stopping="majority"))
    assert debate.verdict and debate.verdict.outcome == "disputed"


def test_a_refusal_is_no_verdict_and_never_a_tie() -> None:
    debate = play(lambda ask: Reply(text="", finish="refused") if ask.speaker == "c" else "1", settings())
    assert debate.picks() == ["a1 b1 c?"] * 3
    assert debate.verdict and debate.verdict.outcome == "no_verdict" and debate.verdict.value is None
    assert debate.verdict.reason == "only 2 of 3 judges gave a readable opinion"
    refused = [o for o in debate.verdict.opinions if o.judge == "c"]
    assert [(o.value, o.problem) for o in refused] == [(None, "the model refused to answer")] * 2


def test_a_cut_off_reply_is_not_read_even_where_it_ends_in_a_number() -> None:
    debate = play(lambda ask: Reply(text="1", finish="cut off"), settings(rounds=1))
    assert {turn.problem for turn in debate.turns} == {"the reply was cut off at the limit of 1024 tokens"}
    assert len(debate.asked) == 3


def test_two_who_differ_are_disputed_whatever_the_third_does() -> None:
    debate = play(following(a="1", b="2", c="?"), settings())
    assert debate.verdict and debate.verdict.outcome == "disputed"


def test_the_last_opinion_counts_and_not_the_last_readable_one() -> None:
    debate = play(following(a="1", b="12", c="2?"), settings("abc", rounds=2))
    assert debate.picks() == ["a1 b1 c2", "a1 b2 c?"]
    told = {(o.judge, o.stage): o.value for o in debate.verdict.opinions} if debate.verdict else {}
    assert told["c", "first"] == 2 and told["c", "last"] is None


def who_hears_whom(debate: Debate) -> dict[str, str]:
    """{"a1": "a0 b0 c0"}: speaker and round -> whose turns stand in its prompt."""
    said = {turn.reply.split()[0]: f"{turn.speaker}{turn.round}" for turn in debate.turns}
    return {
        f"{ask.speaker}{ask.round}": " ".join(sorted(name for mark, name in said.items() if mark in ask.prompt))
        for ask in debate.asked
    }


def marked(ask: Ask) -> str:
    return f"mark-{ask.speaker}{ask.round}. My reasons.\n\n{'120'['abc'.index(ask.speaker)]}"


def test_at_once_each_judge_hears_the_round_before() -> None:
    assert who_hears_whom(play(marked, settings())) == {
        **{"a0": "", "b0": "", "c0": ""},
        **{"a1": "a0 b0 c0", "b1": "a0 b0 c0", "c1": "a0 b0 c0"},
        **{"a2": "a1 b1 c1", "b2": "a1 b1 c1", "c2": "a1 b1 c1"},
    }


def test_in_turn_each_judge_also_hears_those_before_it() -> None:
    assert who_hears_whom(play(marked, settings(speaking="in turn"))) == {
        **{"a0": "", "b0": "", "c0": ""},
        **{"a1": "a0 b0 c0", "b1": "a0 a1 b0 c0", "c1": "a0 a1 b0 b1 c0"},
        **{"a2": "a1 b1 c1", "b2": "a1 a2 b1 c1", "c2": "a1 a2 b1 b2 c1"},
    }


def prefers_the_sun(ask: Ask) -> str:
    return "1" if ask.prompt.index("the sun") < ask.prompt.index("the moon") else "2"


def test_a_verdict_speaks_in_the_items_own_order() -> None:
    shown = Counter()
    for seed in range(20):
        debate = play(prefers_the_sun, settings(shuffle_responses=True), seed=seed)
        assert debate.verdict and debate.verdict.value == 1
        shown[debate.turns[0].shown] += 1
    assert set(shown) == {(1, 2), (2, 1)}


def test_neither_stays_neither_when_the_order_is_swapped() -> None:
    for seed in range(6):
        debate = play(lambda ask: "0", settings(shuffle_responses=True), seed=seed)
        assert debate.verdict and debate.verdict.value == 0


def test_the_same_seed_and_item_draw_the_same() -> None:
    drawn = settings(shuffle_responses=True, shuffle_speakers=True, format="gibberish")
    first, again = (play(marked, drawn, seed=5) for _ in range(2))
    assert first.events == again.events
    assert [t.speaker for t in first.turns] != [t.speaker for t in play(marked, drawn, seed=6).turns]


def test_a_judge_keeps_its_number_through_the_debate() -> None:
    debate = play(marked, settings(shuffle_speakers=True), seed=6)
    speakers = [turn.speaker for turn in debate.turns[:3]]
    assert speakers != ["a", "b", "c"]
    for ask in debate.asked[3:]:
        assert ask.prompt.startswith(f"You are Speaker {speakers.index(ask.speaker) + 1} of 3 speakers")


def test_prompts_name_no_judge_and_no_model() -> None:
    debate = play(following(a="1", b="2", c="0"), settings())
    assert not any("model-" in ask.prompt for ask in debate.asked)


def test_an_item_without_two_responses_is_a_problem_in_words() -> None:
    debate = play(following(a="1", b="1", c="1"), settings(), an_item(responses=()))
    assert debate.events == [TraceFailed(problem="Item tides has 0 responses; ScaleEval compares two.")]


def test_text_with_dollars_and_braces_is_data() -> None:
    debate = play(following(a="1", b="2", c="0"), settings(), an_item(prompt="$question ${x} $$5 {criteria} %s"))
    assert all("$question ${x} $$5 {criteria} %s" in ask.prompt for ask in debate.asked)


def test_context_stands_before_the_question() -> None:
    debate = play(following(a="1", b="1", c="1"), settings(), an_item(context="A: hello"))
    assert "A: hello\n\nWhy are there tides?" in debate.asked[0].prompt


@pytest.mark.parametrize("judges", ["a", "aa"])
def test_judges_are_two_or_more_with_names_of_their_own(judges: str) -> None:
    with pytest.raises(ValidationError):
        settings(judges)


def test_a_judge_who_never_spoke_has_no_verdict() -> None:
    turn = Turn(speaker="a", step="opinion", round=0, model="", reply="1", reading=1)
    verdict = conclude([turn], ["a", "b"], "clarity")
    assert verdict.outcome == "no_verdict"
    assert {o.problem for o in verdict.opinions if o.judge == "b"} == {"has not spoken"}
