"""experiments, and calls that runs share"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")
TIME = sqlmodel.sql.sqltypes.UTCDateTime
NAME = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("name", NAME(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("ceiling", sa.Float(), nullable=True),
        sa.Column("created_at", TIME(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["study.id"], name=op.f("fk_experiment_study_id_study"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment")),
        sa.UniqueConstraint("study_id", "name", name=op.f("uq_experiment_study_id_name")),
    )
    with op.batch_alter_table("run") as run:
        run.add_column(sa.Column("repeat", sa.Integer(), nullable=False, server_default=sa.text("1")))
        run.add_column(sa.Column("fresh", sa.Boolean(), nullable=False, server_default=sa.false()))
        run.add_column(sa.Column("experiment_id", sa.Integer(), nullable=True))
        run.add_column(sa.Column("cell", JSON, nullable=True))
        run.create_foreign_key(
            op.f("fk_run_experiment_id_experiment"), "experiment", ["experiment_id"], ["id"], ondelete="SET NULL"
        )
    op.create_index(op.f("ix_run_experiment_id"), "run", ["experiment_id"])
    op.add_column("event", sa.Column("reused", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "call",
        sa.Column("key", NAME(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("reply", JSON, nullable=False),
        sa.Column("at", TIME(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_call_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_call")),
    )
    op.create_index(op.f("ix_call_run_id"), "call", ["run_id"])
    op.create_table(
        "pending_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("key", NAME(), nullable=False),
        sa.Column("worker", NAME(), nullable=False),
        sa.Column("at", TIME(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_pending_call_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pending_call")),
    )
    op.create_index(op.f("ix_pending_call_run_id"), "pending_call", ["run_id"])
    op.create_index(op.f("ix_pending_call_worker_key"), "pending_call", ["worker", "key"])


def downgrade() -> None:
    op.drop_table("pending_call")
    op.drop_table("call")
    op.drop_column("event", "reused")
    op.drop_index(op.f("ix_run_experiment_id"), table_name="run")
    with op.batch_alter_table("run") as run:
        run.drop_constraint(op.f("fk_run_experiment_id_experiment"), type_="foreignkey")
        for column in ("cell", "experiment_id", "fresh", "repeat"):
            run.drop_column(column)
    op.drop_table("experiment")
