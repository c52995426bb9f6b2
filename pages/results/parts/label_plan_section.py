"""How many more labels tell the judges apart, as a section of the page Judges."""

from collections.abc import Mapping, Sequence

import streamlit as st

from core.formats.tables import rows_csv
from core.statistics import catalogue
from core.statistics.reports.label_plans import PairPlan, PlanReport
from pages.parts import column_notes, column_widths, downloads, name_columns
from pages.parts.text import escape_markdown
from storage.reports import label_plans

NUMBERS = "A × B"
COLUMNS = {
    NUMBERS: st.column_config.TextColumn(alignment="right", help="The numbers of the two judges, as in *Accuracy*."),
    "Separated": st.column_config.TextColumn(),
    "Right": st.column_config.TextColumn(
        alignment="right",
        help="How often the first judge is right : how often the second is, on the labelled targets on which they have "
        "different verdicts.",
    ),
    "More labels": st.column_config.TextColumn(
        alignment="right",
        help="Labels of targets on which the two judges differ, so their difference is found at 95 % with a "
        "probability of 80 %, if it is as large as it is now.",
    ),
    "At random": st.column_config.TextColumn(
        alignment="right", help="The labels needed if targets are drawn from all of them."
    ),
    "Waiting": st.column_config.TextColumn(
        alignment="right", help="Targets without a reference on which the two judges differ."
    ),
    "Most in": st.column_config.TextColumn(help="The scenario in which most of the waiting targets are."),
}
WIDTHS = {"Judge": 215, "Other judge": 215, "Most in": 160, "Why": 160}
"""The largest widths of columns of names and reasons, in pixels."""


def draw_section(found: PlanReport | None, leaders: PairPlan | None, judges: Sequence[str]) -> None:
    """Draw the sentence about the two most accurate judges, and the table of all pairs.

    `judges` are in the order of their numbers in the other tabs.
    """
    if found is None:
        st.info("No labels can be planned: the judges have no verdicts on the same labelled targets.")
        return
    if leaders is not None:
        st.markdown(f"**{escape_markdown(leaders.sentence)}**")
    if found.agreement is not None:
        name = catalogue.name(found.statistic)
        st.markdown(f"{escape_markdown(name)} of people: {escape_markdown(str(found.agreement))}.")
    st.caption(
        "Targets on which two judges agree cannot tell them apart, whatever people say. If only the others are "
        "labelled, the accuracies of both become lower than on all targets; which judge is better remains right. "
        "The order “most informative first” of the study's settings puts the targets on which judges or people "
        "differ first."
    )
    draw_table([plan_line(pair, judges) for pair in found.pairs])
    column_notes.draw(COLUMNS)
    downloads.draw_csv_download(lambda: rows_csv(label_plans.table(found)), "plan.csv", "download_plan")


def draw_table(lines: Sequence[Mapping[str, str]]) -> None:
    """Draw the table of pairs, without columns that are empty."""
    lines = [{name: line[name] for name in line if any(other[name] for other in lines)} for line in lines]
    widths = {name: width for name, width in WIDTHS.items() if lines and name in lines[0]}
    figures = column_widths.fit_figures(lines, widths, COLUMNS)
    table = name_columns.shorten(lines, column_widths.fit_names(lines, widths, figures))
    notes = {name: column | table.columns[name] for name, column in COLUMNS.items() if name in table.columns}
    st.dataframe(table.lines, key="plans", hide_index=True, column_config=figures | table.columns | notes)
    table.draw_full_names()


def plan_line(pair: PairPlan, judges: Sequence[str]) -> dict[str, str]:
    """Return the table row of two judges with their numbers."""
    evidence = pair.evidence
    scenario = next(iter(pair.waiting), "")
    return {
        NUMBERS: name_columns.pair_numbers((pair.judge, pair.other_judge), judges),
        "Judge": pair.judge,
        "Other judge": pair.other_judge,
        "Separated": "yes" if evidence.separated else "no",
        "Right": f"{evidence.wins:,} : {evidence.losses:,} of {evidence.labelled:,}",
        "More labels": format_labels(pair.labels),
        "At random": format_labels(pair.labels_at_random),
        "Waiting": f"{sum(pair.waiting.values()):,}",
        "Most in": scenario,
        "Why": evidence.reason,
    }


def format_labels(labels: int | None) -> str:
    """Return the number of labels, or a dash."""
    return "–" if labels is None else f"{labels:,}"
