"""Errors of a peer review's area chair, by how many of its peers were right (ReFeR, Figure 3)."""

import shlex
from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from core.formats.tables import Column, Table, records
from core.provenance import WILSON
from core.statistics.data.arrays import Estimate
from core.statistics.reports import peer_errors as error_analysis
from pages.parts import charts, colours, numbers, resources, shell, tables
from pages.parts.text import escape_markdown
from pages.results.parts import alignment_data, item_drilldown
from storage.reports import peer_reviews
from storage.runs.runs import Run
from storage.studies.studies import Study

# Name of a share -> its title and its definition.
SHARE_TITLES = {
    "some": ("Right with some peers right", "The chair was right, and some but not all of its peers were."),
    "led astray": ("Wrong with a peer right", "The chair was wrong, and at least one of its peers was right."),
    "alone": ("Right with no peer right", "The chair was right, and none of its peers was."),
}


INFLUENCE_COLUMNS = (
    Column("Chair asked again", "name"),
    Column("n", "items", "count"),
    Column("Verdict changed by", "change.value change.low change.high", "estimate"),
    Column("Distance", "distance.value distance.low distance.high", "estimate"),
    Column("Error with all peers, more", "error.value error.low error.high", "estimate"),
)


def choose(runs: list[Run]) -> tuple[Run, str, float]:
    """Draw the choices; returns the run, the criterion and the tolerance as a share of the scale, all in the URL."""
    with alignment_data.draw_row():
        names = [run.name for run in runs]
        run = runs[names.index(alignment_data.choose("Run", names, "run", on_change=close))]
        criteria = peer_reviews.criteria_of_run(run) or [""]
        criterion = alignment_data.choose("Criterion", criteria, "criterion", on_change=close)
        percent = round(100 * error_analysis.THRESHOLD)
        if run.settings.get("verdict", "score") == "score":
            percent = st.slider(
                "Tolerance for scores",
                0,
                100,
                percent,
                5,
                format="%d %%",
                key="within",
                bind="query-params",
                width=320,
                help="A score is right within this share of the length of the scale from the mean of people's scores. "
                "The paper uses 25 %.",
                on_change=close,
            )
    return run, criterion, percent / 100


def draw_page(study: Study) -> None:
    """Draw the shares, the chart, and the items of the selected bar."""
    alignment_data.rerun_on_change(study, alignment_data.label_version(study))
    item_drilldown.apply_selection()
    runs = resources.read(peer_reviews.find_runs, study.id)
    if not runs:
        fact, advice = "This study has no peer reviews yet.", "Start a run with the protocol ReFeR, or import one."
        return shell.draw_missing(study, fact, advice, shell.RUN, script="results/peer_errors.py", protocol="refer")
    run, criterion, threshold = choose(runs)
    errors = resources.read(peer_reviews.load_errors, run, shell.current_annotator(), criterion)
    if not errors.reviewed and not errors.without_truth:
        st.info("This run has no verdicts yet. They appear here when the first traces have finished.")
        return
    if not errors.reviewed:
        st.info("The items of this run have neither labels nor reference answers.")
        return shell.draw_link("label/scores.py", "Label", "star_half", study=study.name)
    is_score = errors.settings.kind == "score"
    tolerance = error_analysis.score_tolerance(errors.settings.scale, threshold) if is_score else None
    outcomes = error_analysis.classify_traces(errors.reviewed, tolerance)
    draw_shares(outcomes)
    draw_chart(outcomes)
    st.caption(f"Run {escape_markdown(run.name)}: {describe_rule(errors, tolerance)}")
    draw_misleading_peers(outcomes)
    draw_selected_items(outcomes, errors)
    draw_influences(run, resources.read(peer_reviews.load_influences, run, errors, criterion))
    draw_front(resources.read(peer_reviews.load_front, run, errors, criterion))
    draw_people(study, *error_analysis.compare_with_people(outcomes, errors.misleading))


def draw_shares(outcomes: list[error_analysis.TraceOutcome]) -> None:
    """Draw the three shares that the paper reports (Section 5.3)."""
    with st.container(horizontal=True, gap="large", key="headline"):
        for name, share in error_analysis.published_shares(outcomes).items():
            title, definition = SHARE_TITLES[name]
            with st.container(width="content", gap=None):
                st.markdown(title, help=definition)
                st.markdown(f"### {format_share(share)}")
                st.caption(f"{share.items} of {numbers.format_count(share.items_total, 'trace')}")


def format_share(share: Estimate) -> str:
    """Return `43 % [30, 56]` in Markdown."""
    if share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{100 * share.value:.0f} % \\[{100 * share.low:.0f}, {100 * share.high:.0f}\\]"


def describe_rule(errors: peer_reviews.PeerErrors, tolerance: float | None) -> str:
    """Return the definition of a correct answer, and the number of traces left out."""
    if errors.settings.kind != "score":
        rule = "an answer is right if it equals people's answer or the item's reference"
    elif tolerance is not None:
        rule = f"a score is right if it is at most {tolerance:g} from people's mean"
    else:
        rule = "a score is right if it equals people's mean"
    parts = [rule, "unreadable replies count as wrong"]
    if errors.without_truth:
        parts.append(f"{numbers.format_count(errors.without_truth, 'trace')} without a truth to compare with left out")
    return "; ".join(parts) + "."


def draw_chart(outcomes: list[error_analysis.TraceOutcome]) -> None:
    """Draw one bar for each number of right peers; a click selects its items."""
    slices = error_analysis.outcome_slices(outcomes)
    alt = "; ".join(f"{bar.name}: {len(bar.outcomes)}" for bar in slices)
    data = charts.ChartData(records(slices, error_analysis.COLUMNS), WILSON, "traces")
    selected = st.query_params.get("slice")
    charts.draw(
        error_figure(slices), "errors", alt, lambda: item_drilldown.pick(slice=charts.clicked_point("errors")), data,
        selected,
    )  # fmt: skip


def close() -> None:
    """List no traces any more."""
    item_drilldown.pick(slice=None)


def error_figure(slices: Sequence[error_analysis.OutcomeSlice]) -> go.Figure:
    """Return stacked bars of numbers of traces by right peers, split by whether the chair was right."""
    peer_counts = sorted({bar.peers for bar in slices})
    named = len(peer_counts) > 1  # the axis says `2 of 3` if the number of peers differs between traces
    figure = go.Figure()
    for right, name, colour in ((True, "✓ chair right", colours.TRUE), (False, "✗ chair wrong", colours.FALSE)):
        bars = [bar for bar in slices if bar.chair_right == right]
        figure.add_trace(
            go.Bar(
                x=[_axis_name(bar.peers_right, bar.peers, named) for bar in bars],
                y=[len(bar.outcomes) for bar in bars],
                name=name,
                marker={"color": colour},
                text=[f"<b>{name[0]} {len(bar.outcomes)}</b><br>{100 * (bar.share.value or 0):.0f} %" for bar in bars],
                textposition="inside",
                customdata=[bar.name for bar in bars],
                hovertext=[_hover_text(bar) for bar in bars],
                hoverinfo="text",
                unselected={"marker": {"opacity": 0.45}},
            )
        )
    order = [_axis_name(right, count, named) for count in peer_counts for right in range(count + 1)]
    total = numbers.format_count(sum(len(bar.outcomes) for bar in slices), "trace")
    figure.update_layout(barmode="stack", bargap=0.25)
    figure.update_xaxes(
        title=f"peers that were right (n: {total})", type="category", categoryorder="array", categoryarray=order,
        range=[-0.5, len(order) - 0.5],
    )  # fmt: skip
    figure.update_yaxes(title="traces", rangemode="tozero", tickformat="d", nticks=6)
    return charts.apply_layout(figure, "The area chair, by how many peers were right", 400, legend=True)


def _axis_name(peers_right: int, peers: int, named: bool) -> str:
    return f"{peers_right} of {peers}" if named else str(peers_right)


def _hover_text(bar: error_analysis.OutcomeSlice) -> str:
    low, high = 100 * (bar.share.low or 0), 100 * (bar.share.high or 0)
    share = f"{100 * (bar.share.value or 0):.0f} % [{low:.0f}, {high:.0f}] of {bar.share.items_total} traces"
    return f"{bar.name}<br>{len(bar.outcomes)} traces, {share}<br>Click to list the traces"


def draw_misleading_peers(outcomes: list[error_analysis.TraceOutcome]) -> None:
    """Write which peers erred in the same way as the chair."""
    counts = error_analysis.count_misleading_peers(outcomes).most_common()
    wrong = sum(not outcome.chair_right for outcome in outcomes)
    if counts:
        peers = ", ".join(f"**{escape_markdown(name)}** in {count}" for name, count in counts)
        st.markdown(
            f"Peers that erred in the same way as the chair, in {numbers.format_count(wrong, 'trace')} in which it was "
            f"wrong: {peers}."
        )


def draw_influences(run: Run, found: Sequence[error_analysis.PeerInfluence]) -> None:
    """Draw how the chair's verdicts change without each peer, or the command that asks the chair again."""
    st.subheader("Influence of each peer", anchor=False)
    if not found:
        st.caption(
            "The chair can be asked again without each of its peers, whose reviews are stored, and with altered ones. "
            f"In a terminal: `cli.py judges influence {escape_markdown(shlex.quote(run.name))} --altered --study S`."
        )
        return
    tables.draw(Table("influences", found, INFLUENCE_COLUMNS, ()))
    st.caption(
        "The verdict with all peers less the one without a peer, with an altered review, of another chair or of a "
        "jury, on the same items, with 95 % intervals over items. Error: the distance from people's value with all "
        "peers less that of the other verdict; above 0 the other one is better. With all peers and another seed, the "
        "difference is that of the chair's own variation."
    )


def draw_front(points: Sequence[peer_reviews.FrontPoint]) -> None:
    """Draw the error and the cost of the chair by its peers and samples, if they differ in any."""
    if len(points) < 2:
        return
    st.subheader("Error and cost by peers and samples", anchor=False)
    rows = [
        {
            "Peers": one.peers,
            "Samples": one.samples,
            "n": one.items,
            "Error": numbers.format_interval(one.error),
            "Dollars of 1,000 traces": one.dollars,
            "Tokens of a trace": one.tokens,
            "On the front": one.on_front,
        }
        for one in points
    ]
    st.dataframe(rows, hide_index=True, key="front")
    st.caption(
        "The mean distance from people's value, of answers the share that is wrong, on the same items, from stored "
        "replies; samples of one request share its prompt. On the front: no other choice has a smaller error for as "
        "much or less."
    )


def draw_people(study: Study, named: Sequence[tuple[str, int, int]], agreement: Estimate) -> None:
    """Draw which peers people say misled the chair, beside the estimate from the scores."""
    st.subheader("Which peer misled the chair, by people", anchor=False)
    if not agreement.items_total:
        st.caption("No review has a label yet. A person can label each review after scoring its item.")
        shell.draw_link("label/peers.py", "Label", "checklist", study=study.name)
        return
    rows = [{"Peer": name, "People": people, "Estimate": estimate} for name, people, estimate in named]
    st.dataframe(rows, hide_index=True, width="content")
    labelled = numbers.format_count(agreement.items_total, "labelled review")
    st.caption(
        f"The estimate, from scores on the same side of the truth, agrees with people in "
        f"{format_share(agreement)} of {labelled}. It can name several peers of a review."
    )


def draw_selected_items(outcomes: list[error_analysis.TraceOutcome], errors: peer_reviews.PeerErrors) -> None:
    """Draw the traces of the selected slice; a click opens one."""
    slices = {one.name: one.outcomes for one in error_analysis.outcome_slices(outcomes)}
    selected = slices.get(st.query_params.get("slice", ""), ())
    if not selected:
        st.caption("Click a bar to list its traces.")
        return
    item_drilldown.draw_heading(f"Selected traces: {len(selected):,}", close)
    rows = [table_line(outcome, errors) for outcome in selected]
    clicked = tables.draw_clickable(rows, "selected_items")
    if clicked is not None:
        trace = selected[clicked].reviewed.trace
        st.switch_page(shell.page_path("watch/traces.py"), query_params={"trace": str(trace)})
    if any(outcome.reviewed.item in errors.hidden for outcome in selected):
        st.caption(":material/visibility_off: Opinions on items that you have not labelled are hidden.")


def table_line(outcome: error_analysis.TraceOutcome, errors: peer_reviews.PeerErrors) -> dict[str, str]:
    """Return a table row with the values, each with ✓ for right or ✗ for wrong."""
    reviewed = outcome.reviewed
    row = {"Item": reviewed.item}
    if reviewed.item in errors.hidden:
        return row | {"Truth": "hidden"}
    row |= {"Truth": numbers.format_value(reviewed.truth)}
    right = {name: name in outcome.peers_right for name, _ in reviewed.peers} | {"Chair": outcome.chair_right}
    values = (*reviewed.peers, ("Chair", reviewed.chair))
    return row | {name: f"{numbers.format_value(value)} {'✓' if right[name] else '✗'}" for name, value in values}


draw_page(
    shell.draw_header("Peer errors", "When a peer review goes wrong: was the area chair right when its peers were?")
)
