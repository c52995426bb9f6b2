"""What the tables need beside their models: notifications on PostgreSQL, and the guards of the audit log."""

from sqlalchemy import Connection, text

# A statement notifies each of its topics once. A statement that changes very many traces names some of them only:
# pages read the rest when a version expires (`storage.db.changes.MAX_AGE`).
NOTIFY_IDS = """
CREATE OR REPLACE FUNCTION tiebreak_notify_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'SELECT pg_notify(''tiebreak'', %L || '' '' || id) FROM (SELECT DISTINCT %I AS id FROM changed LIMIT 500) ids',
        TG_ARGV[0], TG_ARGV[1]
    );
    RETURN NULL;
END $$
"""
NOTIFY_STUDY_OF_TARGET = """
CREATE OR REPLACE FUNCTION tiebreak_notify_study_of_target() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tiebreak', 'study ' || study_id)
    FROM (SELECT DISTINCT target.study_id FROM changed JOIN target ON target.id = changed.target_id) ids;
    RETURN NULL;
END $$
"""
NOTIFY_RUN = """
CREATE OR REPLACE FUNCTION tiebreak_notify_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tiebreak', 'runs'), pg_notify('tiebreak', 'run ' || NEW.id),
        pg_notify('tiebreak', 'study ' || NEW.study_id);
    RETURN NULL;
END $$
"""
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

MESSAGE = "The audit log is append-only."
# Those of an entry that never change; the address is removed after a set time.
COLUMNS = ("id", "at", "actor", "action", "study_id", "study", "details")
SAME = " AND ".join(f"NEW.{name} IS OLD.{name}" for name in COLUMNS)
# On SQLite, INSERT OR REPLACE deletes rows without the trigger of a deletion.
SQLITE_AUDIT = {
    "audit_update": f"BEFORE UPDATE ON audit WHEN NOT (NEW.address = '' AND {SAME})",
    "audit_delete": "BEFORE DELETE ON audit",
    "audit_replace": "BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)",
}
# JSON has no equality on PostgreSQL.
ROWS = ["({})".format(", ".join(f"{row}.{name}::text" for name in COLUMNS)) for row in ("NEW", "OLD")]
REMOVED = f"NEW.address = '' AND {ROWS[0]} IS NOT DISTINCT FROM {ROWS[1]}"
REFUSE = (
    "CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN IF TG_OP = 'UPDATE' THEN IF {REMOVED} THEN RETURN NEW; END IF; END IF; "
    f"RAISE EXCEPTION '{MESSAGE}'; END $$"
)
POSTGRESQL_AUDIT = {
    "audit_change": "BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()",
    "audit_truncate": "BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()",
}


def create(connection: Connection) -> None:
    """Create or replace them; the tables must exist."""
    if connection.dialect.name == "sqlite":
        for name, when in SQLITE_AUDIT.items():
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}"))
            refuse = f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
            connection.execute(text(f"CREATE TRIGGER {name} {when} {refuse}"))
        return
    for function in (NOTIFY_IDS, NOTIFY_STUDY_OF_TARGET, NOTIFY_RUN, REFUSE):
        connection.exec_driver_sql(function.replace("%", "%%"))
    for name, (table, when) in _postgresql_triggers().items():
        connection.execute(text(f"DROP TRIGGER IF EXISTS {name} ON {table}"))
        connection.execute(text(f"CREATE TRIGGER {name} {when}"))


def _postgresql_triggers() -> dict[str, tuple[str, str]]:
    """Return the name of each trigger -> its table, and when it does what."""
    triggers = {name: ("audit", when) for name, when in POSTGRESQL_AUDIT.items()}
    for number, (table, operation, function) in enumerate(STATEMENTS):
        when = f"AFTER {operation} ON {table} REFERENCING NEW TABLE AS changed FOR EACH STATEMENT"
        triggers[f"tiebreak_notify_{number}"] = (table, f"{when} EXECUTE FUNCTION {function}")
    run = "EXECUTE FUNCTION tiebreak_notify_run()"
    changed = "OLD.state IS DISTINCT FROM NEW.state OR OLD.claimed_by IS DISTINCT FROM NEW.claimed_by"
    triggers["tiebreak_notify_new"] = ("run", f"AFTER INSERT ON run FOR EACH ROW {run}")
    # not for the renewal of a claim
    triggers["tiebreak_notify_changed"] = ("run", f"AFTER UPDATE ON run FOR EACH ROW WHEN ({changed}) {run}")
    return triggers
