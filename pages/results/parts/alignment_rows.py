"""Alignment for display: the statistics that suit a judge's values, their names, and table rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import streamlit as st

from core.provenance import INTERVALS
from core.statistics.data.frames import ALL
from core.statistics.reports.agreement import AgreementRow
from core.statistics.reports.alignment import AlignmentRow
from core.wording import NO_SCENARIO
from pages.parts import downloads, numbers
from pages.parts.numbers import RESPONSE_NAMES
from pages.parts.text import escape_markdown
from storage.reports.alignment import FIRST_OPINION
from storage.reports.judge_costs import JudgeCost
from storage.reports.references import BY_PEOPLE, Reference

Place = tuple[str, str]
"""A judge, and the group of a scenario or "all"."""
Figures = dict[Place, dict[str, AlignmentRow]]
"""The rows of each judge and group by the name of their statistic."""
Line = dict[str, str | int]
REASON_COLUMN = "Undefined values"
KAPPA_NAME, QUADRATIC_NAME = "Cohen's kappa", "Quadratic kappa"
PRICE_COLUMN = "$ per 1,000"
RARE_COLUMNS = {"Annotators", "Readable", "Range", "Human ceiling", "Advantage", "Winning rate", PRICE_COLUMN}
"""Columns of the table that are drawn on request: a screen of 1440 pixels has room for the others."""
MAJORITY_SUFFIX = "_majority"
TEST_STATISTICS = ("advantage_probability", "winning_rate")
"""The statistics of the alternative-annotator test."""


@dataclass(frozen=True)
class StatisticView:
    """A statistic that can be drawn, the statistic drawn next to it, and the columns of its table."""

    name: str
    legend: str
    """The judge and its reference, for the legend."""
    table: Mapping[str, str]
    second: str = ""
    """The statistic of the hollow point: the judge on the ceiling's own test, or people's value."""
    second_name: str = ""
    ceiling: str = ""
    difference: str = ""
    """The statistic of the judge minus the ceiling."""


LEAVE_ONE_OUT = "judge with the others, one person left out in turn"

MAX_NO_VERDICT = 0.05
"""Share of targets without a verdict above which the values of a judge are of targets that it chose."""


def _category_view(name: str, reference: str, *, ceiling: bool = False) -> StatisticView:
    quadratic_column = {f"cohen_kappa_quadratic_{reference}": "Quadratic kappa"} if name == QUADRATIC_NAME else {}
    columns = {f"accuracy_{reference}": "Accuracy", f"cohen_kappa_{reference}": "Kappa"} | quadratic_column
    reference_name = {"majority": "the majority", "gold": "the reference"}[reference]
    return StatisticView(
        f"{name} with {reference_name}",
        f"judge with {reference_name}",
        columns,
        second="judge_against_others" if ceiling else "",
        second_name=LEAVE_ONE_OUT if ceiling else "",
        ceiling="human_ceiling",
        difference="judge_less_ceiling",
    )


def _number_view(name: str, *, ceiling: bool = False) -> StatisticView:
    return StatisticView(
        f"{name} with the reference",
        "judge with the reference",
        {"spearman": "Spearman", "pearson": "Pearson", "kendall_tau_b": "Tau-b"},
        second="judge_against_others_spearman" if ceiling else "",
        second_name=LEAVE_ONE_OUT if ceiling else "",
        ceiling="human_ceiling_spearman",
        difference="judge_less_ceiling_spearman",
    )


def _critique_view(name: str) -> StatisticView:
    columns = {"precision_macro": "Precision", "recall_macro": "Recall", "f1_macro": "F1"}
    people_statistic = f"{name.lower()}_macro_people"
    return StatisticView(
        f"{name}, mean over critiques", "by the judge's verdicts", columns, people_statistic, "by people's verdicts"
    )


_DISTANCE_COLUMNS = {"weights_distance": "Distance", "rank_distance": "Rank distance"}
VIEWS: Mapping[str, StatisticView] = {
    "spearman": _number_view("Spearman's rho", ceiling=True),
    "pearson": _number_view("Pearson's r"),
    "kendall_tau_b": _number_view("Kendall's tau-b"),
    "accuracy_majority": _category_view("Accuracy", "majority", ceiling=True),
    "cohen_kappa_majority": _category_view(KAPPA_NAME, "majority"),
    "cohen_kappa_quadratic_majority": _category_view(QUADRATIC_NAME, "majority"),
    "accuracy_gold": _category_view("Accuracy", "gold"),
    "cohen_kappa_gold": _category_view(KAPPA_NAME, "gold"),
    "cohen_kappa_quadratic_gold": _category_view(QUADRATIC_NAME, "gold"),
    "f1_macro": _critique_view("F1"),
    "precision_macro": _critique_view("Precision"),
    "recall_macro": _critique_view("Recall"),
    "weights_distance": StatisticView("Weight distance, 0 is equal", "judge from people", _DISTANCE_COLUMNS),
    "rank_distance": StatisticView("Rank distance, 0 is the same order", "judge from people", _DISTANCE_COLUMNS),
}
"""The statistics that can be drawn, in the order of `available_statistics`."""
KINDS = {
    "preference": "Preferences",
    "score": "Scores",
    "aiu_precision": "AIU precision",
    "aiu_recall": "AIU recall",
    "aiu": "Critique scores",
    "aspect_weights": "Aspect weights",
    "aspect_quality": "Aspect quality",
    "likert": "Ratings",
    "answer": "Answers",
}
CRITIQUE_KIND = "aiu"
"""The kind of rows about whole critiques, which count critiques and have no raters."""
BIASES = {
    "shown_first": "first_shown_preferred",
    "longer": "longer_preferred_less_people",
    "both_orders": "both_orders_consistency",
}


def rows_by_judge(rows: Iterable[AlignmentRow], kind: str, criterion: str, *, include_first: bool) -> Figures:
    """Return the rows of a kind and criterion by judge and group, with first opinions only on request."""
    by_place: Figures = {}
    for row in rows:
        if (row.kind, row.criterion) == (kind, criterion) and (include_first or FIRST_OPINION not in row.judge):
            by_place.setdefault((row.judge, row.group), {})[row.statistic] = row
    return by_place


def has_reference_values(by_place: Figures) -> bool:
    """Return whether any statistic that needs labels by people has a value."""
    return any(row.value is not None for rows in by_place.values() for name, row in rows.items() if name in VIEWS)


def available_statistics(by_place: Figures, reference: Reference, *, adjudicated: bool) -> list[str]:
    """Return the statistics that at least one judge has, in the order of `VIEWS`; the first one is the default.

    Those with people's majority are left out if something else than people's decisions is the reference. They are
    last if the reference is gold with adjudicated values, which differs from the majority; without them the majority
    is the same and also has the human ceiling. An open page stays at its statistic when the first adjudication is
    stored: what a reader looks at does not change by another person's decision.
    """
    names = {name for rows in by_place.values() for name in rows}
    if reference.type not in ("gold", "majority"):
        names = {name for name in names if not name.endswith(MAJORITY_SUFFIX)}
    ordered = [name for name in VIEWS if name in names]
    if reference.type == "gold" and adjudicated:
        ordered.sort(key=lambda name: name.endswith(MAJORITY_SUFFIX))
    return ordered


def sort_places(by_place: Figures, statistic: str) -> list[Place]:
    """Return the judges, each followed by its scenarios in order of name.

    The best is first; then those that often have no verdict, whose values are of the targets that they decided; then
    those without a value.
    """
    direction = 1 if VIEWS[statistic].table is _DISTANCE_COLUMNS else -1

    def sort_key(place: Place) -> tuple[bool, bool, float, str, bool, str]:
        judge, group = place
        rows = by_place.get((judge, ALL), {})
        row = rows.get(statistic)
        value = None if row is None else row.value
        return value is None, often_abstains(rows), direction * (value or 0.0), judge, group != ALL, group

    return sorted(by_place, key=sort_key)


def to_row(row: AlignmentRow) -> AgreementRow:
    """Return the row as an estimate for charts."""
    return AgreementRow(**{field.name: getattr(row, field.name) for field in fields(AgreementRow)})


def defined_rows(rows_by_name: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, AgreementRow]:
    """Return the rows of a statistic that have a value, by their display name."""
    rows = {name: rows[statistic] for name, rows in rows_by_name.items() if statistic in rows}
    return {name: to_row(row) for name, row in rows.items() if row.value is not None}


def chart_rows(rows_by_name: Mapping[str, Mapping[str, AlignmentRow]], *statistics: str) -> list[AlignmentRow]:
    """Return the rows of statistics that have a value, with their judges, for the files of a chart."""
    return [
        rows[statistic]
        for statistic in statistics
        for rows in rows_by_name.values()
        if statistic in rows and rows[statistic].value is not None
    ]


def unit_name(kind: str, criterion: str = "") -> str:
    """Return the unit that the rows of a kind count; several criteria of an item are several targets."""
    unit = "target" if criterion == ALL else "item"
    return {CRITIQUE_KIND: "critique", "aiu_precision": "AIU", "aiu_recall": "AIU"}.get(kind, unit)


def format_details(rows: Mapping[str, AlignmentRow], statistic: str, cost: JudgeCost | None) -> str:
    """Return `24 items · 3 annotators · no verdict 2.5 % · $1.20 per 1,000`."""
    row, no_verdict = rows[statistic], rows.get("no_verdict_rate")
    parts = [numbers.format_count(row.items, unit_name(row.kind, row.criterion))]
    parts += [numbers.format_count(row.raters, "annotator")] if row.raters and row.kind != CRITIQUE_KIND else []
    if no_verdict is not None and no_verdict.value is not None:
        parts.append(f"no verdict {round(100 * no_verdict.value, 1):g} %")
    if cost is not None and cost.per_thousand is not None:
        parts.append(f"{numbers.format_dollars(cost.per_thousand)} per 1,000")
    return " · ".join(parts)


def undefined_reasons(rows_by_name: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, list[str]]:
    """Return why a statistic is undefined -> the judges or scenarios for which it is."""
    names_by_reason: dict[str, list[str]] = {}
    for name, rows in rows_by_name.items():
        row = rows.get(statistic)
        if row is None or row.value is None:
            reason = row.reason if row else "its scores are means, which lie between the categories of the scale"
            names_by_reason.setdefault(reason, []).append(name)
    return names_by_reason


def table_line(
    place: Place,
    rows: Mapping[str, AlignmentRow],
    statistic: str,
    cost: JudgeCost | None,
    *,
    by_scenario: bool,
    all_columns: bool,
) -> Line:
    """Return the table row of a judge, or of a judge in one scenario, with the rare columns on request."""
    view = VIEWS[statistic]
    columns: dict[str, str] = {}
    if view.ceiling:
        columns = {view.ceiling: "Human ceiling", view.difference: "Judge − ceiling"}
        columns |= dict(zip(TEST_STATISTICS, ("Advantage", "Winning rate"), strict=True))
    columns |= {"no_verdict_rate": "No verdict"}
    line: Line = {"Judge": place[0]}
    if by_scenario:
        line["Scenario"] = place[1] or NO_SCENARIO
    row = rows.get(statistic)
    if row is None or row.kind != CRITIQUE_KIND:
        line |= {"Targets": row.items if row else 0, "Annotators": row.raters if row else 0}
    else:
        line |= {"Critiques": row.items}
    # The share of readable replies and the range belong to the statistics, and are visible without scrolling.
    line |= {title: _format_row(rows.get(name)) for name, title in view.table.items()} | _unread_cells(rows, statistic)
    line |= {title: _format_row(rows.get(name), sign=name == view.difference) for name, title in columns.items()}
    line[PRICE_COLUMN] = _format_price(cost)
    if not all_columns:
        line = {title: cell for title, cell in line.items() if title not in RARE_COLUMNS}
    shown = {name: title for name, title in {**view.table, **columns}.items() if title in line}
    reasons = [_undefined_by_reason(shown, rows), _price_reason(cost) if PRICE_COLUMN in line else ""]
    return line | {REASON_COLUMN: "; ".join(filter(None, reasons))}


def _unread_cells(rows: Mapping[str, AlignmentRow], statistic: str) -> Line:
    """Return the readable share, and the range that missing verdicts allow for an accuracy."""
    missing = rows.get("no_verdict_rate")
    cells: Line = {}
    if missing is not None and missing.value is not None:
        cells["Readable"] = numbers.format_readable(round(missing.items * (1 - missing.value)), missing.items)
    limits = [rows[name] for name in (f"{statistic}_lowest", f"{statistic}_highest") if name in rows]
    if statistic.startswith("accuracy"):
        values = [row.value for row in limits if row.value is not None]
        cells["Range"] = numbers.format_range((values[0], values[1])) if len(values) == 2 else ""
    return cells


def lines_without_reference(by_place: Figures, costs: Mapping[str, JudgeCost]) -> list[Line]:
    """Return table rows of judges with the statistics that need no labels of people."""
    return [
        {
            "Judge": judge,
            "Targets": rows["no_verdict_rate"].items,
            "No verdict": _format_row(rows["no_verdict_rate"]),
            PRICE_COLUMN: _format_price(costs.get(judge)),
        }
        for (judge, group), rows in sorted(by_place.items())
        if group == ALL and "no_verdict_rate" in rows
    ]


def _format_row(row: AlignmentRow | None, *, sign: bool = False) -> str:
    return "–" if row is None else numbers.format_estimate(row.value, row.low, row.high, sign=sign)


def _format_price(cost: JudgeCost | None) -> str:
    return "–" if cost is None or cost.per_thousand is None else numbers.format_dollars(cost.per_thousand)


def _price_reason(cost: JudgeCost | None) -> str:
    """Return why there is no price; empty if there is one."""
    if cost is None:
        return "$: no calls were recorded"
    return f"$: {numbers.format_count(cost.unpriced, 'call')} of unknown price" if cost.unpriced else ""


def _undefined_by_reason(columns: Mapping[str, str], rows: Mapping[str, AlignmentRow]) -> str:
    """Return `Kappa: both used one and the same category` for the undefined columns."""
    titles_by_reason: dict[str, list[str]] = {}
    for name, title in columns.items():
        row = rows.get(name)
        if row is not None and row.value is None:
            titles_by_reason.setdefault(row.reason, []).append(title)
    return "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in titles_by_reason.items())


def compare_with_ceiling(rows: Mapping[str, AlignmentRow], view: StatisticView) -> str:
    """Return how a judge compares with the human ceiling; empty if the difference is undefined."""
    difference = rows.get(view.difference)
    if difference is None or difference.value is None:
        return ""
    estimate = f"{_format_row(difference, sign=True)}, {_describe_decided(rows, difference)}"
    if difference.low is None or difference.high is None:
        return f"from the human ceiling: {estimate}"
    if difference.low > 0:
        return f"above the human ceiling: {estimate}"
    if difference.high < 0:
        return f"below the human ceiling: {estimate}"
    return f"not distinguishable from the human ceiling: {estimate}"


def _describe_decided(rows: Mapping[str, AlignmentRow], row: AlignmentRow) -> str:
    """Return `n 240`, or for a judge that often has no verdict that these are the targets that it decided."""
    if not often_abstains(rows):
        return f"n {row.items:,}"
    share = rows["no_verdict_rate"].value or 0
    return f"only on the {row.items:,} targets that it decided: no verdict on {share:.0%} of all, see the page Judges"


def often_abstains(rows: Mapping[str, AlignmentRow]) -> bool:
    """Return whether a judge has no verdict on so many targets that its values cannot be compared with others'."""
    row = rows.get("no_verdict_rate")
    return row is not None and row.value is not None and row.value > MAX_NO_VERDICT


def judges_by_notes(rows_by_name: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, list[str]]:
    """Return the notes on defined values -> the judges that they apply to."""
    names_by_note: dict[str, list[str]] = {}
    for name, rows in rows_by_name.items():
        row = rows.get(statistic)
        if row is not None and row.value is not None and row.reason:
            names_by_note.setdefault(row.reason, []).append(name)
    return names_by_note


def reference_mixes(rows_by_name: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, list[str]]:
    """Return each mix of sources of the reference -> the judges that were compared with it."""
    names_by_mix: dict[str, list[str]] = {}
    for name, rows in rows_by_name.items():
        row = rows.get(statistic)
        if row is None:
            continue
        mix = f"majority: {row.items} {BY_PEOPLE}" if statistic.endswith(MAJORITY_SUFFIX) else row.reference
        if mix:
            names_by_mix.setdefault(mix, []).append(name)
    return names_by_mix


def judges_by_note(rows_by_name: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> dict[str, list[str]]:
    """Return each single note on defined values -> the judges that it applies to."""
    names_by_note: dict[str, list[str]] = {}
    for notes, names in judges_by_notes(rows_by_name, statistic).items():
        for note in notes.split("; "):
            names_by_note.setdefault(note, []).extend(names)
    return names_by_note


def value_name(kind: str, name: str) -> str:
    """Return the display name of a value."""
    names = {str(value): response for value, response in RESPONSE_NAMES.items()}
    return names.get(name, name) if kind == "preference" else name


def to_csv(rows: Sequence[AlignmentRow]) -> str:
    """Return all rows as CSV, as the command line writes them."""
    return downloads.dataclass_csv(AlignmentRow, rows)


# What stands next to the chart of Alignment: comparisons with people, reasons of undefined values, and notes.

MAX_COMPARISONS = 2
"""Judges up to which the comparison of each with the human ceiling is written next to the chart; of more, that of the
best: the chart has them all, and a phone has no room."""
MISSING_VERDICTS = (
    "Some verdicts are missing; Readable is the share with one. An accuracy has a range: its value if all missing "
    "verdicts were wrong, and if all were right. Kappas and correlations have none, because a single verdict can move "
    "them either way: read them with the share."
)
HUMAN_CEILING = (
    "Human ceiling: each person in turn is left out and compared with the majority of the others, or with their mean "
    "for scores. The judge is compared in the same way on the same items. The difference has its own interval."
)
ORDER = (
    f"Judges are in the order of this value, the best first, but those without a verdict on more than "
    f"{MAX_NO_VERDICT:.0%} of the targets are after the others: their values are of the targets that they decided."
)
CEILING_IN_TABLE = "The human ceiling is an accuracy, or Spearman's rho for scores. It is in the table."


def draw_notes(by_judge: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> None:
    """Draw the comparison of each judge with the ceiling, reasons of undefined values, and notes."""
    view = VIEWS[statistic]
    mixes = reference_mixes(by_judge, statistic)
    if len(mixes) == 1:
        st.caption(f":material/flag: Reference {escape_markdown(*mixes)}.")
    drawn = defined_rows(by_judge, statistic)
    if len({often_abstains(by_judge[judge]) for judge in drawn}) > 1:
        st.caption(f":material/sort: {ORDER}")
    if view.second and view.ceiling:
        comparisons = {judge: compare_with_ceiling(rows, view) for judge, rows in by_judge.items()}
        draw_ceiling_comparisons({judge: text for judge, text in comparisons.items() if text})
    for reason, judges in undefined_reasons(by_judge, statistic).items():
        st.caption(f":material/help: No value for {list_names(judges)}: {escape_markdown(reason)}.")
    subjects = "intervals, references, human ceiling" if view.ceiling else "intervals, references"
    with st.expander(f"Notes: {subjects}"):
        st.caption("\n\n".join(list_notes(by_judge, statistic, mixes)))  # one element: each costs the browser time


def list_notes(
    by_judge: Mapping[str, Mapping[str, AlignmentRow]], statistic: str, mixes: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return what applies to the intervals, the references and the human ceiling, as Markdown."""
    view = VIEWS[statistic]
    notes = [f"{INTERVALS}."]
    if len(mixes) > 1:
        notes += [
            f":material/flag: {list_names(judges)}: reference {escape_markdown(mix)}." for mix, judges in mixes.items()
        ]
    notes += list_caveats(by_judge, statistic)
    return notes + (list_ceiling_notes(by_judge, is_drawn=bool(view.second)) if view.ceiling else [])


def list_caveats(by_judge: Mapping[str, Mapping[str, AlignmentRow]], statistic: str) -> list[str]:
    """Return the caveats of the figures, each with its judges, and what missing verdicts mean."""
    notes = []
    for note, judges in judges_by_note(by_judge, statistic).items():
        prefix = "" if len(judges) == len(by_judge) and len(judges) > 1 else f"{list_names(judges)}: "
        notes.append(f":material/info: {prefix}{escape_markdown(note)}.")
    if any(row.value for rows in by_judge.values() if (row := rows.get("no_verdict_rate"))):
        notes.append(f":material/info: {MISSING_VERDICTS}")
    return notes


def list_ceiling_notes(by_judge: Mapping[str, Mapping[str, AlignmentRow]], *, is_drawn: bool) -> list[str]:
    """Return what the human ceiling is, and the results of the alternative-annotator test."""
    notes = [HUMAN_CEILING] + ([] if is_drawn else [CEILING_IN_TABLE])
    return notes + list_test_notes(by_judge)


def draw_ceiling_comparisons(comparisons: Mapping[str, str]) -> None:
    """Draw a sentence for each judge; of more than `MAX_COMPARISONS`, those after the first are collapsed."""
    lines = [f"- **{escape_markdown(judge)}** {escape_markdown(text)}" for judge, text in comparisons.items()]
    st.markdown("**Compared with people**")
    shown = len(lines) if len(lines) <= MAX_COMPARISONS else 1
    st.markdown("\n".join(lines[:shown]))
    if more := lines[shown:]:
        with st.expander(f"{len(more)} more"):
            st.markdown("\n".join(more))


def list_test_notes(by_judge: Mapping[str, Mapping[str, AlignmentRow]]) -> list[str]:
    """Return the results of the alternative-annotator test, or why it was not run."""
    name = TEST_STATISTICS[1]
    names_by_note = undefined_reasons(by_judge, name) | judges_by_notes(by_judge, name)
    return [
        f":material/group: Alternative-annotator test, {list_names(judges)}: {escape_markdown(note)}."
        for note, judges in names_by_note.items()
    ]


def list_names(judges: Sequence[str]) -> str:
    """Return the first four names, and the number of the others."""
    names = ", ".join(escape_markdown(judge) for judge in judges[:4])
    return f"{names} and {len(judges) - 4} more" if len(judges) > 4 else names
