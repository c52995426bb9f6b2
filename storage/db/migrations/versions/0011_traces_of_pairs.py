"""traces of pairs of responses"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("run", _text("pairs"))
    with op.batch_alter_table("trace") as trace:
        trace.add_column(_text("part"))
        trace.drop_constraint(op.f("uq_trace_run_id_item_id"), type_="unique")
        trace.create_unique_constraint(op.f("uq_trace_run_id_item_id_part"), ["run_id", "item_id", "part"])


def downgrade() -> None:
    op.execute("DELETE FROM trace WHERE part <> ''")
    with op.batch_alter_table("trace") as trace:
        trace.drop_constraint(op.f("uq_trace_run_id_item_id_part"), type_="unique")
        trace.create_unique_constraint(op.f("uq_trace_run_id_item_id"), ["run_id", "item_id"])
        trace.drop_column("part")
    op.drop_column("run", "pairs")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sqlmodel.sql.sqltypes.AutoString(), nullable=False, server_default="")
