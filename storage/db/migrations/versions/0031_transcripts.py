"""Transcripts of items, outside the bodies of the items."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from storage.db.tables import Table

revision: str = "0031"
down_revision: str | None = "0030"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Create the table, unless the upgrade from version 0.1 has created it from the models."""
    bind = op.get_bind()
    if not sa.inspect(bind).has_table("transcript"):
        Table.metadata.tables["transcript"].create(bind)
