"""archived and deleted studies, and deleted runs"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString, UTCDateTime

revision: str = "0017"
down_revision: str | None = "0016"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.add_column("study", sa.Column("archived_at", UTCDateTime(), nullable=True))
    op.add_column("study", sa.Column("deleted_at", UTCDateTime(), nullable=True))
    op.add_column("study", sa.Column("deleted_name", AutoString(), nullable=True))
    op.add_column("study", sa.Column("removals", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "deleted_run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("name", AutoString(), nullable=False),
        sa.Column("traces", sa.Integer(), nullable=False),
        sa.Column("fields", JSON, nullable=False),
        sa.Column("records", sa.LargeBinary(), nullable=False),
        sa.Column("deleted_at", UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["study.id"], name=op.f("fk_deleted_run_study_id_study"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deleted_run")),
    )
    op.create_index(op.f("ix_deleted_run_study_id"), "deleted_run", ["study_id"])


def downgrade() -> None:
    op.drop_table("deleted_run")
    for column in ("removals", "deleted_name", "deleted_at", "archived_at"):
        op.drop_column("study", column)
