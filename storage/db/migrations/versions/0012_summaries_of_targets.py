"""summaries of targets, and indexes for what an annotator has done"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

INDEXES = {
    "target": ["study_id", "kind", "criterion", "disputed", "counted", "overlap"],
    "label": ["annotator_id", "study_id", "target_id", "id"],
    "mark": ["annotator_id", "mark", "target_id", "id"],
    "draft": ["annotator_id"],
}
COUNT_LABELS = """
UPDATE target SET counted = (
    SELECT count(*) FROM label
    WHERE label.target_id = target.id AND label.value IS NOT NULL AND NOT label.surplus AND NOT EXISTS (
        SELECT 1 FROM label AS newer
        WHERE newer.target_id = label.target_id AND newer.annotator_id = label.annotator_id AND newer.id > label.id
    )
)
WHERE EXISTS (SELECT 1 FROM label WHERE label.target_id = target.id)
"""
MARK_DISPUTED = """
UPDATE target SET disputed = :disputed WHERE id IN (
    SELECT opinion.target_id FROM opinion JOIN trace ON trace.id = opinion.trace_id
    WHERE opinion.stage = 'verdict' AND trace.outcome IN ('disputed', 'no_verdict')
)
"""


def upgrade() -> None:
    op.add_column("target", sa.Column("counted", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.add_column("target", sa.Column("disputed", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute(COUNT_LABELS)
    op.execute(sa.text(MARK_DISPUTED).bindparams(disputed=True))
    op.drop_index(op.f("ix_target_study_id_kind"), table_name="target")
    for table, columns in INDEXES.items():
        op.create_index(_index(table, columns), table, columns)


def downgrade() -> None:
    for table, columns in INDEXES.items():
        op.drop_index(_index(table, columns), table_name=table)
    op.create_index(op.f("ix_target_study_id_kind"), "target", ["study_id", "kind"])
    op.drop_column("target", "disputed")
    op.drop_column("target", "counted")


def _index(table: str, columns: Sequence[str]) -> str:
    return str(op.f(f"ix_{table}_{'_'.join(columns)}"))
