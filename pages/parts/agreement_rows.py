"""Rows of agreement as people read them: which statistics suit a scale, their names, and their lines."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from core.labels import Level
from core.statistics.report import Row
from pages.parts import numbers

NAMES = {
    "percent": "Percent",
    "cohen_kappa": "Cohen's kappa",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha_nominal": "Krippendorff's alpha",
    "krippendorff_alpha_ordinal": "Krippendorff's alpha, ordinal",
    "krippendorff_alpha_interval": "Krippendorff's alpha, interval",
    "gwet_ac1": "Gwet's AC1",
    "spearman": "Spearman's rho",
}
SHORT = {
    "percent": "Percent",
    "fleiss_kappa": "Fleiss",
    "krippendorff_alpha_nominal": "Alpha",
    "krippendorff_alpha_ordinal": "Alpha, ordinal",
    "krippendorff_alpha_interval": "Alpha, interval",
    "gwet_ac1": "AC1",
    "spearman": "Spearman",
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
EVERY = "All criteria"


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


def order(rows: Mapping[str, Row]) -> list[str]:
    """The names of what is defined, the highest value first."""
    there = {name: row.value for name, row in rows.items() if row.value is not None}
    return sorted(there, key=lambda name: -there[name])


def counts(row: Row, share: float | None, raters: str = "rater", items: str = "item") -> str:
    """`120 items · 3 raters · 94 % of labels in`."""
    parts = [numbers.count(row.items, items), numbers.count(row.raters, raters)]
    return " · ".join(parts + ([f"{share:.0%}".replace("%", " % of labels in")] if share is not None else []))


def table(overall: Sequence[Row], scenarios: Sequence[Row], kind: str, shown: Shown) -> list[dict[str, str | int]]:
    """criterion · scenario · statistics · items · raters, one line for each criterion and scenario."""
    lines: dict[tuple[str, str], dict[str, str | int]] = {}
    for rows, name in ((overall, lambda row: "all"), (scenarios, lambda row: place(row.group))):
        for row in rows:
            if row.kind == kind and row.statistic in shown.table:
                line = lines.setdefault(
                    (row.criterion, name(row)), {"Criterion": named(row.criterion), "Scenario": name(row)}
                )
                line[SHORT[row.statistic]] = numbers.estimate(row.value, row.low, row.high)
                line |= {"Items": row.items, "Raters": row.raters}
    return list(lines.values())


def as_csv(rows: Iterable[Row]) -> str:
    """All rows, as the command line gives them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows(astuple(row) for row in rows)
    return text.getvalue()
