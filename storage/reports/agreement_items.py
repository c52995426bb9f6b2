"""The items behind a figure of agreement: who said what of each, the most divided first."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from core.labels import Target, Value
from storage import database
from storage.reports.opinions import Panel, Who, judges, opinions, people
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Wanted:
    """Which figure; None lets everything through."""

    who: Who
    kind: str
    criterion: str | None = None
    scenario: str | None = None
    raters: tuple[str, ...] = ()
    """Both of them judged the item."""
    judges: str = ""
    """Which set of judges, where runs of the study have different ones."""


@dataclass(frozen=True)
class Judged:
    """What was said of one target by people, or in one debate by its judges."""

    target: Target
    scenario: str
    said: dict[str, tuple[Value, ...]]
    """By rater; a judge's first and last opinion, once where they are the same."""
    trace: int | None
    """The debate, or the newest one about the target."""
    blind: bool
    """Whoever asks has not labelled the target yet, and should not be told before."""


def items(engine: Engine, study: Study, wanted: Wanted, viewer: str | None = None) -> list[Judged]:
    """The items that a figure stands on; `viewer` is the person who asks, where they said who they are."""
    with database.reading(engine) as session:
        labelled = people(session, study).said
        debated = opinions(session, study.id)
        stages = [labelled] if wanted.who == "people" else _debates(judges(session, study), wanted.judges, debated)
    traces = dict(zip(_targets(debated), debated["trace"].tolist(), strict=True))
    own = set(_targets(labelled[labelled["rater"] == viewer]))
    found = [one for one in _judged(stages, wanted, traces) if wanted.who == "judges" or len(one.said) > 1]
    found = [one for one in found if set(wanted.raters) <= one.said.keys()]
    if viewer is not None:
        found = [one if one.target in own else _unseen(one) for one in found]
    return sorted(found, key=lambda one: -_division(one, wanted.raters))


def _debates(panels: list[Panel], judges: str, debated: "pd.DataFrame") -> list["pd.DataFrame"]:
    """First, then last opinions, under the names of their items again."""
    names = dict(zip(debated["trace"], debated["item"], strict=True))
    kept = [panel.said for panel in panels if panel.judges == judges and not panel.shown]
    return [said.assign(item=said["trace"].map(names)) for said in kept]


def _judged(stages: "list[pd.DataFrame]", wanted: Wanted, traces: dict[Target, int]) -> list[Judged]:
    found: dict[Hashable, Judged] = {}
    for said in stages:
        kept = _matching(said, wanted)
        debates = kept["trace"].tolist() if "trace" in kept else [None] * len(kept)
        rest = (kept["scenario"].tolist(), kept["rater"].tolist(), kept["value"].tolist(), debates)
        for target, scenario, rater, value, debate in zip(_targets(kept), *rest, strict=True):
            trace = traces.get(target) if debate is None else debate
            scenario = scenario if isinstance(scenario, str) else ""
            one = found.setdefault((target, debate), Judged(target, scenario, {}, trace, False))
            before = one.said.get(rater, ())
            one.said[rater] = before if before == (value,) else (*before, value)
    return list(found.values())


def _matching(said: "pd.DataFrame", wanted: Wanted) -> "pd.DataFrame":
    said = said[said["kind"] == wanted.kind]
    if wanted.criterion is not None:
        said = said[said["criterion"] == wanted.criterion]
    return said if wanted.scenario is None else said[said["scenario"].fillna("") == wanted.scenario]


def _targets(said: "pd.DataFrame") -> list[Target]:
    columns = (said[name].tolist() for name in ("item", "kind", "criterion", "part"))
    return [
        Target.model_construct(item=item, kind=kind, criterion=criterion, part=part)
        for item, kind, criterion, part in zip(*columns, strict=True)
    ]


def _unseen(one: Judged) -> Judged:
    return Judged(one.target, one.scenario, {}, one.trace, True)


def _division(one: Judged, raters: tuple[str, ...]) -> int:
    """How many different values the raters ended on."""
    return len({repr(values[-1]) for rater, values in one.said.items() if rater in (raters or one.said)})
