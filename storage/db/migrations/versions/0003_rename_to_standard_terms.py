"""rename tables and columns to standard terms"""

from collections.abc import Sequence

from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

OWNERS = ("target", "annotator")


def upgrade() -> None:
    # No constraint names these columns: ALTER TABLE ... RENAME COLUMN copies nothing on either database.
    op.alter_column("trace", "doubt", new_column_name="uncertainty")
    op.alter_column("run", "carried_by", new_column_name="claimed_by")
    op.alter_column("run", "carried_until", new_column_name="claimed_until")
    for table in ("label", "mark", "ruling"):
        _rename_unique_column(table, "origin", "fingerprint")
    _rename_table("ruling", "adjudication", unique=["fingerprint"], index=["target_id", "id"])
    _rename_table("seen", "opinion_view", unique=["target_id", "annotator_id"])


def downgrade() -> None:
    _rename_table("opinion_view", "seen", unique=["target_id", "annotator_id"])
    _rename_table("adjudication", "ruling", unique=["fingerprint"], index=["target_id", "id"])
    for table in ("label", "mark", "ruling"):
        _rename_unique_column(table, "fingerprint", "origin")
    op.alter_column("run", "claimed_until", new_column_name="carried_until")
    op.alter_column("run", "claimed_by", new_column_name="carried_by")
    op.alter_column("trace", "uncertainty", new_column_name="doubt")


def _rename_unique_column(table: str, old: str, new: str) -> None:
    # The column is renamed before the batch: a constraint on a column that the same batch renames is lost on SQLite.
    op.alter_column(table, old, new_column_name=new)
    with op.batch_alter_table(table) as batch:
        batch.drop_constraint(f"uq_{table}_{old}", type_="unique")
        batch.create_unique_constraint(f"uq_{table}_{new}", [new])


def _rename_table(old: str, new: str, *, unique: list[str], index: list[str] | None = None) -> None:
    """Rename a table with its keys, constraints, index and sequence, whose names contain the table's."""
    op.rename_table(old, new)
    with op.batch_alter_table(new) as batch:
        if index is not None:
            batch.drop_index(f"ix_{old}_{'_'.join(index)}")
        batch.drop_constraint(f"uq_{old}_{'_'.join(unique)}", type_="unique")
        for owner in OWNERS:
            batch.drop_constraint(f"fk_{old}_{owner}_id_{owner}", type_="foreignkey")
        batch.drop_constraint(f"pk_{old}", type_="primary")
        batch.create_primary_key(f"pk_{new}", ["id"])
        for owner in OWNERS:
            batch.create_foreign_key(f"fk_{new}_{owner}_id_{owner}", owner, [f"{owner}_id"], ["id"], ondelete="CASCADE")
        batch.create_unique_constraint(f"uq_{new}_{'_'.join(unique)}", unique)
        if index is not None:
            batch.create_index(f"ix_{new}_{'_'.join(index)}", index)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER SEQUENCE {old}_id_seq RENAME TO {new}_id_seq")
