"""outcomes of criteria"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0019"
down_revision: str | None = "0018"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

CRITERIA_OF_DISPUTES = """
SELECT opinion.trace_id AS trace_id, target.criterion AS criterion,
    min(CASE WHEN opinion.value IS NULL THEN 0 ELSE 1 END) AS has_value
FROM opinion JOIN target ON target.id = opinion.target_id JOIN trace ON trace.id = opinion.trace_id
WHERE opinion.stage = 'verdict' AND trace.outcome IN ('disputed', 'no_verdict')
GROUP BY opinion.trace_id, target.criterion
"""
AGREED_CRITERIA = f"""
UPDATE opinion SET outcome = 'agreed' WHERE stage = 'verdict' AND id IN (
    SELECT verdict.id FROM opinion AS verdict JOIN target ON target.id = verdict.target_id
    JOIN ({CRITERIA_OF_DISPUTES}) AS own ON own.trace_id = verdict.trace_id AND own.criterion = target.criterion
    WHERE own.has_value = 1 AND EXISTS (
        SELECT 1 FROM opinion AS other
        WHERE other.trace_id = verdict.trace_id AND other.stage = 'verdict' AND other.value IS NULL
    )
)
"""
"""As `core.verdicts.criterion_outcomes`: a criterion with a value is agreed if another one of the trace has none."""
MARK_DISPUTED = """
UPDATE target SET disputed = :disputed WHERE overlap IS NULL AND disputed != :disputed AND {exists} (
    SELECT 1 FROM opinion JOIN trace ON trace.id = opinion.trace_id
    WHERE opinion.target_id = target.id AND opinion.stage = 'verdict'
    AND {outcome} IN ('disputed', 'no_verdict')
)
"""


def upgrade() -> None:
    op.add_column("opinion", sa.Column("outcome", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
    op.execute(AGREED_CRITERIA)
    statement = MARK_DISPUTED.format(exists="NOT EXISTS", outcome="coalesce(opinion.outcome, trace.outcome)")
    op.execute(sa.text(statement).bindparams(disputed=False))


def downgrade() -> None:
    statement = MARK_DISPUTED.format(exists="EXISTS", outcome="trace.outcome")
    op.execute(sa.text(statement).bindparams(disputed=True))
    op.drop_column("opinion", "outcome")
