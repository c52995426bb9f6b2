"""The summaries that are stored with targets, traces and runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import DatabaseUrl, Json, find_study, open_database
from commands.output import format_table, print_result

if TYPE_CHECKING:
    from storage import call_totals, run_sizes, shown_orders
    from storage.summary_check import Difference

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
    from storage import call_totals, run_sizes, shown_orders, summary_check
    from storage.database import reading, writing

    engine = open_database(database)
    study_id = find_study(engine, study).id if study is not None else None
    with reading(engine) if check else writing(engine) as session:
        found = (summary_check.differences if check else summary_check.rebuild)(session, study_id)
        orders = (shown_orders.differences if check else shown_orders.rebuild)(session, study_id)
        sizes = (run_sizes.differences if check else run_sizes.rebuild)(session, study_id)
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


def _row_of_trace(difference: "shown_orders.Difference") -> dict[str, str | int | bool]:
    return {
        "study": difference.study,
        "run": difference.run,
        "item": difference.item,
        "part": difference.part,
        "orders stored": "none" if difference.stored is None else str(difference.stored),
        "orders": str(difference.again),
    }


def _row_of_run(difference: "run_sizes.Difference") -> dict[str, str | int | bool]:
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
