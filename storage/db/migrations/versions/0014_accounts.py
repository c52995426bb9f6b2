"""accounts, sessions, invitations and API tokens"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString, UTCDateTime

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

TABLES = ("server_secret", "sign_in_attempt", "api_token", "invitation", "login", "account")
INDEXES = (
    ["login", "account_id"],
    ["invitation", "account_id"],
    ["sign_in_attempt", "name", "at"],
    ["sign_in_attempt", "address", "at"],
)


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.Integer(), primary_key=True),
        _owner("annotator"),
        sa.Column("password", AutoString(), nullable=True),
        sa.Column("email", AutoString(), nullable=True),
        sa.Column("subject", AutoString(), nullable=True),
        sa.Column("administrator", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("disabled_at", UTCDateTime(), nullable=True),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        *_keys("account", ["annotator_id"], ["email"], ["subject"], owner="annotator"),
    )
    op.create_table(
        "login",
        sa.Column("id", sa.Integer(), primary_key=True),
        _owner("account"),
        sa.Column("token", AutoString(), nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        sa.Column("used_at", UTCDateTime(), nullable=False),
        sa.Column("expires_at", UTCDateTime(), nullable=False),
        sa.Column("revoked_at", UTCDateTime(), nullable=True),
        sa.Column("address", AutoString(), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        *_keys("login", ["token"], owner="account"),
    )
    op.create_table(
        "invitation",
        sa.Column("id", sa.Integer(), primary_key=True),
        _owner("account"),
        sa.Column("token", AutoString(), nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        sa.Column("expires_at", UTCDateTime(), nullable=False),
        sa.Column("used_at", UTCDateTime(), nullable=True),
        *_keys("invitation", ["token"], owner="account"),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.Integer(), primary_key=True),
        _owner("account"),
        sa.Column("name", AutoString(), nullable=False),
        sa.Column("token", AutoString(), nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        sa.Column("expires_at", UTCDateTime(), nullable=True),
        sa.Column("used_at", UTCDateTime(), nullable=True),
        sa.Column("revoked_at", UTCDateTime(), nullable=True),
        *_keys("api_token", ["account_id", "name"], ["token"], owner="account"),
    )
    op.create_table(
        "sign_in_attempt",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", AutoString(), nullable=False),
        sa.Column("address", AutoString(), nullable=False),
        sa.Column("at", UTCDateTime(), nullable=False),
    )
    op.create_table(
        "server_secret",
        sa.Column("purpose", AutoString(), primary_key=True),
        sa.Column("value", AutoString(), nullable=False),
    )
    for table, *columns in INDEXES:
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns)


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)


def _owner(table: str) -> sa.Column[int]:
    return sa.Column(f"{table}_id", sa.Integer(), nullable=False)


def _keys(table: str, *unique: list[str], owner: str) -> list[sa.Constraint]:
    column = f"{owner}_id"
    name = op.f(f"fk_{table}_{column}_{owner}")
    return [
        sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=name, ondelete="CASCADE"),
        *(sa.UniqueConstraint(*columns, name=op.f(f"uq_{table}_{'_'.join(columns)}")) for columns in unique),
    ]
