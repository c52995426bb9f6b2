"""the audit log, whose rows cannot be changed or deleted"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString, UTCDateTime

revision: str = "0020"
down_revision: str | None = "0019"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")
MESSAGE = "The audit log is append-only."
# On SQLite, INSERT OR REPLACE deletes rows without the trigger of a deletion.
SQLITE = (
    f"CREATE TRIGGER audit_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END",
    f"CREATE TRIGGER audit_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END",
    "CREATE TRIGGER audit_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id) "
    f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END",
)
POSTGRESQL = (
    "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{MESSAGE}'; END $$",
    "CREATE TRIGGER audit_change BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()",
    "CREATE TRIGGER audit_truncate BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()",
)


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("at", UTCDateTime(), nullable=False),
        sa.Column("actor", AutoString(), nullable=False),
        sa.Column("action", AutoString(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=True),
        sa.Column("study", AutoString(), nullable=False),
        sa.Column("address", AutoString(), nullable=False),
        sa.Column("details", JSON, nullable=False),
    )
    op.create_index(op.f("ix_audit_study_id_id"), "audit", ["study_id", "id"])
    for statement in POSTGRESQL if op.get_bind().dialect.name == "postgresql" else SQLITE:
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("audit")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change()")
