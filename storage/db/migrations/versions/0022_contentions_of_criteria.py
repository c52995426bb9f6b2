"""contentions of criteria"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0022"
down_revision: str | None = "0021"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("opinion", sa.Column("contention", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("opinion", "contention")
