"""The sections of the page Compare runs: settings, figures of runs, and pairs."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.formats.tables import rows_csv
from core.setting_differences import TextDifference
from core.statistics import catalogue
from core.statistics.data.arrays import Estimate
from core.statistics.measures.comparison import Comparison
from core.statistics.reports.run_comparison import Pair, RunComparison, RunFigures
from core.wording import short_names
from pages.parts import axes, chart_files, charts, downloads, numbers, tables
from pages.parts.axes import GAP, LINE_HEIGHT, count_lines, wrap_names
from pages.parts.chart_files import ChartData
from pages.parts.text import escape_markdown
from storage.reports import run_comparison as report
from storage.reports.judge_costs import RunCost
from storage.reports.run_comparison import ComparedRuns

if TYPE_CHECKING:
    import plotly.graph_objects as go


# The chart of compared runs: their statistic against the reference, with its interval and n.

ROW_HEIGHT = 40


@chart_files.built_once
def run_figure(rows: Sequence[tuple[str, Estimate]], title: str, axis: str) -> "go.Figure":
    """Return the figure of (run, estimate with a value), the first at the top."""
    drawn = list(reversed(rows))
    places = list(range(len(drawn)))
    names = list(wrap_names(name for name, _ in drawn).values())
    estimates = [estimate for _, estimate in drawn]
    chart = charts.row_figure(
        [(estimate.value, estimate.low, estimate.high) for estimate in estimates],
        places,
        [_hover_text(name, estimate) for name, estimate in drawn],
        [estimate.items for estimate in estimates],
        charts.accent_colour(),
    )
    ends = [end for one in estimates for end in (one.value, one.low, one.high) if end is not None]
    chart.update_xaxes(title=axis, showgrid=True, zeroline=False, **axes.fit_axis(axes.fit_range(ends)))
    chart.update_yaxes(tickvals=places, ticktext=names, range=[-0.6, len(drawn) - 0.4], showgrid=False, zeroline=False)
    lines = max(map(count_lines, names))
    height = 110 + max(ROW_HEIGHT, LINE_HEIGHT * lines + GAP) * len(drawn)
    return charts.apply_layout(chart, title, height, legend=False)


def _hover_text(name: str, estimate: Estimate) -> str:
    text = numbers.format_estimate(estimate.value, estimate.low, estimate.high, 3)
    return f"<b>{escape(name, quote=False)}</b><br>{text}<br>{numbers.format_count(estimate.items, 'target')}"


MAX_SENTENCES = 3
"""Pairs that are described before their table; of more the sentences are hidden until they are opened."""
ONLY_IN_FILE = ("percent", "gwet_ac1")
"""Statistics of pairs that the table leaves out: a screen has no room for them beside κ and the changed verdicts."""
DRAWN = ("accuracy_gold", "pearson")
"""Statistics that the chart shows: the first that the runs have."""


def draw_settings(compared: ComparedRuns) -> None:
    """Draw the settings that differ, then the changed lines of templates and other texts."""
    st.subheader("Settings that differ", anchor=False)
    titles = short_names([run.name for run in compared.runs])
    names = [titles[run.name] for run in compared.runs]
    if compared.settings:
        rows = [{"Setting": one.path, **dict(zip(names, one.values, strict=True))} for one in compared.settings]
        st.dataframe(rows, key="run_settings", hide_index=True)
    elif not compared.texts:
        st.caption("The runs have the same settings and prompts.")
    for difference in compared.texts:
        _draw_text(difference, names)


def _draw_text(difference: TextDifference, names: Sequence[str]) -> None:
    """Draw the lines that other runs change in the text of the first one."""
    with st.expander(f"Text: {escape_markdown(difference.path)}"):
        for place, name in enumerate(names[1:], 1):
            lines = difference.lines(place)
            st.caption(f"{escape_markdown(names[0])} → {escape_markdown(name)}")
            if lines:
                st.code("\n".join(lines), language="diff", wrap_lines=True)
            else:
                st.caption("No difference.")


def draw_runs(compared: ComparedRuns, comparison: RunComparison) -> None:
    """Draw each run against the reference, as a chart and as a table with costs."""
    st.subheader("Each run", anchor=False)
    statistic = next((name for name in DRAWN if any(name in one.estimates for one in comparison.figures)), None)
    titles = short_names(list(compared.columns))
    found = [(titles[one.name], one.estimates.get(statistic or "")) for one in comparison.figures]
    drawn = [(name, estimate) for name, estimate in found if estimate is not None and estimate.value is not None]
    if statistic is not None and drawn:
        title = f"{catalogue.BY_ID[statistic].short} of each run"
        alt = "; ".join(f"{name} {_estimate(estimate)}" for name, estimate in drawn)
        rows = [{"run": name, **vars(estimate)} for name, estimate in drawn]
        charts.draw(
            run_figure(drawn, title, f"{catalogue.BY_ID[statistic].short} and 95 % interval"),
            "runs_chart",
            alt,
            data=ChartData(rows, unit="targets"),
        )
    lines = [_run_line(titles, one, compared.costs[compared.columns[one.name]]) for one in comparison.figures]
    _draw_table(lines, ("Run",), "compared_runs")
    st.caption(
        "Statistics are of targets with a verdict and a reference (n): a missing verdict is left out here, whereas the "
        "page Judges counts it as an error unless chosen otherwise. κ is Cohen's. *Targets* are all of the run. Tokens "
        "and seconds are those of a trace; with dollars they count a reused reply as the call that was made. *Paid* is "
        "without reused replies; *Calls* are all, those reused in brackets."
    )
    _draw_download(report.run_rows(compared, comparison), "runs.csv")


def _run_line(titles: Mapping[str, str], figures: RunFigures, cost: RunCost) -> dict[str, str]:
    line = {"Run": titles[figures.name]} | {
        catalogue.BY_ID[name].short: _estimate(estimate) for name, estimate in figures.estimates.items()
    }
    items = {estimate.items for estimate in figures.estimates.values()}
    line |= {"n": f"{max(items):,}"} if items else {}
    return line | {
        "Targets": f"{figures.targets:,}",
        "No verdict": f"{figures.no_verdict:,}",
        "$ per 1,000": _number(cost.dollars_per_thousand, 2) if not cost.unpriced else "price unknown",
        "Paid": numbers.format_dollars(cost.paid_dollars) if not cost.unpriced else "price unknown",
        "Tokens": _number(cost.tokens_per_trace, 0),
        "Seconds": _number(cost.seconds_per_trace, 2),
        "Calls": f"{cost.calls:,} ({cost.reused:,})",
    }


def draw_pairs(compared: ComparedRuns, comparison: RunComparison) -> None:
    """Draw a sentence for each pair, then its agreement and its difference against the reference."""
    st.subheader("Runs against each other", anchor=False)
    titles = short_names(list(compared.columns))
    sentences = report.summarize(comparison, titles)
    with st.container() if len(sentences) <= MAX_SENTENCES else st.expander(f"The {len(sentences)} pairs in words"):
        for sentence in sentences:
            st.markdown(escape_markdown(sentence))
    if not comparison.pairs:
        st.caption("No two of these runs have verdicts on this criterion: choose another one.")
        return
    lines = [_pair_line(pair, titles) for pair in comparison.pairs]
    names = dict.fromkeys(name for line in sorted(lines, key=len, reverse=True) for name in line)
    lines = [{name: line.get(name, "" if name == "Note" else "–") for name in names} for line in lines]
    _draw_table(lines, ("First", "Second"), "run_pairs")
    tests = f", corrected by Holm's method for {len(comparison.pairs)} pairs" if len(comparison.pairs) > 1 else ""
    st.caption(
        "Difference: the second run minus the first, paired by target, in accuracy on nominal scales and in Pearson's "
        f"r on others. p: paired bootstrap{tests}. Groups of items are resampled together. κ is Cohen's, on "
        "targets with a verdict of both; the file has more statistics."
    )
    _draw_download(report.pair_rows(comparison), "run_pairs.csv")


def _pair_line(pair: Pair, titles: Mapping[str, str]) -> dict[str, str]:
    share = numbers.format_estimate(pair.changed_share, pair.changed_low, pair.changed_high)
    one: Comparison = pair.difference
    line = {
        "First": titles[pair.first],
        "Second": titles[pair.second],
        "Changed verdicts": f"{pair.changed:,} of {pair.targets:,}: {share}" if pair.targets else "no common target",
        "Difference": numbers.format_estimate(one.difference, one.low, one.high, 3),
        "p": numbers.format_p(one.p_corrected),
        "n": f"{one.items:,}",
    }
    line |= {
        catalogue.BY_ID[name].short: _estimate(estimate)
        for name, estimate in pair.agreement.items()
        if name not in ONLY_IN_FILE
    }
    both = {estimate.items for estimate in pair.agreement.values()}
    return line | ({"n of both": f"{max(both):,}"} if both else {}) | ({"Note": one.reason} if one.reason else {})


def _draw_table(lines: Sequence[Mapping[str, Any]], names: Sequence[str], key: str) -> None:
    """Draw a table with columns of names, which leave room for the figures, and a list of the full names."""
    columns = tables.figure_columns(lines, {*names, "Note"})
    st.dataframe(lines, key=key, hide_index=True, column_config=columns)


def _draw_download(rows: Sequence[dict[str, Any]], file_name: str) -> None:
    if rows:
        downloads.draw_csv_download(lambda: rows_csv(rows), file_name, key=f"download_{file_name}")


def _estimate(estimate: Estimate) -> str:
    return numbers.format_estimate(estimate.value, estimate.low, estimate.high)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
