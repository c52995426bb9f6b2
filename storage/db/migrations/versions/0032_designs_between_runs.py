"""Whether targets on which two runs differ are disputed in a design; in those that exist, they are not."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from storage.db.tables import Table

revision: str = "0032"
down_revision: str | None = "0031"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Add the column, unless the upgrade from version 0.1 has created the table from the models."""
    column = Table.metadata.tables["design"].columns["between_runs"]
    if column.name not in {one["name"] for one in sa.inspect(op.get_bind()).get_columns("design")}:
        op.add_column(
            "design", sa.Column(column.name, column.type, nullable=False, server_default=column.server_default)
        )
