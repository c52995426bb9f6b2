"""A worker executes a run as a whole: the tables of workers that shared the traces of a run go."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from storage.db import dialects

revision: str = "0035"
down_revision: str | None = "0034"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

TABLES = ("reservation", "spending", "model_pause", "worker")
INDEX = "ix_trace_claimed_by"


def upgrade() -> None:
    """Drop the tables and the index of claims, which a database of version 0.1 never had; notify no worker of runs."""
    bind = op.get_bind()
    inspector = sa.inspect(bind)
    for table in TABLES:
        if inspector.has_table(table):
            op.drop_table(table)
    if INDEX in {index["name"] for index in inspector.get_indexes("trace")}:
        op.drop_index(INDEX, table_name="trace")
    dialects.create_triggers(bind)
