"""One trace on several criteria: the flow of a single criterion, run for each of them in parallel.

Each criterion has its own asks, which are those of a run with this criterion alone and the same seed: replies that such
a run has stored are reused.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Self

from pydantic import model_validator

from core.frozen import Frozen
from core.items import Item
from core.protocols import run_in_parallel
from core.templates import Templates
from core.trace import Flow, Turn, Verdict
from core.verdicts import combine_verdicts

FlowFunction = Callable[[Item, Any, Random, Templates], Flow]


class WithCriteria(Frozen):
    """Settings with a `criterion` and further `criteria`, which differ."""

    @model_validator(mode="after")
    def _has_distinct_criteria(self) -> Self:
        fields: Any = self
        names = [one.name for one in (fields.criterion, *fields.criteria) if one is not None]
        if fields.criteria and (len(names) == len(fields.criteria) or not names[0]):
            raise ValueError("further criteria need a first one: set criterion")
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the criterion {repeated!r} occurs twice")
        return self


def for_each_criterion(flow: FlowFunction) -> FlowFunction:
    """Return a flow that judges `settings.criterion` and every one of `settings.criteria`."""

    def run(item: Item, settings: Any, rng: Random, templates: Templates) -> Flow:
        if not settings.criteria:
            return (yield from flow(item, settings, rng, templates))
        flows = {}
        for criterion in (settings.criterion, *settings.criteria):
            own, copy = settings_of_criterion(settings, criterion.name), Random()
            copy.setstate(rng.getstate())
            flows[criterion.name] = _about(criterion.name, flow(item, own, copy, templates))
        _, verdicts = yield from run_in_parallel(list(flows.values()))
        return combine_verdicts(dict(zip(flows, verdicts, strict=True)))

    return run


def settings_of_criterion(settings: Any, name: str) -> Any:
    """Return the settings of a run with this criterion alone; unchanged without further criteria."""
    if not getattr(settings, "criteria", ()):
        return settings
    criterion = next((one for one in (settings.criterion, *settings.criteria) if one.name == name), settings.criterion)
    return settings.model_copy(update={"criterion": criterion, "criteria": ()})


def _about(criterion: str, flow: Flow) -> Flow:
    """Run a flow whose asks have the name of their criterion.

    An ask that the flow yields several times remains one object: it requests several samples.
    """
    turns: list[Turn] | None = None
    while True:
        try:
            asks = next(flow) if turns is None else flow.send(turns)
        except StopIteration as end:
            verdict: Verdict = end.value
            return verdict
        named = {id(ask): replace(ask, criterion=criterion) for ask in asks}
        turns = yield [named[id(ask)] for ask in asks]
