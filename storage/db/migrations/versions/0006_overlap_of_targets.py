"""overlap of single targets, and names of annotators in composed characters (NFC)"""

import unicodedata
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("target", sa.Column("overlap", sa.Integer(), nullable=True))
    _compose_names()


def downgrade() -> None:
    op.drop_column("target", "overlap")


def _compose_names() -> None:
    """Rename annotators; one whose composed name is another annotator's stays, because labels are never changed."""
    annotator = sa.table("annotator", sa.column("id", sa.Integer()), sa.column("name", sa.String()))
    connection = op.get_bind()
    names = {row.id: row.name for row in connection.execute(sa.select(annotator.c.id, annotator.c.name))}
    for annotator_id, name in names.items():
        composed = unicodedata.normalize("NFC", name)
        if composed != name and composed not in names.values():
            names[annotator_id] = composed
            connection.execute(sa.update(annotator).where(annotator.c.id == annotator_id).values(name=composed))
