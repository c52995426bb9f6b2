from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, select

from core import experiments as files
from core.aius import Piece, Reword
from core.critiques import Aiu, Critique
from core.designs import AGREED, CONTENTION, DISPUTED, UNJUDGED, Design, Form
from core.errors import TiebreakError
from core.formats import tiebreak
from core.formats.records import GuidelinesRecord, ItemRecord
from core.labels import Evidence
from core.trace import PastReading, ReadingReplaced, ReplyExtracted, TraceFailed, TraceRestarted, Turn
from storage.db.connections import connect, reading, writing
from storage.db.tables import AnnotatorRow, KnownAnswerRow, RepeatRow, Table, TargetRow, TrainingAnswerRow, row_types
from storage.labelling import home, queue
from storage.labels import designs, labels, views
from storage.runs import aius, call_totals, claims, experiments, outcomes, runs
from storage.runs.outcomes import NewEvent
from storage.studies import annotators, studies
from storage.transfer import exports, imports
from storage.transfer._imported_runs import UNFINISHED
from storage.transfer.exports import turn_rows
from storage.transfer.imports import ImportCounts
from storage.transfer.participation import rename_readers
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.sessions import write
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, an_unreadable, store_label
from tests.storage.transfer.test_imports import export, one_of_each_type


def test_an_empty_study_is_exported_as_its_study_record(engine):
    study = write(engine, studies.get_or_create, "s")
    assert [record.type for record in exports.export_records(engine, study)] == ["study"]


def test_every_reply_is_a_row_and_the_rows_add_up_to_the_costs_of_the_run(engine):
    extracted = ReplyExtracted(ask=1, turn=a_turn(9, speaker="extractor", reading=2).turn)
    events = (
        a_turn(0, reply="before the restart"),
        TraceRestarted(reason="The item was changed."),
        an_unreadable(0),
        a_turn(0, reply="second"),
        a_turn(1, reading=None, problem="no choice"),
        extracted,
        ReadingReplaced(ask=1, reading=0, reading_rule="stated", read_by="person: ann"),
        a_verdict(),
    )
    imports.import_records(engine, "s", [ItemRecord(item=make_item()), RUN, a_trace("item 0", *events)])
    with reading(engine) as session:
        study = studies.get(session, "s")
        (run,) = runs.of_study(session, study.id)
        totals = call_totals.of_runs(session, [run.id])
    rows = list(turn_rows(engine, study))
    assert [(row["ask"], row["attempt"], row["superseded"], row["reading"]) for row in rows] == [
        (0, "first", True, 1),
        (0, "first", True, None),
        (0, "second", False, 1),
        (1, "first", False, 0),
        (1, "extractor", False, 2),
    ]
    earlier = [(past["reading"], past["read_by"], past["problem"]) for past in rows[3]["earlier_readings"]]
    assert (rows[3]["read_by"], earlier) == ("person: ann", [(None, "", "no choice"), (2, "extractor: m", "")])
    assert not any(row["earlier_readings"] for row in rows if row is not rows[3])
    assert len(rows) == totals.calls
    assert sum(row["prompt_tokens"] or 0 for row in rows) == totals.prompt_tokens
    assert sum(row["dollars"] or 0.0 for row in rows) == totals.dollars


TRACE = dict.fromkeys(("run", "protocol", "item", "part", "scenario", "criterion", "outcome", "contention"), "")


@pytest.mark.parametrize(("own", "exported"), [("", "depth"), ("tone", "tone")])
def test_a_turn_has_its_own_criterion_or_that_of_its_trace(own, exported):
    turn = Turn(speaker="a", step="opinion", round=0, model="m", prompt="?", reply="1", criterion=own)
    assert exports.turn_row(turn, 0, "first", False, **TRACE | {"criterion": "depth"})["criterion"] == exported


def test_only_people_who_read_a_reply_are_renamed():
    turn = Turn(speaker="j", step="choice", round=0, model="m", reply="1", reading=1, read_by="person: ann")
    row = exports.turn_row(turn, 0, "first", False, **TRACE)
    extracted = row | {"read_by": "extractor: ann"}
    past = PastReading(turn, withdrawn_by="ann"), PastReading(turn.model_copy(update={"read_by": ""}))
    replaced = exports.turn_row(turn, 0, "first", False, past, **TRACE)
    names = {"ann": "annotator 1"}.__getitem__
    (others,) = rename_readers([replaced], names)
    fields = [(earlier["read_by"], earlier["withdrawn_by"]) for earlier in others["earlier_readings"]]
    assert fields == [("person: annotator 1", "annotator 1"), ("", "")]
    renamed = rename_readers([row, extracted], names)
    assert [row["read_by"] for row in renamed] == ["person: annotator 1", "extractor: ann"]


# An export has everything: each table is compared row by row with its copy in another database


AT = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
NOT_EXPORTED = {
    **dict.fromkeys(("draft", "repeat_draft"), "an answer that is not submitted belongs to its annotator alone"),
    **dict.fromkeys(("study.deleted_at", "study.deleted_name"), "a deleted study is not exported"),
    **dict.fromkeys(
        ("run.claimed_by", "run.claimed_until", "trace.claimed_by", "pending_call"),
        "workers are those of one database",
    ),
    "deleted_run": "a run that can be restored in this database only",
    "study.archived_at": "a study is archived in this database",
    "study.removals": "a number that only changes, for pages that show the study",
    "trace.uncertainty": "a column of earlier versions, which nothing reads",
    "design.author": "accounts are those of one server",
    "lease": "a reservation on this server, which expires within minutes",
    "action": "the outbox of one browser on this server",
    "undo_entry": "the undo stack of a session on this server",
    "visitor_view": "visitors without a name are known by a cookie of this server",
    "study.name": "the name is selected at the import",
    "study.secret": "another database has its own secret",
    "study.created_at": "when the study was created in this database",
    "annotator.created_at": "when the annotator was added to this database",
    "run.source": 'a run that was executed elsewhere is "imported": it cannot be resumed here',
    **dict.fromkeys(
        ("account", "login", "invitation", "api_token", "sign_in_attempt", "server_secret", "member"),
        "accounts are those of one server",
    ),
    "audit": "the log of this server",
    "call": "stored replies are those of one database: the turns of the runs contain them",
    "live_trace": "open calls are those of one database",
    **dict.fromkeys(
        ("split", "item_part", "variant", "held_out_use", "criterion_version"),
        "the log of held-out items is of one database: a copy would not know later evaluations",
    ),
}
"""Tables and columns that an export leaves out, with the reason; fingerprints contain ids, and are computed again."""
EXPERIMENT = "name: e\nprotocol: scaleeval\nceiling: 2.5\naxes: {format: [general]}\n"
COMPUTED = ("id", "fingerprint")
TABLES = {table.name: table for table in Table.metadata.sorted_tables if table.name not in NOT_EXPORTED}


@pytest.fixture
def copy(tmp_path):
    """Another database."""
    opened = connect(create_database(tmp_path / "copy.db"))
    yield opened
    opened.dispose()


def fill(engine):
    """Create the study "s" with a row in every exported table and a value other than the default in every column."""
    criticised = Critique(author="gpt", text="Good.", aius=(Aiu(id="1", text="It is good."),))
    items = [make_item("item 0"), make_item("item 1", group="g"), make_item("item 2", critiques=(criticised,))]
    records = [
        GuidelinesRecord(version=1, text="first", at=AT),
        *(record for record in one_of_each_type() if record.type in ("study", "criterion", "scale", "transcript")),
        *(ItemRecord(item=item) for item in items),
    ]
    imports.import_records(engine, "s", records)
    with writing(engine) as session:
        study = studies.get(session, "s")
        rules = study.rules.model_copy(update={"annotators": ("assigned",)})
        studies.update(session, study.id, description="d", guidelines="second", rules=rules)
        annotators.get_or_create_ids(session, ["assigned", "reader"])
        run_trace(session, study.id)
        label(session, study.id)
        training(session, study.id)
        item_id = session.scalars(select(TargetRow.item_id)).first()
        unused = {"kind": "score", "criterion": "", "part": "p", "overlap": 5, "disputed": True}
        session.execute(insert(TargetRow), [unused | {"study_id": study.id, "item_id": item_id}])
        design = Design(Form.stratified, 1, {DISPUTED: 1.0, AGREED: 0.0, UNJUDGED: 0.0}, CONTENTION)
        designs.set_design(session, study.id, "helpfulness", design, {UNJUDGED: 1})


def training(session, study_id):
    target_id = session.scalars(select(TargetRow.id)).first()
    annotator_id = session.scalars(select(AnnotatorRow.id)).first()
    known = {"target_id": target_id, "value": 1, "reason": "The first one is.", "at": AT}
    session.execute(insert(KnownAnswerRow), [known | {"study_id": study_id}])
    answer = known | {"annotator_id": annotator_id, "attempt": 1, "correct": True, "passed": True, "seconds": 1.5}
    session.execute(insert(TrainingAnswerRow), [answer])
    passage = {"block": "question", "start": 0, "end": 3}
    repeat = {"study_id": study_id, "target_id": target_id, "annotator_id": annotator_id, "at": AT}
    repeat |= {"evidence": [passage], "shown": [2, 1], "seconds": 1.5, "reason": "so"}
    values = [(1, 2, True), (2, None, False)]
    rows = [repeat | {"number": number, "value": value, "blind": blind} for number, value, blind in values]
    session.execute(insert(RepeatRow), rows)


def run_trace(session, study_id):
    run = runs.create(
        session, study_id, "live", protocol="scaleeval", criterion="helpfulness", settings={"a": 1.0},
        prompts={"b": "c"}, seed=3, ceiling=2.5, parallel=3, extractor={"model": "m"},
        pairs="all", parts=lambda item: ["1-2"], repeat=2, fresh=True, cell={"format": "general"},
        experiment_id=experiments.save(session, study_id, files.parse(EXPERIMENT)),
    )  # fmt: skip
    claims.claim_run(session, run, "worker")
    first, second, third = (trace.id for trace in claims.claim_traces(session, run, "worker", 3))
    unreadable = a_turn(1, reading=None, problem="no choice", reused="earlier")
    read = ReadingReplaced(ask=1, reading=2, reading_rule="stated", read_by="person: reader")
    verdict = a_verdict("disputed", (1, 2, None))
    without_value = verdict.verdict.opinions[5].model_copy(update={"problem": "refused"})
    changed = {
        "opinions": (*verdict.verdict.opinions[:5], without_value, *verdict.verdict.opinions[6:]),
        "outcomes": {"helpfulness": "disputed"},
        "contentions": {"helpfulness": 0.5},
    }
    verdict = verdict.model_copy(update={"verdict": verdict.verdict.model_copy(update=changed)})
    stored = [
        (first, 0, [a_turn(), unreadable, verdict]),
        (first, 3, [read, verdict]),
        (second, 0, [a_turn(), TraceFailed(problem="timeout")]),
        (third, 0, [unreadable]),
    ]
    for trace, start, events in stored:
        outcomes.append_events(session, [NewEvent(trace, seq, event) for seq, event in enumerate(events, start)])
    claims.release(session, run, "worker", "stopped", "the ceiling of $2.50 is reached")


def label(session, study_id):
    target = make_target()
    for value in (1, 2, None):
        store_label(session, study_id, target, "ann", value, reason="so", seconds=0.1)
    passage = Evidence(block="question", start=0, end=3)
    store_label(session, study_id, target, "ann", 0, surplus=True, guidelines=2, evidence=[passage], shown=(2, 1))
    views.record(session, study_id, [target], "only looked")
    views.record(session, study_id, [target], "bob")
    store_label(session, study_id, target, "bob", 0)
    store_label(
        session, study_id, make_target(kind="aspect_weights", part="a b"), "bob", {"depth": 30.0, "clarity": 70.0}
    )
    labels.adjudicate(session, study_id, target, 1, rule="expert", reason="so", adjudicator="dee")
    queue.set_mark(session, study_id, make_target("item 2"), "ann", "note", text="unclear")
    queue.set_mark(session, study_id, make_target("item 2"), "ann", "flag", on=False)
    (thread,) = home.threads(session, study_id)
    home.reply(session, study_id, thread.target_id, "ann", "owner", "it is not", closed=False)
    home.reply(session, study_id, thread.target_id, "ann", "owner", "", closed=True)
    (reader,) = session.scalars(select(AnnotatorRow.id).where(AnnotatorRow.name == "bob"))
    studies.mark_guidelines_read(session, study_id, reader, 2)
    aius.save_edit(session, study_id, "item 2", "ann", Reword(aiu="1", piece=Piece(text="It is fine.")))


NAMES = {
    "study": (),
    "experiment": ("name",),
    "item": ("key",),
    "transcript": ("digest",),
    "annotator": ("name",),
    "run": ("name",),
    "target": ("item_id", "kind", "criterion", "part"),
    "trace": ("run_id", "item_id"),
}
"""Table -> the columns that name a row inside its study."""


def dump(engine, study):
    """Return table -> its rows of one study, with names in place of ids, in the order in which they were stored."""
    with engine.connect() as connection:
        rows = {
            name: [row._asdict() for row in connection.execute(select(table).order_by(*table.primary_key))]
            for name, table in Table.metadata.tables.items()
        }
    (own,) = [row["id"] for row in rows["study"] if row["name"] == study]
    owned = {name: [row for row in rows[name] if is_of_study(rows, name, row, own)] for name in TABLES}
    return {name: [named(rows, TABLES[name], row) for row in owned[name]] for name in TABLES}


def is_of_study(rows, name, row, study):
    if name == "study":
        return row["id"] == study
    if name == "annotator":
        return True
    if "study_id" in row:
        return row["study_id"] == study
    parent = "run" if name == "event" else "target"
    (owner,) = [other for other in rows[parent] if other["id"] == row[f"{parent}_id"]]
    return owner["study_id"] == study


def named(rows, table, row):
    """Return a row without what is not compared, and with a name in place of each id."""
    compared = {}
    for column in table.columns:
        if column.name in COMPUTED or f"{table.name}.{column.name}" in NOT_EXPORTED:
            continue
        value = row[column.name]
        for key in column.foreign_keys:
            value = name_of(rows, key.column.table.name, value)
        compared[column.name] = value
    return compared


def name_of(rows, table, id):
    (row,) = [row for row in rows[table] if row["id"] == id]
    parents = {f"{parent}_id": parent for parent in NAMES}
    return tuple(name_of(rows, parents[name], row[name]) if name in parents else row[name] for name in NAMES[table])


def test_an_imported_study_equals_the_exported_one_in_every_table(engine, copy, tmp_path):
    fill(engine)
    exported = export(engine, "s")
    path = tmp_path / "study.jsonl"
    with path.open("w", encoding="utf-8") as file:
        tiebreak.write(exported, file)
    imports.import_records(copy, "t", tiebreak.read(path))
    source, imported = dump(engine, "s"), dump(copy, "t")
    for name in TABLES:
        assert sorted(imported[name], key=repr) == sorted(source[name], key=repr), name
    assert_every_column_is_used(source)
    assert imports.import_records(copy, "t", exported) == ImportCounts()
    assert dump(copy, "t") == imported


def assert_every_column_is_used(tables):
    """Each column has a value other than its default: else the comparison would not find that it is not exported."""
    for row_type in row_types().values():
        for name, field in row_type.model_fields.items():
            rows = tables.get(row_type.__tablename__)
            assert rows is None or rows, f"no row of {row_type.__tablename__}: add one to `fill`"
            if rows and name in rows[0] and not field.is_required():
                default = None if field.default_factory else field.default
                assert any(row[name] != default for row in rows), f"{row_type.__tablename__}.{name}: add it to `fill`"


def test_only_known_tables_and_columns_are_left_out():
    columns = {f"{table.name}.{column.name}" for table in Table.metadata.tables.values() for column in table.columns}
    assert NOT_EXPORTED.keys() <= columns | Table.metadata.tables.keys()


@pytest.mark.parametrize("state", ["requested", "cancelling"])
def test_a_run_that_was_being_executed_is_imported_as_stopped(engine, a_study, state):
    imports.import_records(engine, "s", [RUN.model_copy(update={"state": state, "source": "live"})])
    with reading(engine) as session:
        (run,) = runs.of_study(session, a_study.id)
        assert (run.state, run.problem, claims.unclaimed(session)) == ("stopped", UNFINISHED, [])


def test_guidelines_of_the_same_version_with_another_text_are_refused(engine):
    imports.import_records(engine, "s", [GuidelinesRecord(version=1, text="ours")])
    with pytest.raises(TiebreakError, match="Version 1 of the guidelines has another text in this study"):
        imports.import_records(engine, "s", [GuidelinesRecord(version=1, text="theirs")])
