"""Which items of a study a run is on."""

import hashlib
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.wording import scenario_name
from storage.tables import ItemRow


@dataclass(frozen=True)
class ItemSelection:
    """Conditions on items, applied in the order of the fields; the default is all items."""

    scenario: str | None = None
    items: tuple[str, ...] = ()
    """Names of items; empty for all."""
    sample: int | None = None
    """The number of items that are drawn at random. A larger sample with the same seed contains the smaller one."""
    seed: int = 0
    """Of the sample."""
    limit: int | None = None
    """The first items only."""


def item_ids(session: Session, study_id: int, selection: ItemSelection) -> list[int]:
    """Return the ids of the selected items, in the order of the study; raises TiebreakError for an unknown item."""
    query = select(col(ItemRow.id), col(ItemRow.key)).where(col(ItemRow.study_id) == study_id)
    if selection.scenario is not None:
        query = query.where(func.coalesce(col(ItemRow.scenario), "") == selection.scenario)
    rows = session.execute(query.order_by(col(ItemRow.position))).all()
    if selection.items:
        wanted = set(selection.items)
        rows = [row for row in rows if row.key in wanted]
        if missing := sorted(wanted - {row.key for row in rows}):
            condition = "" if selection.scenario is None else f" in the scenario {scenario_name(selection.scenario)!r}"
            raise TiebreakError(f"The study has no item {missing[0]!r}{condition}.")
    if selection.sample is not None:
        drawn = {row.id for row in sorted(rows, key=lambda row: rank(selection.seed, row.key))[: selection.sample]}
        rows = [row for row in rows if row.id in drawn]
    return [row.id for row in rows[: selection.limit]]


def rank(seed: int, key: str) -> bytes:
    """Return the place of something in the random order of a seed."""
    return hashlib.sha256(f"{seed}:{key}".encode(errors="replace")).digest()
