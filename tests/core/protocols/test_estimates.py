"""What a run will take, told before it starts."""

import time
from typing import Any

import pytest

from core.llm.costs import estimate, most, price
from core.problems import Problem
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.protocol import Judge
from core.trace import Ask, Spec
from tests.core.protocols.debates import an_item, play, settings

SCALEEVAL = PROTOCOLS["scaleeval"]


def judged_by(*models: str, **fields: Any) -> Any:
    return settings(
        judges=tuple(Judge(name=f"j{n}", spec=Spec(model=model)) for n, model in enumerate(models)), **fields
    )


def test_calls_lie_between_agreement_at_once_and_none_at_all() -> None:
    told = estimate(SCALEEVAL, [an_item(id=str(n)) for n in range(10)], settings(rounds=3))
    assert (told.calls_at_least, told.calls_at_most) == (30, 90)


@pytest.mark.parametrize("stopping", ["unanimity", "majority"])
@pytest.mark.parametrize("judges", ["ab", "abc", "abcd", "abcde", "abcdefg"])
def test_the_longest_course_is_found_for_any_number_of_judges(judges: str, stopping: str) -> None:
    told = estimate(SCALEEVAL, [an_item()], settings(judges, stopping=stopping, rounds=4))
    assert told.calls_at_most == len(judges) * 4


def test_money_is_known_where_every_models_price_is() -> None:
    told = estimate(SCALEEVAL, [an_item()], judged_by("gpt-4o-mini", "openai/gpt-4o-mini"))
    assert told.dollars is not None and 0.0001 < told.dollars < 0.01


def test_money_is_unknown_where_one_price_is() -> None:
    assert estimate(SCALEEVAL, [an_item()], judged_by("gpt-4o-mini", "nobody/knows")).dollars is None


def test_the_local_model_is_free_and_an_address_has_no_known_price() -> None:
    assert estimate(SCALEEVAL, [an_item()], judged_by("local", "local")).dollars == 0
    assert price(Spec(model="gpt-4o-mini", address="http://127.0.0.1:1/v1")) is None


def test_tokens_are_about_those_of_the_longest_course() -> None:
    told = estimate(SCALEEVAL, [an_item()], settings(rounds=2))
    played = play(lambda ask: "word " * 150 + f"\n{'120'['abc'.index(ask.speaker)]}", settings(rounds=2))
    assert told.prompt_tokens == pytest.approx(sum(len(ask.prompt) for ask in played.asked) / 4, rel=0.1)
    assert told.completion_tokens == 6 * 200


def test_a_hundred_thousand_items_are_estimated_in_a_blink() -> None:
    items = [an_item()] * 100_000
    start = time.perf_counter()
    told = estimate(SCALEEVAL, items, settings())
    assert time.perf_counter() - start < 1
    assert told.calls_at_most == 900_000


def test_a_sample_stands_for_a_count() -> None:
    assert estimate(SCALEEVAL, [an_item()], settings(), count=40).calls_at_least == 120


def test_nothing_takes_nothing() -> None:
    told = estimate(SCALEEVAL, [], settings())
    assert (told.calls_at_most, told.dollars) == (0, 0)


def test_an_item_that_cannot_be_judged_is_found_before_money_is_spent() -> None:
    with pytest.raises(Problem, match="has 0 responses"):
        estimate(SCALEEVAL, [an_item(responses=())], settings())


def test_one_ask_costs_at_most_its_prompt_and_every_token_allowed() -> None:
    ask = Ask("a", "opinion", 0, Spec(model="gpt-4o-mini", max_tokens=1000), "x" * 4000, int)
    assert most(ask) == pytest.approx(1000 * 0.15e-6 + 1000 * 0.6e-6)
