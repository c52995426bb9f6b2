"""The audit log."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from commands.options import DatabaseUrl, Json, find_study, open_database, record_export
from commands.output import format_table, print_result


def audit(
    study: Annotated[str | None, typer.Option("--study", help="Only this study.")] = None,
    action: Annotated[list[str] | None, typer.Option(help="Only this action; repeat it for several.")] = None,
    actor: Annotated[str, typer.Option(help="Only actors whose name contains this.")] = "",
    until: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only until the end of this day (UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The newest entries, at most this many.")] = 100,
    csv: Annotated[Path | None, typer.Option(help="Write all matching entries to this CSV file.")] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the audit log, newest first: who signed in, saw, exported, decided and changed what."""
    from core.errors import TiebreakError
    from core.formats.output import open_output
    from core.formats.tables import csv_text
    from storage import audit as log
    from storage.database import reading

    if unknown := sorted({*(action or ())} - {*log.Action}):
        raise TiebreakError(f"There is no action {unknown[0]!r}; actions: {', '.join(log.Action)}.")
    engine = open_database(database)
    study_id = find_study(engine, study).id if study is not None else None
    wanted = log.Filter(study_id, tuple(action or ()), actor, until.date() if until else None)
    with reading(engine) as session:
        rows = [log.cells(entry) for entry in log.entries(session, wanted, limit=None if csv else limit)]
    if csv is not None:
        with open_output(csv) as stream:
            stream.write(csv_text(log.COLUMNS, [list(row.values()) for row in rows]))
        record_export(engine, study_id, [str(csv)])
        return print_result(
            {"written": str(csv), "entries": len(rows)}, f"Wrote {len(rows):,} entries to {csv}", as_json
        )
    print_result(rows, format_table(rows, "No entries."), as_json)
