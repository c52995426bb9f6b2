"""How many more labels tell the judges apart, as a section of the page Judges."""

import streamlit as st

from core.formats.tables import rows_csv
from core.statistics.reports.label_plans import PairPlan, PlanReport
from core.wording import STATISTIC_NAMES
from pages.parts import column_notes, downloads, name_columns
from pages.parts.text import escape_markdown
from storage.reports import label_plans

COLUMNS = {
    "First right : second right": st.column_config.TextColumn(
        help="On the labelled targets on which the two judges have different verdicts."
    ),
    "More labels": st.column_config.TextColumn(
        help="Labels of targets on which the two judges differ, so their difference is found at 95 % with a "
        "probability of 80 %, if it is as large as it is now."
    ),
    "At random": st.column_config.TextColumn(help="The labels needed if targets are drawn from all of them."),
    "Waiting": st.column_config.TextColumn(help="Targets without a reference on which the two judges differ."),
}


def draw_section(found: PlanReport | None, leaders: PairPlan | None) -> None:
    """Draw the sentence about the two most accurate judges, and the table of all pairs."""
    if found is None:
        st.info("No labels can be planned: the judges have no verdicts on the same labelled targets.")
        return
    if leaders is not None:
        st.markdown(f"**{escape_markdown(leaders.sentence)}**")
    if found.agreement is not None:
        name = STATISTIC_NAMES.get(found.statistic, found.statistic)
        st.markdown(f"{escape_markdown(name)} of people: {escape_markdown(str(found.agreement))}.")
    st.caption(
        "Targets on which two judges agree cannot tell them apart, whatever people say. If only the others are "
        "labelled, the accuracies of both become lower than on all targets; which judge is better remains right. "
        "The order “most informative first” of the study's settings puts the targets on which judges or people "
        "differ first."
    )
    table = name_columns.shorten([plan_line(pair) for pair in found.pairs], {"Judge": 215, "Other judge": 215})
    st.dataframe(table.lines, key="plans", hide_index=True, column_config=COLUMNS | table.columns)
    table.draw_full_names()
    column_notes.draw(COLUMNS)
    downloads.draw_csv_download(lambda: rows_csv(label_plans.table(found)), "plan.csv", "download_plan")


def plan_line(pair: PairPlan) -> dict[str, str]:
    """Return the table row of two judges."""
    evidence = pair.evidence
    waiting = [f"{count:,} {scenario}".rstrip() for scenario, count in pair.waiting.items()]
    return {
        "Judge": pair.judge,
        "Other judge": pair.other_judge,
        "Separated": "yes" if evidence.separated else "no",
        "First right : second right": f"{evidence.wins:,} : {evidence.losses:,} of {evidence.labelled:,}",
        "More labels": format_labels(pair.labels),
        "At random": format_labels(pair.labels_at_random),
        "Waiting": "; ".join(waiting) or "–",
        "Why": evidence.reason,
    }


def format_labels(labels: int | None) -> str:
    """Return the number of labels, or a dash."""
    return "–" if labels is None else f"{labels:,}"
