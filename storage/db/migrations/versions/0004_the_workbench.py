"""the workbench: actions, undo, evidence, surplus labels, versions of guidelines"""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.add_column("label", sa.Column("surplus", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("label", sa.Column("evidence", JSON, nullable=True))
    op.add_column("label", sa.Column("guidelines", sa.Integer(), nullable=True))
    _add_secrets()
    _create_guidelines()
    op.create_table(
        "action",
        sa.Column("id", sa.Integer(), nullable=False),
        *_owners("action", "study", "annotator"),
        sa.Column("client", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("result", JSON, nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action")),
        sa.UniqueConstraint(
            "study_id", "annotator_id", "client", "seq", name=op.f("uq_action_study_id_annotator_id_client_seq")
        ),
    )
    op.create_table(
        "undo_entry",
        sa.Column("id", sa.Integer(), nullable=False),
        *_owners("undo_entry", "study", "annotator", "target"),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("queue", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("type", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("before", JSON, nullable=True),
        sa.Column("after", JSON, nullable=True),
        sa.Column("undone", sa.Boolean(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["target.id"], name=op.f("fk_undo_entry_task_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_undo_entry")),
    )
    columns = ["annotator_id", "study_id", "queue", "id"]
    op.create_index(op.f("ix_undo_entry_annotator_id_study_id_queue_id"), "undo_entry", columns)


def downgrade() -> None:
    op.drop_index(op.f("ix_undo_entry_annotator_id_study_id_queue_id"), table_name="undo_entry")
    for table in ("undo_entry", "action", "guidelines_read", "guidelines"):
        op.drop_table(table)
    op.drop_column("study", "secret")
    for column in ("surplus", "evidence", "guidelines"):
        op.drop_column("label", column)


def _owners(table: str, *owners: str) -> list[sa.Column[int] | sa.ForeignKeyConstraint]:
    """Return a column for the id of each owner, with its foreign key."""
    keys: list[sa.Column[int] | sa.ForeignKeyConstraint] = []
    for owner in owners:
        name = op.f(f"fk_{table}_{owner}_id_{owner}")
        keys.append(sa.Column(f"{owner}_id", sa.Integer(), nullable=False))
        keys.append(sa.ForeignKeyConstraint([f"{owner}_id"], [f"{owner}.id"], name=name, ondelete="CASCADE"))
    return keys


def _add_secrets() -> None:
    """Add a random key to every study."""
    op.add_column("study", sa.Column("secret", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
    study = sa.table("study", sa.column("id", sa.Integer()), sa.column("secret", sa.String()))
    connection = op.get_bind()
    for study_id in connection.scalars(sa.select(study.c.id)).all():
        own = sa.update(study).where(study.c.id == study_id).values(secret=secrets.token_hex(16))
        connection.execute(own)
    with op.batch_alter_table("study") as batch:
        batch.alter_column("secret", existing_type=sqlmodel.sql.sqltypes.AutoString(), nullable=False)


def _create_guidelines() -> None:
    """Create the tables of versions; the guidelines that a study has become version 1."""
    created = op.create_table(
        "guidelines",
        sa.Column("id", sa.Integer(), nullable=False),
        *_owners("guidelines", "study"),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_guidelines")),
        sa.UniqueConstraint("study_id", "version", name=op.f("uq_guidelines_study_id_version")),
    )
    op.create_table(
        "guidelines_read",
        sa.Column("id", sa.Integer(), nullable=False),
        *_owners("guidelines_read", "study", "annotator"),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_guidelines_read")),
        sa.UniqueConstraint("study_id", "annotator_id", name=op.f("uq_guidelines_read_study_id_annotator_id")),
    )
    study = sa.table("study", sa.column("id", sa.Integer()), sa.column("guidelines", sa.Text()))
    texts = op.get_bind().execute(sa.select(study.c.id, study.c.guidelines).where(study.c.guidelines != "")).all()
    now = datetime.now(UTC)
    op.bulk_insert(created, [{"study_id": owner, "version": 1, "text": text, "at": now} for owner, text in texts])
