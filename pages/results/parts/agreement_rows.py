"""Rows of agreement as people read them: which statistics suit a scale, their names, and their lines."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from core.formats.gold import FORMULA
from core.labels import Level, Scale
from core.statistics.reports.agreement import Row
from pages.parts import numbers
from storage.reports.agreement import Figures
from storage.reports.agreement_items import Wanted

NAMES = {
    "percent": "Percent",
    "cohen_kappa": "Cohen's kappa",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha_nominal": "Krippendorff's alpha",
    "krippendorff_alpha_ordinal": "Krippendorff's alpha, ordinal",
    "krippendorff_alpha_interval": "Krippendorff's alpha, interval",
    "gwet_ac1": "Gwet's AC1",
    "spearman": "Spearman's rho",
    "weights_distance": "Distance of weights",
}
SHORT = {
    "percent": "Percent",
    "fleiss_kappa": "Fleiss",
    "krippendorff_alpha_nominal": "Alpha",
    "krippendorff_alpha_ordinal": "Alpha, ordinal",
    "krippendorff_alpha_interval": "Alpha, interval",
    "gwet_ac1": "AC1",
    "spearman": "Spearman",
    "weights_distance": "Distance",
    "rank_distance": "Rank distance",
    "kendall_w": "Kendall's W",
}


@dataclass(frozen=True)
class Shown:
    """The statistics that suit a scale: of many raters, of two, and in the table."""

    many: str
    two: str
    table: tuple[str, ...]


SHOWN: Mapping[Level, Shown] = {
    "nominal": Shown(
        "fleiss_kappa", "cohen_kappa", ("percent", "fleiss_kappa", "krippendorff_alpha_nominal", "gwet_ac1")
    ),
    "ordinal": Shown(
        "krippendorff_alpha_ordinal", "spearman", ("percent", "krippendorff_alpha_ordinal", "spearman", "gwet_ac1")
    ),
    "interval": Shown("krippendorff_alpha_interval", "spearman", ("krippendorff_alpha_interval", "spearman")),
}
OF_WEIGHTS = Shown("weights_distance", "weights_distance", ("weights_distance", "rank_distance", "kendall_w"))
EVERY, ALL = "All criteria", "all"


def suited(scale: Scale | None) -> Shown:
    """What to show; only weights need no scale."""
    return OF_WEIGHTS if scale is None else SHOWN[scale.level]


def named(criterion: str) -> str:
    """A criterion as it is shown."""
    return {"all": EVERY, "": "(no criterion)"}.get(criterion, criterion)


def place(group: str) -> str:
    """A scenario as it is shown."""
    return group or "(no scenario)"


def of(rows: Iterable[Row], kind: str, statistic: str, criterion: str | None = None) -> list[Row]:
    """The rows of a statistic."""
    return [
        row for row in rows if row.kind == kind and row.statistic == statistic and criterion in (None, row.criterion)
    ]


def by_raters(rows: Iterable[Row]) -> dict[tuple[str, str], Row]:
    """Rows by their two raters."""
    return {(first, second): row for row in rows for first, _, second in [row.group.partition(" × ")]}


def order(*series: Mapping[str, Row]) -> list[str]:
    """The names of what is defined, the highest value of the last series first."""
    last = {name: row.value for rows in series for name, row in rows.items() if row.value is not None}
    return sorted(last, key=lambda name: -last[name])


def counts(row: Row, share: float | None, raters: str = "rater", items: str = "item") -> str:
    """`120 items · 3 raters · 94 % of labels in`."""
    parts = [numbers.count(row.items, items), numbers.count(row.raters, raters)]
    return " · ".join(parts + ([f"{share:.0%}".replace("%", " % of labels in")] if share is not None else []))


Key = tuple[str, str, str | None]
"""Stage, criterion and scenario of a line; None for all scenarios."""


def table(
    panels: Sequence[Figures], wanted: Wanted, shown: Shown, by_scenario: bool
) -> dict[Key, dict[str, str | int]]:
    """criterion · scenario · statistics · items · raters, one line for each criterion and scenario."""
    lines: dict[Key, dict[str, str | int]] = {}
    for panel in panels:
        told = [(None, row) for row in panel.overall] + [(row.group, row) for row in panel.scenarios if by_scenario]
        for scenario, row in told:
            wanted_too = not by_scenario or wanted.criterion in ("all", row.criterion)
            if row.kind == wanted.kind and row.statistic in shown.table and wanted_too:
                line = lines.setdefault((panel.stage, row.criterion, scenario), _line(panel, row, scenario, shown))
                line[SHORT[row.statistic]] = numbers.estimate(row.value, row.low, row.high)
    return lines


def _line(panel: Figures, row: Row, scenario: str | None, shown: Shown) -> dict[str, str | int]:
    """A line with its names and counts, and places for its statistics."""
    stage: dict[str, str | int] = {"Opinions": panel.stage} if panel.stage else {}
    names = {"Criterion": named(row.criterion), "Scenario": ALL if scenario is None else place(scenario)}
    return stage | names | {SHORT[name]: "" for name in shown.table} | {"Items": row.items, "Raters": row.raters}


def as_csv(rows: Iterable[Row]) -> str:
    """All rows, as the command line gives them; no name is run by a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows([_cell(value) for value in astuple(row)] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
