"""The tables by name."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.statistics.data.frames import ALL
from storage.db.connections import reading
from storage.db.tables import RunRow, TargetRow
from storage.reports import references
from storage.reports.alignment import AlignmentData
from storage.reports.chosen_labels import ALL_TARGETS, CAVEATS, describe_populations
from storage.reports.critiques import PEOPLE
from storage.reports.published import _corrections, _debates, _judged, _metacritique
from storage.reports.published._values import (
    TODAY,
    find_experiment_table,
    has_figures,
    tables_of_experiments,
    with_part,
    with_published,
    without_figures,
)
from storage.reports.published.rows import PublishedRow, PublishedTable, Request
from storage.studies.studies import Study

TABLES: Sequence[PublishedTable] = (
    *_metacritique.TABLES, *_debates.TABLES, *_judged.TABLES, *_corrections.TABLES,
)  # fmt: skip


def available(session: Session, study_id: int) -> list[PublishedTable]:
    """Return the tables for which a study has values of the right kind; they can lack other things that they need.

    Those of the paper whose method the study has runs of are first.
    """
    methods = select(col(RunRow.protocol)).where(col(RunRow.study_id) == study_id).distinct()
    own = {name.partition("_")[0] for name in session.scalars(methods)}
    query = select(col(TargetRow.kind), col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id).distinct()
    present = {name for kind, criterion in session.execute(query) for name in (kind, f"{kind}/{criterion}")}
    named = [table for table in TABLES if present & {*table.kinds}]
    named.sort(key=lambda table: table.name.partition("-")[0] not in own)
    return [*named, *tables_of_experiments(session, study_id)]


def find_table(name: str, *, is_experiment: bool = False) -> PublishedTable:
    """Return the table with this name, or that of its experiment; raises TiebreakError where there is none.

    `is_experiment`: the study has an experiment with this name.
    """
    names = (name, name.removesuffix(TODAY).replace("-table-", "-"))  # metacritique-table-5 makes the runs of -5
    table = next((table for table in TABLES if table.name in names), None)
    if table is None:
        known = ", ".join(table.name for table in TABLES)
        unknown = f"There is no published table {name!r}; there are {known}."
        other = f"The experiment {name!r} is not one of a paper: nothing is published beside it."
        raise TiebreakError(without_figures(name) or (other if is_experiment else unknown))
    return table


def compute(
    engine: Engine,
    study: Study,
    name: str,
    *,
    reference: str | None = None,
    resamples: int = 1000,
    load: Callable[[], AlignmentData] | None = None,
) -> list[PublishedRow]:
    """Return the rows of a table for a study; none if the study lacks the required data.

    `load` returns the study's data with the reference, if the caller has it already.
    """
    table = find_experiment_table(engine, study.id, name) or find_table(name)
    return _rows_of(table, Request(engine, study, reference, resamples, load))


def of_study(engine: Engine, study: Study, reference: str | None = None) -> list[tuple[str, PublishedRow]]:
    """Return the rows of all tables of a study that a paper prints too, each with the name of its table."""
    with reading(engine) as session:
        tables = available(session, study.id)
    request = Request(engine, study, reference)
    own = [table for table in tables if table not in TABLES or has_figures(request, table.name)]
    return [(table.name, row) for table in own for row in _rows_of(table, request) if row.published is not None]


def _rows_of(table: PublishedTable, request: Request) -> list[PublishedRow]:
    rows = with_published(request, table.name, [_with_population(row, table, request) for row in table.rows(request)])
    rows = with_part(request, table.name, rows)
    if not (rows and table.has_reference and table.against and request.data.reference.type == "debate"):
        return rows
    note = f"compared with {request.data.reference.title}"
    return [replace(row, note="; ".join(filter(None, (note, row.note)))) for row in rows]


def _with_population(row: PublishedRow, table: PublishedTable, request: Request) -> PublishedRow:
    """Return a row with the targets that it is of, and the caveat if these are not all."""
    if table.labels == "no value":
        return row
    data = request.data if table.has_reference else request.people
    if table.labels != "every value" and row.scorer.partition(":")[0] not in (PEOPLE, data.reference.title):
        return row
    criterion = _criterion(row.group, {criterion for _, criterion in data.scales})
    kinds = {kind.partition("/")[0] for kind in table.kinds}
    populations = {data.choices.population(kind, criterion, weighted=row.weighted) for kind in kinds} - {ALL_TARGETS}
    if not populations:
        return row
    population = min(populations)
    caveat = CAVEATS[population]
    note = row.note if caveat in row.note else "; ".join(filter(None, (caveat, row.note)))
    return replace(row, population=population, note=note)


def _criterion(group: str, criteria: Collection[str]) -> str:
    """Return the criterion that the group of a row names first; "all" if it names none."""
    found = [name for name in criteria if name and (group == name or group.startswith((f"{name} · ", f"{name}: ")))]
    return max(found, key=len, default=ALL)


def note_of(rows: Sequence[PublishedRow]) -> str:
    """Return a sentence about the rows that are not of all targets; empty if there are none."""
    return describe_populations(row.population for row in rows)


def compared_with(engine: Engine, study: Study, table: PublishedTable, reference: str | None = None) -> str:
    """Return the end of the title of a table that compares judges: with what; empty for others."""
    with reading(engine) as session:
        chosen = references.resolve(session, study.id, reference)
    return f", compared with {chosen.title}" if table.has_reference and table.against else ""
