"""The figures of aspect weights: how far raters are apart, average weights, quality of aspects, and agreement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.aspects import Weights
from core.labels import Target, Value
from core.statistics.data.estimate import Estimate
from core.statistics.measures.means import mean, share
from core.statistics.reports.weight_distances import (
    Apart,
    Average,
    Compared,
    Measure,
    Unit,
    averages,
    compared,
    kendall,
)
from core.statistics.reports.weight_distances import behind as apart
from storage import database, labels, runs
from storage.aspects import KIND
from storage.reports.opinions import opinions
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd

Place = tuple[str, str, str]
"""Item, set of aspects, scenario."""
STANDING = ("adjudicated", "unanimous", "majority")
"""What people stand for; an unresolved target has no gold."""


@dataclass(frozen=True)
class Behind:
    """One set of aspects of an item, as two raters weighed it."""

    item: str
    scenario: str
    distance: float | None
    given: Mapping[str, Weights]
    """By rater; empty where `blind`."""
    trace: int | None
    """The newest one that names these aspects."""
    blind: bool
    """Whoever asks has not weighed them yet, and should not be told before."""


@dataclass(frozen=True)
class Quality:
    """How people rate the aspects of one judge, 1 to 5 (Table 3)."""

    judge: str
    quality: str
    rating: Estimate


@dataclass(frozen=True)
class Agreed:
    """How often a run's verdict is what people stand for (Table 2)."""

    run: str
    protocol: str
    criterion: str
    with_ties: Estimate
    without_ties: Estimate
    """On the items of which people do not say "neither"."""
    no_verdict: int
    """Items with a gold on which the run has no verdict: they are in neither."""


def rows(engine: Engine, study: Study, measure: Measure = kendall, *, resamples: int = 1000) -> list[Compared]:
    """How far each two people's weights are apart, and each judge's from people's."""
    return compared(_units(engine, study), measure, resamples=resamples)


def behind(
    engine: Engine, study: Study, row: Compared, measure: Measure = kendall, viewer: str | None = None
) -> list[Behind]:
    """The weightings that a row stands on, the farthest apart first.

    `viewer` is the person who asks, where they said who they are: what they have not weighed is not told them.
    """
    with database.reading(engine) as session:
        there = units(session, study.id)
        said = opinions(session, study.id)
    said = said[said["kind"] == KIND]
    places = zip(said["item"].tolist(), said["part"].tolist(), strict=True)
    newest = dict(zip(places, said["trace"].tolist(), strict=True))
    return [
        _told(one, newest.get((one.unit.item, one.unit.part)), viewer)
        for one in apart(there, row.rater_a, row.rater_b, row.among_people, measure)
    ]


def _told(one: Apart, trace: int | None, viewer: str | None) -> Behind:
    unit = one.unit
    if viewer is not None and viewer not in unit.people:
        return Behind(unit.item, unit.scenario, None, {}, trace, True)
    return Behind(unit.item, unit.scenario, one.distance, {**unit.judges, **unit.people}, trace, False)


def by_category(engine: Engine, study: Study, *, resamples: int = 1000) -> list[Average]:
    """Average weights by the items' scenario (Tables 7 to 10)."""
    return averages(_units(engine, study), resamples=resamples)


def largest(engine: Engine, study: Study) -> int:
    """How many aspects the largest set has that anybody weighed; 0 where nobody did."""
    given = [weights for unit in _units(engine, study) for weights in (*unit.people.values(), *unit.judges.values())]
    return max(map(len, given), default=0)


def qualities(engine: Engine, study: Study, *, resamples: int = 1000) -> list[Quality]:
    """The mean rating of each judge's aspects, over items, of the mean over people."""
    with database.reading(engine) as session:
        rated = labels.frame(session, study.id)
        judged = opinions(session, study.id)
    rated = rated[rated["kind"] == "aspect_quality"]
    judged = judged[judged["kind"] == KIND].drop_duplicates(["rater", "item", "part"])
    whose = judged[["rater", "item", "part"]].rename(columns={"rater": "judge"})
    found = rated.merge(whose, on=["item", "part"])
    return [
        Quality(str(key[0]), str(key[1]), _over_items(some, resamples))
        for key, some in found.groupby(["judge", "criterion"], sort=True)
    ]


def _over_items(rated: "pd.DataFrame", resamples: int) -> Estimate:
    by_target = rated.assign(value=rated["value"].astype(float)).groupby(["item", "part"])["value"].mean()
    groups = [item for item, _ in by_target.index]
    raters = int(rated["rater"].nunique())
    return mean(by_target.tolist(), groups=groups, raters=raters, pairs=len(rated), resamples=resamples)


def agreed(engine: Engine, study: Study) -> list[Agreed]:
    """Each run's agreement with people on preferences, with and without the items that people call a tie."""
    with database.reading(engine) as session:
        gold = {one.target: one.value for one in labels.golds(session, study.id) if one.source in STANDING}
        said = opinions(session, study.id)
        there = {run.id: run for run in runs.of_study(session, study.id)}
    said = said[(said["kind"] == "preference") & (said["stage"] == "verdict")]
    places = dict.fromkeys(zip(said["run"].tolist(), said["criterion"].tolist(), strict=True))
    return [
        _agreed(there[run].name, there[run].protocol, criterion, pairs)
        for run, criterion in places
        if (pairs := _beside(said[(said["run"] == run) & (said["criterion"] == criterion)], gold))
    ]


def _beside(said: "pd.DataFrame", gold: Mapping[Target, Value | None]) -> list[tuple[Value | None, Value]]:
    """(verdict, gold) of every item that has a gold."""
    columns = (said[name].tolist() for name in ("item", "kind", "criterion", "part", "value"))
    told = [
        (value, gold.get(Target(item=item, kind=kind, criterion=criterion, part=part)))
        for item, kind, criterion, part, value in zip(*columns, strict=True)
    ]
    return [(value, standing) for value, standing in told if standing is not None]


def _agreed(run: str, protocol: str, criterion: str, pairs: Sequence[tuple[Value | None, Value]]) -> Agreed:
    decided = [(value, gold) for value, gold in pairs if value is not None]
    firm = [(value, gold) for value, gold in decided if gold != 0]
    return Agreed(run, protocol, criterion, _share(decided), _share(firm), len(pairs) - len(decided))


def _share(pairs: Sequence[tuple[Value | None, Value]]) -> Estimate:
    value, low, high = share(sum(verdict == gold for verdict, gold in pairs), len(pairs))
    reason = "" if pairs else "there is no item with a verdict and a gold"
    return Estimate(value, low, high, len(pairs), len(pairs), 0, len(pairs), 0, reason)


def _units(engine: Engine, study: Study) -> list[Unit]:
    with database.reading(engine) as session:
        return units(session, study.id)


def units(session: Session, study_id: int) -> list[Unit]:
    """Everything that people and judges gave, by item and set of aspects; a judge's newest weights stand."""
    people = _by_place(labels.frame(session, study_id))
    judged = _by_place(opinions(session, study_id))
    return [Unit(*place, people.get(place, {}), judged.get(place, {})) for place in dict.fromkeys([*people, *judged])]


def _by_place(said: "pd.DataFrame") -> dict[Place, dict[str, Weights]]:
    """Who gave which weights; what could not be read is nobody's."""
    some = said[said["kind"] == KIND]
    columns = (some[name].tolist() for name in ("item", "part", "scenario", "rater", "value"))
    found: dict[Place, dict[str, Weights]] = {}
    for item, part, scenario, rater, value in zip(*columns, strict=True):
        if isinstance(value, dict):
            found.setdefault((item, part, scenario if isinstance(scenario, str) else ""), {})[rater] = value
    return found
