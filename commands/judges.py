"""Which judge can be used, which of its verdicts may stand, and which system is better."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from commands import lazy_imports, output
from core.errors import TiebreakError
from core.wording import format_estimate

with lazy_imports():
    from core.formats import html_report
    from core.formats import text as text_files
    from core.statistics.reports import judge_findings
    from core.statistics.reports import judges as judge_rules
    from storage.db import connections
    from storage.reports import alignment as alignment_report
    from storage.reports import (
        certificates,
        discordance,
        judge_biases,
        judge_costs,
        judge_errors,
        judge_ranking,
        label_plans,
        references,
    )
    from storage.reports import discussions as discussion_report
    from storage.reports import policy as policies
    from storage.reports import rationales as rationale_report
    from storage.reports import run_comparison as run_report
    from storage.reports import systems as system_report
    from storage.studies import items, studies
    from storage.transfer import text_metrics


FEW_JUDGES = "Fewer than two judges can be compared on the same targets."
OPENED = {"source": output.Source, "engine": output.Database}
# The options that several commands have: annotation and default.
FILTERS: Mapping[str, tuple[Any, Any]] = {
    "kind": (output.Kind, None),
    "criterion": (output.CriterionName, None),
    "scenario": (output.ScenarioName, None),
    "reference": (output.Reference, None),
    "abstentions": (output.Abstentions, "error"),
}


@dataclass(frozen=True)
class Asked:
    """The study of a command, and its choices."""

    engine: output.Database
    study: "studies.Study"
    kind: str | None = None
    criterion: str | None = None
    scenario: str | None = None
    reference: str | None = None
    abstentions: Literal["error", "excluded", "tie"] = "error"

    def selection(self, **others: Any) -> "judge_ranking.Selection":
        """Return the choices for a ranking."""
        return judge_ranking.Selection(self.kind, self.criterion, self.scenario, self.abstentions, **others)

    def note(self) -> list[str]:
        """Return the sentence that the reference is a debate, in a list; empty for any other one."""
        return references.debate_note(self.engine, self.study.id, self.reference)


def reads_study(*filters: str) -> Callable[[Callable[..., output.Result]], Callable[..., output.Result]]:
    """Make a command of a function of `Asked` and its own options, with those of `FILTERS` that are named."""

    def declare(report: Callable[..., output.Result]) -> Callable[..., output.Result]:
        @wraps(report)
        def command(source: "studies.Study", engine: output.Database, **options: Any) -> output.Result:
            chosen = {name: options.pop(name) for name in filters}
            return report(Asked(engine, source, **chosen), **options)

        _, *own = signature(report).parameters.values()
        parameters = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in OPENED.items()]
        parameters += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=FILTERS[name][1], annotation=FILTERS[name][0])
            for name in filters
        ]
        parameters += [option.replace(kind=Parameter.KEYWORD_ONLY) for option in own]
        command.__signature__ = Signature(parameters, return_annotation=output.Result)  # type: ignore[attr-defined]
        return command

    return declare


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


@reads_study("kind", "criterion", "scenario", "reference", "abstentions")
def judges(
    asked: Asked,
    margin: Annotated[
        float, typer.Option(callback=output.check_rule, help="Margin: the accepted difference below the human ceiling.")
    ] = 0.05,
    epsilon: Annotated[
        float,
        typer.Option(
            callback=output.check_rule,
            help="Epsilon of the alternative-annotator test: the advantage conceded to a judge.",
        ),
    ] = 0.15,
    min_coverage: Annotated[
        float, typer.Option(callback=output.check_rule, help="Minimum coverage: the share of targets with a verdict.")
    ] = 0.95,
    min_winning_rate: Annotated[
        float,
        typer.Option(callback=output.check_rule, help="Minimum winning rate omega of the alternative-annotator test."),
    ] = 0.5,
) -> output.Result:
    """Print which judges can replace annotators. Every judge is compared on the same targets, with its cost."""
    rule = judge_rules.Rule(min_coverage, min_winning_rate, margin, epsilon)
    data = alignment_report.load_data(asked.engine, asked.study, asked.reference)
    report = judge_ranking.of_data(data, asked.selection(rule=rule))
    with connections.reading(asked.engine) as session:
        rows = judge_ranking.table(report, judge_costs.cost_by_judge(session, asked.study.id, data.opinions))
    columns = [
        {name: cell for name, cell in row.items() if name != "reference"} for row in output.with_population(rows)
    ]
    print_notes(report.notes)
    rows += rows_without_values(report.not_compared, rows, decision="not compared")
    sentences = [
        judge_rules.summarize(report.ranking),
        report.chosen,
        f"Reference {report.reference}.",
        judge_rules.describe_rule(rule),
    ]
    return rows, "\n".join(filter(None, [*sentences, output.format_table(columns, "No judge.")]))


@reads_study("kind", "criterion", "scenario", "reference", "abstentions")
def compare(asked: Asked) -> output.Result:
    """Print the difference in accuracy of every two judges. P-values are corrected by Holm's method."""
    comparisons, not_compared = judge_ranking.comparisons_of_study(
        asked.engine, asked.study, asked.selection(), reference=asked.reference
    )
    rows = [asdict(comparison) for comparison in comparisons]
    print_notes(judge_ranking.notes_of(not_compared))
    text = "\n".join([*asked.note(), output.format_table(rows, FEW_JUDGES)])
    return rows + rows_without_values(not_compared, rows), text


@reads_study("kind", "criterion", "scenario", "reference", "abstentions")
def plan(asked: Asked) -> output.Result:
    """Print how many more labels tell judges apart. They are labels of targets on which two judges differ."""
    found, not_compared = label_plans.of_study(asked.engine, asked.study, asked.selection(), reference=asked.reference)
    rows = label_plans.table(found)
    print_notes(judge_ranking.notes_of(not_compared))
    text = "\n".join([*asked.note(), *found.sentences, output.format_table(rows, FEW_JUDGES)])
    return rows + rows_without_values(not_compared, rows), text


@reads_study("kind", "criterion", "scenario")
def causes(asked: Asked) -> output.Result:
    """Print why judges differ from people. The causes are the judge's error, ambiguity, and noise of the labels."""
    found = judge_errors.of_study(asked.engine, asked.study, asked.selection())
    rows = judge_errors.table(found)
    return rows, "\n".join([*(errors.sentence for errors in found), output.format_table(rows, "No judge.")])


@reads_study("kind", "criterion", "scenario")
def slices(
    asked: Asked,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Compare two slices: saved names, or conditions such as 'scenario: math'."),
    ] = None,
    save: Annotated[str | None, typer.Option(help="Save the targets that meet every --where under this name.")] = None,
    where: Annotated[list[str] | None, typer.Option(help="A condition: 'people: not unanimous'.")] = None,
    delete: Annotated[str | None, typer.Option(help="Delete a saved slice.")] = None,
) -> output.Result:
    """Print where judges differ from people more often. P-values are corrected by Benjamini and Hochberg's method."""
    engine, source = asked.engine, asked.study
    if where and save is None:
        raise TiebreakError("--where needs --save.")
    if save is not None or delete is not None:
        with connections.writing(engine) as session:
            if delete is not None:
                studies.delete_slice(session, source.id, delete)
            if save is not None:
                scenarios = items.scenarios(session, source.id)
                conditions = [one for text in where or () for one in discordance.parse_condition(text, {}, scenarios)]
                studies.save_slice(session, source.id, save, conditions)
            source = studies.by_id(session, source.id)
    if compare is not None:
        rows = discordance.comparison_table(discordance.of_two_slices(engine, source, asked.selection(), *compare))
        return rows, output.format_table(rows, "Each slice needs five targets that the other one does not have.")
    if save is not None or delete is not None:
        rows = [{"slice": name, "conditions": ": ".join(one)} for name, of in source.rules.slices.items() for one in of]
        return rows, output.format_table(rows, "No saved slice.")
    data, query, measured = discordance.load_selected(engine, source, asked.selection())
    rows = discordance.table(discordance.report(data, query, measured))
    return rows, output.format_table(rows, "No slice has five targets inside and outside of it.")


@reads_study("criterion")
def rationales(
    asked: Asked,
    judge: Annotated[str | None, typer.Option(help="The judge; by default the first by name.")] = None,
) -> output.Result:
    """Print the clusters of a judge's replies, and how often the judge differs from people in each."""
    name, found = rationale_report.of_study(asked.engine, asked.study, judge, criterion=asked.criterion)
    rows = discordance.table(found.rows)
    return rows, output.format_table(rows, f"{name}: {found.reason or 'no cluster has five targets'}.")


@reads_study("criterion", "scenario", "reference")
def biases(asked: Asked) -> output.Result:
    """Print each judge's position bias, length bias and self-preference, and the position bias of people.

    P-values of judges are corrected by Holm's method.
    """
    found = judge_biases.of_study(asked.engine, asked.study, asked.selection(), reference=asked.reference)
    rows = judge_biases.table(found)
    sentences = [*asked.note(), judge_biases.sentence(asked.engine, asked.study, found)]
    return rows, "\n".join([*sentences, output.format_table(rows, "No bias can be tested.")])


@reads_study("criterion", "scenario", "reference")
def formats(asked: Asked) -> output.Result:
    """Print how each judge's accuracy changes with the format of the criterion, from runs that differ in it only."""
    found = judge_biases.formats_of_study(asked.engine, asked.study, asked.selection(), reference=asked.reference)
    rows = judge_biases.format_table(found)
    return rows, "\n".join([*asked.note(), judge_findings.summarize_formats(found), output.format_table(rows, "")])


@reads_study("kind", "criterion", "reference")
def systems(
    asked: Asked,
    judge: Annotated[
        str | None,
        typer.Option(help="The judge whose verdicts are used, by default the one with most; '' for people only."),
    ] = None,
) -> output.Result:
    """Print each system's win rate or mean score. People's labels correct a judge's verdicts."""
    result = system_report.report(
        asked.engine, asked.study, kind=asked.kind, criterion=asked.criterion, judge=judge, reference=asked.reference
    )
    rows = [asdict(row) for row in result.rows]
    compared = f"{result.kind}, {result.criterion or 'no criterion'}"
    heading = f"{compared}: {result.reference}; judge: {result.judge or 'none'}"
    table = output.format_table(output.with_population(rows), "No two systems were compared.")
    return system_report.table(result), "\n".join(filter(None, [heading, result.note, table]))


@reads_study("reference")
def discussions(asked: Asked) -> output.Result:
    """Print opinion changes in discussions of judges, who adopts whose opinion, and what rounds and judges add.

    Rows `changes`: first and last opinions of a judge. Rows `adopts`: replies of a judge with the value of another
    one (`source`) from which it differed. Rows `majority`: accuracy of the panel's majority with fewer rounds or
    without a judge, from the stored opinions, and the difference from the whole discussion. Rows `effective votes`: as
    many independent judges would vary as little as the `count` judges of the panel, before and after the discussion.
    """
    reports = discussion_report.of_study(asked.engine, asked.study, asked.reference)
    rows = discussion_report.table(reports)
    sentences = [f"{', '.join(panel.judges)}, {panel.criterion}: {panel.sentence}" for panel in reports]
    return rows, "\n".join(
        [*asked.note(), *sentences, output.format_table(rows, "No judge speaks twice about a pair.")]
    )


# Runs compared with each other.

# Columns that the text table has with their statistic.
WIDE = ("_low", "_high", "_n")


@reads_study("kind", "criterion", "scenario", "reference")
def compare_runs(
    asked: Asked,
    names: Annotated[list[str], typer.Argument(help="The names of two or more runs, the first to compare with.")],
    items: Annotated[bool, typer.Option("--items", help="List every target with another verdict.")] = False,
) -> output.Result:
    """Print how runs differ. It has settings and prompts, changed verdicts, agreement, accuracy, cost and time."""
    compared = run_report.load(asked.engine, asked.study, names, asked.reference)
    dataset = compared.dataset(asked.kind, asked.criterion, asked.scenario)
    comparison = compared.compare(dataset)
    rows, pairs = run_report.run_rows(compared, comparison), run_report.pair_rows(comparison)
    changes: list[dict[str, Any]] = [
        {"first": pair.first, "second": pair.second, "targets": run_report.changed_rows(dataset, pair)}
        for pair in comparison.pairs
        if items
    ]
    value = {
        "kind": dataset.kind,
        "criterion": dataset.criterion,
        "reference": str(compared.reference),
        "settings": _setting_rows(compared),
        "texts": [{"path": one.path, **_by_run(compared, one.values)} for one in compared.texts],
        "runs": rows,
        "pairs": pairs,
        **({"changed": changes} if items else {}),
    }
    sections = [
        *_settings_text(compared),
        f"{dataset.kind}, {dataset.criterion or 'no criterion'}; reference {compared.reference}",
        *filter(None, [compared.note(dataset)]),
        *run_report.summarize(comparison),
        output.format_table(_with_intervals(output.with_population(rows)), ""),
        output.format_table(_with_intervals(output.with_population(pairs)), "No two runs."),
    ]
    for change in changes:
        heading = f"\n{change['first']} and {change['second']}:"
        sections += [heading, output.format_table(change["targets"], "No verdict changed.")]
    return value, "\n".join(sections)


def _setting_rows(compared: "run_report.ComparedRuns") -> list[dict[str, Any]]:
    return [{"setting": one.path, **_by_run(compared, one.values)} for one in compared.settings]


def _by_run(compared: "run_report.ComparedRuns", values: tuple[Any, ...]) -> dict[str, Any]:
    return {run.name: value for run, value in zip(compared.runs, values, strict=True)}


def _settings_text(compared: "run_report.ComparedRuns") -> list[str]:
    """Return the differing settings as a table, then the changed lines of each text."""
    sections = [output.format_table(_setting_rows(compared), "The settings are equal.")]
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


def metric(
    name: Annotated[str, typer.Argument(help="rouge-1, rouge-2, rouge-l, bleu, chrf or bert-score.")],
    source: output.Source,
    engine: output.Database,
    run: Annotated[str, typer.Option(help="The name of the run; by default that of the metric.")] = "",
) -> output.Result:
    """Score responses against the items' references with a metric, as the verdicts of a run of its own.

    The score of a response is moved onto the scale of each criterion for scores; of several responses the better of
    each pair is preferred, on each criterion for preferences. An item without a reference has no verdict,
    nor has a system whose responses are the references. Needs requirements-metrics.txt. No model is called, except by
    bert-score one on this machine.
    """
    counts = text_metrics.add_run(engine, source, name, run)
    return asdict(counts.imported) | {"scored": counts.scored, "left_out": counts.own}, counts.summary()


# Which verdicts may stand without a person, and whether a certificate of that still holds.

JUDGE_HELP = "The judge; repeat the option for a cascade, cheapest first. Default: the one with most verdicts."
SIGNAL_HELP = (
    "The measure of confidence: simulated, stated, token, repeats, panel, contention, orders, rounds or none. Default: "
    "the first of these that the verdicts have."
)
REFUSED_CODE = 3
LOOKS_HELP = "How often you will look at the result while labels arrive; declare it before the first look."


def policy(
    source: output.Source,
    engine: output.Database,
    judge: Annotated[list[str] | None, typer.Option(help=JUDGE_HELP)] = None,
    signal: Annotated[str | None, typer.Option(help=SIGNAL_HELP)] = None,
    kind: output.Kind = None,
    criterion: output.CriterionName = None,
    risk: Annotated[
        float, typer.Option(help="The largest share of accepted verdicts that may differ from people.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="The probability with which the promise is kept.")] = 0.95,
    looks: Annotated[int, typer.Option(min=1, help=LOOKS_HELP)] = 1,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the certificate to this JSON file, and beside it as a page (.html).")
    ] = None,
) -> output.Checked:
    """Print which verdicts of a judge may stand without a person, at a risk with a guarantee.

    The exit code is 0 if some may, 3 if none may or there are not enough labels, and 2 for an error.
    """
    query = policies.PolicyQuery(tuple(judge or ()), kind, criterion, signal, risk, confidence, looks)
    data = alignment_report.load_data(engine, source, policies.REFERENCE)
    with connections.reading(engine) as session:
        report = policies.report(session, source, data, query)
        found = certificates.make(session, source, data, report)
    if certificate is not None and found is not None:
        with text_files.open_output(certificate) as stream:
            stream.write(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
        with text_files.open_output(certificate.with_suffix(".html")) as stream:
            html_report.write_report(f"Policy of {found['study']}", certificates.page(found), stream)
    sentences = [
        policies.describe(report),
        policies.describe_basis(report),
        policies.describe_verification(report),
        policies.describe_ceiling(report),
        output.format_table(policies.curve_rows(report), "No verdict has a confidence."),
        output.format_table(policies.calibration_rows(report.parts), ""),
    ]
    code = 0 if report.state is policies.State.accept else REFUSED_CODE
    return policies.table(report) | {"certificate": found}, "\n".join(filter(None, sentences)), code


def policy_verify(
    engine: output.Database,
    certificate: Annotated[Path, typer.Argument(help="The certificate, or the output of the command policy.")],
    study: Annotated[str | None, typer.Option(help="The study. Default: the one that the certificate names.")] = None,
) -> output.Checked:
    """Compute a certificate again from its study, and print whether it still holds.

    The exit code is 0 if it holds, 3 if it is expired, broken or altered, and 2 for an error.
    """
    found = certificates.parse(text_files.read_text(certificate))
    checked = certificates.verify(engine, output.find_study(engine, study or str(found["study"])), found)
    value: dict[str, Any] = {
        "standing": str(checked.standing),
        "holds": checked.standing is certificates.Standing.holds,
        "changed": list(checked.changed),
        "risk_upper": checked.risk_upper,
        "n": checked.labelled,
    }
    return value, checked.sentence, 0 if value["holds"] else REFUSED_CODE
