"""Distances between aspect weights, and average weights."""

from collections.abc import Sequence

import streamlit as st

from core.formats.tables import Table
from core.statistics.reports.weight_distances import (
    ALL,
    PEOPLE,
    AverageWeight,
    OtherTotals,
    RaterDistance,
    average_weights,
    other_totals,
    rater_distances,
)
from pages.parts import charts, live, numbers, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.results import renderer
from pages.results.parts import alignment_data
from pages.results.renderer import Intervals, Mark, Result
from storage.reports import weights
from storage.studies.studies import Study

PAGE = "weights"
AXIS = "Rank distance, 0 is the same order, 1 the opposite"
# The row of distances whose weightings are listed, in the state of the session.
SELECTED = "selected_distance"


def draw_page(study: Study) -> None:
    """Draw distances and averages, and redraw them when a label or an opinion is added."""
    version, engine = alignment_data.follow(study, PAGE), resources.engine()

    def compute(newer: alignment_data.Version) -> tuple[list[RaterDistance], list[AverageWeight], list[OtherTotals]]:
        def measure() -> tuple[list[RaterDistance], list[AverageWeight], list[OtherTotals]]:
            units = weights.load_units(engine, study)
            return rater_distances(units), average_weights(units), other_totals(units)

        return live.cached(study, newer, "weights", measure)

    found = alignment_data.figures(study, PAGE, version, compute)
    distances, averages, totals = found
    if distances or averages:
        draw_distances(study, distances)
        draw_averages(averages, totals)
        return
    links = (shell.RUN, ("label/weights.py", "Give weights", ":material/tune:"), shell.IMPORT)
    advice = "Start a DnA-Eval run, give weights under Aspect weights, or import them."
    fact = "This study has no weights yet."
    shell.draw_missing(study, fact, advice, *links, script="results/weights.py", protocol="dna_eval")


def identity(row: RaterDistance) -> list[str | bool]:
    """Return what tells a row from the others."""
    return [row.rater_a, row.rater_b, row.among_annotators]


def select(row: Sequence[str | bool] | None) -> None:
    """List the weightings of a row."""
    st.session_state[SELECTED] = row


def draw_distances(study: Study, rows: Sequence[RaterDistance]) -> None:
    """Draw the distance between people, each judge's from people, and a table of all pairs of raters."""
    human = next((row for row in rows if row.rater_a == row.rater_b == PEOPLE), None)
    to_people = [row for row in rows if row.rater_b == PEOPLE and not row.among_annotators]
    # Without a second person there is no distance to "people", only to the one annotator.
    judges = to_people or [row for row in rows if not row.among_annotators and row.rater_b != PEOPLE]
    ranking = sorted(judges, key=lambda row: (row.distance.value is None, row.distance.value or 0.0))
    ordered = sorted(rows, key=lambda row: row.rater_b != PEOPLE)
    notes = [
        f"{escape_markdown('People' if row is human else row.rater_a)}: "
        f"{numbers.format_count(row.undefined, 'weighting')} without a defined distance left out."
        for row in filter(None, (human, *ranking[:1]))
        if row.undefined
    ]
    if human is not None and human.distance.reason and not human.undefined:
        notes.append(escape_markdown(human.distance.reason))
    hint = "Click a row, or a point of the chart, to list the weightings."
    none = "No two raters have given weights to the same aspects."
    renderer.draw_result(
        Result(
            headline=f"{describe_judges(ranking)} {describe_people(human)}",
            caption="\n\n".join(notes),
            figures=[distance_chart(ranking, human)],
            remark=hint if rows else none,
            tables=[Table("pairs", ordered, weights.COLUMNS, ())],
            on_click=lambda row, _: select(identity(ordered[row])),
        )
    )
    selected = next((row for row in rows if identity(row) == st.session_state.get(SELECTED)), None)
    if selected is not None:
        draw_weightings(study, selected)


def distance_chart(ranking: Sequence[RaterDistance], human: RaterDistance | None) -> Intervals:
    """Return a row for each judge, and the distance between people as a dashed line (Figure 5)."""
    marks = [
        Mark(
            # Of a study with one annotator, a judge can be compared with others than people.
            row.rater_a if row.rater_b == PEOPLE else f"{row.rater_a} × {row.rater_b}",
            row.distance.value, row.distance.low, row.distance.high, "", f"{row.units - row.undefined:,}",
            opens=identity(row),
        )
        for row in ranking
        if row.distance.value is not None
    ]  # fmt: skip
    people = None if human is None else human.distance.value
    return Intervals(
        "distances", "Judges' weights: distance from people's", AXIS, (("", "circle"),), marks,
        lines=[(PEOPLE, people)] if people is not None else [], data=charts.ChartData(ranking),
        on_select=lambda: select(charts.clicked_point("distances")), selected=st.session_state.get(SELECTED),
    )  # fmt: skip


def describe_judges(judges: Sequence[RaterDistance]) -> str:
    """Return the judge whose weights are nearest to people's; `judges` are sorted by their distance."""
    defined = [row for row in judges if row.distance.value is not None]
    if not judges:
        return "No distance of a judge from people: both have to give weights to the same aspects."
    if not defined:
        return "No distance of a judge from people is defined: equal weights have no order."
    nearest, count = defined[0], len({row.rater_a for row in defined})
    people = PEOPLE if nearest.rater_b == PEOPLE else f"the only annotator, {nearest.rater_b}"
    start = "The weights of" if count == 1 else f"Of {count} judges, the nearest weights are those of"
    return (
        f"{start} {nearest.rater_a}: {numbers.format_interval(nearest.distance)} from {people} "
        f"({numbers.format_count(nearest.distance.items, 'weighting')})."
    )


def describe_people(human: RaterDistance | None) -> str:
    """Return how far people's weights are from each other's."""
    if human is None:
        return "No distance between people: at least two have to give weights to the same aspects."
    counted = numbers.format_count(human.distance.items, "weighting")
    annotators = numbers.format_count(human.distance.raters, "annotator")
    return f"Between people: {numbers.format_interval(human.distance)} ({counted}, {annotators})."


def draw_weightings(study: Study, row: RaterDistance) -> None:
    """Draw the weightings of a pair of raters, the largest distance first; a click opens the trace."""
    details = weights.drill_down(resources.engine(), study, row, shell.current_annotator())
    pair = row.rater_a if row.rater_a == row.rater_b else f"{row.rater_a} × {row.rater_b}"
    st.subheader(f"Weightings of {escape_markdown(pair)}: {len(details):,}", anchor=False)
    if any(detail.blind for detail in details):
        st.caption(":material/visibility_off: Weights for aspects that you have not weighted are hidden.")
    clicked = tables.draw_clickable([weighting_line(detail) for detail in details], f"weightings-{pair}")
    if clicked is not None and details[clicked].trace is not None:
        st.switch_page(shell.page_path("watch/traces.py"), query_params={"trace": str(details[clicked].trace)})


def weighting_line(detail: weights.WeightingDetail) -> dict[str, str]:
    """Return the table row of a weighting: its distance, and the raters' weights in the order of the aspects."""
    distance = "undefined" if detail.distance is None else f"{detail.distance:.2f}"
    row = {"Item": detail.item, "Scenario": detail.scenario, "Distance": "hidden" if detail.blind else distance}
    for rater, rater_weights in detail.weights.items():
        row[rater] = " · ".join(f"{weight:.3g}" for weight in rater_weights.values())
    return row | ({"Trace": "open ›"} if detail.trace is not None else {})


def draw_averages(averages: Sequence[AverageWeight], totals: Sequence[OtherTotals]) -> None:
    """Draw one rater's average weights: categories as rows, aspects as columns; and weightings with other sums."""
    st.subheader("Average weights", anchor=False)
    if averages:
        raters = list(dict.fromkeys((average.rater, average.is_judge) for average in averages))
        chosen = st.selectbox(
            "Rater",
            raters,
            format_func=lambda rater: f"{rater[0]} ({'judge' if rater[1] else 'person'})",
            key="whose",
            width=320,
        )
        lines: dict[str, dict[str, str | int]] = {}
        for one in averages:
            if (one.rater, one.is_judge) == chosen:
                line = lines.setdefault(one.scenario, {"Category": one.scenario or "no category", "Items": 0})
                line[one.aspect] = numbers.format_number(one.weight.value or 0, 1)
                line["Items"] = max(int(line["Items"]), one.weight.items)
        st.dataframe([lines[name] for name in sorted(lines, key=lambda name: (name != ALL, name))], hide_index=True)
        st.caption("In percent; every weighting was scaled to a sum of 100 first.")
    else:
        st.caption("Every item has its own aspects, so there is no average over items.")
    for judge in totals:
        counted = numbers.format_count(judge.weightings, "weighting")
        share = f"{judge.other:,} of {counted} ({judge.other / judge.weightings:.0%})"
        st.caption(
            f":material/warning: {escape_markdown(judge.judge)}: {share} did not sum to 100 %. They are stored as "
            "stated; the run's setting `totals` says how its weighted sums use them."
        )


draw_page(shell.draw_header("Weights", "Distances between the aspect weights of people and of judges."))
