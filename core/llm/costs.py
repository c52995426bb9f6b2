"""Prices of models, and the estimated number of calls, tokens and cost of a run. Unknown costs are None, never 0."""

import importlib.util
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from core.answers.answer import RULES, listed
from core.answers.number import Rating
from core.answers.scores import Scores
from core.attempts import extraction_ask, first_request, second_request
from core.errors import TiebreakError
from core.items import Item, Pairs
from core.labels import Value
from core.llm import PARALLEL_CALLS, local_server
from core.protocols import Protocol, start_flow, trace_parts
from core.templates import Templates, is_raw
from core.trace import Ask, Flow, ReplyUnreadable, Spec, Turn, Usage, model_specs
from core.transcripts import BUDGET
from core.wording import format_count, format_minutes

# How many items, or pairs of responses, an estimate simulates; the result is scaled to all of them.
SAMPLED_ITEMS = 50
# Approximate, for English; other languages and code have more tokens.
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_WORD = 4 / 3
# Tokens of an item's transcripts in a prompt: for a model whose context is unknown, and the most by default.
TRANSCRIPT_TOKENS, MOST_TRANSCRIPT_TOKENS = BUDGET // CHARACTERS_PER_TOKEN, 50_000
# Providers, as litellm's price list names them, that return several replies to one request (`n`).
WITH_SAMPLES = ("openai", "azure", "together_ai", "fireworks_ai")

Sampled = TypeVar("Sampled")
# (ask, its number in its round) -> the reading of its simulated reply; None for an unreadable one.
SimulatedReading = Callable[[Ask, int], Value | None]


@dataclass(frozen=True)
class Price:
    """Dollars per token."""

    prompt: float
    completion: float


@dataclass(frozen=True)
class ExpectedUsage:
    """Numbers of calls and tokens, and their cost."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    """None when the price of any of the models is unknown."""


@dataclass(frozen=True)
class RecordedCalls:
    """Means over recorded calls that resemble those of a run: tokens of the protocol, seconds of the same models."""

    calls: int
    completion_tokens: float | None
    """Per call."""
    seconds: float | None
    """Per call."""


@dataclass(frozen=True)
class CostEstimate:
    """The expected calls, tokens and cost of a run. Tokens and dollars assume that no judge ever agrees early.

    Retries of failed calls are not included.
    """

    items: int
    traces: int
    """One per item, or one per pair of its responses."""
    calls_at_least: int
    calls_at_most: int
    """Without second requests, as the tokens and the dollars."""
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    """None when the price of any of its models is unknown."""
    upper_bound: ExpectedUsage
    """If every reply has to be requested twice, and then read by the extractor, if there is one."""
    expected: ExpectedUsage
    """The mean of a run in which judges agree at once and of one in which they never do."""
    seconds: float | None = None
    """Expected duration, with `parallel` calls at a time; None without recorded calls of the same models."""
    hides_images: bool = False
    """Whether transcripts have images, which are not sent."""
    shortened: tuple[int, int] = (0, 0)
    """How many of the simulated items have transcripts of which steps are left out, and of how many."""

    def summary(self) -> str:
        """Return the estimate as one sentence without its full stop."""
        calls = format_count(self.calls_at_most, "call")
        if self.calls_at_least < self.calls_at_most:
            calls = f"{self.calls_at_least:,} to {calls}"
        pairs = f" in {format_count(self.traces, 'pair')}" if self.traces > self.items else ""
        cost = "price unknown" if self.dollars is None else f"about ${self.dollars:,.2f}"
        tokens = format_count(self.prompt_tokens + self.completion_tokens, "token")
        likely, bound, (short, sampled) = self.expected, self.upper_bound, self.shortened
        likely_tokens = format_count(likely.prompt_tokens + likely.completion_tokens, "token")
        likely_cost = "" if likely.dollars is None else f", ${likely.dollars:,.2f}"
        time = "" if self.seconds is None else f", {format_minutes(self.seconds)}"
        most = f" and about ${bound.dollars:,.2f}" if bound.dollars else ""
        clauses = [
            f"{format_count(self.items, 'item')}{pairs}: {calls}, up to about {tokens}, {cost}",
            f"expected about {format_count(likely.calls, 'call')}, {likely_tokens}{likely_cost}{time}",
            f"at most {format_count(bound.calls, 'call')}{most} if every reply has to be requested twice",
            "replies that are stored from earlier runs cost nothing",
            "images in transcripts are not sent, only that there is one" if self.hides_images else "",
            f"steps are left out of the transcripts of {short} of {sampled} simulated items" if short else "",
        ]
        return "; ".join(filter(None, clauses))


def model_price(spec: Spec) -> Price | None:
    """Return the entered price, otherwise that in litellm's own list, which is as old as the installed version.

    Nothing is fetched.
    """
    if spec.prompt_price is not None and spec.completion_price is not None:
        return Price(spec.prompt_price / 1e6, spec.completion_price / 1e6)
    if local_server.is_local(spec):
        return Price(0.0, 0.0)
    info = model_info(spec)
    if not info or "input_cost_per_token" not in info or "output_cost_per_token" not in info:
        return None
    return Price(float(info["input_cost_per_token"]), float(info["output_cost_per_token"]))


def model_info(spec: Spec) -> Mapping[str, Any] | None:
    """Return litellm's entry for a model; None for unknown models and for servers at their own address."""
    if spec.address is not None:
        return None
    return _price_list().get(spec.model) or _price_list().get(spec.model.partition("/")[2])


def transcript_budget(settings: Any) -> int:
    """Return the characters of an item's transcripts in a prompt that every model of a run can read."""
    return CHARACTERS_PER_TOKEN * min((_transcript_tokens(spec) for _, spec in model_specs(settings)), default=0)


def _transcript_tokens(spec: Spec) -> int:
    if spec.transcript_tokens is not None:
        return spec.transcript_tokens
    context = (model_info(spec) or {}).get("max_input_tokens")
    return min(context // 2, MOST_TRANSCRIPT_TOKENS) if isinstance(context, int) and context else TRANSCRIPT_TOKENS


def usage_of_request(usage: Usage, spec: Spec, made: int, wanted: int) -> Usage:
    """Return the usage of one of `wanted` replies to a request, from that of one of the `made` replies to a larger one.

    The request for fewer would have had the same prompt, which fewer replies share. Dollars are by the model's prices,
    None if these are not known.
    """
    if made <= wanted:
        return usage
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    prompt = None if prompt is None else round(prompt * made / wanted)
    price, dollars = model_price(spec), None
    if price is not None and usage.dollars is not None and prompt is not None and completion is not None:
        dollars = price.prompt * prompt + price.completion * completion
    seconds = None if usage.seconds is None else usage.seconds * made / wanted
    return Usage(prompt_tokens=prompt, completion_tokens=completion, seconds=seconds, dollars=dollars)


def maximum_cost(ask: Ask) -> float | None:
    """Return the most dollars an ask can cost: its prompt, and replies of the maximum length."""
    price = model_price(ask.spec)
    if price is None:
        return None
    return price.prompt * _prompt_tokens(ask) + price.completion * ask.spec.max_tokens * ask.samples


def _prompt_tokens(ask: Ask) -> int:
    """Return the approximate number of tokens in the messages of an ask, each rounded up."""
    messages = (ask.spec.system, ask.system, *ask.history, ask.prompt)
    return sum(-(-len(message) // CHARACTERS_PER_TOKEN) for message in messages)


def estimate_run(
    protocol: Protocol,
    items: Sequence[Item],
    settings: Any,
    *,
    templates: Templates | None = None,
    seed: int = 0,
    count: int | None = None,
    pairs: Pairs | None = None,
    extractor: Spec | None = None,
    recorded: RecordedCalls | None = None,
    parallel: int = PARALLEL_CALLS,
) -> CostEstimate:
    """Run the real flow on up to SAMPLED_ITEMS traces with simulated replies, scaled to `count` items (default: all).

    The expected usage has replies as long as the `recorded` ones, and the duration follows from theirs.

    Raises the TiebreakError that the run itself would raise: an item it cannot judge, a template with a wrong blank.
    """
    count = len(items) if count is None else count
    sampled, traces = sample_traces(protocol, items, settings, count, pairs)
    factor = traces / len(sampled) if sampled else 0.0
    texts = protocol.prompts if templates is None else templates

    def simulate(reading: SimulatedReading, reply: str) -> list[Ask]:
        flows = (start_flow(protocol, item, settings, seed=seed, templates=texts, part=part) for item, part in sampled)
        asks = [ask for flow in flows for ask in _simulated_asks(flow, reading, reply)]
        check_rules(asks, texts)
        return asks

    reply_tokens = min(protocol.reply_words(settings) * TOKENS_PER_WORD, 1e9)  # a setting may be absurdly large
    reply = "words " * protocol.reply_words(settings)
    asked = [(reading, simulate(reading, reply)) for reading in READINGS]
    extremes = min(asked[:ALIKE], key=_calls), max(asked[ALIKE:] + asked[:ALIKE], key=_calls)
    (_, fewest), (_, most) = extremes
    sent, further = _first_requests(most), [one for ask in most for one in _further_requests(ask, reply, extractor)]
    usage = _expected_usage(sent, reply_tokens, factor)
    usual_tokens = None if recorded is None else recorded.completion_tokens
    if usual_tokens is not None:
        usual = "words " * round(usual_tokens / TOKENS_PER_WORD)
        fewest, most = (simulate(reading, usual) for reading, _ in extremes)
    mean_tokens = reply_tokens if usual_tokens is None else usual_tokens
    expected = _mean_usage([_expected_usage(_first_requests(asks), mean_tokens, factor) for asks in (fewest, most)])
    per_call = None if recorded is None else recorded.seconds
    at_a_time = max(1, min(parallel, expected.calls))  # a small run has fewer calls at a time
    return CostEstimate(
        items=count,
        traces=traces,
        calls_at_least=round(_calls(extremes[0]) * factor),
        calls_at_most=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        dollars=usage.dollars,
        upper_bound=_expected_usage([*sent, *further], reply_tokens, factor, together=False),
        expected=expected,
        seconds=None if per_call is None else per_call * expected.calls / at_a_time,
    )


# How prompts of papers state a scale.
_STATED_SCALE = re.compile(r"\bscale (?:of|from) (\d+) ?(?:to|-|–) ?(\d+)", re.IGNORECASE)


def check_rules(asks: Iterable[Ask], templates: Templates) -> None:
    """Raise TiebreakError for a raw prompt by whose rules its replies cannot be read, or that states another scale."""
    for ask in asks:
        if ask.raw_rules and isinstance(ask.answer, Scores | Rating):
            _check_scale(ask.step, templates.get(ask.step, ""), ask.answer)
        rules = ask.answer.rules if ask.answer is not None else RULES
        if ask.raw_rules and not set(ask.raw_rules) & set(rules):
            raise TiebreakError(
                f'The raw prompt of the step "{ask.step}" names the rule {listed(ask.raw_rules)}, by which none of its '
                f"replies can be read: use {listed(rules)}."
            )


def _check_scale(step: str, template: str, answer: Scores | Rating) -> None:
    for low, high in _STATED_SCALE.findall(template):
        if (float(low), float(high)) != (answer.low, answer.high):
            raise TiebreakError(
                f'The raw prompt of the step "{step}" asks for a scale of {low} to {high}, and the settings have '
                f"{answer.low:g} to {answer.high:g}."
            )


def check_replies(protocol: Protocol, item: Item, settings: Any, templates: Templates, pairs: Pairs | None) -> None:
    """Raise TiebreakError, as `check_rules` does, for a prompt of one trace on the item."""
    part = trace_parts(protocol, settings, item, pairs)[0]
    for reading in READINGS if any(is_raw(templates, name) for name in templates) else ():
        flow = start_flow(protocol, item, settings, seed=0, templates=templates, part=part)
        check_rules(_simulated_asks(flow, reading, "words"), templates)


def _calls(asked: tuple[SimulatedReading, Sequence[Ask]]) -> int:
    return len(asked[1])


def _first_requests(asks: Sequence[Ask]) -> list[Ask]:
    """Return the first request of each ask; samples of one ask have the same object, as in the flow."""
    requests: dict[int, Ask] = {}
    return [requests.setdefault(id(ask), first_request(ask, "text")) for ask in asks]


def sample_traces(
    protocol: Protocol, items: Sequence[Item], settings: Any, count: int, pairs: Pairs | None = None
) -> tuple[Sequence[tuple[Item, str]], int]:
    """Return the (item, part) traces that an estimate simulates, and the number of traces of `count` items."""
    of_items = _sample_evenly(items)
    every = [(item, part) for item in of_items for part in trace_parts(protocol, settings, item, pairs)]
    return _sample_evenly(every), round(len(every) * count / len(of_items)) if items else 0


def _mean_usage(usages: Sequence[ExpectedUsage]) -> ExpectedUsage:
    dollars = [usage.dollars for usage in usages if usage.dollars is not None]
    return ExpectedUsage(
        calls=round(sum(usage.calls for usage in usages) / len(usages)),
        prompt_tokens=round(sum(usage.prompt_tokens for usage in usages) / len(usages)),
        completion_tokens=round(sum(usage.completion_tokens for usage in usages) / len(usages)),
        dollars=sum(dollars) / len(dollars) if len(dollars) == len(usages) else None,
    )


def _expected_usage(asks: Sequence[Ask], reply_tokens: float, factor: float, *, together: bool = True) -> ExpectedUsage:
    """Return the usage of some asks, scaled by a factor.

    `together`: whether samples of one ask are one request, with one prompt, where the model supports this.
    """
    first = {id(ask): place for place, ask in reversed([*enumerate(asks)])}
    prompts = [
        0 if together and first[id(ask)] != place and _returns_samples(ask.spec) else _prompt_tokens(ask)
        for place, ask in enumerate(asks)
    ]
    costs = []
    for ask, tokens in zip(asks, prompts, strict=True):
        if price := model_price(ask.spec):
            costs.append(price.prompt * tokens + price.completion * min(reply_tokens, ask.spec.max_tokens))
    return ExpectedUsage(
        calls=round(len(asks) * factor),
        prompt_tokens=round(sum(prompts) * factor),
        completion_tokens=round(sum(min(reply_tokens, ask.spec.max_tokens) for ask in asks) * factor),
        dollars=sum(costs) * factor if len(costs) == len(asks) else None,
    )


def _further_requests(ask: Ask, reply: str, extractor: Spec | None) -> list[Ask]:
    """Return the requests that follow if the reply to an ask cannot be read."""
    turn = _simulated_turn(ask, None, reply)
    requests = [second_request(ask, "text", ReplyUnreadable(ask=0, turn=turn))]
    if extractor is not None and ask.answer is not None:
        requests.append(extraction_ask(ask, turn, extractor))
    return requests


def _ends(*long: bool) -> SimulatedReading:
    """Return the reading of a short or of a long answer, in turn for the asks of a round."""

    def reading(ask: Ask, number: int) -> Value | None:
        if ask.answer is None:
            return ""
        return ask.value(ask.answer.ends()[long[number % 2]])

    return reading


# Judges that all agree, on a short answer or on a long one, end a discussion early: one of these takes the fewest
# calls. Judges that differ, or of whom none can be read, do not.
READINGS: tuple[SimulatedReading, ...] = (
    _ends(False, False),
    _ends(True, True),
    _ends(False, True),
    lambda ask, _: None,
)
ALIKE = 2  # the first of them in which judges agree


def _sample_evenly(values: Sequence[Sampled]) -> Sequence[Sampled]:
    step = max(1, -(-len(values) // SAMPLED_ITEMS))
    return values[::step]


def _simulated_asks(flow: Flow, reading: SimulatedReading, reply: str) -> list[Ask]:
    """Return every ask of one trace in which each reply has the text `reply`."""
    sent: list[Ask] = []
    try:
        asks = next(flow)
        while True:
            sent += asks
            asks = flow.send([_simulated_turn(ask, reading(ask, number), reply) for number, ask in enumerate(asks)])
    except StopIteration:
        return sent


def _simulated_turn(ask: Ask, reading: Value | None, reply: str) -> Turn:
    return Turn(
        speaker=ask.speaker,
        step=ask.step,
        round=ask.round,
        model=ask.spec.model,
        reply=reply,
        reading=reading,
        problem="" if reading is not None else "unreadable",
        shown=ask.shown,
        criterion=ask.criterion,
    )


def _returns_samples(spec: Spec) -> bool:
    """Return whether a model is expected to return several replies to one request: servers at an address are."""
    if spec.address is not None:
        return not local_server.is_local(spec)
    return (model_info(spec) or {}).get("litellm_provider") in WITH_SAMPLES


@cache
def _price_list() -> Mapping[str, Mapping[str, Any]]:
    """Return litellm's price list, read from its package without importing it (that takes seconds)."""
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    file = Path(package.origin).parent / "model_prices_and_context_window_backup.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


# Who receives the texts that are sent to a model: a server's address, or a provider.


def receivers(specs: Iterable[Spec]) -> list[str]:
    """Return the addresses and providers behind models, each once; the model on this machine is none."""
    return list(dict.fromkeys(receiver(spec) for spec in specs if not local_server.is_local(spec)))


def receiver(spec: Spec) -> str:
    """Return the address of a model's server, or the name of its provider as litellm knows it."""
    if spec.address is not None:
        return spec.address
    prefix, slash, _ = spec.model.partition("/")
    info = model_info(spec)
    provider = prefix if slash else str(info.get("litellm_provider", "")) if info else ""
    return provider or f"the provider of {spec.model}"
