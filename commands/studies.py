"""Studies and runs as a whole: the commands `cli.py studies ...` and `cli.py runs ...`."""

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands.options import DatabaseUrl, Json, StudyName, find_study, open_database
from commands.output import format_table, print_result
from core.errors import TiebreakError

if TYPE_CHECKING:
    from storage.deletions import Deleted

Name = Annotated[str, typer.Argument(help="The study's name.")]
RunName = Annotated[str, typer.Argument(help="The run's name.")]


def list_studies(database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print all studies, and the deleted ones that can be restored."""
    from storage import deletions, studies
    from storage.database import reading

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
    from storage import studies
    from storage.database import writing

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
    from storage import studies
    from storage.database import writing

    with writing(open_database(database)) as session:
        studies.archive(session, studies.get(session, name).id, archived=not undo)
    print_result({"study": name, "archived": not undo}, f"{name!r} is {'active' if undo else 'archived'}.", as_json)


def delete(name: Name, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Delete a study; it can be restored for 30 days."""
    from storage import deletions, studies
    from storage.database import writing

    with writing(open_database(database)) as session:
        deletions.delete_study(session, studies.get(session, name).id)
    text = f"Deleted {name!r}. To restore it within {deletions.PERIOD.days} days: studies restore {shlex.quote(name)}"
    print_result({"deleted": name}, text, as_json)


def restore(name: Name, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Restore a deleted study."""
    from storage import deletions
    from storage.database import writing

    with writing(open_database(database)) as session:
        study_id = _newest(deletions.deleted_studies(session), name, "study")
        restored = deletions.restore_study(session, study_id)
    print_result({"restored": restored}, f"Restored {restored!r}.", as_json)


def list_runs(study: StudyName, database: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print the runs of a study, and the deleted ones that can be restored."""
    from storage import deletions, runs
    from storage.database import reading

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
    from storage import deletions, runs
    from storage.database import writing

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
    from storage import deletions
    from storage.database import writing

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


STUDY_COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_studies,
    "rename": rename,
    "archive": archive,
    "delete": delete,
    "restore": restore,
}
RUN_COMMANDS: dict[str, Callable[..., None]] = {"list": list_runs, "delete": delete_run, "restore": restore_run}
