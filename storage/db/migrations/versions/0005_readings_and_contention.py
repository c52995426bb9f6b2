"""readings: unreadable replies, the extractor of a run, and the contention of a trace"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")
BATCH = 1_000
UNORDERED_KINDS = ("preference", "aiu_precision", "aiu_recall")
_DETAILS = re.compile(r"“[^”]*”|\"[^\"]*\"|'[^']*'|\d+(?:[.,]\d+)*")


def upgrade() -> None:
    op.add_column("trace", sa.Column("contention", sa.Float(), nullable=True))
    op.create_index(op.f("ix_trace_study_id_contention"), "trace", ["study_id", "contention"])
    op.add_column("run", sa.Column("extractor", JSON, nullable=True))
    op.create_table(
        "unread_reply",
        sa.Column("id", sa.Integer(), nullable=False),
        *(sa.Column(f"{owner}_id", sa.Integer(), nullable=False) for owner in ("study", "run", "trace")),
        sa.Column("ask", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("judge", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("step", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("read_by", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        *(
            sa.ForeignKeyConstraint(
                [f"{owner}_id"], [f"{owner}.id"], name=op.f(f"fk_unread_reply_{owner}_id_{owner}"), ondelete="CASCADE"
            )
            for owner in ("study", "run", "trace")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_unread_reply")),
        sa.UniqueConstraint("trace_id", "ask", name=op.f("uq_unread_reply_trace_id_ask")),
    )
    columns = ["study_id", "read_by", "id"]
    op.create_index(op.f("ix_unread_reply_study_id_read_by_id"), "unread_reply", columns)
    op.create_index(op.f("ix_unread_reply_run_id"), "unread_reply", ["run_id"])
    _compute_contention()
    _list_unread_replies()


def downgrade() -> None:
    op.drop_table("unread_reply")
    op.drop_column("run", "extractor")
    op.drop_index(op.f("ix_trace_study_id_contention"), table_name="trace")
    op.drop_column("trace", "contention")


def _compute_contention() -> None:
    """Store the contention of each trace whose verdict has it, or whose opinions need no scale."""
    trace = sa.table("trace", sa.column("id", sa.Integer()), sa.column("contention", sa.Float()))
    verdicts = {trace_id: body["verdict"] for trace_id, _, body in _events("verdict")}
    values = [(trace_id, _contention(verdict)) for trace_id, verdict in verdicts.items()]
    known = [{"key": trace_id, "value": value} for trace_id, value in values if value is not None]
    if known:
        statement = sa.update(trace).where(trace.c.id == sa.bindparam("key"))
        op.get_bind().execute(statement.values(contention=sa.bindparam("value")), known)


def _contention(verdict: Mapping[str, Any]) -> float | None:
    if verdict.get("contention") is not None:
        return float(verdict["contention"])
    by_target = defaultdict(list)
    for opinion in verdict.get("opinions", ()):
        if opinion["stage"] == "last" and opinion["kind"] in UNORDERED_KINDS:
            target = (opinion["kind"], opinion.get("criterion"), opinion.get("part"))
            by_target[target].append(opinion.get("value"))
    values = [_division([v for v in values if v is not None]) for values in by_target.values() if len(values) > 1]
    return max((value for value in values if value is not None), default=None)


def _division(values: Sequence[Any]) -> float | None:
    """Return one minus the modal share, as a share of its largest value."""
    if len(values) < 2:
        return 0.0 if values else None
    modal_share = max(Counter(map(repr, values)).values()) / len(values)
    return (1 - modal_share) / (1 - 1 / len(values))


def _list_unread_replies() -> None:
    bind = op.get_bind()
    restarts = {trace_id: seq for trace_id, seq, _ in _events("restarted")}
    owners = {row.id: row for row in bind.execute(sa.text("SELECT id, study_id, run_id FROM trace"))}
    names = ("study_id", "run_id", "trace_id", "ask", "seq", "judge", "step", "reason", "read_by")
    table = sa.table("unread_reply", *map(sa.column, names))
    rows = [
        {
            "study_id": owners[trace_id].study_id,
            "run_id": owners[trace_id].run_id,
            "trace_id": trace_id,
            "ask": body["ask"],
            "seq": seq,
            "judge": body["turn"]["speaker"],
            "step": body["turn"]["step"],
            "reason": _DETAILS.sub("…", body["turn"]["problem"]),
            "read_by": "",
        }
        for trace_id, seq, body in _events("turn")
        if body["turn"].get("reading") is None and body["turn"].get("problem") and seq > restarts.get(trace_id, -1)
    ]
    for start in range(0, len(rows), BATCH):
        bind.execute(table.insert(), rows[start : start + BATCH])


def _events(type: str) -> Iterator[tuple[int, int, Any]]:
    """Yield (trace id, sequence number, body) of the events of a type, oldest first."""
    query = sa.text(
        "SELECT trace_id, seq, CAST(body AS TEXT) FROM event WHERE type = :type ORDER BY trace_id, seq"
    ).execution_options(yield_per=BATCH)
    for trace_id, seq, body in op.get_bind().execute(query, {"type": type}):
        yield trace_id, seq, json.loads(body)
