"""The agreement of a study as figures: what the command line prints and the agreement page draws."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.labels import Scale
from core.statistics.reports.agreement import By, Row, agreement
from storage import database
from storage.reports.opinions import Panel, Scales, Who, judges, people, scales_of, undecided
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
"""The criterion under which criteria on one scale are pooled."""
AGREED, LOW, APART, NEARLY = 0.8, 0.4, 0.3, 0.8
"""Prevalence is remarked on from this agreement, below this kappa, with AC1 so far above it; and how much is nearly
everybody."""


@dataclass(frozen=True)
class Figures:
    """One panel's rows: over everything, by scenario, by pair of raters."""

    name: str
    stage: str
    judges: str
    shown: bool
    overall: tuple[Row, ...]
    scenarios: tuple[Row, ...]
    pairs: tuple[Row, ...]
    remarks: tuple[str, ...]

    def rows(self) -> Iterator[Row]:
        """All of them, with the panel in the name of the group."""
        for row in self.overall:
            yield replace(row, group=self.name or row.group)
        for row in (*self.scenarios, *self.pairs):
            yield replace(row, group=" · ".join(filter(None, (self.name, row.group))))


@dataclass(frozen=True)
class Report:
    """What there is to say of the people, or of the judges."""

    panels: tuple[Figures, ...]
    scales: Mapping[tuple[str, str], Scale]
    """By (kind, criterion); criterion "all" where criteria are pooled."""
    labels_in: Mapping[tuple[str, str], float]
    """The share of the wanted labels that people gave, by (kind, criterion)."""
    unmeasured: tuple[str, ...]
    """Kinds that were judged, but have no scale on which a figure makes sense."""


def rows(engine: Engine, study: Study, by: By, *, resamples: int = 1000) -> list[Row]:
    """Every figure of a study, one row a statistic: people's first, then the judges'."""
    with database.reading(engine) as session:
        there = [people(session, study), *judges(session, study)]
        scales = scales_of(session, study, there)
    return [
        replace(row, group=_group(panel, row.group, by))
        for panel in there
        if not panel.shown or by in ("all", "criterion")
        for row in measured(panel, by, scales, resamples)
    ]


def report(engine: Engine, study: Study, who: Who, *, resamples: int = 1000) -> Report:
    """Everything that the page shows of the people, or of the judges."""
    with database.reading(engine) as session:
        labelled = people(session, study)
        there = [labelled] if who == "people" else judges(session, study)
        scales = scales_of(session, study, there)
        share = labels_in(session, study, labelled.said)
    declared = dict(scales)
    for panel in there:
        declared |= _pooled(panel.said, scales)[1]
    panels = tuple(_figures(panel, scales, resamples) for panel in there)
    judged = {kind for panel in there for kind in panel.said["kind"].unique()}
    measured_too = {row.kind for panel in panels for row in panel.overall}
    return Report(panels, declared, share, tuple(sorted(judged - measured_too)))


def _figures(panel: Panel, scales: Scales, resamples: int) -> Figures:
    overall = measured(panel, "all", scales, resamples)
    if panel.shown:
        return Figures(panel.name, panel.stage, panel.judges, True, tuple(overall), (), (), ())
    scenarios = measured(panel, "scenario", scales, resamples)
    pairs = measured(panel, "raters", scales, resamples)
    said = remarks(panel, overall, scenarios)
    return Figures(
        panel.name, panel.stage, panel.judges, False, tuple(overall), tuple(scenarios), tuple(pairs), tuple(said)
    )


def _group(panel: Panel, group: str, by: By) -> str:
    """`coding` for people, `judges, last opinions · coding` for judges."""
    part = "" if by in ("all", "criterion") else group
    return " · ".join(filter(None, (panel.name, part))) if panel.stage else group


def measured(panel: Panel, by: By, scales: Scales, resamples: int = 1000) -> list[Row]:
    """A panel's figures; criteria on one scale are also pooled as "all", except by criterion."""
    said, declared = (panel.said, scales) if by == "criterion" else _pooled(panel.said, scales)
    found = agreement(said, by="criterion" if by == "all" else by, scales=declared, resamples=resamples)
    return [replace(row, reason="; ".join(filter(None, (_left_out(panel, row, by), row.reason)))) for row in found]


def _left_out(panel: Panel, row: Row, by: By) -> str:
    criterion = None if row.criterion == ALL else row.criterion
    return panel.left_out(row.kind, criterion, row.group if by == "scenario" else None)


def _pooled(said: "pd.DataFrame", scales: Scales) -> tuple["pd.DataFrame", Scales]:
    """The labels, and once more under criterion "all", where a kind has several criteria and they share one scale.

    An item occurs there once for each criterion: these belong together when the interval is drawn.
    """
    import pandas as pd

    frames, declared = [said], dict(scales)
    for kind in said["kind"].unique():
        part = said[said["kind"] == kind]
        found = [scales.get((kind, criterion)) for criterion in part["criterion"].unique()]
        if len(found) > 1 and found[0] is not None and all(scale == found[0] for scale in found):
            group = part["group"].where(part["group"].notna(), part["item"])
            names = part["criterion"].astype(str) + "\n" + part["part"].astype(str)
            frames.append(part.assign(criterion=ALL, part=names, group=group))
            declared[kind, ALL] = found[0]
    return (said, declared) if len(frames) == 1 else (pd.concat(frames, ignore_index=True), declared)


def labels_in(session: Session, study: Study, said: "pd.DataFrame") -> dict[tuple[str, str], float]:
    """The share of wanted labels that are there, over what was labelled and what the judges leave to people."""
    import pandas as pd

    unit = ["kind", "criterion", "item", "part"]
    given = said.groupby(unit, sort=False).size().clip(upper=study.rules.overlap)
    waiting = undecided(session, study.id)[unit].drop_duplicates()
    every = given.reindex(given.index.union(pd.MultiIndex.from_frame(waiting)), fill_value=0).reset_index(name="given")
    share = every.groupby(["kind", "criterion"])["given"].mean() / study.rules.overlap
    whole = every.groupby("kind")["given"].mean() / study.rules.overlap
    found = dict(zip(share.index.tolist(), share.tolist(), strict=True))
    return {(str(kind), ALL): float(value) for kind, value in whole.items()} | found


def remarks(panel: Panel, overall: list[Row], scenarios: list[Row]) -> Iterator[str]:
    """Where kappa is low only because nearly everybody chose the same."""
    for found, by in ((overall, "all"), (scenarios, "scenario")):
        cells: dict[tuple[str, str, str], dict[str, float]] = {}
        for row in found:
            if row.value is not None:
                cells.setdefault((row.kind, row.criterion, row.group), {})[row.statistic] = row.value
        for (kind, criterion, group), values in cells.items():
            place = group if by == "scenario" else None
            if _prevalent(values) and (criterion == ALL or (kind, ALL) not in {cell[:2] for cell in cells}):
                yield _remark(panel, kind, criterion, place, values)


def _prevalent(values: Mapping[str, float]) -> bool:
    if not {"percent", "fleiss_kappa", "gwet_ac1"} <= values.keys():
        return False
    kappa = values["fleiss_kappa"]
    return values["percent"] >= AGREED and kappa < LOW and values["gwet_ac1"] - kappa >= APART


def _remark(panel: Panel, kind: str, criterion: str, scenario: str | None, values: Mapping[str, float]) -> str:
    said = panel.said[panel.said["kind"] == kind]
    if criterion != ALL:
        said = said[said["criterion"] == criterion]
    if scenario is not None:
        said = said[said["scenario"].fillna("") == scenario]
    shares = said["value"].value_counts(normalize=True)
    place = ", ".join(filter(None, ("" if criterion == ALL else criterion, scenario))) or "Overall"
    most = "nearly everybody" if shares.iloc[0] >= NEARLY else "most"
    return (
        f"{place}: {100 * values['percent']:.0f} % agreement but kappa {values['fleiss_kappa']:.2f}: {most} chose "
        f"{shares.index[0]} (prevalence). AC1 {values['gwet_ac1']:.2f}."
    )
