"""Annotators, their training and their hidden checks."""

from typing import Any

from commands.options import DatabaseUrl, Json, StudyName, find_study, open_database
from commands.output import format_table, print_result


def annotators(study: StudyName, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print each annotator's labels, agreement, training and hidden checks. Shares have 95 % intervals."""
    from datetime import UTC

    from storage.database import reading
    from storage.reports import annotators as report
    from storage.reports import training

    engine = open_database(database)
    stored_study = find_study(engine, study)
    with reading(engine) as session:
        summaries = {summary.name: summary for summary in report.summaries(session, stored_study.id, UTC)}
        results = {
            result.annotator: result
            for result in training.results(session, stored_study, report.label_events(session, stored_study.id))
        }
    rows = []
    for name in sorted({*summaries, *results}):
        summary, result = summaries.get(name), results.get(name)
        none = report.Share(0, 0)
        rows.append(
            {
                "annotator": name,
                "labels": summary.labels if summary else 0,
                **_share("gold", summary.gold if summary else none),
                "training": {True: "passed", False: "not passed", None: ""}[result.passed] if result else "",
                "attempts": result.attempts if result else 0,
                **_share("first_attempt", result.first if result else none),
                **_share("checks", result.checks if result else none),
            }
        )
    print_result(rows, format_table(rows, "No labels yet."), as_json)


def _share(name: str, share: Any) -> dict[str, float | int | None]:
    value, low, high = share.interval
    return {name: value, f"{name}_low": low, f"{name}_high": high, f"{name}_n": share.n}
