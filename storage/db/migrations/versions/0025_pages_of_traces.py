"""the number of traces of a run, and an index for the pages of the most disputed traces"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0025"
down_revision: str | None = "0024"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

BEFORE, NOW = "ix_trace_study_id_contention", "ix_trace_study_id_contention_item_id_run_id"
COUNT = "UPDATE run SET traces = (SELECT count(*) FROM trace WHERE trace.run_id = run.id)"


def upgrade() -> None:
    op.add_column("run", sa.Column("traces", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.execute(COUNT)
    op.create_index(NOW, "trace", ["study_id", sa.text("contention DESC"), "item_id", sa.text("run_id DESC")])
    op.drop_index(BEFORE, "trace")


def downgrade() -> None:
    op.create_index(BEFORE, "trace", ["study_id", "contention"])
    op.drop_index(NOW, "trace")
    op.drop_column("run", "traces")
