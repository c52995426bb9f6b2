"""The tables by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from storage.db.connections import reading
from storage.db.tables import TargetRow
from storage.reports import references
from storage.reports.alignment import AlignmentData
from storage.reports.published import debates, judged, metacritique
from storage.reports.published.rows import PublishedRow, PublishedTable, Request
from storage.studies.studies import Study

TABLES: Sequence[PublishedTable] = (*metacritique.TABLES, *debates.TABLES, *judged.TABLES)


KINDS: Mapping[str, tuple[str, ...]] = {
    "metacritique-3": ("likert",),
    "metacritique-figure-4": ("preference/refined answer",),
    "metacritique": ("aiu_precision", "aiu_recall"),
    "scaleeval": ("preference",),
    "rounds": ("preference",),
    "chateval-1": ("preference",),
    "chateval-2": ("score",),
    "refer": ("score",),
    "dna-2": ("preference",),
    "dna-3": ("aspect_quality",),
    "dna-4": ("preference",),
    "dna": ("aspect_weights",),
}
"""Name of a table, or the beginning of it -> kinds of values, of which a study has to have one; "kind/criterion" if
only this criterion counts."""


def available(session: Session, study_id: int) -> list[PublishedTable]:
    """Return the tables for which a study has values of the right kind; they can lack other things that they need."""
    query = select(col(TargetRow.kind), col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id).distinct()
    present = {name for kind, criterion in session.execute(query) for name in (kind, f"{kind}/{criterion}")}
    return [table for table in TABLES if present & set(_kinds(table.name))]


def _kinds(name: str) -> tuple[str, ...]:
    return KINDS.get(name) or KINDS[name.partition("-")[0]]


def find_table(name: str) -> PublishedTable:
    """Return the table with this name; raises TiebreakError where there is none."""
    table = next((table for table in TABLES if table.name == name), None)
    if table is None:
        raise TiebreakError(f"There is no table {name!r}; there are {', '.join(table.name for table in TABLES)}.")
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
    table, request = find_table(name), Request(engine, study, reference, resamples, load)
    rows = list(table.rows(request))
    if not (rows and table.has_reference and table.against and request.data.reference.type == "debate"):
        return rows
    note = f"compared with {request.data.reference.title}"
    return [replace(row, note="; ".join(filter(None, (note, row.note)))) for row in rows]


def compared_with(engine: Engine, study: Study, table: PublishedTable, reference: str | None = None) -> str:
    """Return the end of the title of a table that is compared with a debate, not with people; empty for others."""
    with reading(engine) as session:
        chosen = references.resolve(session, study.id, reference)
    return (
        f", compared with {chosen.title}" if table.has_reference and table.against and chosen.type == "debate" else ""
    )
