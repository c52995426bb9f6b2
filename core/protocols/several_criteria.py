"""One trace on several criteria: the flow of a single criterion, run for each of them in parallel.

Each criterion has its own asks, which are those of a run with this criterion alone and the same seed: replies that such
a run has stored are reused.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Self

from pydantic import model_validator

from core.frozen import Frozen
from core.items import Criterion, Item
from core.templates import Templates
from core.trace import Ask, Flow, Turn, Verdict
from core.verdicts import combine_verdicts

FlowFunction = Callable[[Item, Any, Random, Templates], Flow]


def further_criteria_problem(criterion: Criterion | None, criteria: Sequence[Criterion]) -> str:
    """Return why further criteria cannot be judged in addition to the first; empty if they can."""
    if not criteria:
        return ""
    if criterion is None or not criterion.name:
        return "further criteria need a first one: set criterion"
    names = [criterion.name, *(one.name for one in criteria)]
    repeated = next((name for name in names if names.count(name) > 1), None)
    return "" if repeated is None else f"the criterion {repeated!r} occurs twice"


class WithCriteria(Frozen):
    """Settings with a `criterion` and further `criteria`, which differ."""

    @model_validator(mode="after")
    def _has_distinct_criteria(self) -> Self:
        fields: Any = self
        if problem := further_criteria_problem(fields.criterion, fields.criteria):
            raise ValueError(problem)
        return self


def for_each_criterion(flow: FlowFunction) -> FlowFunction:
    """Return a flow that judges `settings.criterion` and every one of `settings.criteria`."""

    def run(item: Item, settings: Any, rng: Random, templates: Templates) -> Flow:
        if not settings.criteria:
            return (yield from flow(item, settings, rng, templates))
        flows: dict[str, Flow] = {}
        for criterion in (settings.criterion, *settings.criteria):
            flows[criterion.name] = flow(item, settings_of_criterion(settings, criterion.name), _copy(rng), templates)
        return (yield from _run_in_parallel(flows))

    return run


def settings_of_criterion(settings: Any, name: str) -> Any:
    """Return the settings of a run with this criterion alone; unchanged without further criteria."""
    if not getattr(settings, "criteria", ()):
        return settings
    criterion = next((one for one in (settings.criterion, *settings.criteria) if one.name == name), settings.criterion)
    return settings.model_copy(update={"criterion": criterion, "criteria": ()})


def _copy(rng: Random) -> Random:
    copy = Random()
    copy.setstate(rng.getstate())
    return copy


def _run_in_parallel(flows: dict[str, Flow]) -> Flow:
    """Run the flows of criteria round by round; return their verdicts as one."""
    verdicts: dict[str, Verdict] = {}
    rounds = {name: asks for name, flow in flows.items() if (asks := _advance(flow, name, None, verdicts))}
    while rounds:
        answered = yield [ask for asks in rounds.values() for ask in asks]
        rest = iter(answered)
        turns = {name: [next(rest) for _ in asks] for name, asks in rounds.items()}
        rounds = {name: asks for name in turns if (asks := _advance(flows[name], name, turns[name], verdicts))}
    return combine_verdicts({name: verdicts[name] for name in flows})


def _advance(flow: Flow, name: str, turns: list[Turn] | None, verdicts: dict[str, Verdict]) -> Sequence[Ask]:
    """Return the next asks of a flow with the name of their criterion; none, and the verdict is stored, at its end.

    An ask that the flow yields several times remains one object: it requests several samples.
    """
    try:
        asks = next(flow) if turns is None else flow.send(turns)
    except StopIteration as end:
        verdicts[name] = end.value
        return ()
    named = {id(ask): replace(ask, criterion=name) for ask in asks}
    return [named[id(ask)] for ask in asks]
