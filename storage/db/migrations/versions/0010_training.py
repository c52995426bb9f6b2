"""known answers and the answers of annotators in training"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "known_answer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("value", JSON, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["study.id"], name=op.f("fk_known_answer_study_id_study"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_known_answer_target_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_known_answer")),
        sa.UniqueConstraint("target_id", name=op.f("uq_known_answer_target_id")),
    )
    op.create_index(op.f("ix_known_answer_study_id"), "known_answer", ["study_id"])
    op.create_table(
        "training_answer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("value", JSON, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("correct", sa.Boolean(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_training_answer_target_id_target"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["annotator_id"],
            ["annotator.id"],
            name=op.f("fk_training_answer_annotator_id_annotator"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_training_answer")),
        sa.UniqueConstraint(
            "target_id",
            "annotator_id",
            "attempt",
            name=op.f("uq_training_answer_target_id_annotator_id_attempt"),
        ),
    )
    op.create_index(op.f("ix_training_answer_annotator_id"), "training_answer", ["annotator_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_training_answer_annotator_id"), table_name="training_answer")
    op.drop_table("training_answer")
    op.drop_index(op.f("ix_known_answer_study_id"), table_name="known_answer")
    op.drop_table("known_answer")
