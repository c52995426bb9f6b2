"""the sums over the calls of runs that have ended, with the run"""

import json
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0026"
down_revision: str | None = "0025"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")
RUNS = "SELECT id FROM run WHERE state NOT IN ('requested', 'cancelling')"
ANSWERED = "type IN ('turn', 'unreadable', 'extracted')"
SUMS = {
    "calls": f"COUNT(*) FILTER (WHERE {ANSWERED})",
    "errors": "COUNT(*) FILTER (WHERE type = 'call_failed')",
    "prompt_tokens": "COALESCE(SUM(prompt_tokens) FILTER (WHERE NOT reused), 0)",
    "completion_tokens": "COALESCE(SUM(completion_tokens) FILTER (WHERE NOT reused), 0)",
    "seconds": "COALESCE(SUM(seconds) FILTER (WHERE NOT reused), 0.0)",
    "dollars": "COALESCE(SUM(dollars) FILTER (WHERE NOT reused), 0.0)",
    "unpriced": f"COUNT(*) FILTER (WHERE {ANSWERED} AND NOT reused AND dollars IS NULL)",
    "uncounted": f"COUNT(*) FILTER (WHERE {ANSWERED} AND NOT reused "
    "AND (prompt_tokens IS NULL OR completion_tokens IS NULL))",
    "refused_schemas": "COUNT(*) FILTER (WHERE type = 'schema_refused')",
    "reused": "COUNT(*) FILTER (WHERE reused)",
    "saved_dollars": "COALESCE(SUM(dollars) FILTER (WHERE reused), 0.0)",
}


def upgrade() -> None:
    op.add_column("run", sa.Column("call_totals", JSON, nullable=True))
    bind = op.get_bind()
    columns = ", ".join(f"{expression} AS {name}" for name, expression in SUMS.items())
    read = sa.text(f"SELECT {columns} FROM event WHERE run_id = :run")
    value = "CAST(:sums AS JSON)" if bind.dialect.name == "postgresql" else ":sums"
    store = sa.text(f"UPDATE run SET call_totals = {value} WHERE id = :run")
    for run in list(bind.execute(sa.text(RUNS)).scalars()):
        sums = dict(bind.execute(read, {"run": run}).mappings().one())
        bind.execute(store, {"run": run, "sums": json.dumps(sums)})


def downgrade() -> None:
    op.drop_column("run", "call_totals")
