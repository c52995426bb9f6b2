"""Traces that somebody watches, with their open calls."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from storage.db.tables import Table

revision: str = "0033"
down_revision: str | None = "0032"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Create the table, unless the upgrade from version 0.1 has created it from the models."""
    bind = op.get_bind()
    if not sa.inspect(bind).has_table("live_trace"):
        Table.metadata.tables["live_trace"].create(bind)
