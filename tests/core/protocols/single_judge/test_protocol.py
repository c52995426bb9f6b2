"""Single judges: one on a pair (ScaleEval, Section 4.2), one that scores (G-Eval's way, Analyze-Rate's way)."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from core.items import Criterion, Item
from core.llm.client import Answer, Reply, ScriptedModel
from core.llm.costs import estimate
from core.problems import Problem
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.protocol import Judge
from core.protocols.single_judge.protocol import PAIR, SCORE, Pair, Score
from core.runner import run_flow
from core.trace import EVENT, Ask, Event, Flow, Spec, Turn, Verdict, turns
from tests.core.protocols.talks import NATURAL, an_item, one_response
from tests.golden.files import golden

CLARITY = Criterion(name="clarity", rubric=("Low - It cannot be followed.", "High - It reads itself."))


def judge(**spec: Any) -> Judge:
    return Judge(name="ann", spec=Spec(**{"model": "m"} | spec))


def a_pair(**fields: Any) -> Pair:
    return Pair(**{"judge": judge(), "criterion": CLARITY, "shuffle_responses": False} | fields)


def a_score(**fields: Any) -> Score:
    told = {"judge": judge(temperature=1), "criterion": NATURAL, "samples": 4}
    return Score(**told | fields)


def a_flow(chosen: Pair | Score, item: Item | None = None, seed: int = 0) -> Flow:
    name = PAIR if isinstance(chosen, Pair) else SCORE
    item = item or (an_item() if name == PAIR else one_response())
    return PROTOCOLS[name].flow(item, chosen, trace_random(seed, item), PROTOCOLS[name].prompts)


def play(
    script: Callable[[Ask], Answer],
    chosen: Pair | Score,
    stored: Sequence[Event] = (),
    seed: int = 0,
) -> tuple[Verdict, list[Event], list[Ask]]:
    model, events = ScriptedModel(script), list(stored)

    async def record(event: Event) -> None:
        events.append(event)

    verdict = asyncio.run(run_flow(a_flow(chosen, seed=seed), model, record, stored=stored))
    assert verdict is not None
    return verdict, events, model.asked


def in_turn(*replies: Answer) -> Callable[[Ask], Answer]:
    waiting: Iterator[Answer] = iter(replies)
    return lambda ask: next(waiting)


def test_one_judge_chooses_and_its_opinion_is_the_verdict() -> None:
    verdict, _, asked = play(in_turn("Clear.\n\n2"), a_pair())
    assert (verdict.outcome, verdict.value, verdict.reason) == ("agreed", 2, "ann chose response 2")
    assert [(one.judge, one.stage, one.kind, one.value, one.criterion) for one in verdict.opinions] == [
        ("ann", "verdict", "preference", 2, "clarity")
    ]
    assert len(asked) == 1


def test_in_both_orders_the_same_choice_stands() -> None:
    verdict, events, asked = play(lambda ask: "1" if ask.shown == (1, 2) else "2", a_pair(both_orders=True))
    assert [ask.shown for ask in asked] == [(1, 2), (2, 1)]
    assert [turn.reading for turn in turns(events)] == [1, 1]
    assert (verdict.outcome, verdict.value, verdict.reason) == ("agreed", 1, "ann chose response 1 in both orders")
    assert len(next(a_flow(a_pair(both_orders=True)))) == 2


def test_a_judge_that_follows_the_order_gives_no_verdict_unless_that_counts_as_neither() -> None:
    verdict, _, _ = play(lambda ask: "1", a_pair(both_orders=True))
    assert (verdict.outcome, verdict.value) == ("disputed", None)
    assert verdict.reason == "ann chose response 1 in one order of the responses and response 2 in the other"
    verdict, _, _ = play(lambda ask: "1", a_pair(both_orders=True, differing="neither"))
    assert (verdict.outcome, verdict.value) == ("agreed", 0)


@pytest.mark.parametrize("differing", ["a person decides", "neither"])
def test_a_reply_that_cannot_be_read_is_never_a_tie(differing: str) -> None:
    def half(ask: Ask) -> Answer:
        return "1" if ask.shown == (1, 2) else Reply(text="", finish="refused")

    verdict, _, _ = play(half, a_pair(both_orders=True, differing=differing))
    assert (verdict.outcome, verdict.value) == ("no_verdict", None)
    assert verdict.reason == "ann gave no opinion that could be read: the model refused to answer"


def test_the_order_is_drawn_for_each_item_and_undone() -> None:
    def likes_the_sun(ask: Ask) -> str:
        return "1" if ask.prompt.index("the sun") < ask.prompt.index("the moon") else "2"

    shown = Counter()
    for seed in range(12):
        verdict, _, asked = play(likes_the_sun, a_pair(shuffle_responses=True), seed=seed)
        assert verdict.value == 1
        shown[asked[0].shown] += 1
    assert set(shown) == {(1, 2), (2, 1)}


def test_samples_that_could_be_read_are_averaged() -> None:
    verdict, _, asked = play(in_turn("Rating: 3", "Rating: 2", "Rating: 7", "Rating: 9", "Rating: 3"), a_score())
    assert (verdict.outcome, verdict.value) == ("agreed", 8 / 3)
    assert verdict.reason == "the mean of 3 ratings, 2 × 3, 1 × 2; 1 more could not be read"
    assert [(one.judge, one.stage, one.kind) for one in verdict.opinions] == [("ann", "verdict", "score")]
    assert len(asked) == 5 and len(next(a_flow(a_score()))) == 4


def test_a_score_without_a_sample_that_could_be_read_is_no_verdict() -> None:
    verdict, _, _ = play(lambda ask: Reply(text="Rating: 3", finish="cut off"), a_score(samples=2))
    assert (verdict.outcome, verdict.value) == ("no_verdict", None)
    assert verdict.reason == "none of 2 ratings could be read: the reply was cut off at the limit of 1024 tokens"


def test_resuming_asks_only_for_the_samples_that_are_missing() -> None:
    whole, events, _ = play(lambda ask: "Rating: 3", a_score())
    kept = [EVENT.validate_json(EVENT.dump_json(event)) for event in events[:3]]
    again, _, asked = play(lambda ask: "Rating: 3", a_score(), kept)
    assert len(asked) == 1 and again == whole


def test_the_prompts_on_a_pair() -> None:
    golden("single-judge/reasoned.txt", next(a_flow(a_pair()))[0].prompt)
    golden("single-judge/direct.txt", next(a_flow(a_pair(reasons=False)))[0].prompt)
    golden("single-judge/again.txt", next(a_flow(a_pair(reasons=False)))[0].again)


def test_the_prompts_of_a_score() -> None:
    golden("single-score/analysis.txt", next(a_flow(a_score()))[0].prompt)
    golden("single-score/score_only.txt", next(a_flow(a_score(way="score only")))[0].prompt)
    golden("single-score/again.txt", next(a_flow(a_score(way="score only")))[0].again)


def test_task_and_steps_can_be_ones_own() -> None:
    prompt = next(a_flow(a_score(task="Judge this line.", steps="1. Read.\n2. Rate.")))[0].prompt
    assert prompt.startswith("Judge this line.\n\nEvaluation Criterion:")
    assert "Evaluation Steps:\n1. Read.\n2. Rate.\n\nInput:" in prompt


def test_an_item_with_another_number_of_responses_is_refused() -> None:
    with pytest.raises(Problem, match="has 1 responses; a judge on a pair compares two"):
        next(a_flow(a_pair(), one_response()))
    with pytest.raises(Problem, match="has 2 responses; a judge that scores takes one"):
        next(a_flow(a_score(), an_item()))


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"judge": judge()}, "temperature 0"), ({"criterion": Criterion(name="tone")}, "needs a scale")],
)
def test_a_score_that_makes_no_sense_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(words)):
        a_score(**fields)


@pytest.mark.parametrize(
    ("chosen", "calls"),
    [(a_pair(), 1), (a_pair(both_orders=True), 2), (a_score(), 4), (a_score(way="score only", samples=1), 1)],
)
def test_an_estimate_counts_every_call(chosen: Pair | Score, calls: int) -> None:
    name, item = (PAIR, an_item()) if isinstance(chosen, Pair) else (SCORE, one_response())
    told = estimate(PROTOCOLS[name], [item], chosen)
    assert (told.calls_at_least, told.calls_at_most) == (calls, calls)


def test_a_turn_keeps_who_was_asked_and_in_which_order() -> None:
    _, events, _ = play(lambda ask: "0", a_pair(both_orders=True))
    first: Turn = turns(events)[0]
    assert (first.speaker, first.step, first.round, first.shown) == ("ann", "choice", 0, (1, 2))
