"""the first tables"""

from collections.abc import Sequence

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(sa.Text(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "annotator",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("created_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotator")),
        sa.UniqueConstraint("name", name=op.f("uq_annotator_name")),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("guidelines", sa.Text(), nullable=False),
        sa.Column("rules", JSON, nullable=False),
        sa.Column("prompts", JSON, nullable=False),
        sa.Column("sample", sa.Boolean(), nullable=False),
        sa.Column("created_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study")),
        sa.UniqueConstraint("name", name=op.f("uq_study_name")),
    )
    op.create_table(
        "criterion",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("name", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("body", JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["study.id"], name=op.f("fk_criterion_study_id_study"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_criterion")),
        sa.UniqueConstraint("study_id", "name", name=op.f("uq_criterion_study_id_name")),
    )
    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("key", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("scenario", sqlmodel.sql.sqltypes.AutoString(), nullable=True),
        sa.Column("cluster", sqlmodel.sql.sqltypes.AutoString(), nullable=True),
        sa.Column("body", JSON, nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_item_study_id_study"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
        sa.UniqueConstraint("study_id", "key", name=op.f("uq_item_study_id_key")),
    )
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_item_study_id_position"), ["study_id", "position"], unique=False)

    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("name", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("protocol", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("criterion", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("settings", JSON, nullable=False),
        sa.Column("prompts", JSON, nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("ceiling", sa.Float(), nullable=True),
        sa.Column("parallel", sa.Integer(), nullable=False),
        sa.Column("source", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("state", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("carried_by", sqlmodel.sql.sqltypes.AutoString(), nullable=True),
        sa.Column("carried_until", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.Column("created_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.Column("ended_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_run_study_id_study"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("study_id", "name", name=op.f("uq_run_study_id_name")),
    )
    op.create_table(
        "scale",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("kind", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("criterion", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("body", JSON, nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_scale_study_id_study"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scale")),
        sa.UniqueConstraint("study_id", "kind", "criterion", name=op.f("uq_scale_study_id_kind_criterion")),
    )
    op.create_table(
        "target",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("kind", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("criterion", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("part", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_target_item_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_target_study_id_study"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_target")),
        sa.UniqueConstraint("item_id", "kind", "criterion", "part", name=op.f("uq_target_item_id_kind_criterion_part")),
    )
    with op.batch_alter_table("target", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_target_study_id_kind"), ["study_id", "kind"], unique=False)

    op.create_table(
        "trace",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("doubt", sa.Float(), nullable=False),
        sa.Column("claimed_by", sqlmodel.sql.sqltypes.AutoString(), nullable=True),
        sa.Column("claimed_until", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_trace_item_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_trace_run_id_run"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_trace_study_id_study"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trace")),
        sa.UniqueConstraint("run_id", "item_id", name=op.f("uq_trace_run_id_item_id")),
    )
    with op.batch_alter_table("trace", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_trace_run_id_outcome_claimed_until"), ["run_id", "outcome", "claimed_until"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_trace_study_id_outcome"), ["study_id", "outcome"], unique=False)

    op.create_table(
        "draft",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("body", JSON, nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_draft_annotator_id_annotator"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_draft_target_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_draft")),
        sa.UniqueConstraint("target_id", "annotator_id", name=op.f("uq_draft_target_id_annotator_id")),
    )
    op.create_table(
        "event",
        sa.Column("trace_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("type", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("body", JSON, nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("dollars", sa.Float(), nullable=True),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_event_run_id_run"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name=op.f("fk_event_trace_id_trace"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trace_id", "seq", name=op.f("pk_event")),
    )
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_event_run_id_type"), ["run_id", "type"], unique=False)

    op.create_table(
        "label",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("value", JSON, nullable=True),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.Column("origin", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_label_annotator_id_annotator"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_label_study_id_study"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_label_target_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label")),
        sa.UniqueConstraint("origin", name=op.f("uq_label_origin")),
    )
    with op.batch_alter_table("label", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_label_study_id_id"), ["study_id", "id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_label_target_id_annotator_id_id"), ["target_id", "annotator_id", "id"], unique=False
        )

    op.create_table(
        "lease",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("until", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_lease_annotator_id_annotator"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_lease_target_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease")),
        sa.UniqueConstraint("target_id", "annotator_id", name=op.f("uq_lease_target_id_annotator_id")),
    )
    op.create_table(
        "mark",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("mark", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("on", sa.Boolean(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.Column("origin", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_mark_annotator_id_annotator"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_mark_target_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mark")),
        sa.UniqueConstraint("origin", name=op.f("uq_mark_origin")),
    )
    with op.batch_alter_table("mark", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_mark_target_id_annotator_id"), ["target_id", "annotator_id"], unique=False)

    op.create_table(
        "opinion",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("trace_id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("judge", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("stage", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("value", JSON, nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_opinion_run_id_run"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_opinion_study_id_study"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_opinion_target_id_target"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["trace_id"], ["trace.id"], name=op.f("fk_opinion_trace_id_trace"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_opinion")),
    )
    with op.batch_alter_table("opinion", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_opinion_study_id_stage"), ["study_id", "stage"], unique=False)
        batch_op.create_index(batch_op.f("ix_opinion_target_id"), ["target_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_opinion_trace_id"), ["trace_id"], unique=False)

    op.create_table(
        "ruling",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("value", JSON, nullable=False),
        sa.Column("rule", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.Column("origin", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_ruling_annotator_id_annotator"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_ruling_target_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ruling")),
        sa.UniqueConstraint("origin", name=op.f("uq_ruling_origin")),
    )
    with op.batch_alter_table("ruling", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_ruling_target_id_id"), ["target_id", "id"], unique=False)

    op.create_table(
        "seen",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotator.id"], name=op.f("fk_seen_annotator_id_annotator"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["target.id"], name=op.f("fk_seen_target_id_target"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_seen")),
        sa.UniqueConstraint("target_id", "annotator_id", name=op.f("uq_seen_target_id_annotator_id")),
    )


def downgrade() -> None:
    op.drop_table("seen")
    with op.batch_alter_table("ruling", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_ruling_target_id_id"))

    op.drop_table("ruling")
    with op.batch_alter_table("opinion", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_opinion_trace_id"))
        batch_op.drop_index(batch_op.f("ix_opinion_target_id"))
        batch_op.drop_index(batch_op.f("ix_opinion_study_id_stage"))

    op.drop_table("opinion")
    with op.batch_alter_table("mark", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_mark_target_id_annotator_id"))

    op.drop_table("mark")
    op.drop_table("lease")
    with op.batch_alter_table("label", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_label_target_id_annotator_id_id"))
        batch_op.drop_index(batch_op.f("ix_label_study_id_id"))

    op.drop_table("label")
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_event_run_id_type"))

    op.drop_table("event")
    op.drop_table("draft")
    with op.batch_alter_table("trace", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_trace_study_id_outcome"))
        batch_op.drop_index(batch_op.f("ix_trace_run_id_outcome_claimed_until"))

    op.drop_table("trace")
    with op.batch_alter_table("target", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_target_study_id_kind"))

    op.drop_table("target")
    op.drop_table("scale")
    op.drop_table("run")
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_item_study_id_position"))

    op.drop_table("item")
    op.drop_table("criterion")
    op.drop_table("study")
    op.drop_table("annotator")
