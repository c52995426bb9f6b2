"""workers that share runs, reservations of their calls, and the job queue on PostgreSQL"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

CLAIMED = sa.text("claimed_by IS NOT NULL")
QUEUE_OBJECTS = """
SELECT format('DROP %s IF EXISTS %s CASCADE', kind, object) FROM (
    SELECT 1 AS position, 'TABLE' AS kind, oid::regclass::text AS object FROM pg_class
    WHERE relkind = 'r' AND relname LIKE 'procrastinate!_%' ESCAPE '!' AND pg_table_is_visible(oid)
    UNION ALL SELECT 2, 'FUNCTION', oid::regprocedure::text FROM pg_proc
    WHERE proname LIKE 'procrastinate!_%' ESCAPE '!' AND pg_function_is_visible(oid)
    UNION ALL SELECT 3, 'TYPE', oid::regtype::text FROM pg_type
    WHERE typname LIKE 'procrastinate!_%' ESCAPE '!' AND typtype IN ('e', 'c') AND pg_type_is_visible(oid)
    AND NOT EXISTS (SELECT 1 FROM pg_class WHERE pg_class.oid = typrelid AND relkind = 'r')
) objects ORDER BY position
"""


def upgrade() -> None:
    op.create_table(
        "worker",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker")),
        sa.UniqueConstraint("name", name=op.f("uq_worker_name")),
    )
    op.create_table(
        "reservation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("dollars", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_reservation_run_id_run"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["worker_id"], ["worker.id"], name=op.f("fk_reservation_worker_id_worker"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservation")),
    )
    op.create_index(op.f("ix_reservation_run_id_model"), "reservation", ["run_id", "model"])
    op.create_index(op.f("ix_reservation_worker_id"), "reservation", ["worker_id"])
    op.create_table(
        "spending",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("dollars", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_spending_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_spending")),
    )
    op.create_index(
        op.f("ix_trace_claimed_by"), "trace", ["claimed_by"], postgresql_where=CLAIMED, sqlite_where=CLAIMED
    )
    if op.get_bind().dialect.name == "postgresql" and not sa.inspect(op.get_bind()).has_table("procrastinate_jobs"):
        _create_queue()


def _create_queue() -> None:
    """Create the tables of the installed version of Procrastinate."""
    from procrastinate.schema import SchemaManager

    driver: Any = op.get_bind().connection.driver_connection
    driver.execute(SchemaManager.get_schema())  # several statements, which SQLAlchemy would send as one


def downgrade() -> None:
    op.drop_index(op.f("ix_trace_claimed_by"), table_name="trace")
    for table in ("spending", "reservation", "worker"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        for statement in op.get_bind().execute(sa.text(QUEUE_OBJECTS)).scalars().all():
            op.execute(statement)
