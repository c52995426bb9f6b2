"""Annotators, their training and their hidden checks."""

from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from commands.options import DatabaseUrl, Json, open_database, open_study
from commands.output import format_table, print_result


class Labels(StrEnum):
    """As `storage.erasure.Labels`, whose import takes time."""

    keep = "keep"
    remove = "remove"


def annotators(
    context: typer.Context,
    study: Annotated[str | None, typer.Option(help="The study's name.")] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print each annotator's labels, agreement, training and hidden checks. Shares have 95 % intervals."""
    if context.invoked_subcommand is not None:
        return
    from datetime import UTC

    from core.errors import TiebreakError
    from storage.database import reading
    from storage.reports import annotators as report
    from storage.reports import training

    if study is None:
        raise TiebreakError("Name a study: --study NAME.")
    engine, stored_study = open_study(database, study)
    with reading(engine) as session:
        summaries = {summary.name: summary for summary in report.summaries(session, stored_study.id, UTC)}
        results = {
            result.annotator: result
            for result in training.results(
                session, stored_study, report.label_events(session, stored_study.id, adjudicated=True)
            )
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


def similar(database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print annotators whose names look alike, such as two spellings of one name. They may be one person."""
    from storage import annotator_merges
    from storage.database import reading

    with reading(open_database(database)) as session:
        groups = annotator_merges.similar_groups(session)
    rows = [
        {"group": number, "id": f"#{one.id}", "name": one.name, "labels": one.labels}
        for number, group in enumerate(groups, 1)
        for one in group
    ]
    print_result(rows, format_table(rows, "No names look alike."), as_json)


def merge(
    merged: Annotated[str, typer.Argument(help="The annotator who is merged: a name, or # and an id.")],
    into: Annotated[str, typer.Argument(help="The annotator who gets the labels.")],
    prefer: Annotated[str | None, typer.Option(help="Whose labels count on targets that both labelled.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Store the merge. It cannot be undone.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Merge two annotators who are one person, in all studies; without --apply nothing is stored."""
    from storage import annotator_merges
    from storage.database import reading, write

    engine = open_database(database)
    if apply:
        found = write(engine, lambda session: annotator_merges.merge(session, merged, into, prefer))
    else:
        with reading(engine) as session:
            found = annotator_merges.plan(session, merged, into)
    rows = [{"table": name, "rows": count} for name, count in found.rows.items()]
    both = f"Both have labelled {len(found.both):,} of the same targets."
    lines = [format_table(rows, f"{found.merged!r} has no labels."), *([both] if found.both else [])]
    lines.append(f"{'Merged' if apply else 'Would merge'} {found.merged!r} into {found.into!r}.")
    lines += [] if apply else ["Nothing is stored without --apply; make a backup first."]
    print_result(asdict(found) | {"applied": apply}, "\n".join(lines), as_json)


def erase(
    name: Annotated[str, typer.Argument(help="The person who is erased: a name, or # and an id.")],
    labels: Annotated[Labels, typer.Option(help="Whether labels and decisions stay under a random name.")],
    apply: Annotated[bool, typer.Option("--apply", help="Erase the person. It cannot be undone.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Erase a person from all studies, accounts and the audit log; without --apply nothing is stored."""
    from contextlib import suppress

    from storage import erasure
    from storage.database import writing

    class NotApplied(Exception):
        """Rolls the transaction back."""

    with suppress(NotApplied), writing(open_database(database)) as session:
        found = erasure.erase(session, name, erasure.Labels(labels.value))
        if not apply:
            raise NotApplied
    parts = {"removed": found.removed, "named": found.renamed, "mentions the name": found.mentions}
    rows = [{"table": table, "rows": n, "was": part} for part, counts in parts.items() for table, n in counts.items()]
    lines = [format_table(rows, "Nothing of the person is stored but the name.")]
    kept = f"What stays is by {found.alias!r}." if found.alias else "Nothing of the person stays."
    lines.append(f"{'Erased' if apply else 'Would erase'} {name!r}. {kept}")
    lines += ["Free texts that mention the name are not changed."] if found.mentions else []
    lines += [] if apply else ["Nothing is stored without --apply; earlier backups keep the person."]
    print_result(asdict(found) | {"applied": apply}, "\n".join(lines), as_json)


COMMANDS: dict[str, Callable[..., None]] = {"similar": similar, "merge": merge, "erase": erase}
