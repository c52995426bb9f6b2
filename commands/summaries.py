"""The summaries that are stored with targets."""

from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import DatabaseUrl, Json, find_study, open_database
from commands.output import format_table, print_result

if TYPE_CHECKING:
    from storage.summary_check import Difference

SHOWN = 20
"""Differences in the table; JSON has all."""


def summaries(
    study: Annotated[str | None, typer.Option("--study", help="Only this study.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 2 if a summary differs from the data.")
    ] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Compute the stored number of labels and dispute of every target again, and print those that differed."""
    from core.errors import TiebreakError
    from storage import summary_check
    from storage.database import reading, writing

    engine = open_database(database)
    study_id = find_study(engine, study).id if study is not None else None
    with reading(engine) if check else writing(engine) as session:
        found = (summary_check.differences if check else summary_check.rebuild)(session, study_id)
    rows = [_row(difference) for difference in found]
    table = format_table(rows[:SHOWN], "All summaries agree with the labels and opinions.")
    more = f"\nand {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    print_result(rows, table + more, as_json)
    if check and rows:
        raise TiebreakError(
            f"The summaries of {len(rows):,} targets differ; the command without --check corrects them."
        )


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
