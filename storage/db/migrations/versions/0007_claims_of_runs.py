"""claims of traces end with the claim of their run"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.drop_index(op.f("ix_trace_run_id_outcome_claimed_until"), table_name="trace")
    op.drop_column("trace", "claimed_until")
    op.create_index(op.f("ix_trace_run_id_outcome"), "trace", ["run_id", "outcome"])


def downgrade() -> None:
    op.drop_index(op.f("ix_trace_run_id_outcome"), table_name="trace")
    op.add_column("trace", sa.Column("claimed_until", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True))
    columns = ["run_id", "outcome", "claimed_until"]
    op.create_index(op.f("ix_trace_run_id_outcome_claimed_until"), "trace", columns)
