"""A worker executes a run as a whole: the tables of workers that shared its traces go, and counts that are not read."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from storage.db import dialects

revision: str = "0035"
down_revision: str | None = "0034"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

TABLES = ("reservation", "spending", "model_pause", "worker")
INDEXES = ("ix_trace_claimed_by", "ix_trace_study_id_contention_item_id_run_id")


def upgrade() -> None:
    """Drop what a database of version 0.1 never had, and notify no worker of requested runs."""
    bind = op.get_bind()
    inspector = sa.inspect(bind)
    for table in TABLES:
        if inspector.has_table(table):
            op.drop_table(table)
    stored = {index["name"] for index in inspector.get_indexes("trace")}
    for index in INDEXES:
        if index in stored:
            op.drop_index(index, table_name="trace")
    if "traces" in {column["name"] for column in inspector.get_columns("run")}:
        op.drop_column("run", "traces")
    dialects.create_triggers(bind)
