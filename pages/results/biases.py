"""Do judges prefer a response for its position, its length or its author, or depend on the criterion's format?

Each question has one test for each judge, with Holm's correction.
"""

from collections.abc import Sequence
from functools import partial

from core.formats.tables import Table
from core.provenance import BIAS_TESTS
from core.statistics.reports.judge_findings import CHOICES, BiasRow, FormatRow, summarize, summarize_formats
from core.wording import equate_p
from pages.parts import resources, shell
from pages.parts.charts import ChartData
from pages.results.parts import alignment_data
from pages.results.renderer import Intervals, Mark, Result, Section, draw_sections
from storage.reports import alignment, judge_biases, judge_ranking
from storage.studies.studies import Study

Report = tuple[list[BiasRow], list[FormatRow]]
EFFECT = (
    "Effect: how much more often than one half a judge chooses the response shown first, the longer one, or that "
    "of its own model family (self-preference); 0 is no bias, 0.5 is always. For length and family, people's own "
    "preference is taken out: the effect is the average over the pairs on which people chose that response and "
    "those on which they chose the other. People are tested for position only, by the order in which each "
    "annotator saw the responses."
)
FORMAT_EFFECT = (
    "Runs with equal settings but another format of the criterion, on the same targets: the accuracy with a format "
    "minus that with the base format. A missing verdict is an error."
)
FORMAT_METHOD = "Paired differences, BCa bootstrap of targets (1,000 resamples, seed 0), p-values by Holm's method"


def filters(data: alignment.AlignmentData) -> judge_ranking.RankingQuery | None:
    """Draw the choices of a criterion and a scenario."""
    keys = [("preference", name) for name in judge_biases.choices(data)]
    return alignment_data.choose_query(keys, partial(judge_ranking.scenarios, data)) if keys else None


def compute(study: Study, data: alignment.AlignmentData, query: judge_ranking.RankingQuery) -> Report:
    """Return the biases, and the effects of the criterion's format."""
    engine = resources.engine()
    return judge_biases.compute(engine, study, data, query), judge_biases.compute_formats(engine, study, data, query)


def show(study: Study, data: alignment.AlignmentData, query: judge_ranking.RankingQuery, report: Report) -> Result:
    """Return the biases of each judge, and below them the formats if runs differ in these only."""
    rows, formats = report
    unknown = alignment.unknown_systems((systems for _, systems in data.systems.values()), study.rules.families)
    return Result(
        headline=summarize(rows, unknown),
        caption=EFFECT,
        figures=[bias_chart(rows)],
        tables=[Table("biases", rows, judge_biases.COLUMNS)],
        rest=[format_result(formats)] if formats else [],
    )


def format_result(rows: Sequence[FormatRow]) -> Result:
    """Return the effects of the criterion's format."""
    return Result(
        title="Does the wording of the criterion change a judge?",
        headline=summarize_formats(rows),
        caption=FORMAT_EFFECT,
        figures=[format_chart(rows)],
        tables=[Table("formats", rows, judge_biases.FORMAT_COLUMNS, judge_biases.format_table(rows))],
    )


def bias_chart(rows: Sequence[BiasRow]) -> Intervals:
    """Return a row for each bias of each judge; 0 is no bias."""
    marks = [
        Mark.of(f"{row.judge}, {row.bias}", row.effect, "bias" if row.found else "no bias found", details(row))
        for row in rows
    ]
    data = ChartData(judge_biases.table(rows), BIAS_TESTS, "verdicts")
    series = (("bias", "circle"), ("no bias found", "circle-open"))
    axis = "Effect and 95 % interval"
    return Intervals("biases", "Biases of each judge", axis, series, marks, zero=0, sign=True, data=data)


def details(row: BiasRow) -> str:
    """Return what a judge prefers, if a bias was found, and its p."""
    preferred = f"prefers {CHOICES[row.bias][(row.effect.value or 0) < 0]}" if row.found else ""
    p = "" if row.p_corrected is None else f"Holm-corrected {equate_p(row.p_corrected)}"
    return ", ".join(filter(None, (preferred, p)))


def format_chart(rows: Sequence[FormatRow]) -> Intervals:
    """Return a row for each judge and format; 0 is no effect on its accuracy."""
    marks = [
        Mark(
            f"{row.judge}, {row.format}", row.effect, row.low, row.high,
            "changed" if row.found else "no change found", f"{row.targets:,}",
        )
        for row in rows
        if row.effect is not None
    ]  # fmt: skip
    data = ChartData(list(rows), FORMAT_METHOD, "targets")
    series = (("changed", "circle"), ("no change found", "circle-open"))
    axis = "Difference in accuracy and 95 % interval"
    return Intervals("formats", "Effect of the criterion's format", axis, series, marks, zero=0, data=data)


SECTION = Section(
    name="biases",
    title="Biases",
    filters=filters,
    compute=compute,
    show=show,
    empty="Biases need judges and people who compare the same pairs of responses. This study has none yet.",
)
QUESTION = "Does a judge prefer a response for its position, its length or its author?"

draw_sections(shell.draw_header(SECTION.title, QUESTION), [SECTION])
