"""How far weights are apart by rank, what is weighed on average, and what comes of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.statistics.data.estimate import Estimate
from core.statistics.reports.weight_distances import ALL, PEOPLE, Average, Compared, Measure, kendall, top_k
from pages.parts import numbers, resources, shell
from pages.parts.text import plain, short
from pages.results.parts import weight_charts
from storage import database, labels, studies
from storage.reports import weights
from storage.reports.weights import Agreed, Behind, Quality
from storage.studies import Study

MEASURES = {"kendall": "Kendall, ties included", "heaviest": "Heaviest aspects, K⁽ᵖ⁾"}
PENALTIES = {0.5: "½: a metric", 0.0: "0: forgiving"}


@dataclass(frozen=True)
class Chosen:
    """How distances are measured: plain values, so that the figures can be shared between visits."""

    name: str = "kendall"
    k: int = 1
    p: float = 0.5

    @property
    def measure(self) -> Measure:
        """As the statistics want it."""
        return kendall if self.name == "kendall" else top_k(self.k, self.p)

    @property
    def axis(self) -> str:
        """What stands under a chart of it."""
        if self.name == "kendall":
            return "Rank distance, 0 the same order, 1 the opposite"
        return f"Pairs of aspects in another order among the {self.k} heaviest"


@st.cache_data(max_entries=64, show_spinner=False)
def compared(address: str, study_id: int, chosen: Chosen, at: tuple[int, int]) -> list[Compared]:
    """The distances of a version of the labels; everybody who looks shares them."""
    return weights.rows(resources.engine(), of_id(study_id), chosen.measure)


@st.cache_data(max_entries=64, show_spinner=False)
def told(address: str, study_id: int, at: tuple[int, int]) -> tuple[list[Average], list[Quality], list[Agreed]]:
    """What else there is to say of that version."""
    engine, study = resources.engine(), of_id(study_id)
    return weights.by_category(engine, study), weights.qualities(engine, study), weights.agreed(engine, study)


def of_id(study_id: int) -> Study:
    """The study of that number."""
    with database.reading(resources.engine()) as session:
        return studies.of_id(session, study_id)


def show(study: Study) -> None:
    """Distances, then averages, quality and agreement, as far as they are there."""
    with database.reading(resources.engine()) as session:
        at = labels.version(session, study.id)
    where = str(resources.engine().url), study.id
    largest = weights.largest(resources.engine(), study)
    averages, qualities, agreed = told(*where, at)
    if largest:
        chosen = choices(largest)
        distances(study, compared(*where, chosen, at), chosen)
        by_category(averages)
    if qualities:
        quality(qualities)
    if agreed:
        agreement(agreed)
    if not largest and not qualities and not agreed:
        nothing(study)


def nothing(study: Study) -> None:
    """What to do where nobody has weighed anything."""
    st.info(
        "No weights yet: a DnA-Eval run makes a judge's, people give theirs under Aspect weights, a file brings both."
    )
    shell.offer_sample("results/weights.py", "dna_eval")
    links = [
        ("setup/runs.py", "Start a run", ":material/play_circle:"),
        ("label/weights.py", "Weigh aspects", ":material/tune:"),
        ("setup/studies.py", "Import", ":material/upload_file:"),
    ]
    with st.container(horizontal=True):
        for script, label, icon in links:
            st.page_link(shell.page(script), label=label, icon=icon, query_params={"study": study.name})


def choices(largest: int) -> Chosen:
    """How to measure; it is in the address."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="choices"):
        name = st.segmented_control(
            "Distance",
            list(MEASURES),
            format_func=lambda name: MEASURES[name],
            default="kendall",
            required=True,
            key="distance",
            bind="query-params",
            help="Kendall: (1 − τ_b) / 2 of the order of the weights. K⁽ᵖ⁾ (Fagin et al. 2003): pairs of aspects that "
            "two lists of the heaviest aspects order otherwise; a pair that only one of them ties counts p.",
        )
        if name == "kendall":
            return Chosen()
        k = st.selectbox("How many aspects", range(1, largest + 1), index=min(2, largest) - 1, key="k", width=160)
        p = st.selectbox("A tie counts", list(PENALTIES), format_func=lambda p: PENALTIES[p], key="p", width=160)
    return Chosen(str(name), int(k or 1), float(0.5 if p is None else p))


def distances(study: Study, rows: Sequence[Compared], chosen: Chosen) -> None:
    """The human value, each judge beside it, and every pair in a table that opens its weightings."""
    human = next((row for row in rows if row.rater_a == row.rater_b == PEOPLE), None)
    judges = [row for row in rows if row.rater_b == PEOPLE and not row.among_people]
    lone = [row for row in rows if not row.among_people and row.rater_b != PEOPLE] if not judges else []
    headline(human)
    pointed = None
    if judges or lone:
        order = sorted(judges or lone, key=lambda row: row.distance.value if row.distance.value is not None else 9)
        place = weight_charts.distances(order, human, chosen.axis, "distances")
        pointed = None if place is None else order[place]
    if not rows:
        st.caption("Nobody has weighed what somebody else has: there is no distance yet.")
        return
    clicked = pairs(rows) or pointed
    if clicked is not None:
        opened(study, clicked, chosen)


def headline(human: Compared | None) -> None:
    """`0.12 [0.08, 0.16]`, with what it stands on."""
    with st.container(gap=None):
        st.caption("Distance between people")
        if human is None:
            st.markdown("## –")
            st.caption("Two people have to weigh the same aspects.")
            return
        st.markdown(f"## {figure(human.distance)}")
        parts = [numbers.count(human.items, "weighting"), numbers.count(human.distance.raters, "person", "people")]
        parts += [f"{human.undefined} undefined, left out"] if human.undefined else []
        st.caption(" · ".join(parts))
        if human.distance.reason and not human.undefined:
            st.caption(plain(human.distance.reason))


def figure(estimate: Estimate) -> str:
    """A value with its interval."""
    return numbers.estimate(estimate.value, estimate.low, estimate.high)


def pairs(rows: Sequence[Compared]) -> Compared | None:
    """Every pair of raters; the one that is clicked."""
    lines = [
        {
            "Raters": f"{row.rater_a} × {row.rater_b}" if row.rater_a != row.rater_b else "people, all pairs",
            "Between": "people" if row.among_people else "judge and people",
            "Distance": figure(row.distance),
            "Undefined as 0": "–"
            if row.distance_undefined_as_zero is None
            else f"{row.distance_undefined_as_zero:.2f}",
            "Weightings": row.items,
            "Undefined": row.undefined,
        }
        for row in rows
    ]
    right = st.column_config.TextColumn(alignment="right")
    help_ = "Weights that are all equal have no order. The authors count them as the same order; we leave them out."
    picked: Any = st.dataframe(
        lines,
        key="pairs",
        on_select="rerun",
        selection_mode="single-cell",
        hide_index=True,
        height=min(38 + 35 * len(lines), 420),
        column_config={
            "Distance": right,
            "Undefined as 0": st.column_config.TextColumn(alignment="right", help=help_),
        },
    )
    st.caption("Click a row, or a point of the chart, to see the weightings behind it.")
    cells = picked.selection.cells
    return rows[cells[0][0]] if cells else None


def opened(study: Study, row: Compared, chosen: Chosen) -> None:
    """The weightings behind a row, the farthest apart first; a click opens the trace."""
    found = weights.behind(resources.engine(), study, row, chosen.measure, shell.annotator())
    pair = row.rater_a if row.rater_a == row.rater_b else f"{row.rater_a} × {row.rater_b}"
    st.subheader(f"Weightings behind {plain(pair)}: {len(found):,}", anchor=False)
    if any(one.blind for one in found):
        st.caption(":material/visibility_off: What others gave is hidden where you have not weighed yourself.")
    picked: Any = st.dataframe(
        [line(one) for one in found],
        key=f"behind-{pair}",
        on_select="rerun",
        selection_mode="single-cell",
        hide_index=True,
        height=min(38 + 35 * len(found), 420),
    )
    cells = picked.selection.cells
    if cells and found[cells[0][0]].trace is not None:
        st.switch_page(shell.page("watch/traces.py"), query_params={"trace": str(found[cells[0][0]].trace)})


def line(one: Behind) -> dict[str, Any]:
    """One weighting: its distance, and everybody's weights in the order of the aspects."""
    distance = "hidden" if one.blind else "undefined" if one.distance is None else f"{one.distance:.2f}"
    row = {"Item": one.item, "Scenario": one.scenario, "Distance": distance}
    for rater, given in one.given.items():
        row[rater] = " · ".join(f"{weight:.3g}" for weight in given.values())
    return row | ({"Trace": "open ›"} if one.trace is not None else {})


def by_category(averages: Sequence[Average]) -> None:
    """One rater's average weights: categories down, aspects across."""
    st.subheader("Average weights", anchor=False)
    if not averages:
        st.caption("Each item has aspects of its own here, so there is no average over items.")
        return
    raters = list(dict.fromkeys((one.rater, one.is_judge) for one in averages))
    chosen = st.selectbox(
        "Whose",
        raters,
        format_func=lambda rater: f"{rater[0]} ({'judge' if rater[1] else 'person'})",
        key="whose",
        width=320,
    )
    own = [one for one in averages if (one.rater, one.is_judge) == chosen]
    grid(
        sorted({one.scenario for one in own}, key=lambda name: (name != ALL, name)),
        {(one.scenario, one.aspect): one.weight for one in own},
        "Category",
        lambda estimate: f"{estimate.value:.1f}",
        counted=True,
    )
    st.caption("In percent; every weighting was brought to a sum of 100 first.")


def quality(qualities: Sequence[Quality]) -> None:
    """How people rate the aspects, judge by judge."""
    st.subheader("Quality of the aspects", anchor=False)
    st.caption("People's ratings from 1 to 5 of each judge's aspects as a set, with the 95 % interval over items.")
    found = {(one.judge, one.quality.capitalize()): one.rating for one in qualities}
    grid(sorted({judge for judge, _ in found}), found, "Judge", figure, counted=True)


def agreement(agreed: Sequence[Agreed]) -> None:
    """Each run against what people stand for, with and without ties."""
    st.subheader("Agreement with people's preferences", anchor=False)
    st.caption(
        "The share of verdicts that are people's own choice; without ties: on items that people do not call equal."
    )
    st.dataframe(
        [
            {
                "Run": one.run,
                "Criterion": one.criterion,
                "With ties": figure(one.with_ties),
                "Items": one.with_ties.items,
                "Without ties": figure(one.without_ties),
                "Items ": one.without_ties.items,
                "No verdict": one.no_verdict,
            }
            for one in agreed
        ],
        hide_index=True,
        column_config={name: st.column_config.TextColumn(alignment="right") for name in ("With ties", "Without ties")},
    )


def grid(
    down: Sequence[str],
    found: dict[tuple[str, str], Estimate],
    name: str,
    shown: Callable[[Estimate], str],
    *,
    counted: bool,
) -> None:
    """Estimates in a table: names down, and across whatever there is."""
    across = list(dict.fromkeys(column for _, column in found))
    rows = []
    for one in down:
        there = {column: found[one, column] for column in across if (one, column) in found}
        row: dict[str, Any] = {name: one or "no category"}
        row |= {short(column, 40): shown(there[column]) if column in there else "–" for column in across}
        rows.append(row | ({"Items": max(estimate.items for estimate in there.values())} if counted else {}))
    right = st.column_config.TextColumn(alignment="right")
    st.dataframe(rows, hide_index=True, column_config={short(column, 40): right for column in across})


chosen_study = shell.opened("Weights", "How far people's aspect weights are apart, and the judges' from theirs.")
show(chosen_study)
