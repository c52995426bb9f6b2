"""The tables of version 0.1.0, which created them itself: a new database is created from the models."""

from collections.abc import Sequence

revision: str = "0002"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Nothing to do: no database comes before it."""
