"""Stored aspect scores under other weights: is the gain over one overall score from decomposing or from weighting?"""

from functools import partial

from core.formats.tables import Table
from core.statistics.reports.weight_laboratory import LaboratoryReport
from pages.parts import charts, live, resources, shell
from pages.parts.text import escape_markdown
from pages.results import renderer
from pages.results.parts import alignment_data
from pages.results.renderer import Intervals, Mark, Result
from storage.reports import weights
from storage.studies.studies import Study

PAGE = "laboratory"


def draw_page(study: Study) -> None:
    """Draw the report of one judge of one run, and redraw it when a label or an opinion is added."""
    drawn_version = alignment_data.follow(study, PAGE)
    reference, row = alignment_data.draw_reference_choice(study, drawn_version)

    def compute(version: alignment_data.Version) -> list[LaboratoryReport]:
        measure = partial(weights.laboratory, resources.engine(), study, reference=reference)
        return live.cached(study, version, PAGE, measure, reference)

    found = alignment_data.figures(study, PAGE, drawn_version, compute)
    reports = {report.judge: report for report in found}
    if not reports:
        fact = "Needed: a run of DnA-Eval over items with two responses, and people's preferences on them."
        label = ("label/home.py", "Label preferences", ":material/edit:")
        return shell.draw_missing(
            study, fact, "", shell.RUN, label, script="results/laboratory.py", protocol="dna_eval"
        )
    judge = row.selectbox("Judge and run", list(reports), key="judge", bind="query-params", width=420)
    renderer.draw_result(report_result(reports[judge]))


def report_result(report: LaboratoryReport) -> Result:
    """Return the answer in a sentence, and the agreements of the weights."""
    unfitted = f":material/info: No fitted weights: {escape_markdown(report.unfitted)}." if report.unfitted else ""
    marks = [Mark.of(row.scheme, row.agreement) for row in report.schemes if not row.less]
    axis, data = "Agreement and 95 % interval", charts.ChartData(report.schemes)
    return Result(
        headline=report.answer,
        caption="\n\n".join(filter(None, (escape_markdown(report.details), unfitted))),
        figures=[Intervals("agreements", "Agreement by weights", axis, (("", "circle"),), marks, data=data)],
        tables=[Table("schemes", report.schemes, weights.SCHEME_COLUMNS)],
    )


draw_page(shell.draw_header("Weights laboratory", "Is the gain from scoring by aspects, or from weighting them?"))
