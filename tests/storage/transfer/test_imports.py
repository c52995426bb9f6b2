import re
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from core.errors import FileFormatError, TiebreakError
from core.formats.mapping.mapping import build_mapping, load_mappings
from core.formats.records import (
    AdjudicationRecord,
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    MarkRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    StudyRules,
    TranscriptRecord,
)
from core.formats.registry import read_records
from core.items import Criterion, Response
from core.labels import PREFERENCE, Adjudication, Label, Scale
from core.transcripts import Part, Transcript
from storage.db.connections import reading
from storage.labels import labels
from storage.runs import traces
from storage.studies import items, studies
from storage.transfer import _imported_runs, exports, imports
from storage.transfer.imports import ImportCounts
from tests.conftest import make_item, make_label, make_target
from tests.core.protocols import debates
from tests.golden.files import assert_golden
from tests.paths import ROOT
from tests.sessions import read, write
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, find_traces, store_label, stored_study

AT = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


TRANSCRIPT = Transcript(parts=(Part(number=1, kind="text", role="user", content="2 ☀️"),))


def one_of_each_type():
    """Return a record of every type."""
    adjudication = Adjudication(
        target=make_target("item 1"), value=0, rule="discussion", reason="equal", adjudicator="dee", at=AT
    )
    return [
        StudyRecord(
            description="d",
            guidelines="g",
            rules=StudyRules(overlap=2, reveal=False),
            prompts={"scaleeval/opinion": "Which is better?"},
            sample=True,
        ),
        CriterionRecord(criterion=Criterion(name="helpfulness", definition="How helpful.", rubric=("not", "very"))),
        ScaleRecord(kind="preference", criterion="helpfulness", scale=PREFERENCE),
        TranscriptRecord(transcript=TRANSCRIPT),
        *(ItemRecord(item=make_item(f"item {number}")) for number in range(2)),
        ItemRecord(item=make_item("item 2", responses=(Response(text="31", transcript=TRANSCRIPT.digest),))),
        RUN.model_copy(update={"settings": {"rounds": 3}, "prompts": {"a": "b"}, "seed": 5, "created_at": AT}),
        a_trace("item 0", a_turn(), a_verdict()),
        a_trace("item 1", a_turn(), a_verdict("agreed", (2, 2, 2))),
        make_label(1, at=AT, reason="so", seconds=2.5),
        make_label(2, at=AT, blind=False),
        make_label(1, "bob"),
        MarkRecord(target=make_target(), annotator="bob", mark="note", text="odd", at=AT),
        AdjudicationRecord(ruling=adjudication),
    ]


def export(engine, study):
    source = stored_study(engine, study)
    return list(exports.export_records(engine, source))


def test_every_type_of_record_is_imported(engine):
    counts = imports.import_records(engine, "s", one_of_each_type())
    assert counts == ImportCounts(items=3, runs=1, traces=2, labels=3, marks=1, rulings=1)
    assert counts.summary() == "added 3 items, 1 run, 2 traces, 3 labels, 1 mark, 1 adjudication"
    with reading(engine) as session:
        study = studies.get(session, "s")
        assert (study.description, study.rules.overlap, study.sample) == ("d", 2, True)
        assert [label.value for label in labels.history(session, study.id, make_target(), "ann")] == [1, 2]
    assert imports.import_records(engine, "t", one_of_each_type()) == counts, "they are new in another study"


def test_files_of_several_batches_are_imported_in_their_order(engine, monkeypatch):
    monkeypatch.setattr(imports, "BATCH", 2)
    written = [ItemRecord(item=make_item(f"item {number}")) for number in range(5)]
    written += [make_label(number % 3, f"annotator {number}", item=f"item {number}") for number in range(5)]
    written += [written[0], written[-1]]
    added = imports.import_records(engine, "s", written)
    assert (added.items, added.labels) == (5, 6)
    with reading(engine) as session:
        study = studies.get(session, "s")
        assert [item.id for item in items.of_study(session, study.id)] == [f"item {number}" for number in range(5)]
        assert [label.annotator[-1] for label in labels.of_study(session, study.id)] == [*"012344"]
    assert imports.import_records(engine, "s", written) == ImportCounts()


def test_identical_lines_without_a_time_are_all_imported_and_recognised(engine, a_study):
    lines = [make_label(1), make_label(2), make_label(1), make_label(1)]
    assert imports.import_records(engine, "s", lines).labels == 4
    assert imports.import_records(engine, "s", lines).labels == 0
    assert imports.import_records(engine, "s", [*lines, make_label(1)]).labels == 1
    assert [label.value for label in read(engine, labels.history, a_study.id, make_target())] == [1, 2, 1, 1, 1]


def test_the_same_time_in_another_zone_is_the_same_label(engine, a_study):
    same_time = AT.astimezone(timezone(timedelta(hours=9)))
    assert imports.import_records(engine, "s", [make_label(1, at=AT)]).labels == 1
    assert imports.import_records(engine, "s", [make_label(1, at=same_time)]).labels == 0
    without_zone = make_label(1, at=AT.replace(tzinfo=None), annotator=" ann ")
    assert imports.import_records(engine, "s", [without_zone]).labels == 0
    assert read(engine, labels.history, a_study.id, make_target())[0].at == AT


INVALID_RECORDS = {
    "an item with other content": ItemRecord(item=make_item("item 0", prompt="another")),
    "a missing item": make_label(1, item="item 9"),
    "a trace without its run": a_trace("item 2", run="missing"),
    "a trace without its item": a_trace("item 9"),
    "a run with other settings": RUN.model_copy(update={"settings": {"rounds": 4}}),
    "a longer trace": a_trace("item 0", a_turn(), a_turn(1), a_verdict()),
    "a label off its scale": make_label(7),
    "an adjudication off its scale": AdjudicationRecord(
        ruling=Adjudication(target=make_target(), value=True, rule="expert", reason="so", adjudicator="dee")
    ),
    "an opinion off its scale": a_trace("item 2", a_verdict("agreed", (3, 3, 3))),
    "an opinion with several values": a_trace("item 2", a_verdict(last=({"accuracy": 1.0},))),
    "a trace without a time for each event": a_trace("item 2", a_verdict()).model_copy(update={"times": (AT, AT)}),
    "another criterion": CriterionRecord(criterion=Criterion(name="helpfulness", definition="Something else.")),
    "another scale": ScaleRecord(
        kind="preference", criterion="helpfulness", scale=Scale(level="nominal", categories=(1, 2))
    ),
    "an empty name": make_label(1, annotator=" "),
    "a time outside of the calendar": make_label(1, at=datetime.min.replace(tzinfo=timezone(timedelta(hours=9)))),
    "a seed that is too large": RunRecord(name="seeded", protocol="scaleeval", seed=2**80),
}


@pytest.mark.parametrize("reason", INVALID_RECORDS)
def test_an_invalid_record_rolls_the_import_back(engine, reason):
    imports.import_records(engine, "s", one_of_each_type())
    before = export(engine, "s")
    new = [ItemRecord(item=make_item("new")), make_label(1, "new", "new")]
    with pytest.raises(TiebreakError):
        imports.import_records(engine, "s", [*new, INVALID_RECORDS[reason], *new])
    assert export(engine, "s") == before
    with pytest.raises(TiebreakError):
        imports.import_records(engine, "t", [*one_of_each_type(), INVALID_RECORDS[reason]])
    assert read(engine, studies.names) == ["s"]


CLARITY = CriterionRecord(criterion=Criterion(name="clarity", scale=Scale(level="interval", low=0, high=10)))


def make_score(value, criterion, annotator="ann"):
    target = make_target("item 1", kind="score", criterion=criterion)
    return LabelRecord(label=Label(target=target, annotator=annotator, value=value))


def scores_of_lines(tmp_path, *values):
    """Return the records of a file with a criterion, an item, an empty line, and a score on each further line."""
    scores = [make_score(value, "clarity", f"ann {n}") for n, value in enumerate(values)]
    records = [CLARITY, ItemRecord(item=make_item("item 1")), *scores]
    lines = [record.model_dump_json() for record in records]
    path = tmp_path / "scores.jsonl"
    path.write_text("\n".join([*lines[:2], "", *lines[2:]]), encoding="utf-8")
    return read_records(path)


@pytest.mark.parametrize("value", ["good", 11, True, "11", "4,5"])
def test_a_score_off_the_scale_of_its_criterion_is_refused_with_its_line(engine, tmp_path, value):
    message = f"line 5, field 'label.value': label of 'ann 1' on item 'item 1': {value!r} is not on the scale of score "
    with pytest.raises(FileFormatError, match=re.escape(message + "on 'clarity': expected a number from 0.0 to 10.0.")):
        imports.import_records(engine, "s", scores_of_lines(tmp_path, 4, value, 5))


def test_a_number_as_text_is_the_number_as_in_a_table_and_stays_text_without_a_scale(engine, tmp_path):
    imports.import_records(engine, "s", scores_of_lines(tmp_path, "4", 4, " 4.5 "))
    imports.import_records(engine, "t", [ItemRecord(item=make_item("item 1")), make_score("4", "free")])
    exported = (export(engine, name) for name in "st")
    values = [[record.label.value for record in found if isinstance(record, LabelRecord)] for found in exported]
    assert values == [[4, 4, 4.5], ["4"]]


def test_settings_with_former_names_are_those_of_the_same_run(engine):
    settings = debates.make_settings(reply_order="sequential").model_dump(mode="json")
    former = {name: value for name, value in settings.items() if name != "reply_order"} | {"speaking": "in turn"}
    first, second = (RunRecord(name="r", protocol="scaleeval", settings=fields) for fields in (former, settings))
    assert imports.import_records(engine, "s", [first]).runs == 1
    assert imports.import_records(engine, "s", [second]).runs == 0


def test_an_error_at_the_end_of_a_file_rolls_the_import_back(engine):
    def records():
        yield from one_of_each_type()
        raise FileFormatError("expected JSON", line=17)

    with pytest.raises(FileFormatError, match="line 17"):
        imports.import_records(engine, "s", records())
    assert read(engine, studies.names) == []


def test_a_trace_with_fewer_events_changes_nothing(engine):
    imports.import_records(engine, "s", one_of_each_type())
    assert imports.import_records(engine, "s", [a_trace("item 0", a_verdict())]) == ImportCounts()
    with reading(engine) as session:
        (first, _) = find_traces(session, traces.Filter(studies.get(session, "s").id))
        assert len(traces.events(session, first.id)) == 2


def test_progress_is_reported_to_the_end(engine):
    reports = []
    for _ in range(2):
        imports.import_records(engine, "t", one_of_each_type(), lambda *progress: reports.append(progress))
    assert [total for _, total in reports] == [8] * len(reports)
    assert reports[-1] == (8, 8)


def test_a_label_can_be_saved_while_a_file_is_read(engine, a_study):
    """SQLite has one writer at a time: the import begins to write after the last record is read."""

    def records():
        yield ItemRecord(item=make_item("new"))
        write(engine, store_label, a_study.id, make_target(), "ann", 1)

    assert imports.import_records(engine, "s", records()).items == 1


@pytest.mark.slow
def test_a_killed_import_adds_nothing(engine, a_study):
    address = engine.url.render_as_string(hide_password=False)
    program = f"""
        import sys, time
        from core.formats.records import ItemRecord
        from storage.db import connections
        from storage.transfer import imports
        from tests.conftest import make_label, make_item

        def progress(done, total):
            print(done, flush=True)
            time.sleep(60)

        records = [ItemRecord(item=make_item(f"new {{n}}")) for n in range(100)] + [make_label(1, item="new 1")]
        imports.import_records(connections.connect({address!r}), "s", records, progress)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"100\n"
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 20
    assert len(read(engine, items.of_study, a_study.id)) == 3
    assert imports.import_records(engine, "s", [ItemRecord(item=make_item("new 1"))]).items == 1
    assert time.monotonic() < deadline


# The import of a table stores exactly what its golden file has, whatever makes it faster or smaller


FIXTURES = ROOT / "tests" / "fixtures" / "imports"


def to_text(records):
    """Return records as lines, without the times of the import itself."""
    return "\n".join(record.model_dump_json(exclude={"created_at", "times", "at"}) for record in records)


@pytest.mark.parametrize(("layout", "table"), [("wide", "pairs"), ("long", "pairs"), ("judged", "judged")])
def test_the_import_of_a_table_stores_the_same_as_before(engine, monkeypatch, layout, table):
    monkeypatch.setattr(_imported_runs, "BATCH", 7)
    mapping = load_mappings(FIXTURES / f"{layout}.yaml")[0]
    imports.import_records(engine, "table", read_records(FIXTURES / f"{table}.csv", mapping=mapping))
    assert_golden(f"imports/{layout}.jsonl", to_text(export(engine, "table")))


def import_pairs(engine, tmp_path, rows, **blocks):
    """Import a table of pairs, with labels or gold."""
    table = tmp_path / "t.csv"
    table.write_text(f"id,a,b,value\n{rows}", "utf-8")
    draft = {"id": "id", "responses": [{"text": "a"}, {"text": "b"}], **blocks}
    return imports.import_records(engine, "s", read_records(table, mapping=build_mapping(draft)))


def test_an_import_with_other_meanings_says_how_many_labels_it_replaces_and_which_stay(engine, tmp_path):
    def import_with(**values):
        block = {"layout": "wide", "kind": "preference", "annotators": ["value"], "values": values}
        rows = "1,So.,Thus.,0\n2,Now.,Then.,1\n3,Here.,There.,x\n"
        return import_pairs(engine, tmp_path, rows, labels=[block])

    first = import_with(**{"0": 1, "1": 2, "x": None})
    assert (first.labels, first.replaced, first.superseded) == (2, 0, 0)
    second = import_with(**{"0": 2, "1": 2, "x": 0})
    assert (second.labels, second.replaced, second.superseded) == (2, 1, 0)
    assert second.summary() == "added 2 labels; 1 of the labels replace another value"
    third = import_with(**{"0": 1, "1": 2, "x": None})
    assert (third.labels, third.replaced, third.superseded) == (0, 0, 1)
    assert "1 labels of the file have another value in the study, which stays" in third.summary()


def test_an_import_of_gold_with_other_meanings_says_how_many_decisions_it_replaces(engine, tmp_path):
    def import_with(**values):
        block = {"kind": "preference", "value": "value", "values": values}
        counts = import_pairs(engine, tmp_path, "1,So.,Thus.,0\n2,Now.,Then.,1\n", gold=[block])
        return counts.rulings, counts.replaced_rulings, counts.superseded_rulings

    assert import_with(**{"0": 1, "1": 2}) == (2, 0, 0)
    assert import_with(**{"0": 1, "1": 2}) == (0, 0, 0)
    assert import_with(**{"0": 2, "1": 2}) == (1, 1, 0)
    assert import_with(**{"0": 1, "1": 2}) == (0, 0, 1)


def test_verdicts_that_a_study_has_with_other_values_stay_and_are_counted(engine, tmp_path):
    table, five = tmp_path / "t.csv", {"level": "ordinal", "categories": [1, 2, 3, 4, 5]}

    def import_with(rows, criterion):
        table.write_text(f"id,a,j\n{rows}", "utf-8")
        judge = {"kind": "score", "criterion": criterion, "columns": ["j"], "scale": five}
        id = "id" if criterion == "clarity" else "{id} whole"
        mapping = build_mapping({"id": id, "responses": [{"text": "a"}], "judges": [judge]})
        return imports.import_records(engine, "s", read_records(table, mapping=mapping))

    first = import_with("1,So.,3\n2,Now.,4\n", "clarity")
    assert (first.traces, first.superseded_traces) == (2, 0)
    assert import_with("1,So.,3\n2,Now.,4\n", "clarity").summary() == "nothing new: the study has all records"
    second = import_with("1,So.,3\n2,Now.,5\n", "clarity")
    assert (second.traces, second.superseded_traces) == (0, 1)
    assert "1 traces of judges have other values in the study, which stay" in second.summary()
    other_level = import_with("1,So.,3\n", "quality")
    assert (other_level.runs, other_level.traces) == (0, 1)
