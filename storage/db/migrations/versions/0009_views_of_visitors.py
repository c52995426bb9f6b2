"""what visitors saw before they signed in"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "visitor_view",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("visitor", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_visitor_view_target_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_visitor_view")),
        sa.UniqueConstraint("visitor", "target_id", name=op.f("uq_visitor_view_visitor_target_id")),
    )


def downgrade() -> None:
    op.drop_table("visitor_view")
