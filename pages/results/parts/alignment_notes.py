"""What stands next to the chart of Alignment: comparisons with people, reasons of undefined values, and notes."""

from collections.abc import Mapping, Sequence

import streamlit as st

from core.provenance import INTERVALS
from core.statistics.reports.alignment import AlignmentRow
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_rows
from pages.results.parts.alignment_rows import MAX_NO_VERDICT, VIEWS

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
    mixes = alignment_rows.reference_mixes(by_judge, statistic)
    if len(mixes) == 1:
        st.caption(f":material/flag: Reference {escape_markdown(*mixes)}.")
    drawn = alignment_rows.defined_rows(by_judge, statistic)
    if len({alignment_rows.often_abstains(by_judge[judge]) for judge in drawn}) > 1:
        st.caption(f":material/sort: {ORDER}")
    if view.second and view.ceiling:
        comparisons = {judge: alignment_rows.compare_with_ceiling(rows, view) for judge, rows in by_judge.items()}
        draw_ceiling_comparisons({judge: text for judge, text in comparisons.items() if text})
    for reason, judges in alignment_rows.undefined_reasons(by_judge, statistic).items():
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
    for note, judges in alignment_rows.judges_by_note(by_judge, statistic).items():
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
    name = alignment_rows.TEST_STATISTICS[1]
    names_by_note = alignment_rows.undefined_reasons(by_judge, name) | alignment_rows.judges_by_notes(by_judge, name)
    return [
        f":material/group: Alternative-annotator test, {list_names(judges)}: {escape_markdown(note)}."
        for note, judges in names_by_note.items()
    ]


def list_names(judges: Sequence[str]) -> str:
    """Return the first four names, and the number of the others."""
    names = ", ".join(escape_markdown(judge) for judge in judges[:4])
    return f"{names} and {len(judges) - 4} more" if len(judges) > 4 else names
