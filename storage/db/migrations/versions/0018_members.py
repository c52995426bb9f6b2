"""members of studies, with their roles"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString, UTCDateTime

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "member",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("role", AutoString(), nullable=False),
        sa.Column("at", UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_member_annotator_id_annotator"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_member_study_id_study"), ondelete="CASCADE"),
        sa.UniqueConstraint("study_id", "annotator_id", name=op.f("uq_member_study_id_annotator_id")),
    )
    op.create_index(op.f("ix_member_annotator_id"), "member", ["annotator_id"])


def downgrade() -> None:
    op.drop_table("member")
