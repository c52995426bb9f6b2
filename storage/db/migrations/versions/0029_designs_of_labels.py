"""The designs of labels: which targets people label, with which probability.

A design of an earlier study is stored where its facts prove it: judges compared pairs and no others were offered, or
pairs were offered with one seed and exactly those are requested. Labels of files prove nothing, so there is none.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import sqlalchemy as sa
from alembic import op

from storage.db.tables import Table

revision: str = "0029"
down_revision: str | None = "0028"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

ADDED = ("stratum", "probability", "drawn", "round")
# Criteria whose queue has all of their targets.
RESERVED = ("critique", "refined answer")
FLOOR = 0.05
BATCH = 2_000
TARGETS = """
SELECT target.id, target.study_id, target.criterion, item.key, target.part, target.overlap,
    EXISTS (
        SELECT 1 FROM opinion JOIN trace ON trace.id = opinion.trace_id
        WHERE opinion.target_id = target.id AND opinion.stage = 'verdict'
        AND coalesce(opinion.outcome, trace.outcome) IN ('disputed', 'no_verdict')
    ),
    EXISTS (SELECT 1 FROM opinion WHERE opinion.target_id = target.id AND opinion.stage = 'verdict')
FROM target JOIN item ON item.id = target.item_id WHERE target.kind = 'preference' ORDER BY target.id
"""
# Every label that the workbench stored has an entry of the undo stack; labels of files have none.
OF_FILES = """
SELECT DISTINCT target.study_id, target.criterion FROM label JOIN target ON target.id = label.target_id
WHERE target.kind = 'preference' AND NOT EXISTS (
    SELECT 1 FROM undo_entry WHERE undo_entry.type = 'label'
    AND undo_entry.target_id = label.target_id AND undo_entry.annotator_id = label.annotator_id
)
"""


class Stored(NamedTuple):
    """A pair of responses with what is known of it."""

    id: int
    key: str
    item: str
    requested: bool
    disputed: bool
    judged: bool


class Offer(NamedTuple):
    """An entry of the audit log about pairs that were offered."""

    drawn: int
    seed: int


def upgrade() -> None:
    _create_what_is_missing()
    bind = op.get_bind()
    pairs: dict[tuple[int, str], list[Stored]] = defaultdict(list)
    for id, study, criterion, item, part, overlap, disputed, judged in bind.execute(sa.text(TARGETS)):
        one = Stored(id, f"{item}:{part}", item, overlap is not None, bool(disputed), bool(judged))
        pairs[study, criterion].append(one)
    unknown = {(study, criterion) for study, criterion in bind.execute(sa.text(OF_FILES))}
    offers = _offers(bind)
    for (study, criterion), own in pairs.items():
        if (study, criterion) in unknown or criterion in RESERVED:
            continue
        found = _design(bind, study, own, offers.get((study, criterion), []))
        if found is not None:
            _store(bind, study, criterion, own, found)


def _create_what_is_missing() -> None:
    """Create the table and the columns, unless the upgrade from version 0.1 has created them from the models."""
    bind = op.get_bind()
    inspector = sa.inspect(bind)
    if not inspector.has_table("design"):
        Table.metadata.tables["design"].create(bind)
    stored = {column["name"] for column in inspector.get_columns("target")}
    for name in ADDED:
        column = Table.metadata.tables["target"].columns[name]
        if name not in stored:
            op.add_column(
                "target",
                sa.Column(name, column.type, nullable=column.nullable, server_default=column.server_default),
            )


def _offers(bind: sa.Connection) -> dict[tuple[int, str], list[Offer]]:
    query = sa.text("SELECT study_id, CAST(details AS TEXT) FROM audit WHERE action = 'settings' ORDER BY id")
    found: dict[tuple[int, str], list[Offer]] = defaultdict(list)
    for study, text in bind.execute(query):
        details = json.loads(text)
        if isinstance(details, Mapping) and details.get("change") == "pairs offered":
            found[study, str(details.get("criterion"))].append(Offer(int(details["drawn"]), int(details["seed"])))
    return found


class Found(NamedTuple):
    """A design that is proven."""

    form: str
    by: str
    seed: int
    shares: dict[str, float]
    cut: float
    """Of targets that are not disputed."""


def _design(bind: sa.Connection, study: int, own: Sequence[Stored], offers: Sequence[Offer]) -> Found | None:
    if not offers:
        if any(one.requested for one in own) or not any(one.judged for one in own):
            return None
        return Found("disputed", "contention", 0, {"disputed": 1.0, "agreed": 0.0, "unjudged": 0.0}, 0.0)
    requested = {one.id for one in own if one.requested}
    disputed = {one.id for one in own if one.disputed}
    drawn, total = max(offer.drawn for offer in offers), len(own)
    if not _has_every_pair(bind, study, own):
        return None
    if drawn == total and requested | disputed == {one.id for one in own}:
        return Found("everything", "", offers[-1].seed, {}, 1.0)
    seeds = {offer.seed for offer in offers}
    if len(seeds) > 1:
        return None
    (seed,) = seeds
    ranked = sorted(own, key=lambda one: hashlib.sha256(f"{seed}:{one.key}".encode(errors="replace")).digest())
    first = {one.id for one in ranked[:drawn]}
    # a pair that was in the queue as a dispute was not requested once more
    if drawn >= total or not requested <= first or not first <= requested | disputed:
        return None
    share, cut = drawn / total, _number(seed, ranked[drawn].key)
    if disputed:
        return Found("stratified", "contention", seed, {"disputed": 1.0, "agreed": share, "unjudged": share}, cut)
    return Found("random", "", seed, {"": share}, cut)


def _number(seed: int, key: str) -> float:
    digest = hashlib.sha256(f"{seed}:{key}".encode(errors="replace")).digest()
    return float((int.from_bytes(digest[:7], "big") + 0.5) / 2**56)


def _has_every_pair(bind: sa.Connection, study: int, own: Iterable[Stored]) -> bool:
    """Return whether every item with two responses has a pair, so the pairs are those of the draw."""
    length = "json_array_length(body -> 'responses')"
    if bind.dialect.name == "sqlite":
        length = "json_array_length(body, '$.responses')"
    query = sa.text(f"SELECT key FROM item WHERE study_id = :study AND {length} > 1")
    return set(bind.scalars(query, {"study": study})) <= {one.item for one in own}


def _store(bind: sa.Connection, study: int, criterion: str, own: Sequence[Stored], found: Found) -> None:
    design, target = Table.metadata.tables["design"], Table.metadata.tables["target"]
    drawn_by_cut = [name for name, share in found.shares.items() if share < 1]
    cuts = dict.fromkeys(drawn_by_cut, found.cut) if found.form in ("random", "stratified") else {}
    bind.execute(
        design.insert(),
        {
            "study_id": study, "kind": "preference", "criterion": criterion, "round": 1, "form": found.form,
            "by": found.by, "seed": found.seed, "shares": found.shares, "cuts": cuts, "floor": FLOOR,
            "created_at": datetime.now(UTC), "author": "",
        },
    )  # fmt: skip
    draws: dict[tuple[str, float, bool], list[int]] = defaultdict(list)
    for one in own:
        stratum = ("disputed" if one.disputed else "agreed" if one.judged else "unjudged") if found.by else ""
        share = 1.0 if found.form == "everything" else found.shares[stratum]
        is_drawn = share == 1 or _number(found.seed, one.key) < found.cut
        draws[stratum, share, is_drawn].append(one.id)
    for (stratum, share, is_drawn), ids in draws.items():
        values = {"stratum": stratum, "probability": share, "drawn": is_drawn, "round": 1 if is_drawn else None}
        for start in range(0, len(ids), BATCH):
            bind.execute(sa.update(target).where(target.c.id.in_(ids[start : start + BATCH])).values(values))
