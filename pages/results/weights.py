"""Distances between aspect weights, average weights, the quality of aspects, and agreement of verdicts with people."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.statistics.data.arrays import Estimate
from core.statistics.reports.weight_distances import (
    ALL,
    PEOPLE,
    AverageWeight,
    DistanceMeasure,
    OtherTotals,
    RaterDistance,
    rank_distance,
    top_k_distance,
)
from pages.parts import numbers, resources, shell, tables
from pages.parts.text import escape_markdown, truncate
from pages.results.parts import alignment_data, weight_charts
from pages.results.parts.alignment_data import Version
from storage.db import connections
from storage.reports import weights
from storage.reports.weights import AspectQuality, VerdictAgreement, WeightingDetail
from storage.studies import studies
from storage.studies.studies import Study

PAGE = "weights"
MEASURES = {"kendall": "Kendall's tau-b", "heaviest": "Heaviest aspects, K⁽ᵖ⁾"}
PENALTIES = {0.5: "½ (a metric)", 0.0: "0 (optimistic)"}


@dataclass(frozen=True)
class DistanceChoice:
    """How distances are measured: hashable, so cached figures are shared between visits."""

    name: str = "kendall"
    k: int = 1
    p: float = 0.5

    @property
    def measure(self) -> DistanceMeasure:
        """The function that computes it."""
        return rank_distance if self.name == "kendall" else top_k_distance(self.k, self.p)

    @property
    def axis(self) -> str:
        """The axis title of a chart."""
        if self.name == "kendall":
            return "Rank distance, 0 is the same order, 1 the opposite"
        return f"Pairs of aspects in another order among the {self.k} heaviest"


@st.cache_data(max_entries=64, show_spinner=False)
def load_distances(url: str, study_id: int, choice: DistanceChoice, version: Version) -> list[RaterDistance]:
    """Return the distances at a version of the labels; the cache is shared by all visitors."""
    return weights.rows(resources.engine(), load_study(study_id), choice.measure)


@st.cache_data(max_entries=64, show_spinner=False)
def load_tables(
    url: str, study_id: int, version: Version
) -> tuple[int, list[AverageWeight], list[OtherTotals], list[AspectQuality], list[VerdictAgreement]]:
    """Return the largest set's size, average weights, other totals, qualities of aspects, agreement of verdicts."""
    engine, study = resources.engine(), load_study(study_id)
    return (
        weights.largest_set(engine, study),
        weights.mean_weights(engine, study),
        weights.other_totals(engine, study),
        weights.aspect_qualities(engine, study),
        weights.verdict_agreement(engine, study),
    )


def load_study(study_id: int) -> Study:
    """Return a study by its id."""
    with connections.reading(resources.engine()) as session:
        return studies.by_id(session, study_id)


def draw_page(study: Study) -> None:
    """Draw distances, averages, qualities and agreement, and redraw them when a label or an opinion is added."""
    start = time.thread_time()
    version, url = alignment_data.shown_version(study, PAGE), str(resources.engine().url)
    alignment_data.rerun_on_change(study, version, PAGE)

    def compute(newer: Version) -> object:
        return load_tables(url, study.id, newer)

    if not alignment_data.has_first_figures(study, PAGE, version, compute):
        return
    largest, averages, totals, qualities, agreements = load_tables(url, study.id, version)
    alignment_data.computed(study, PAGE, version, start, compute)
    if largest:
        choice = choose_distance(largest)
        draw_distances(study, load_distances(url, study.id, choice, version), choice)
        draw_averages(averages)
        draw_other_totals(totals)
    if qualities:
        draw_qualities(qualities)
    if agreements:
        draw_agreement(agreements)
    if not largest and not qualities and not agreements:
        empty_state(study)


def empty_state(study: Study) -> None:
    """Draw the empty state if nobody has given weights."""
    links = (shell.RUN, ("label/weights.py", "Give weights", ":material/tune:"), shell.IMPORT)
    advice = "Start a DnA-Eval run, give weights under Aspect weights, or import them."
    shell.draw_missing(study, "This study has no weights yet.", advice, *links)
    shell.link_sample("results/weights.py", "dna_eval")
    shell.draw_links(study, *links)


def choose_distance(largest: int) -> DistanceChoice:
    """Draw the choice of a distance; `largest` is the highest number of aspects in a set."""
    with alignment_data.draw_row():
        name = st.segmented_control(
            "Distance",
            list(MEASURES),
            format_func=lambda name: MEASURES[name],
            default="kendall",
            required=True,
            key="distance",
            bind="query-params",
            help="Kendall: (1 − τ_b) / 2 of the order of the weights. K⁽ᵖ⁾ (Fagin et al. 2003): the number of pairs of "
            "aspects that two lists of the heaviest aspects order differently; a pair that only one of them ties "
            "counts p.",
        )
        if name == "kendall":
            return DistanceChoice()
        k = st.selectbox("Number of aspects", range(1, largest + 1), index=min(2, largest) - 1, key="k", width=160)
        p = st.selectbox("Penalty p for a tie", list(PENALTIES), format_func=lambda p: PENALTIES[p], key="p", width=160)
    return DistanceChoice(str(name), int(k or 1), float(0.5 if p is None else p))


def draw_distances(study: Study, rows: Sequence[RaterDistance], choice: DistanceChoice) -> None:
    """Draw the distance between people, each judge's from people, and a table of all pairs of raters."""
    human = next((row for row in rows if row.rater_a == row.rater_b == PEOPLE), None)
    to_people = [row for row in rows if row.rater_b == PEOPLE and not row.among_annotators]
    # Without a second person there is no distance to "people", only to the one annotator.
    judges = to_people or [row for row in rows if not row.among_annotators and row.rater_b != PEOPLE]
    ranking = sorted(judges, key=lambda row: (row.distance.value is None, row.distance.value or 0.0))
    draw_summary(human, ranking)
    pointed = None
    if ranking:
        index = weight_charts.draw_distances(ranking, human, choice.axis, "distances")
        pointed = None if index is None else ranking[index]
    if not rows:
        st.caption("No two raters have given weights to the same aspects.")
        return
    to_people_first = sorted(rows, key=lambda row: row.rater_b != PEOPLE)
    selected = draw_pairs(to_people_first) or pointed
    if selected is not None:
        draw_weightings(study, selected, choice)


def draw_summary(human: RaterDistance | None, judges: Sequence[RaterDistance]) -> None:
    """Draw in words how far the judges are from people, the nearest first in `judges`, and people from each other."""
    st.markdown(f"**{escape_markdown(f'{describe_judges(judges)} {describe_people(human)}')}**")
    for row in filter(None, (human, *judges[:1])):
        if row.undefined:
            pair = "People" if row is human else row.rater_a
            undefined = numbers.format_count(row.undefined, "weighting")
            st.caption(f"{escape_markdown(pair)}: {undefined} without a defined distance left out.")
    if human is not None and human.distance.reason and not human.undefined:
        st.caption(escape_markdown(human.distance.reason))


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
        f"{start} {nearest.rater_a}: {format_estimate(nearest.distance)} from {people} "
        f"({numbers.format_count(nearest.distance.items, 'weighting')})."
    )


def describe_people(human: RaterDistance | None) -> str:
    """Return how far people's weights are from each other's."""
    if human is None:
        return "No distance between people: at least two have to give weights to the same aspects."
    counted = numbers.format_count(human.distance.items, "weighting")
    annotators = numbers.format_count(human.distance.raters, "annotator")
    return f"Between people: {format_estimate(human.distance)} ({counted}, {annotators})."


def format_estimate(estimate: Estimate) -> str:
    """Return a value with its interval."""
    return numbers.format_estimate(estimate.value, estimate.low, estimate.high)


def draw_pairs(rows: Sequence[RaterDistance]) -> RaterDistance | None:
    """Draw a table of all pairs of raters; returns the selected one."""
    lines = [
        {
            "Rater": row.rater_a,
            "Other rater": row.rater_b,
            "Distance": format_estimate(row.distance),
            "Undefined as 0": numbers.format_estimate(row.distance_undefined_as_zero, None, None),
            "Weightings": row.units,
            "Undefined": row.undefined,
            "Between": "people" if row.among_annotators else "judge and people",
        }
        for row in rows
    ]
    help_text = "Equal weights have no order. The paper counts them as the same order; here they are left out."
    zero_column = {"Undefined as 0": st.column_config.TextColumn(alignment="right", help=help_text)}
    figures = tables.figure_columns(lines, {"Rater", "Other rater", "Between"}, zero_column)
    clicked = tables.draw_clickable(lines, "pairs", column_config=figures)
    tables.draw_notes(zero_column)
    st.caption("Click a row, or a point of the chart, to list the weightings.")
    return None if clicked is None else rows[clicked]


def draw_weightings(study: Study, row: RaterDistance, choice: DistanceChoice) -> None:
    """Draw the weightings of a pair of raters, the largest distance first; a click opens the trace."""
    details = weights.drill_down(resources.engine(), study, row, choice.measure, shell.current_annotator())
    pair = row.rater_a if row.rater_a == row.rater_b else f"{row.rater_a} × {row.rater_b}"
    st.subheader(f"Weightings of {escape_markdown(pair)}: {len(details):,}", anchor=False)
    if any(detail.blind for detail in details):
        st.caption(":material/visibility_off: Weights for aspects that you have not weighted are hidden.")
    clicked = tables.draw_clickable([weighting_line(detail) for detail in details], f"weightings-{pair}")
    if clicked is not None and details[clicked].trace is not None:
        st.switch_page(shell.page_path("watch/traces.py"), query_params={"trace": str(details[clicked].trace)})


def weighting_line(detail: WeightingDetail) -> dict[str, Any]:
    """Return the table row of a weighting: its distance, and the raters' weights in the order of the aspects."""
    distance = "undefined" if detail.distance is None else f"{detail.distance:.2f}"
    row = {"Item": detail.item, "Scenario": detail.scenario, "Distance": "hidden" if detail.blind else distance}
    for rater, rater_weights in detail.weights.items():
        row[rater] = " · ".join(f"{weight:.3g}" for weight in rater_weights.values())
    return row | ({"Trace": "open ›"} if detail.trace is not None else {})


def draw_averages(averages: Sequence[AverageWeight]) -> None:
    """Draw one rater's average weights: categories as rows, aspects as columns."""
    st.subheader("Average weights", anchor=False)
    if not averages:
        st.caption("Every item has its own aspects, so there is no average over items.")
        return
    raters = list(dict.fromkeys((average.rater, average.is_judge) for average in averages))
    chosen = st.selectbox(
        "Rater",
        raters,
        format_func=lambda rater: f"{rater[0]} ({'judge' if rater[1] else 'person'})",
        key="whose",
        width=320,
    )
    rater_averages = [average for average in averages if (average.rater, average.is_judge) == chosen]
    draw_grid(
        sorted({average.scenario for average in rater_averages}, key=lambda name: (name != ALL, name)),
        {(average.scenario, average.aspect): average.weight for average in rater_averages},
        "Category",
        with_interval=False,
    )
    st.caption("In percent; every weighting was scaled to a sum of 100 first.")


def draw_other_totals(totals: Sequence[OtherTotals]) -> None:
    """State for each judge how many of its weightings do not sum to 100."""
    for judge in totals:
        counted = numbers.format_count(judge.weightings, "weighting")
        share = f"{judge.other:,} of {counted} ({judge.other / judge.weightings:.0%})"
        st.caption(
            f":material/warning: {escape_markdown(judge.judge)}: {share} did not sum to 100 %. They are stored as "
            "stated; the run's setting `totals` says how its weighted sums use them."
        )


def draw_qualities(qualities: Sequence[AspectQuality]) -> None:
    """Draw people's ratings of the aspects by judge."""
    st.subheader("Quality of the aspects", anchor=False)
    st.caption(
        "Mean of people's ratings, from 1 to 5, of each judge's set of aspects, with the 95 % interval over items."
    )
    ratings = {(quality.judge, quality.quality.capitalize()): quality.rating for quality in qualities}
    draw_grid(sorted({judge for judge, _ in ratings}), ratings, "Judge", with_interval=True)


def draw_agreement(agreements: Sequence[VerdictAgreement]) -> None:
    """Draw the agreement of each run's verdicts with people's preferences, with and without ties."""
    st.subheader("Agreement with people's preferences", anchor=False)
    st.caption(
        "The share of verdicts that equal people's preference; without ties: only items without a tie by people."
    )
    st.dataframe(
        [
            {
                "Run": agreement.run,
                "Criterion": agreement.criterion,
                "With ties": format_estimate(agreement.with_ties),
                "Items": agreement.with_ties.items,
                "Without ties": format_estimate(agreement.without_ties),
                "Items ": agreement.without_ties.items,
                "No verdict": agreement.no_verdict,
            }
            for agreement in agreements
        ],
        hide_index=True,
        column_config={name: st.column_config.TextColumn(alignment="right") for name in ("With ties", "Without ties")},
    )


def draw_grid(
    row_names: Sequence[str], estimates: Mapping[tuple[str, str], Estimate], row_title: str, *, with_interval: bool
) -> None:
    """Draw estimates by row and column, with the number of items in the last column."""
    column_names = list(dict.fromkeys(column for _, column in estimates))
    lines = []
    for name in row_names:
        cells = {column: estimates[name, column] for column in column_names if (name, column) in estimates}
        line: dict[str, Any] = {row_title: name or "no category"}
        for column in column_names:
            estimate = cells.get(column)
            line[truncate(column, 40)] = "–" if estimate is None else _cell_text(estimate, with_interval)
        lines.append(line | {"Items": max(estimate.items for estimate in cells.values())})
    right = st.column_config.TextColumn(alignment="right")
    st.dataframe(lines, hide_index=True, column_config={truncate(column, 40): right for column in column_names})


def _cell_text(estimate: Estimate, with_interval: bool) -> str:
    return format_estimate(estimate) if with_interval else numbers.format_estimate(estimate.value, None, None, digits=1)


draw_page(shell.draw_header("Weights", "Distances between the aspect weights of people and of judges."))
