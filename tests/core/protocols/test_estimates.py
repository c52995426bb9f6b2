"""Estimates of calls, tokens and cost before a run."""

from dataclasses import replace
from typing import Any

import pytest

from core.errors import TiebreakError
from core.items import Criterion, Response
from core.labels import Scale
from core.llm.costs import RecordedCalls, estimate_run, maximum_cost, model_price
from core.llm.wire import with_entered_price
from core.protocols import Judge
from core.protocols.registry import PROTOCOLS
from core.protocols.single_judge.settings import ScoreSettings
from core.trace import Ask, Spec, Usage
from tests.core.protocols.debates import make_item, make_settings

SCALEEVAL = PROTOCOLS["scaleeval"]


def settings_with_models(*models: str, **fields: Any) -> Any:
    return make_settings(
        judges=tuple(Judge(name=f"j{n}", spec=Spec(model=model)) for n, model in enumerate(models)), **fields
    )


@pytest.mark.parametrize("stopping", ["unanimity", "majority"])
@pytest.mark.parametrize("judges", ["ab", "abc", "abcd", "abcde", "abcdefg"])
def test_the_maximum_of_calls_is_exact_for_any_number_of_judges(judges: str, stopping: str) -> None:
    estimate = estimate_run(SCALEEVAL, [make_item()], make_settings(judges, stopping=stopping, rounds=4))
    assert estimate.calls_at_most == len(judges) * 4


def test_the_cost_is_known_where_all_prices_are_known() -> None:
    estimate = estimate_run(SCALEEVAL, [make_item()], settings_with_models("gpt-4o-mini", "openai/gpt-4o-mini"))
    assert estimate.dollars is not None and 0.0001 < estimate.dollars < 0.01


def test_the_local_model_is_free_and_an_address_has_no_known_price() -> None:
    assert estimate_run(SCALEEVAL, [make_item()], settings_with_models("local", "local")).dollars == 0
    assert model_price(Spec(model="gpt-4o-mini", address="http://127.0.0.1:1/v1")) is None


def test_an_entered_price_replaces_the_list() -> None:
    entered = Spec(model="gpt-4o-mini", address="http://127.0.0.1:1/v1", prompt_price=1.0, completion_price=4.0)
    price = model_price(entered)
    assert price is not None and (price.prompt, price.completion) == (1e-6, 4e-6)
    usage = Usage(prompt_tokens=1_000, completion_tokens=500)
    assert with_entered_price(usage, entered).dollars == pytest.approx(0.003)
    assert with_entered_price(Usage(prompt_tokens=1_000), entered).dollars is None
    assert with_entered_price(usage, Spec(model="m")).dollars is None
    with pytest.raises(ValueError, match="both"):
        Spec(model="m", prompt_price=1.0)


def test_a_run_without_items_has_no_calls() -> None:
    estimate = estimate_run(SCALEEVAL, [], make_settings())
    assert (estimate.calls_at_most, estimate.dollars) == (0, 0)


def test_an_estimate_refuses_an_item_that_cannot_be_judged() -> None:
    with pytest.raises(TiebreakError, match="has 0 responses"):
        estimate_run(SCALEEVAL, [make_item(responses=())], make_settings())


def test_the_maximum_cost_counts_the_prompt_and_the_token_limit_of_each_sample() -> None:
    ask = Ask("a", "opinion", 0, Spec(model="gpt-4o-mini", max_tokens=1000), "x" * 4000, int)
    assert maximum_cost(ask) == pytest.approx(1000 * 0.15e-6 + 1000 * 0.6e-6)
    assert maximum_cost(replace(ask, samples=3)) == pytest.approx(1000 * 0.15e-6 + 3 * 1000 * 0.6e-6)


def test_the_expected_usage_is_between_agreement_and_disagreement() -> None:
    estimate = estimate_run(SCALEEVAL, [make_item()], make_settings(rounds=3))
    assert estimate.calls_at_least < estimate.expected.calls < estimate.calls_at_most
    assert estimate.expected.prompt_tokens < estimate.prompt_tokens and estimate.seconds is None
    assert "expected about 6 calls" in estimate.summary()


def test_recorded_calls_give_the_length_of_replies_and_the_duration() -> None:
    recorded = RecordedCalls(calls=20, completion_tokens=50.0, seconds=4.0)
    estimate = estimate_run(SCALEEVAL, [make_item()], make_settings(rounds=3), recorded=recorded, parallel=2)
    assert estimate.expected.completion_tokens == 50 * estimate.expected.calls
    assert estimate.seconds == 4.0 * estimate.expected.calls / 2
    few = estimate_run(SCALEEVAL, [make_item()], make_settings(rounds=3), recorded=recorded, parallel=100)
    assert few.seconds == 4.0  # not less than one call


@pytest.mark.parametrize(
    ("spec", "prompts"),
    [
        ({"model": "gpt-4o-mini"}, 1),
        ({"model": "m", "address": "http://127.0.0.1:8000/v1"}, 1),
        ({"model": "claude-haiku-4-5"}, 20),
    ],
)
def test_samples_of_one_request_have_one_prompt_where_the_provider_returns_several(
    spec: dict[str, Any], prompts: int
) -> None:
    def tokens(samples: int) -> int:
        scale = Scale(level="ordinal", categories=(1, 2, 3))
        settings = ScoreSettings(
            judge=Judge(name="j", spec=Spec(temperature=1, **spec)),
            criterion=Criterion(name="c", scale=scale),
            samples=samples,
        )
        item = make_item(responses=(Response(text="One."),))
        estimate = estimate_run(PROTOCOLS["single-score"], [item], settings)
        assert estimate.calls_at_most == samples
        return estimate.prompt_tokens

    assert tokens(20) == prompts * tokens(1)
