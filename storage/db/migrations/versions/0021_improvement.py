"""the split of items, variants of judges, evaluations on held-out items, versions of criteria"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString, UTCDateTime

revision: str = "0021"
down_revision: str | None = "0020"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")


def owner(table: str, column: str, other: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{other}")
    return sa.ForeignKeyConstraint([column], [f"{other}.id"], name=name, ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "split",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("share", sa.Float(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("rule", JSON, nullable=False),
        sa.Column("author", AutoString(), nullable=False),
        sa.Column("at", UTCDateTime(), nullable=False),
        owner("split", "study_id", "study"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_split")),
        sa.UniqueConstraint("study_id", name=op.f("uq_split_study_id")),
    )
    op.create_table(
        "item_part",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("held_out", sa.Boolean(), nullable=False),
        owner("item_part", "study_id", "study"),
        owner("item_part", "item_id", "item"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item_part")),
        sa.UniqueConstraint("item_id", name=op.f("uq_item_part_item_id")),
    )
    op.create_index(op.f("ix_item_part_study_id_held_out"), "item_part", ["study_id", "held_out"])
    op.create_table(
        "variant",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        *(sa.Column(name, AutoString(), nullable=False) for name in ("name", "kind", "criterion", "protocol")),
        sa.Column("base", JSON, nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("changes", JSON, nullable=False),
        sa.Column("assignments", JSON, nullable=False),
        sa.Column("origin", AutoString(), nullable=False),
        sa.Column("author", AutoString(), nullable=False),
        sa.Column("development", AutoString(), nullable=True),
        sa.Column("at", UTCDateTime(), nullable=False),
        owner("variant", "study_id", "study"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_variant")),
        sa.UniqueConstraint("study_id", "name", name=op.f("uq_variant_study_id_name")),
    )
    op.create_table(
        "held_out_use",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=False),
        sa.Column("author", AutoString(), nullable=False),
        sa.Column("experiment", AutoString(), nullable=False),
        sa.Column("result", JSON, nullable=True),
        sa.Column("at", UTCDateTime(), nullable=False),
        owner("held_out_use", "study_id", "study"),
        owner("held_out_use", "variant_id", "variant"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_held_out_use")),
        sa.UniqueConstraint("variant_id", name=op.f("uq_held_out_use_variant_id")),
    )
    op.create_index(op.f("ix_held_out_use_study_id"), "held_out_use", ["study_id"])
    op.create_table(
        "criterion_version",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("criterion", AutoString(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", JSON, nullable=False),
        sa.Column("protocol", AutoString(), nullable=False),
        sa.Column("prompts", JSON, nullable=False),
        sa.Column("variant_id", sa.Integer(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("author", AutoString(), nullable=False),
        sa.Column("at", UTCDateTime(), nullable=False),
        owner("criterion_version", "study_id", "study"),
        owner("criterion_version", "variant_id", "variant"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_criterion_version")),
        sa.UniqueConstraint(
            "study_id", "criterion", "version", name=op.f("uq_criterion_version_study_id_criterion_version")
        ),
    )


def downgrade() -> None:
    for table in ("criterion_version", "held_out_use", "variant", "item_part", "split"):
        op.drop_table(table)
