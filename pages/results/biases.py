"""Do judges prefer a response for its position, its length or its author?

Each question has one test for each judge, with Holm's correction.
"""

from collections.abc import Sequence
from functools import partial

from core.formats.tables import Table
from core.provenance import BIAS_TESTS
from core.statistics.reports.judge_findings import CHOICES, BiasRow, summarize
from core.wording import equate_p
from pages.parts import resources, shell
from pages.parts.charts import ChartData
from pages.results.parts import alignment_data
from pages.results.renderer import Intervals, Mark, Result, Section, draw_sections
from storage.reports import alignment, judge_biases, judge_ranking
from storage.studies.studies import Study

EFFECT = (
    "Effect: how much more often than one half a judge chooses the response shown first, the longer one, or that "
    "of its own model family (self-preference); 0 is no bias, 0.5 is always. For length and family, people's own "
    "preference is taken out: the effect is the average over the pairs on which people chose that response and "
    "those on which they chose the other. People are tested for position only, by the order in which each "
    "annotator saw the responses."
)


def filters(data: alignment.AlignmentData) -> judge_ranking.RankingQuery | None:
    """Draw the choices of a criterion and a scenario."""
    keys = [("preference", name) for name in judge_biases.choices(data)]
    return alignment_data.choose_query(keys, partial(judge_ranking.scenarios, data)) if keys else None


def compute(study: Study, data: alignment.AlignmentData, query: judge_ranking.RankingQuery) -> list[BiasRow]:
    """Return the biases."""
    return judge_biases.compute(resources.engine(), study, data, query)


def show(study: Study, data: alignment.AlignmentData, query: judge_ranking.RankingQuery, rows: list[BiasRow]) -> Result:
    """Return the biases of each judge."""
    unknown = alignment.unknown_systems((systems for _, systems in data.systems.values()), study.rules.families)
    return Result(
        headline=summarize(rows, unknown),
        caption=EFFECT,
        figures=[bias_chart(rows)],
        tables=[Table("biases", rows, judge_biases.COLUMNS)],
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
