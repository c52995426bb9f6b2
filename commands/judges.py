"""Which judge can be used, and which system is better."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands.output import (
    AbstentionPolicy,
    Abstentions,
    CriterionName,
    DatabaseUrl,
    Json,
    Kind,
    Reference,
    ScenarioName,
    StudyName,
    check_rule,
    debate_note,
    format_table,
    open_study,
    print_result,
    with_population,
)
from core.errors import TiebreakError
from core.wording import format_estimate

if TYPE_CHECKING:
    from storage.reports.run_comparison import ComparedRuns


FEW_JUDGES = "Fewer than two judges can be compared on the same targets."


def print_notes(notes: Sequence[str]) -> None:
    """Print sentences on standard error."""
    for note in notes:
        typer.echo(note, err=True)


def rows_without_values(
    reasons: Mapping[str, str], rows: Sequence[Mapping[str, Any]], **values: str
) -> list[dict[str, Any]]:
    """Return a row for each judge (judge -> reason), with the columns of `rows` and None in all that have no value."""
    columns: dict[str, Any] = dict.fromkeys(rows[0]) if rows else {}
    return [columns | {"judge": judge} | values | {"reason": reason} for judge, reason in reasons.items()]


def judges(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    reference: Reference = None,
    abstentions: Abstentions = AbstentionPolicy.error,
    margin: Annotated[
        float, typer.Option(callback=check_rule, help="Margin: the accepted difference below the human ceiling.")
    ] = 0.05,
    epsilon: Annotated[
        float,
        typer.Option(
            callback=check_rule, help="Epsilon of the alternative-annotator test: the advantage conceded to a judge."
        ),
    ] = 0.15,
    min_coverage: Annotated[
        float, typer.Option(callback=check_rule, help="Minimum coverage: the share of targets with a verdict.")
    ] = 0.95,
    min_winning_rate: Annotated[
        float,
        typer.Option(callback=check_rule, help="Minimum winning rate omega of the alternative-annotator test."),
    ] = 0.5,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print which judges can replace annotators. Every judge is compared on the same targets, with its cost."""
    from core.statistics.reports.judges import Rule, describe_rule, summarize
    from storage.db.connections import reading
    from storage.reports import judge_costs, judge_ranking
    from storage.reports.alignment import load_data

    rule = Rule(min_coverage, min_winning_rate, margin, epsilon)
    engine, source = open_study(database, study)
    query = judge_ranking.Selection(kind, criterion, scenario, abstentions.value, rule)
    data = load_data(engine, source, reference)
    report = judge_ranking.of_data(data, query)
    with reading(engine) as session:
        rows = judge_ranking.table(report, judge_costs.cost_by_judge(session, source.id, data.opinions))
    columns = [{name: cell for name, cell in row.items() if name != "reference"} for row in with_population(rows)]
    print_notes(report.notes)
    rows += rows_without_values(report.not_compared, rows, decision="not compared")
    sentences = [
        summarize(report.ranking),
        *filter(None, [report.chosen]),
        f"Reference {report.reference}.",
        describe_rule(rule),
    ]
    text = "\n".join([*sentences, format_table(columns, "No judge.")])
    print_result(rows, text, as_json)


def compare(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    reference: Reference = None,
    abstentions: Abstentions = AbstentionPolicy.error,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the difference in accuracy of every two judges. P-values are corrected by Holm's method."""
    from storage.reports import judge_ranking

    engine, source = open_study(database, study)
    query = judge_ranking.Selection(kind, criterion, scenario, abstentions.value)
    comparisons, not_compared = judge_ranking.comparisons_of_study(engine, source, query, reference=reference)
    rows = [asdict(comparison) for comparison in comparisons]
    print_notes(judge_ranking.notes_of(not_compared))
    text = "\n".join([*debate_note(engine, source, reference), format_table(rows, FEW_JUDGES)])
    rows += rows_without_values(not_compared, rows)
    print_result(rows, text, as_json)


def plan(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    reference: Reference = None,
    abstentions: Abstentions = AbstentionPolicy.error,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print how many more labels tell judges apart. They are labels of targets on which two judges differ."""
    from core.statistics import catalogue
    from storage.reports import label_plans
    from storage.reports.judge_ranking import Selection, notes_of

    engine, source = open_study(database, study)
    selection = Selection(kind, criterion, scenario, abstentions.value)
    of_study = label_plans.of_study(engine, source, selection, reference=reference)
    found, not_compared = of_study.plans, of_study.not_compared
    rows = label_plans.table(found)
    sentences = [of_study.leaders.sentence] if of_study.leaders is not None else []
    sentences += (
        [f"{catalogue.name(found.statistic)} of people: {found.agreement}."] if found.agreement is not None else []
    )
    print_notes(notes_of(not_compared))
    text = "\n".join([*debate_note(engine, source, reference), *sentences, format_table(rows, FEW_JUDGES)])
    rows += rows_without_values(not_compared, rows)
    print_result(rows, text, as_json)


def causes(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print why judges differ from people. The causes are the judge's error, ambiguity, and noise of the labels."""
    from storage.reports import judge_errors
    from storage.reports.judge_ranking import Selection

    engine, source = open_study(database, study)
    found = judge_errors.of_study(engine, source, Selection(kind, criterion, scenario))
    rows = judge_errors.table(found)
    text = "\n".join([*(errors.sentence for errors in found), format_table(rows, "No judge.")])
    print_result(rows, text, as_json)


def slices(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Compare two slices: saved names, or conditions such as 'scenario: math'."),
    ] = None,
    save: Annotated[str | None, typer.Option(help="Save the targets that meet every --where under this name.")] = None,
    where: Annotated[list[str] | None, typer.Option(help="A condition: 'people: not unanimous'.")] = None,
    delete: Annotated[str | None, typer.Option(help="Delete a saved slice.")] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print where judges differ from people more often. P-values are corrected by Benjamini and Hochberg's method."""
    from storage.db.connections import writing
    from storage.reports import discordance, slice_comparison
    from storage.reports.judge_ranking import Selection
    from storage.studies import items, studies

    engine, source = open_study(database, study)
    if where and save is None:
        raise TiebreakError("--where needs --save.")
    if save is not None or delete is not None:
        with writing(engine) as session:
            if delete is not None:
                studies.delete_slice(session, source.id, delete)
            if save is not None:
                scenarios = items.scenarios(session, source.id)
                conditions = [one for text in where or () for one in slice_comparison.parse(text, {}, scenarios)]
                studies.save_slice(session, source.id, save, conditions)
        engine, source = open_study(database, study)
    selection = Selection(kind, criterion, scenario)
    if compare is not None:
        rows = slice_comparison.table(slice_comparison.of_study(engine, source, selection, *compare))
        text = format_table(rows, "Each slice needs five targets that the other one does not have.")
    elif save is not None or delete is not None:
        rows = [{"slice": name, "conditions": ": ".join(one)} for name, of in source.rules.slices.items() for one in of]
        text = format_table(rows, "No saved slice.")
    else:
        data, query, measured = discordance.load_selected(engine, source, selection)
        rows = discordance.table(discordance.report(data, query, measured))
        unnamed = discordance.without_scenario(data, query)
        sentences = [f"{judge}: {discordance.describe_unnamed(number)}" for judge, number in unnamed.items() if number]
        text = "\n".join([format_table(rows, "No slice has five targets inside and outside of it."), *sentences])
    print_result(rows, text, as_json)


def rationales(
    study: StudyName,
    judge: Annotated[str | None, typer.Option(help="The judge; by default the first by name.")] = None,
    criterion: CriterionName = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the clusters of a judge's replies, and how often the judge differs from people in each."""
    from storage.reports import discordance, rationales

    engine, source = open_study(database, study)
    name, found = rationales.of_study(engine, source, judge, criterion=criterion)
    rows = discordance.table(found.rows)
    print_result(rows, format_table(rows, f"{name}: {found.reason or 'no cluster has five targets'}."), as_json)


def biases(
    study: StudyName,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    reference: Reference = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print each judge's position bias, length bias and self-preference, and the position bias of people.

    P-values of judges are corrected by Holm's method.
    """
    from storage.reports import judge_biases

    engine, source = open_study(database, study)
    found = judge_biases.of_study(engine, source, criterion=criterion, scenario=scenario, reference=reference)
    rows = judge_biases.table(found)
    sentences = [*debate_note(engine, source, reference), judge_biases.sentence(engine, source, found)]
    print_result(rows, "\n".join([*sentences, format_table(rows, "No bias can be tested.")]), as_json)


def formats(
    study: StudyName,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    reference: Reference = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print how each judge's accuracy changes with the format of the criterion, from runs that differ in it only."""
    from core.statistics.reports.biases import summarize_formats
    from storage.reports import format_effects

    engine, source = open_study(database, study)
    found = format_effects.of_study(engine, source, criterion=criterion, scenario=scenario, reference=reference)
    rows = format_effects.table(found)
    sentences = [*debate_note(engine, source, reference), summarize_formats(found)]
    print_result(rows, "\n".join([*sentences, format_table(rows, "")]), as_json)


def systems(
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    judge: Annotated[
        str | None,
        typer.Option(help="The judge whose verdicts are used, by default the one with most; '' for people only."),
    ] = None,
    reference: Reference = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print each system's win rate or mean score. People's labels correct a judge's verdicts."""
    from storage.reports import systems as report

    engine, source = open_study(database, study)
    result = report.report(engine, source, kind=kind, criterion=criterion, judge=judge, reference=reference)
    rows = [asdict(row) for row in result.rows]
    compared = f"{result.kind}, {result.criterion or 'no criterion'}"
    heading = f"{compared}: {result.reference}; judge: {result.judge or 'none'}"
    text = "\n".join(
        filter(None, [heading, result.note, format_table(with_population(rows), "No two systems were compared.")])
    )
    print_result(report.table(result), text, as_json)


def discussions(
    study: StudyName,
    reference: Reference = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print opinion changes in discussions of judges, who adopts whose opinion, and what rounds and judges add.

    Rows `changes`: first and last opinions of a judge. Rows `adopts`: replies of a judge with the value of another
    one (`source`) from which it differed. Rows `majority`: accuracy of the panel's majority with fewer rounds or
    without a judge, from the stored opinions, and the difference from the whole discussion.
    """
    from storage.reports import discussions as found

    engine, source = open_study(database, study)
    reports = found.of_study(engine, source, reference)
    rows = found.table(reports)
    sentences = debate_note(engine, source, reference)
    sentences += [f"{', '.join(panel.judges)}, {panel.criterion}: {panel.sentence}" for panel in reports]
    print_result(rows, "\n".join([*sentences, format_table(rows, "No judge speaks twice about a pair.")]), as_json)


# Runs compared with each other.

WIDE = ("_low", "_high", "_n")
"""Columns that the text table has with their statistic."""


def compare_runs(
    names: Annotated[list[str], typer.Argument(help="The names of two or more runs, the first to compare with.")],
    study: StudyName,
    kind: Kind = None,
    criterion: CriterionName = None,
    scenario: ScenarioName = None,
    reference: Reference = None,
    items: Annotated[bool, typer.Option("--items", help="List every target with another verdict.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print how runs differ. It has settings and prompts, changed verdicts, agreement, accuracy, cost and time."""
    from storage.reports import changed_verdicts
    from storage.reports import run_comparison as report

    engine, source = open_study(database, study)
    compared = report.load(engine, source, names, reference)
    dataset = compared.dataset(kind, criterion, scenario)
    comparison = compared.compare(dataset)
    rows, pairs = report.run_rows(compared, comparison), report.pair_rows(comparison)
    changes = [
        {"first": pair.first, "second": pair.second, "targets": changed_verdicts.changed_rows(dataset, pair)}
        for pair in comparison.pairs
        if items
    ]
    value = {
        "kind": dataset.kind,
        "criterion": dataset.criterion,
        "reference": str(compared.reference),
        "settings": _setting_rows(compared),
        "texts": [{"path": one.path, **_by_run(compared, one.texts)} for one in compared.texts],
        "runs": rows,
        "pairs": pairs,
        **({"changed": changes} if items else {}),
    }
    sections = [
        *_settings_text(compared),
        f"{dataset.kind}, {dataset.criterion or 'no criterion'}; reference {compared.reference}",
        *filter(None, [compared.note(dataset)]),
        *report.summarize(comparison),
        format_table(_with_intervals(with_population(rows)), ""),
        format_table(_with_intervals(with_population(pairs)), "No two runs."),
        *(_changes_text(one) for one in changes),
    ]
    print_result(value, "\n".join(sections), as_json)


def _setting_rows(compared: "ComparedRuns") -> list[dict[str, Any]]:
    return [{"setting": one.path, **_by_run(compared, one.values)} for one in compared.settings]


def _by_run(compared: "ComparedRuns", values: tuple[Any, ...]) -> dict[str, Any]:
    return {run.name: value for run, value in zip(compared.runs, values, strict=True)}


def _settings_text(compared: "ComparedRuns") -> list[str]:
    """Return the differing settings as a table, then the changed lines of each text."""
    sections = [format_table(_setting_rows(compared), "The settings are equal.")]
    for difference in compared.texts:
        for place, run in enumerate(compared.runs[1:], 1):
            if lines := difference.lines(place):
                sections += [f"{difference.path}: {compared.runs[0].name} to {run.name}", *lines]
    return [*sections, ""]


def _with_intervals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with each statistic, its interval and its n in one cell."""
    merged = []
    for row in rows:
        line: dict[str, Any] = {}
        for name, value in row.items():
            if name.endswith(WIDE):
                continue
            low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
            if f"{name}_n" in row:
                value = "–" if value is None else f"{format_estimate(value, low, high, 3)} n {row[f'{name}_n']:,}"
            line[name] = value
        merged.append(line)
    return merged


def _changes_text(change: dict[str, Any]) -> str:
    heading = f"\n{change['first']} and {change['second']}:"
    return f"{heading}\n{format_table(change['targets'], 'No verdict changed.')}"
