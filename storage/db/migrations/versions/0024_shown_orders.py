"""the orders in which responses were shown, with each trace"""

import json
from collections import defaultdict
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0024"
down_revision: str | None = "0023"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")
BATCH = 2_000
TRACES = "SELECT id FROM trace WHERE outcome != 'waiting' AND id > :after ORDER BY id LIMIT :batch"
SHOWN = {
    "sqlite": "json_extract(body, '$.turn.shown')",
    "postgresql": "CAST(body -> 'turn' -> 'shown' AS TEXT)",
}
TURNS = """
SELECT trace_id, type, {shown} FROM event
WHERE trace_id BETWEEN :first AND :last AND type IN ('turn', 'restarted') ORDER BY trace_id, seq
"""


def upgrade() -> None:
    op.add_column("trace", sa.Column("shown_orders", JSON, nullable=True))
    bind = op.get_bind()
    turns = sa.text(TURNS.format(shown=SHOWN[bind.dialect.name]))
    value = "CAST(:orders AS JSON)" if bind.dialect.name == "postgresql" else ":orders"
    store = sa.text(f"UPDATE trace SET shown_orders = {value} WHERE id IN :traces").bindparams(
        sa.bindparam("traces", expanding=True)
    )
    after = 0
    while traces := list(bind.execute(sa.text(TRACES), {"after": after, "batch": BATCH}).scalars()):
        after = traces[-1]
        orders: dict[int, set[str]] = {trace: set() for trace in traces}
        for trace, kind, shown in bind.execute(turns, {"first": traces[0], "last": after}):
            if trace in orders and kind == "restarted":
                orders[trace].clear()
            elif trace in orders and shown:
                orders[trace].add(shown)
        for text, ids in _by_value(orders).items():
            bind.execute(store, {"orders": text, "traces": ids})


def _by_value(orders: dict[int, set[str]]) -> dict[str, list[int]]:
    """Return the stored text of distinct orders -> the traces that have them."""
    found = defaultdict(list)
    for trace, texts in orders.items():
        distinct = sorted(order for order in map(json.loads, texts) if order)
        found[json.dumps(distinct, separators=(",", ":"))].append(trace)
    return found


def downgrade() -> None:
    op.drop_column("trace", "shown_orders")
