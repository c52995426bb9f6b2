"""Runs compared with each other."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands.options import CriterionName, DatabaseUrl, Json, Kind, Reference, ScenarioName, StudyName, open_study
from commands.output import format_table, print_result, with_population
from core.wording import format_estimate

if TYPE_CHECKING:
    from storage.reports.run_comparison import ComparedRuns

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
