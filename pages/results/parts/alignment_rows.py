"""Rows of alignment as people read them: which statistics suit a judge's values, their names, and their lines."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from core.formats.gold import FORMULA
from core.statistics.reports.agreement import AlignmentRow, Row
from pages.parts import numbers
from pages.results.parts import agreement_rows
from storage.reports.alignment import FIRST
from storage.reports.disagreements import ALL
from storage.reports.judge_costs import Cost

Place = tuple[str, str]
"""A judge, and a scenario or "all"."""
Figures = dict[Place, dict[str, AlignmentRow]]
"""The rows of each judge and group by the name of their statistic."""
Line = dict[str, str | int]
WHY = "Undefined, and why"
KAPPA, QUADRATIC = "Cohen's kappa", "Quadratic kappa"
TEST = ("advantage_probability", "winning_rate")
"""Of the alternative-annotator test."""


@dataclass(frozen=True)
class Choice:
    """A statistic that can be drawn, what stands beside it, and what its table shows."""

    name: str
    whose: str
    """What the judge is compared with, as the legend has it."""
    table: Mapping[str, str]
    beside: str = ""
    """Drawn hollow: the same judge on the test that the ceiling is of, or people's own value."""
    beside_name: str = ""
    ceiling: str = ""
    less: str = ""
    """The judge less the ceiling."""


OTHERS = "judge with the others, each person left out in turn"


def _of_categories(name: str, against: str, *, ceiling: bool = False) -> Choice:
    weighted = {f"cohen_kappa_quadratic_{against}": "Quadratic kappa"} if name == QUADRATIC else {}
    columns = {f"accuracy_{against}": "Accuracy", f"cohen_kappa_{against}": "Kappa"} | weighted
    whose = {"majority": "the majority", "gold": "gold"}[against]
    return Choice(
        f"{name} with {whose}",
        f"judge with {whose}",
        columns,
        *(("judge_against_others", OTHERS) if ceiling else ()),
        ceiling="human_ceiling",
        less="judge_less_ceiling",
    )


def _of_numbers(name: str, *, ceiling: bool = False) -> Choice:
    return Choice(
        f"{name} with people's mean",
        "judge with people's mean",
        {"spearman": "Spearman", "pearson": "Pearson", "kendall_tau_b": "Tau-b"},
        *(("judge_against_others_spearman", OTHERS) if ceiling else ()),
        ceiling="human_ceiling_spearman",
        less="judge_less_ceiling_spearman",
    )


def _of_critiques(name: str) -> Choice:
    columns = {"precision_macro": "Precision", "recall_macro": "Recall", "f1_macro": "F1"}
    people = f"{name.lower()}_macro_people"
    return Choice(f"{name}, mean over critiques", "by the judge's verdicts", columns, people, "by people's verdicts")


_DISTANCES = {"weights_distance": "Distance", "rank_distance": "Rank distance"}
CHOICES: Mapping[str, Choice] = {
    "spearman": _of_numbers("Spearman's rho", ceiling=True),
    "pearson": _of_numbers("Pearson's r"),
    "kendall_tau_b": _of_numbers("Kendall's tau-b"),
    "accuracy_majority": _of_categories("Accuracy", "majority", ceiling=True),
    "cohen_kappa_majority": _of_categories(KAPPA, "majority"),
    "cohen_kappa_quadratic_majority": _of_categories(QUADRATIC, "majority"),
    "accuracy_gold": _of_categories("Accuracy", "gold"),
    "cohen_kappa_gold": _of_categories(KAPPA, "gold"),
    "cohen_kappa_quadratic_gold": _of_categories(QUADRATIC, "gold"),
    "f1_macro": _of_critiques("F1"),
    "precision_macro": _of_critiques("Precision"),
    "recall_macro": _of_critiques("Recall"),
    "weights_distance": Choice("Distance of weights, 0 is the same", "judge from people", _DISTANCES),
    "rank_distance": Choice("Distance of ranks, 0 is the same", "judge from people", _DISTANCES),
}
"""What can be drawn, the first of those that a study has being what is shown unasked."""
KINDS = {
    "preference": "Preferences",
    "score": "Scores",
    "aiu_precision": "AIUs: precision",
    "aiu_recall": "AIUs: recall",
    "aiu": "Critiques as a whole",
    "aspect_weights": "Aspect weights",
    "aspect_quality": "Quality of aspects",
    "likert": "Ratings",
    "answer": "Answers",
}
CRITIQUES = "aiu"
"""The kind of rows over whole critiques: they count critiques, and no raters."""
LEANINGS = {"shown_first": "first_shown_preferred", "longer": "longer_preferred"}


def figures(rows: Iterable[AlignmentRow], kind: str, criterion: str, *, firsts: bool) -> Figures:
    """The rows of a kind and criterion by judge and group; first opinions only where they are wanted."""
    found: Figures = {}
    for row in rows:
        if (row.kind, row.criterion) == (kind, criterion) and (firsts or FIRST not in row.judge):
            found.setdefault((row.judge, row.group), {})[row.statistic] = row
    return found


def compared(found: Figures) -> bool:
    """Whether anything that needs people has a value."""
    return any(row.value is not None for rows in found.values() for name, row in rows.items() if name in CHOICES)


def offered(found: Figures) -> list[str]:
    """The statistics that some judge has, in the order of `CHOICES`."""
    there = {name for rows in found.values() for name in rows}
    return [name for name in CHOICES if name in there]


def order(found: Figures, statistic: str) -> list[Place]:
    """Judges, the best first and undefined ones last, each with its scenarios by name."""
    sign = 1 if CHOICES[statistic].table is _DISTANCES else -1

    def place(at: Place) -> tuple[bool, float, str, bool, str]:
        judge, group = at
        row = found.get((judge, ALL), {}).get(statistic)
        value = None if row is None else row.value
        return value is None, sign * (value or 0.0), judge, group != ALL, group

    return sorted(found, key=place)


def as_point(row: AlignmentRow) -> Row:
    """A row as charts draw it."""
    return Row(**{field.name: getattr(row, field.name) for field in fields(Row)})


def points(found: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, Row]:
    """The defined values of a statistic by the name that stands beside them."""
    rows = {name: rows[statistic] for name, rows in found.items() if statistic in rows}
    return {name: as_point(row) for name, row in rows.items() if row.value is not None}


def noun(kind: str) -> str:
    """What is counted of a kind."""
    return {CRITIQUES: "critique", "aiu_precision": "AIU", "aiu_recall": "AIU"}.get(kind, "item")


def details(rows: Mapping[str, AlignmentRow], statistic: str, cost: Cost | None) -> str:
    """`24 items · 3 raters · no verdict 2.5 % · $1.20 per 1,000`."""
    row, silent = rows[statistic], rows.get("no_verdict_rate")
    parts = [numbers.count(row.items, noun(row.kind))]
    parts += [numbers.count(row.raters, "rater")] if row.raters and row.kind != CRITIQUES else []
    if silent is not None and silent.value is not None:
        parts.append(f"no verdict {round(100 * silent.value, 1):g} %")
    if cost is not None and cost.per_thousand is not None:
        parts.append(f"{numbers.dollars(cost.per_thousand)} per 1,000")
    return " · ".join(parts)


def undefined(found: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, list[str]]:
    """Why a statistic has no value -> the judges, or scenarios, of which that is so."""
    why: dict[str, list[str]] = {}
    for name, rows in found.items():
        row = rows.get(statistic)
        if row is None or row.value is None:
            reason = row.reason if row else "its scores are means, which lie between the categories of the scale"
            why.setdefault(reason, []).append(name)
    return why


def line(at: Place, rows: Mapping[str, AlignmentRow], statistic: str, cost: Cost | None, *, by_scenario: bool) -> Line:
    """A judge as the table shows it."""
    choice = CHOICES[statistic]
    columns = dict(choice.table)
    if choice.ceiling:
        columns |= {choice.ceiling: "Human ceiling", choice.less: "Judge − ceiling"}
        columns |= dict(zip(TEST, ("Advantage", "Winning rate"), strict=True))
    columns |= {"no_verdict_rate": "No verdict"}
    told: Line = {"Judge": at[0]}
    if by_scenario:
        told["Scenario"] = ALL if at[1] == ALL else agreement_rows.place(at[1])
    of = rows.get(statistic)
    if of is None or of.kind != CRITIQUES:
        told |= {"Items": of.items if of else 0, "Raters": of.raters if of else 0}
    else:
        told |= {"Critiques": of.items}
    told |= {title: _figure(rows.get(name)) for name, title in columns.items()}
    return told | {"$ per 1,000": _price(cost), WHY: "; ".join(filter(None, (_why(columns, rows), _unpriced(cost))))}


def bare(found: Figures, prices: Mapping[str, Cost]) -> list[Line]:
    """What can be told of judges without people."""
    return [
        {
            "Judge": judge,
            "Items": rows["no_verdict_rate"].items,
            "No verdict": _figure(rows["no_verdict_rate"]),
            "$ per 1,000": _price(prices.get(judge)),
        }
        for (judge, group), rows in sorted(found.items())
        if group == ALL and "no_verdict_rate" in rows
    ]


def _figure(row: AlignmentRow | None) -> str:
    return "–" if row is None else numbers.estimate(row.value, row.low, row.high)


def _price(cost: Cost | None) -> str:
    return "–" if cost is None or cost.per_thousand is None else numbers.dollars(cost.per_thousand)


def _unpriced(cost: Cost | None) -> str:
    """Why there is no price."""
    if cost is None:
        return "$: no calls of its own were recorded"
    return f"$: the price of {numbers.count(cost.unpriced, 'call')} is not known" if cost.unpriced else ""


def _why(columns: Mapping[str, str], rows: Mapping[str, AlignmentRow]) -> str:
    """`Kappa: both used one and the same category`."""
    why: dict[str, list[str]] = {}
    for name, title in columns.items():
        row = rows.get(name)
        if row is not None and row.value is None:
            why.setdefault(row.reason, []).append(title)
    return "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in why.items())


def against_ceiling(rows: Mapping[str, AlignmentRow], choice: Choice) -> str:
    """How a judge stands to the human ceiling, in words; empty where that is not known."""
    less = rows.get(choice.less)
    if less is None or less.value is None:
        return ""
    figure = numbers.estimate(less.value, less.low, less.high)
    if less.low is None or less.high is None:
        return f"{figure} from the human ceiling"
    if less.low > 0:
        return f"above the human ceiling by {figure}"
    if less.high < 0:
        return f"below the human ceiling by {numbers.estimate(-less.value, -less.high, -less.low)}"
    return f"not told apart from the human ceiling: {figure}"


def reasons(found: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, list[str]]:
    """What is said of defined values, whole -> the judges of which that is so."""
    said: dict[str, list[str]] = {}
    for name, rows in found.items():
        row = rows.get(statistic)
        if row is not None and row.value is not None and row.reason:
            said.setdefault(row.reason, []).append(name)
    return said


def shaky(found: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, list[str]]:
    """What to mind of defined values -> the judges of which that is so."""
    notes: dict[str, list[str]] = {}
    for reason, names in reasons(found, statistic).items():
        for note in reason.split("; "):
            notes.setdefault(note, []).extend(names)
    return notes


def values(kind: str, name: str) -> str:
    """A value as a table of answers shows it."""
    return {"1": "Response 1", "2": "Response 2", "0": "Neither"}.get(name, name) if kind == "preference" else name


def as_csv(rows: Sequence[AlignmentRow]) -> str:
    """All rows, as the command line gives them; no name is run by a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(AlignmentRow)])
    writer.writerows(
        [f"'{one}" if isinstance(one, str) and one.startswith(FORMULA) else one for one in astuple(row)] for row in rows
    )
    return text.getvalue()
