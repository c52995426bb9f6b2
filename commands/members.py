"""The members of a study and their roles."""

from typing import Annotated

import typer

from commands.options import DatabaseUrl, Json, StudyName, find_study, open_database
from commands.output import format_table, print_result


def members(
    study: StudyName,
    name: Annotated[str | None, typer.Argument(help="The name of an account whose role is changed.")] = None,
    role: Annotated[
        str | None, typer.Argument(help="owner, researcher, adjudicator, annotator, viewer, or none to remove it.")
    ] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the members of a study, or give an account a role."""
    from core.errors import TiebreakError
    from storage import access
    from storage.database import writing

    engine = open_database(database)
    stored_study = find_study(engine, study)
    with writing(engine) as session:
        if name is not None:
            if role is None or role not in (*access.Role, "none"):
                raise TiebreakError(f"A role is one of {', '.join(access.Role)}, or none.")
            access.set_role(session, stored_study.id, name, None if role == "none" else access.Role(role))
        rows = [{"name": name, "role": role.value} for name, role in access.members(session, stored_study.id).items()]
    print_result(rows, format_table(rows, "No members: only administrators may open this study."), as_json)
