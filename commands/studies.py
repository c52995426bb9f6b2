"""Studies and runs as a whole: the commands `cli.py studies ...` and `cli.py runs ...`."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands.output import (
    DatabaseUrl,
    Json,
    StudyName,
    find_study,
    format_table,
    open_database,
    open_study,
    print_result,
)
from core.errors import TiebreakError

if TYPE_CHECKING:
    from storage.labels.targets import Difference
    from storage.runs import call_totals, trace_opinions
    from storage.transfer.deletions import Deleted


Name = Annotated[str, typer.Argument(help="The study's name.")]
RunName = Annotated[str, typer.Argument(help="The run's name.")]


def list_studies(database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print all studies, and the deleted ones that can be restored."""
    from storage.db.connections import reading
    from storage.studies import studies
    from storage.transfer import deletions

    with reading(open_database(database)) as session:
        counts = studies.progress(session)
        found = [studies.get(session, name) for name in studies.names(session)]
        deleted = deletions.deleted_studies(session)
    rows: list[dict[str, Any]] = [
        {
            "study": study.name,
            "items": counts[study.id].items,
            "runs": counts[study.id].runs,
            "labels": counts[study.id].labels,
            "state": "archived" if study.archived else "",
        }
        for study in found
    ]
    nothing = {"items": None, "runs": None, "labels": None}
    rows += [{"study": one.name, **nothing, "state": f"deleted, until {one.until:%Y-%m-%d}"} for one in deleted]
    print_result(rows, format_table(rows, "There are no studies."), as_json)


def rename(
    name: Name,
    new: Annotated[str, typer.Argument(help="The new name.")],
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Change the name of a study."""
    from storage.db.connections import writing
    from storage.studies import studies

    with writing(open_database(database)) as session:
        studies.rename(session, studies.get(session, name).id, new)
    print_result({"renamed": name, "to": new}, f"Renamed {name!r} to {new!r}.", as_json)


def archive(
    name: Name,
    undo: Annotated[bool, typer.Option("--undo", help="Offer its targets again.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Archive a study: nobody is offered its targets, and its results stay."""
    from storage.db.connections import writing
    from storage.studies import studies

    with writing(open_database(database)) as session:
        studies.archive(session, studies.get(session, name).id, archived=not undo)
    print_result({"study": name, "archived": not undo}, f"{name!r} is {'active' if undo else 'archived'}.", as_json)


def delete(name: Name, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Delete a study; it can be restored for 30 days."""
    from storage.db.connections import writing
    from storage.studies import studies
    from storage.transfer import deletions

    with writing(open_database(database)) as session:
        deletions.delete_study(session, studies.get(session, name).id)
    text = f"Deleted {name!r}. To restore it within {deletions.PERIOD.days} days: studies restore {shlex.quote(name)}"
    print_result({"deleted": name}, text, as_json)


def restore(name: Name, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Restore a deleted study."""
    from storage.db.connections import writing
    from storage.transfer import deletions

    with writing(open_database(database)) as session:
        study_id = _newest(deletions.deleted_studies(session), name, "study")
        restored = deletions.restore_study(session, study_id)
    print_result({"restored": restored}, f"Restored {restored!r}.", as_json)


def list_runs(study: StudyName, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print the runs of a study, and the deleted ones that can be restored."""
    from storage.db.connections import reading
    from storage.runs import runs
    from storage.transfer import deletions

    engine = open_database(database)
    study_id = find_study(engine, study).id
    with reading(engine) as session:
        found = runs.of_study(session, study_id)
        progress = runs.progress_by_run(session, [run.id for run in found])
        deleted = deletions.deleted_runs(session, study_id)
    rows: list[dict[str, Any]] = [
        {
            "run": run.name,
            "protocol": run.protocol,
            "traces": progress[run.id].traces,
            "done": progress[run.id].done,
            "state": "running" if run.active and run.state == "requested" else run.state,
        }
        for run in found
    ]
    rows += [
        {
            "run": one.name,
            "protocol": None,
            "traces": one.traces,
            "done": None,
            "state": f"deleted, until {one.until:%Y-%m-%d}",
        }
        for one in deleted
    ]
    print_result(rows, format_table(rows, "The study has no runs."), as_json)


def delete_run(name: RunName, study: StudyName, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Delete a run with its traces and opinions; labels stay. It can be restored for 30 days."""
    from storage.db.connections import writing
    from storage.runs import runs
    from storage.transfer import deletions

    engine = open_database(database)
    study_id = find_study(engine, study).id
    with writing(engine) as session:
        ids = {run.name: run.id for run in runs.of_study(session, study_id)}
        if name not in ids:
            raise TiebreakError(f"The study {study!r} has no run called {name!r}.")
        deletions.delete_run(session, ids[name])
    restoring = f"runs restore {shlex.quote(name)} --study {shlex.quote(study)}"
    text = f"Deleted {name!r}. To restore it within {deletions.PERIOD.days} days: {restoring}"
    print_result({"deleted": name}, text, as_json)


def restore_run(name: RunName, study: StudyName, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Restore a deleted run."""
    from storage.db.connections import writing
    from storage.transfer import deletions

    engine = open_database(database)
    study_id = find_study(engine, study).id
    with writing(engine) as session:
        deletions.restore_run(session, study_id, _newest(deletions.deleted_runs(session, study_id), name, "run"))
    print_result({"restored": name}, f"Restored {name!r}.", as_json)


def _newest(deleted: "Sequence[Deleted]", name: str, noun: str) -> int:
    """Return the id of the newest deletion under a name; raises TiebreakError if there is none."""
    ids = [one.id for one in deleted if one.name == name]
    if not ids:
        raise TiebreakError(f"There is no deleted {noun} called {name!r} that can be restored.")
    return ids[0]


# The summaries that are stored with targets, traces and runs.

SHOWN = 20
"""Differences in the table; JSON has all."""
NOUNS = ("targets", "traces", "runs", "calls of runs")


def summaries(
    study: Annotated[str | None, typer.Option("--study", help="Only this study.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 2 if a summary differs from the data.")
    ] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Compute what is stored with targets, traces and runs again, and print what differed.

    It is the number of labels and the dispute of every target, the orders shown in every trace with a verdict, the
    number of traces of every run, and the sums over the calls of every run that has ended.
    """
    from core.errors import TiebreakError
    from storage.db.connections import reading, writing
    from storage.labels import targets
    from storage.runs import call_totals, trace_opinions
    from storage.runs import call_totals as run_sizes

    engine = open_database(database)
    study_id = find_study(engine, study).id if study is not None else None
    with reading(engine) if check else writing(engine) as session:
        found = (targets.summary_differences if check else targets.rebuild_summaries)(session, study_id)
        orders = (trace_opinions.order_differences if check else trace_opinions.rebuild_orders)(session, study_id)
        sizes = (run_sizes.size_differences if check else run_sizes.rebuild_sizes)(session, study_id)
        sums = (call_totals.differences if check else call_totals.rebuild)(session, study_id)
    parts = [
        [_row(difference) for difference in found],
        [_row_of_trace(difference) for difference in orders],
        [_row_of_run(difference) for difference in sizes],
        [_row_of_sums(difference) for difference in sums],
    ]
    tables = [_table(rows) for rows in parts if rows]
    text = "\n\n".join(tables) or "All summaries agree with the labels, opinions and turns."
    print_result([row for rows in parts for row in rows], text, as_json)
    if check and tables:
        wrong = " and ".join(f"{len(rows):,} {noun}" for rows, noun in zip(parts, NOUNS, strict=True) if rows)
        raise TiebreakError(f"The summaries of {wrong} differ; the command without --check corrects them.")


def _table(rows: list[dict[str, str | int | bool]]) -> str:
    more = f"\nand {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    return format_table(rows[:SHOWN], "") + more


def _row(difference: "Difference") -> dict[str, str | int | bool]:
    target = difference.target
    return {
        "study": difference.study,
        "item": target.item,
        "kind": target.kind,
        "criterion": target.criterion,
        "part": target.part,
        "labels stored": difference.counted,
        "labels": difference.counted_again,
        "disputed stored": difference.disputed,
        "disputed": difference.disputed_again,
    }


def _row_of_trace(difference: "trace_opinions.Difference") -> dict[str, str | int | bool]:
    return {
        "study": difference.study,
        "run": difference.run,
        "item": difference.item,
        "part": difference.part,
        "orders stored": "none" if difference.stored is None else str(difference.stored),
        "orders": str(difference.again),
    }


def _row_of_run(difference: "call_totals.Difference") -> dict[str, str | int | bool]:
    return {
        "study": difference.study,
        "run": difference.run,
        "traces stored": difference.stored,
        "traces": difference.again,
    }


def _row_of_sums(difference: "call_totals.Difference") -> dict[str, str | int | bool]:
    return {
        "study": difference.study,
        "run": difference.run,
        "sums stored": str(difference.stored),
        "sums": str(difference.again),
    }


# More pairs for the annotators' queue.


def offer(
    study: StudyName,
    criterion: Annotated[str, typer.Option(help="The criterion on which the pairs are labelled.")],
    pairs: Annotated[int | None, typer.Option(min=1, help="Pairs to draw at random. Default: every pair.")] = None,
    seed: Annotated[int, typer.Option(help="A larger sample with the same seed contains the smaller one.")] = 0,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Offer pairs of responses to annotators on which the judges agree, or which no judge has compared."""
    from storage.db.connections import writing
    from storage.labelling import claims

    engine, source = open_study(database, study)
    with writing(engine) as session:
        result = claims.offer(session, source, criterion, count=pairs, seed=seed)
    text = f"Drawn: {result.drawn:,} of {result.total:,} pairs; added to the queue: {result.added:,}."
    print_result(asdict(result), text, as_json)
