"""The tables of version 1.0, from those of 0.1.0.

Renamed tables and columns first, then what the models have and the database lacks, then the values that new columns
have for stored rows: what follows from others is computed as it is for new ones.
"""

import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op
from sqlalchemy.orm import Session
from sqlmodel import col

from core.designs import disputes_only
from core.trace import Verdict, VerdictReached
from core.verdicts import verdict_contention
from storage.db import dialects
from storage.db.connections import batches
from storage.db.tables import OpinionRow, StudyRow, Table, TargetRow, TraceRow
from storage.labels import designs, targets
from storage.runs import outcomes, trace_opinions
from storage.runs.events import events_by_trace, verdict_columns

revision: str = "0033"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

# Traces whose events are in memory at once.
BATCH = 200


def upgrade() -> None:
    _rename()
    op.drop_index("ix_trace_run_id_outcome_claimed_until", table_name="trace")
    op.drop_column("trace", "claimed_until")
    _create_what_is_missing()
    _add_secrets()
    _store_versions_of_guidelines()
    _compose_names()
    with Session(op.get_bind()) as session:
        _store_what_follows(session)
        session.commit()  # of the session: the transaction is that of the upgrade
    dialects.create_triggers(op.get_bind())


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


# Criteria of pairs that judges have concluded on, without a label or a request.
DESIGNED = """
SELECT DISTINCT study_id, criterion FROM target AS own
WHERE kind = 'preference' AND criterion NOT IN ('critique', 'refined answer') AND NOT EXISTS (
    SELECT 1 FROM target WHERE target.study_id = own.study_id AND target.kind = 'preference'
    AND target.criterion = own.criterion
    AND (overlap IS NOT NULL OR EXISTS (SELECT 1 FROM label WHERE label.target_id = target.id))
) AND EXISTS (SELECT 1 FROM opinion WHERE opinion.target_id = own.id AND opinion.stage = 'verdict')
ORDER BY study_id, criterion
"""


def _store_what_follows(session: Session) -> None:
    """Store what follows from events, labels and opinions, with the functions that store it with new ones."""
    rows = session.execute(sa.select(col(TraceRow.id), col(TraceRow.study_id), col(TraceRow.run_id))).all()
    for batch in batches(sorted(rows), BATCH):
        owners = {row.id: outcomes.Owner(*row, item="") for row in batch}
        of_traces = events_by_trace(session, list(owners))
        listed = [
            outcomes.NewEvent(trace_id, seq, event)
            for trace_id, events in of_traces.items()
            for seq, event in events
            if outcomes.is_listed(event)
        ]
        outcomes.insert_unread(session, owners, listed)
        for trace_id, events in of_traces.items():
            for verdict in [event.verdict for _, event in events if isinstance(event, VerdictReached)][-1:]:
                _store_verdict(session, trace_id, verdict)
    if orders := trace_opinions.order_differences(session):
        session.execute(sa.update(TraceRow), [{"id": one.id, "shown_orders": one.again} for one in orders])
    # People label the disputed pairs, of criteria without labels: how others were chosen is not known.
    for study_id, criterion in session.execute(sa.text(DESIGNED)).all():
        design = replace(disputes_only(), between_runs=False)
        designs.add_rounds(session, study_id, (designs.KIND, criterion), [design])
    for study_id in session.scalars(sa.select(col(StudyRow.id))).all():
        targets.count_labels_of_study(session, study_id)
        designs.apply_to_study(session, study_id)


def _store_verdict(session: Session, trace_id: int, verdict: Verdict) -> None:
    """Store the contention of a trace, and the outcomes of criteria that differ from its own."""
    own = sa.update(TraceRow).where(col(TraceRow.id) == trace_id)
    session.execute(own.values(contention=verdict_contention(verdict)))
    for criterion, (outcome, _) in verdict_columns(verdict).items():
        judged = sa.select(col(TargetRow.id)).where(col(TargetRow.criterion) == criterion)
        concluded = (col(OpinionRow.trace_id) == trace_id, col(OpinionRow.stage) == "verdict")
        opinions = sa.update(OpinionRow).where(*concluded, col(OpinionRow.target_id).in_(judged))
        session.execute(opinions.values(outcome=outcome), execution_options={"synchronize_session": False})
