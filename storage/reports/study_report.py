"""The report of a study for an appendix: sizes, judges, causes of their disagreements with people, systems, biases,
agreement and alignment, with captions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, get_args

from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.charts import Mark
from core.formats.html_report import Section
from core.formats.tables import cell
from core.labels import Level
from core.provenance import BIAS_TESTS, CAUSE_MODEL, PAIRED_DIFFERENCES, caption
from core.statistics import catalogue
from core.statistics.data.frames import ALL
from core.statistics.measures.causes import CAUSES
from core.statistics.reports.agreement import AgreementRow
from core.statistics.reports.judges import Ranking, summarize
from core.wording import format_estimate, format_p
from storage.db.connections import reading
from storage.reports import (
    agreement,
    alignment,
    judge_biases,
    judge_errors,
    judge_ranking,
    overview,
    references,
    systems,
)
from storage.reports.alignment import load_data
from storage.reports.judge_ranking import Selection
from storage.studies.studies import Study

COMPARISONS, DISAGREEMENTS = "Differences between judges", "Causes of disagreements"
# What is printed: a column of the values with its name, or of others, three for an interval.
ROWS = "value: value low high", "n: items", "caveat: reason"


def sections(engine: Engine, study: Study, *, reference: str | None = None) -> list[Section]:
    """Return the sections; those without data state the reason in one sentence."""
    makers: Mapping[str, Callable[[Engine, Study, str | None], Section]] = {
        "Judges": _judges,
        COMPARISONS: _comparisons,
        DISAGREEMENTS: _causes,
        "Systems": _systems,
        "Biases of judges": _biases,
    }
    found = [_overview(engine, study)]
    for title, make in makers.items():
        try:
            found.append(make(engine, study, reference))
        except TiebreakError as error:
            found.append(Section(title, [str(error)]))
    return [*found, _agreement(engine, study), _alignment(engine, study, reference)]


def _overview(engine: Engine, study: Study) -> Section:
    with reading(engine) as session:
        counts = overview.counts(session, study.id)
    row = next(iter(overview.agreement(agreement.annotator_agreement(engine, study))), None)
    sentences = [study.description] if study.description else []
    sentences.append(
        f"{counts.items:,} items; {counts.runs:,} runs with {counts.traces:,} traces, of which {counts.disputed:,} are "
        f"disputed and {counts.without_verdict:,} have no verdict on any criterion; {counts.labels:,} labels of "
        f"{counts.annotators:,} annotators."
    )
    if row is not None:
        estimate = format_estimate(row.value, row.low, row.high, 3)
        sentences.append(f"{catalogue.name(row.statistic)} between annotators: {estimate}, n = {row.items:,}.")
    return Section("Overview", sentences)


def _judges(engine: Engine, study: Study, reference: str | None) -> Section:
    report = judge_ranking.of_study(engine, study, Selection(), reference=reference)
    ranking = report.ranking
    from_ceiling = "from_ceiling: from_ceiling from_ceiling_low from_ceiling_high"
    measures = "accuracy: accuracy low high", "targets", "coverage", from_ceiling, "winning_rate"
    sizes, method = [ranking.targets], judge_ranking.describe_method(report)
    return Section(
        "Judges",
        [summarize(ranking), *filter(None, [report.chosen]), *report.notes],
        _printed(judge_ranking.table(report), "judge", "decision", *measures, "reason"),
        caption("Judges, the human ceiling and baselines", sizes, "targets", method),
    )


def _comparisons(engine: Engine, study: Study, reference: str | None) -> Section:
    found, _ = judge_ranking.comparisons_of_study(engine, study, Selection(), reference=reference)
    if not found:
        return Section(COMPARISONS, ["Fewer than two judges can be compared on the same targets."])
    figures = "difference: difference low high", "targets: items", "p_corrected"
    title, sizes = "Differences in accuracy on the same targets", [row.items for row in found]
    return Section(
        COMPARISONS,
        references.debate_note(engine, study.id, reference),
        rows=_printed(found, "judge", "other_judge", *figures, "caveat: reason"),
        table_caption=caption(title, sizes, "targets", PAIRED_DIFFERENCES),
    )


def _causes(engine: Engine, study: Study, reference: str | None) -> Section:
    """Return the causes; they are of people's labels, whatever the reference is."""
    found = judge_errors.of_study(engine, study, Selection())
    causes = (f"{cause}: {judge_errors.keys_of(cause)}" for cause in CAUSES)
    rows = _printed(judge_errors.table(found), "judge", "targets", "disagreements", *causes, "caveat: reason")
    title, sizes = "Causes of the disagreements of judges and people", [errors.causes.decided for errors in found]
    sentences = [errors.sentence for errors in found]
    return Section(DISAGREEMENTS, sentences, rows=rows, table_caption=caption(title, sizes, "targets", CAUSE_MODEL))


def _systems(engine: Engine, study: Study, reference: str | None) -> Section:
    report = systems.report(engine, study, reference=reference)
    overall = [row for row in report.rows if row.scenario == ALL]
    if not overall:
        return Section("Systems", ["No two responses of different systems were labelled or judged."])
    unit = "Win rate" if report.kind == "preference" else "Mean score"
    verdicts = f"verdicts of {report.judge}" if report.judge else "no verdicts"
    people = "people_alone: people people_low people_high"
    alone = people, "verdicts_alone: verdicts verdicts_low verdicts_high"
    strength = "bradley_terry: strength strength_low strength_high"
    columns = "system", "scenario", "together: value low high", *alone, "labelled", "only_judged: judged", strength
    sizes = [row.labelled for row in overall]
    title, method = f"{unit} of each system by {systems.basis(report)}", systems.method(report)
    return Section(
        "Systems",
        [
            f"{report.kind}, {report.criterion}; labels of people (reference: {report.reference}) with {verdicts}.",
            *filter(None, [report.note]),
        ],
        _printed(report.rows, *columns, "caveat: reason"),
        caption(title, sizes, "labelled targets", method),
    )


def _biases(engine: Engine, study: Study, reference: str | None) -> Section:
    rows = judge_biases.of_study(engine, study, Selection(), reference=reference)
    columns = "judge", "bias", "effect: effect low high", "n", "p_corrected", "found", "caveat: note"
    return Section(
        "Biases of judges",
        [*references.debate_note(engine, study.id, reference), judge_biases.sentence(engine, study, rows)],
        rows=_printed(judge_biases.table(rows), *columns),
        table_caption=caption("Biases of judges", [row.effect.items for row in rows], "verdicts", BIAS_TESTS),
    )


def _agreement(engine: Engine, study: Study) -> Section:
    rows = agreement.rows(engine, study, "all")
    if not rows:
        return Section("Inter-annotator agreement", ["Agreement needs labels by at least two annotators."])
    return Section(
        "Inter-annotator agreement",
        [],
        _printed(rows, "kind", "criterion", "group", "statistic", *ROWS),
        caption("Agreement between annotators and between judges", [row.items for row in rows]),
    )


def judge_points(ranking: Ranking) -> tuple[list[Mark], list[tuple[str, float]]]:
    """Return the accuracy of each judge with its coverage; as lines the human ceiling and the best baseline."""
    points = [
        Mark.of(one.judge, one.accuracy, details=f"coverage {100 * (one.coverage.value or 0):.0f} %")
        for one in ranking.judges
        if one.accuracy.value is not None
    ]
    lines = [("human ceiling", ranking.ceiling.value)]
    lines += [(baseline.name.partition(":")[0], baseline.accuracy.value) for baseline in ranking.baselines[:1]]
    return points, [(name, value) for name, value in lines if value is not None]


def agreement_values(engine: Engine, study: Study, rows: Sequence[AgreementRow]) -> tuple[str, list[AgreementRow]]:
    """Return the name of the statistic of a study, and the rows with its value for a kind, criterion and raters."""
    row = next(iter(overview.agreement(agreement.annotator_agreement(engine, study, resamples=0))), None)
    names = chain(() if row is None else (row.statistic,), *map(catalogue.headlines_of, get_args(Level)))
    defined = {row.statistic for row in rows if row.value is not None}
    headline = next((name for name in names if name in defined), "")
    return catalogue.name(headline), [row for row in rows if row.statistic == headline and row.value is not None]


def agreement_marks(rows: Sequence[AgreementRow]) -> list[Mark]:
    """Return the points of a chart."""
    return [Mark.of(", ".join(filter(None, (row.kind, row.criterion, row.group))), row) for row in rows]


def _alignment(engine: Engine, study: Study, reference: str | None) -> Section:
    rows = alignment.rows(engine, study, reference=reference)
    if not rows:
        return Section("Alignment of judges", ["No judge has given an opinion yet."])
    used = ", ".join(dict.fromkeys(row.reference for row in rows if row.reference))
    return Section(
        "Alignment of judges",
        [f"Reference: {used}."] if used else [],
        rows=_printed(rows, "judge", "kind", "criterion", "statistic", *ROWS),
        table_caption=caption("Every statistic of every judge", [row.items for row in rows]),
    )


def _printed(rows: Iterable[Any], *columns: str) -> list[Mapping[str, Any]]:
    """Return rows for print; see `ROWS`."""
    names = [(title, values or title) for title, _, values in (column.partition(": ") for column in columns)]
    return [
        {title: _print(title, [cell(row, name) for name in values.split()]) for title, values in names} for row in rows
    ]


def _print(title: str, values: Sequence[Any]) -> Any:
    match values:
        case [value, low, high]:
            return format_estimate(value, low, high, 3)
        case [bool() as found]:
            return "yes" if found else "no"
        case [value] if title == "p_corrected":
            return format_p(value)
    return values[0]


# The results of a study as tables for a publication: judges, their differences, causes, systems and biases.

Rows = Sequence[Mapping[str, Any]]


def result_tables(engine: Engine, study: Study) -> tuple[dict[str, Rows], dict[str, str]]:
    """Return name -> rows of each table, with the defaults of its page, and name -> why a table has no rows."""
    makers: Mapping[str, Callable[[], Rows]] = {
        "judges": lambda: judge_ranking.table(judge_ranking.of_data(load_data(engine, study), Selection())),
        "comparisons": lambda: list(map(asdict, judge_ranking.comparisons_of_study(engine, study, Selection())[0])),
        "causes": lambda: judge_errors.table(judge_errors.of_study(engine, study, Selection())),
        "systems": lambda: systems.table(systems.report(engine, study)),
        "biases": lambda: judge_biases.table(judge_biases.of_study(engine, study, Selection())),
    }
    tables: dict[str, Rows] = {}
    missing: dict[str, str] = {}
    for name, make in makers.items():
        try:
            rows = make()
        except TiebreakError as error:
            missing[name] = str(error)
            continue
        if rows:
            tables[name] = rows
        else:
            missing[name] = "There is nothing to compare."
    return tables, missing
