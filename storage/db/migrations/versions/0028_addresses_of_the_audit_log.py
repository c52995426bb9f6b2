"""addresses can be removed from the entries of the audit log"""

from collections.abc import Sequence

from alembic import op

revision: str = "0028"
down_revision: str | None = "0027"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

MESSAGE = "The audit log is append-only."
COLUMNS = ("id", "at", "actor", "action", "study_id", "study", "details")
SAME = " AND ".join(f"NEW.{name} IS OLD.{name}" for name in COLUMNS)
SQLITE = (
    "CREATE TRIGGER audit_update BEFORE UPDATE ON audit {condition}BEGIN SELECT RAISE(ABORT, '" + MESSAGE + "'); END"
)
# JSON has no equality on PostgreSQL.
ROWS = ["({})".format(", ".join(f"{row}.{name}::text" for name in COLUMNS)) for row in ("NEW", "OLD")]
POSTGRESQL = (
    "CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN {condition}RAISE EXCEPTION '" + MESSAGE + "'; END $$"
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        removed = f"NEW.address = '' AND {ROWS[0]} IS NOT DISTINCT FROM {ROWS[1]}"
        _replace_function(f"IF TG_OP = 'UPDATE' THEN IF {removed} THEN RETURN NEW; END IF; END IF; ")
    else:
        _replace_trigger(f"WHEN NOT (NEW.address = '' AND {SAME}) ")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        _replace_function("")
    else:
        _replace_trigger("")


def _replace_function(condition: str) -> None:
    op.execute(POSTGRESQL.format(condition=condition))


def _replace_trigger(condition: str) -> None:
    op.execute("DROP TRIGGER audit_update")
    op.execute(SQLITE.format(condition=condition))
