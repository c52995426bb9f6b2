"""edits of AIUs"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "aiu_edit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("body", sa.JSON().with_variant(sa.Text(), "sqlite"), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_aiu_edit_annotator_id_annotator"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_aiu_edit_item_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["study_id"], ["study.id"], name=op.f("fk_aiu_edit_study_id_study"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_aiu_edit")),
        sa.UniqueConstraint("item_id", "number", name=op.f("uq_aiu_edit_item_id_number")),
    )
    op.create_index(op.f("ix_aiu_edit_study_id"), "aiu_edit", ["study_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_aiu_edit_study_id"), table_name="aiu_edit")
    op.drop_table("aiu_edit")
