"""The tables of version 1.0, from those of 0.1.0.

Renamed tables and columns first, then what the models have and the database lacks, then the values that new columns
have for stored rows.
"""

import json
import re
import secrets
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

from storage.db import _database_objects
from storage.db.tables import Table

revision: str = "0033"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

BATCH = 2_000


def upgrade() -> None:
    _rename()
    op.drop_index("ix_trace_run_id_outcome_claimed_until", table_name="trace")
    op.drop_column("trace", "claimed_until")
    _create_what_is_missing()
    _add_secrets()
    _store_versions_of_guidelines()
    _compute_contention()
    _list_unread_replies()
    _compose_names()
    op.execute(COUNT_LABELS)
    op.execute(sa.text(MARK_DISPUTED).bindparams(disputed=True))
    _mark_agreed_criteria()
    _store_shown_orders()
    op.execute("UPDATE run SET traces = (SELECT count(*) FROM trace WHERE trace.run_id = run.id)")
    _store_designs()
    _database_objects.create(op.get_bind())


def _create_what_is_missing() -> None:
    """Create the tables, columns, indexes and constraints that the models have and the database has not."""
    bind = op.get_bind()
    inspector = sa.inspect(bind)
    before = {name: {column["name"] for column in inspector.get_columns(name)} for name in inspector.get_table_names()}
    Table.metadata.create_all(bind)
    for table in Table.metadata.sorted_tables:
        if table.name in before:
            _add_columns(table, before[table.name])
    with op.batch_alter_table("trace") as trace:
        trace.drop_constraint("uq_trace_run_id_item_id", type_="unique")
        trace.create_unique_constraint("uq_trace_run_id_item_id_part", ["run_id", "item_id", "part"])
    inspector = sa.inspect(bind)
    for table in Table.metadata.sorted_tables:
        stored = {index["name"] for index in inspector.get_indexes(table.name)}
        own = {index.name: index for index in table.indexes}
        unique = {key["name"] for key in inspector.get_unique_constraints(table.name)}
        for name in stored - own.keys() - unique:
            op.drop_index(str(name), table_name=table.name)
        for name in own.keys() - stored:
            own[name].create(bind)


def _add_columns(table: sa.Table, stored: set[str]) -> None:
    for column in table.columns:
        if column.name in stored:
            continue
        added = sa.Column(column.name, column.type, nullable=column.nullable, server_default=column.server_default)
        if not column.nullable and column.server_default is None:
            added.nullable = True  # a step fills it
        op.add_column(table.name, added)
        for constraint in table.foreign_key_constraints:
            if constraint.column_keys == [column.name]:
                _add_foreign_key(constraint)


def _add_foreign_key(constraint: sa.ForeignKeyConstraint) -> None:
    with op.batch_alter_table(constraint.table.name) as batch:
        batch.create_foreign_key(
            str(constraint.name),
            constraint.referred_table.name,
            list(constraint.column_keys),
            ["id"],
            ondelete=constraint.ondelete,
        )


OWNERS = ("target", "annotator")


def _rename() -> None:
    # No constraint names these columns: ALTER TABLE ... RENAME COLUMN copies nothing on either database.
    op.alter_column("trace", "doubt", new_column_name="uncertainty")
    op.alter_column("run", "carried_by", new_column_name="claimed_by")
    op.alter_column("run", "carried_until", new_column_name="claimed_until")
    for table in ("label", "mark", "ruling"):
        _rename_unique_column(table, "origin", "fingerprint")
    _rename_table("ruling", "adjudication", unique=["fingerprint"], index=["target_id", "id"])
    _rename_table("seen", "opinion_view", unique=["target_id", "annotator_id"])


def _rename_unique_column(table: str, old: str, new: str) -> None:
    # The column is renamed before the batch: a constraint on a column that the same batch renames is lost on SQLite.
    op.alter_column(table, old, new_column_name=new)
    with op.batch_alter_table(table) as batch:
        batch.drop_constraint(f"uq_{table}_{old}", type_="unique")
        batch.create_unique_constraint(f"uq_{table}_{new}", [new])


def _rename_table(old: str, new: str, *, unique: list[str], index: list[str] | None = None) -> None:
    """Rename a table with its keys, constraints, index and sequence, whose names contain the table's."""
    op.rename_table(old, new)
    with op.batch_alter_table(new) as batch:
        if index is not None:
            batch.drop_index(f"ix_{old}_{'_'.join(index)}")
        batch.drop_constraint(f"uq_{old}_{'_'.join(unique)}", type_="unique")
        for owner in OWNERS:
            batch.drop_constraint(f"fk_{old}_{owner}_id_{owner}", type_="foreignkey")
        batch.drop_constraint(f"pk_{old}", type_="primary")
        batch.create_primary_key(f"pk_{new}", ["id"])
        for owner in OWNERS:
            batch.create_foreign_key(f"fk_{new}_{owner}_id_{owner}", owner, [f"{owner}_id"], ["id"], ondelete="CASCADE")
        batch.create_unique_constraint(f"uq_{new}_{'_'.join(unique)}", unique)
        if index is not None:
            batch.create_index(f"ix_{new}_{'_'.join(index)}", index)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER SEQUENCE {old}_id_seq RENAME TO {new}_id_seq")


def _add_secrets() -> None:
    """Give every study a random key."""
    bind = op.get_bind()
    for study_id in bind.scalars(sa.text("SELECT id FROM study")).all():
        update = sa.text("UPDATE study SET secret = :secret WHERE id = :id")
        bind.execute(update, {"secret": secrets.token_hex(16), "id": study_id})
    with op.batch_alter_table("study") as batch:
        batch.alter_column("secret", existing_type=sa.String(), nullable=False)


def _store_versions_of_guidelines() -> None:
    """The guidelines that a study has become version 1."""
    bind = op.get_bind()
    texts = bind.execute(sa.text("SELECT id, guidelines FROM study WHERE guidelines != ''")).all()
    rows = [{"study_id": owner, "version": 1, "text": text, "at": datetime.now(UTC)} for owner, text in texts]
    if rows:
        bind.execute(Table.metadata.tables["guidelines"].insert(), rows)


UNORDERED_KINDS = ("preference", "aiu_precision", "aiu_recall")
_DETAILS = re.compile(r"“[^”]*”|\"[^\"]*\"|'[^']*'|\d+(?:[.,]\d+)*")


def _compute_contention() -> None:
    """Store the contention of each trace whose verdict has it, or whose opinions need no scale."""
    trace = sa.table("trace", sa.column("id", sa.Integer()), sa.column("contention", sa.Float()))
    verdicts = {trace_id: body["verdict"] for trace_id, _, body in _events("verdict")}
    values = [(trace_id, _contention(verdict)) for trace_id, verdict in verdicts.items()]
    known = [{"key": trace_id, "value": value} for trace_id, value in values if value is not None]
    if known:
        statement = sa.update(trace).where(trace.c.id == sa.bindparam("key"))
        op.get_bind().execute(statement.values(contention=sa.bindparam("value")), known)


def _contention(verdict: Mapping[str, Any]) -> float | None:
    if verdict.get("contention") is not None:
        return float(verdict["contention"])
    by_target = defaultdict(list)
    for opinion in verdict.get("opinions", ()):
        if opinion["stage"] == "last" and opinion["kind"] in UNORDERED_KINDS:
            target = (opinion["kind"], opinion.get("criterion"), opinion.get("part"))
            by_target[target].append(opinion.get("value"))
    values = [_division([v for v in values if v is not None]) for values in by_target.values() if len(values) > 1]
    return max((value for value in values if value is not None), default=None)


def _division(values: Sequence[Any]) -> float | None:
    """Return one minus the modal share, as a share of its largest value."""
    if len(values) < 2:
        return 0.0 if values else None
    modal_share = max(Counter(map(repr, values)).values()) / len(values)
    return (1 - modal_share) / (1 - 1 / len(values))


def _list_unread_replies() -> None:
    bind = op.get_bind()
    restarts = {trace_id: seq for trace_id, seq, _ in _events("restarted")}
    owners = {row.id: row for row in bind.execute(sa.text("SELECT id, study_id, run_id FROM trace"))}
    names = ("study_id", "run_id", "trace_id", "ask", "seq", "judge", "step", "reason", "read_by")
    table = sa.table("unread_reply", *map(sa.column, names))
    rows = [
        {
            "study_id": owners[trace_id].study_id,
            "run_id": owners[trace_id].run_id,
            "trace_id": trace_id,
            "ask": body["ask"],
            "seq": seq,
            "judge": body["turn"]["speaker"],
            "step": body["turn"]["step"],
            "reason": _DETAILS.sub("…", body["turn"]["problem"]),
            "read_by": "",
        }
        for trace_id, seq, body in _events("turn")
        if body["turn"].get("reading") is None and body["turn"].get("problem") and seq > restarts.get(trace_id, -1)
    ]
    for start in range(0, len(rows), BATCH):
        bind.execute(table.insert(), rows[start : start + BATCH])


def _events(type: str) -> Iterator[tuple[int, int, Any]]:
    """Yield (trace id, sequence number, body) of the events of a type, oldest first."""
    query = sa.text(
        "SELECT trace_id, seq, CAST(body AS TEXT) FROM event WHERE type = :type ORDER BY trace_id, seq"
    ).execution_options(yield_per=BATCH)
    for trace_id, seq, body in op.get_bind().execute(query, {"type": type}):
        yield trace_id, seq, json.loads(body)


def _compose_names() -> None:
    """Rename annotators; one whose composed name is another annotator's stays, because labels are never changed."""
    annotator = sa.table("annotator", sa.column("id", sa.Integer()), sa.column("name", sa.String()))
    connection = op.get_bind()
    names = {row.id: row.name for row in connection.execute(sa.select(annotator.c.id, annotator.c.name))}
    for annotator_id, name in names.items():
        composed = unicodedata.normalize("NFC", name)
        if composed != name and composed not in names.values():
            names[annotator_id] = composed
            connection.execute(sa.update(annotator).where(annotator.c.id == annotator_id).values(name=composed))


COUNT_LABELS = """
UPDATE target SET counted = (
    SELECT count(*) FROM label
    WHERE label.target_id = target.id AND label.value IS NOT NULL AND NOT label.surplus AND NOT EXISTS (
        SELECT 1 FROM label AS newer
        WHERE newer.target_id = label.target_id AND newer.annotator_id = label.annotator_id AND newer.id > label.id
    )
)
WHERE EXISTS (SELECT 1 FROM label WHERE label.target_id = target.id)
"""
MARK_DISPUTED = """
UPDATE target SET disputed = :disputed WHERE id IN (
    SELECT opinion.target_id FROM opinion JOIN trace ON trace.id = opinion.trace_id
    WHERE opinion.stage = 'verdict' AND trace.outcome IN ('disputed', 'no_verdict')
)
"""


CRITERIA_OF_DISPUTES = """
SELECT opinion.trace_id AS trace_id, target.criterion AS criterion,
    min(CASE WHEN opinion.value IS NULL THEN 0 ELSE 1 END) AS has_value
FROM opinion JOIN target ON target.id = opinion.target_id JOIN trace ON trace.id = opinion.trace_id
WHERE opinion.stage = 'verdict' AND trace.outcome IN ('disputed', 'no_verdict')
GROUP BY opinion.trace_id, target.criterion
"""
# As `core.verdicts.criterion_outcomes`: a criterion with a value is agreed if another one of the trace has none.
AGREED_CRITERIA = f"""
UPDATE opinion SET outcome = 'agreed' WHERE stage = 'verdict' AND id IN (
    SELECT verdict.id FROM opinion AS verdict JOIN target ON target.id = verdict.target_id
    JOIN ({CRITERIA_OF_DISPUTES}) AS own ON own.trace_id = verdict.trace_id AND own.criterion = target.criterion
    WHERE own.has_value = 1 AND EXISTS (
        SELECT 1 FROM opinion AS other
        WHERE other.trace_id = verdict.trace_id AND other.stage = 'verdict' AND other.value IS NULL
    )
)
"""
MARK_AGAIN = """
UPDATE target SET disputed = :disputed WHERE overlap IS NULL AND disputed != :disputed AND {exists} (
    SELECT 1 FROM opinion JOIN trace ON trace.id = opinion.trace_id
    WHERE opinion.target_id = target.id AND opinion.stage = 'verdict'
    AND {outcome} IN ('disputed', 'no_verdict')
)
"""


def _mark_agreed_criteria() -> None:
    op.execute(AGREED_CRITERIA)
    statement = MARK_AGAIN.format(exists="NOT EXISTS", outcome="coalesce(opinion.outcome, trace.outcome)")
    op.execute(sa.text(statement).bindparams(disputed=False))


DESIGNED = """
SELECT DISTINCT study_id, criterion FROM target AS own
WHERE kind = 'preference' AND criterion NOT IN ('critique', 'refined answer') AND NOT EXISTS (
    SELECT 1 FROM target WHERE target.study_id = own.study_id AND target.kind = 'preference'
    AND target.criterion = own.criterion
    AND (overlap IS NOT NULL OR EXISTS (SELECT 1 FROM label WHERE label.target_id = target.id))
) AND EXISTS (SELECT 1 FROM opinion WHERE opinion.target_id = own.id AND opinion.stage = 'verdict')
ORDER BY study_id, criterion
"""
JUDGED = "EXISTS (SELECT 1 FROM opinion WHERE opinion.target_id = target.id AND opinion.stage = 'verdict')"
DRAW = f"""
UPDATE target SET stratum = CASE WHEN disputed THEN 'disputed' WHEN {JUDGED} THEN 'agreed' ELSE 'unjudged' END,
    probability = CASE WHEN disputed THEN 1.0 ELSE 0.0 END, drawn = disputed, round = CASE WHEN disputed THEN 1 END
WHERE study_id = :study_id AND kind = 'preference' AND criterion = :criterion
"""


def _store_designs() -> None:
    """Store that people label the disputed pairs, of criteria without labels: how these were chosen is not known."""
    bind = op.get_bind()
    for study_id, criterion in bind.execute(sa.text(DESIGNED)).all():
        own = {"study_id": study_id, "criterion": criterion}
        shares = {"disputed": 1.0, "agreed": 0.0, "unjudged": 0.0}
        row = {
            "kind": "preference",
            "form": "disputed",
            "by": "contention",
            "shares": shares,
            "floor": 0.05,
            "round": 1,
        }
        row |= {"seed": 0, "cuts": {}, "author": "", "created_at": datetime.now(UTC)}
        bind.execute(Table.metadata.tables["design"].insert(), own | row)
        bind.execute(sa.text(DRAW), own)


TRACES = "SELECT id FROM trace WHERE outcome != 'waiting' AND id > :after ORDER BY id LIMIT :batch"
SHOWN = {"sqlite": "json_extract(body, '$.turn.shown')", "postgresql": "CAST(body -> 'turn' -> 'shown' AS TEXT)"}
TURNS = """
SELECT trace_id, type, {shown} FROM event
WHERE trace_id BETWEEN :first AND :last AND type IN ('turn', 'restarted') ORDER BY trace_id, seq
"""


def _store_shown_orders() -> None:
    bind = op.get_bind()
    turns = sa.text(TURNS.format(shown=SHOWN[bind.dialect.name]))
    value = "CAST(:orders AS JSON)" if bind.dialect.name == "postgresql" else ":orders"
    store = sa.text(f"UPDATE trace SET shown_orders = {value} WHERE id IN :traces").bindparams(
        sa.bindparam("traces", expanding=True)
    )
    after = 0
    while traces := list(bind.execute(sa.text(TRACES), {"after": after, "batch": BATCH}).scalars()):
        after = traces[-1]
        orders: dict[int, set[str]] = {trace: set() for trace in traces}
        for trace, kind, shown in bind.execute(turns, {"first": traces[0], "last": after}):
            if trace in orders and kind == "restarted":
                orders[trace].clear()
            elif trace in orders and shown:
                orders[trace].add(shown)
        for text, ids in _by_value(orders).items():
            bind.execute(store, {"orders": text, "traces": ids})


def _by_value(orders: dict[int, set[str]]) -> dict[str, list[int]]:
    """Return the stored text of distinct orders -> the traces that have them."""
    found = defaultdict(list)
    for trace, texts in orders.items():
        distinct = sorted(order for order in map(json.loads, texts) if order)
        found[json.dumps(distinct, separators=(",", ":"))].append(trace)
    return found
