"""Which targets had a label before a round of a design was the first to draw them.

Of earlier rounds they are those whose labels have times that prove it: after the study was made and before the round.
Labels of files can have earlier times, or none; of these nothing is known, and they count as labels of the round.
"""

from collections import defaultdict
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from storage.db.tables import Table

revision: str = "0030"
down_revision: str | None = "0029"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

PROVEN = """
SELECT DISTINCT design.id, item.key, target.part
FROM design
JOIN target ON target.study_id = design.study_id AND target.kind = design.kind
    AND target.criterion = design.criterion AND target.round = design.round
JOIN item ON item.id = target.item_id
JOIN study ON study.id = design.study_id
JOIN label ON label.target_id = target.id
WHERE label.at >= study.created_at AND label.at < design.created_at AND design.author <> ''
"""


def upgrade() -> None:
    bind = op.get_bind()
    column = Table.metadata.tables["design"].columns["before"]
    if column.name not in {one["name"] for one in sa.inspect(bind).get_columns("design")}:
        op.add_column(
            "design", sa.Column(column.name, column.type, nullable=False, server_default=column.server_default)
        )
    found: dict[int, list[str]] = defaultdict(list)
    for id, item, part in bind.execute(sa.text(PROVEN)):
        found[id].append(f"{item}:{part}")
    design = Table.metadata.tables["design"]
    for id, keys in found.items():
        bind.execute(sa.update(design).where(design.c.id == id).values(before=sorted(keys)))
