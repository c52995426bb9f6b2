"""replies to flags and notes"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

OWNERS = {"target_id": "target", "annotator_id": "annotator", "author_id": "annotator"}


def upgrade() -> None:
    op.create_table(
        "reply",
        sa.Column("id", sa.Integer(), nullable=False),
        *(sa.Column(column, sa.Integer(), nullable=False) for column in OWNERS),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        *(
            sa.ForeignKeyConstraint(
                [column], [f"{table}.id"], name=op.f(f"fk_reply_{column}_{table}"), ondelete="CASCADE"
            )
            for column, table in OWNERS.items()
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reply")),
    )
    op.create_index(op.f("ix_reply_target_id_annotator_id"), "reply", ["target_id", "annotator_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_reply_target_id_annotator_id"), table_name="reply")
    op.drop_table("reply")
