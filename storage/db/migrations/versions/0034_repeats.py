"""The tables of repeats, and whether an entry of the undo stack is about one."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from storage.db.tables import Table

revision: str = "0034"
down_revision: str | None = "0033"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Add what a database lacks; one of version 0.1 got it with all tables of the models."""
    bind = op.get_bind()
    Table.metadata.create_all(bind)
    if "repeat" not in {column["name"] for column in sa.inspect(bind).get_columns("undo_entry")}:
        op.add_column("undo_entry", sa.Column("repeat", sa.Boolean(), nullable=False, server_default=sa.false()))
