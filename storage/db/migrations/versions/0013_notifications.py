"""notifications of changes on PostgreSQL, for pages and workers that wait for them (see storage.db.changes)"""

from collections.abc import Sequence

from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

# A statement notifies each of its topics once. A statement that changes very many traces names some of them only:
# pages read the rest when a version expires (`storage.db.changes.MAX_AGE`).
NOTIFY_IDS = """
CREATE FUNCTION tiebreak_notify_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'SELECT pg_notify(''tiebreak'', %L || '' '' || id) FROM (SELECT DISTINCT %I AS id FROM changed LIMIT 500) ids',
        TG_ARGV[0], TG_ARGV[1]
    );
    RETURN NULL;
END $$
"""
NOTIFY_STUDY_OF_TARGET = """
CREATE FUNCTION tiebreak_notify_study_of_target() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tiebreak', 'study ' || study_id)
    FROM (SELECT DISTINCT target.study_id FROM changed JOIN target ON target.id = changed.target_id) ids;
    RETURN NULL;
END $$
"""
NOTIFY_RUN = """
CREATE FUNCTION tiebreak_notify_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tiebreak', 'runs'), pg_notify('tiebreak', 'run ' || NEW.id),
        pg_notify('tiebreak', 'study ' || NEW.study_id);
    RETURN NULL;
END $$
"""
FUNCTIONS = ("tiebreak_notify_ids", "tiebreak_notify_study_of_target", "tiebreak_notify_run")
STATEMENTS = (
    ("label", "INSERT", "tiebreak_notify_ids('study', 'study_id')"),
    ("opinion", "INSERT", "tiebreak_notify_ids('study', 'study_id')"),
    ("adjudication", "INSERT", "tiebreak_notify_study_of_target()"),
    ("item", "INSERT", "tiebreak_notify_ids('study', 'study_id')"),
    ("event", "INSERT", "tiebreak_notify_ids('run', 'run_id')"),
    ("event", "INSERT", "tiebreak_notify_ids('trace', 'trace_id')"),
    ("trace", "UPDATE", "tiebreak_notify_ids('run', 'run_id')"),
    ("trace", "UPDATE", "tiebreak_notify_ids('trace', 'id')"),
    ("trace", "UPDATE", "tiebreak_notify_ids('study', 'study_id')"),
)


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for function in (NOTIFY_IDS, NOTIFY_STUDY_OF_TARGET, NOTIFY_RUN):
        op.execute(function)
    for number, (table, operation, function) in enumerate(STATEMENTS):
        op.execute(
            f"CREATE TRIGGER tiebreak_notify_{number} AFTER {operation} ON {table} "
            f"REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION {function}"
        )
    op.execute(
        "CREATE TRIGGER tiebreak_notify_new AFTER INSERT ON run FOR EACH ROW EXECUTE FUNCTION tiebreak_notify_run()"
    )
    op.execute(  # not for the renewal of a claim
        "CREATE TRIGGER tiebreak_notify_changed AFTER UPDATE ON run FOR EACH ROW "
        "WHEN (OLD.state IS DISTINCT FROM NEW.state OR OLD.claimed_by IS DISTINCT FROM NEW.claimed_by) "
        "EXECUTE FUNCTION tiebreak_notify_run()"
    )


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}() CASCADE")
