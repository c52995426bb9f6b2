"""the order in which texts were shown to the annotator, with the label"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0027"
down_revision: str | None = "0026"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")
# Before this column, the workbench showed responses in the item's order. Every label that it stored has an entry of the
# undo stack; labels of files have none, and their order is not known. Critiques were shown in a drawn order.
STATE = """
UPDATE label SET shown = {order}
WHERE value IS NOT NULL AND target_id IN (
    SELECT id FROM target WHERE kind = 'preference' AND criterion NOT IN ('critique', 'refined answer')
) AND (target_id, annotator_id) IN (SELECT target_id, annotator_id FROM undo_entry WHERE type = 'label')
"""


def upgrade() -> None:
    op.add_column("label", sa.Column("shown", JSON, nullable=True))
    order = "CAST('[1,2]' AS JSON)" if op.get_bind().dialect.name == "postgresql" else "'[1,2]'"
    op.execute(STATE.format(order=order))


def downgrade() -> None:
    op.drop_column("label", "shown")
