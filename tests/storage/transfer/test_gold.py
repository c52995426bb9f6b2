"""The export of gold: people's decisions with their origin, and judges only if the owner selects their runs."""

import csv
import io

import pytest

from core.aius import Piece, Split
from core.critiques import Aiu, Critique
from core.errors import TiebreakError
from core.formats import gold as gold_csv
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TranscriptRecord
from core.items import Item, Response
from core.labels import Evidence, Label, Target
from core.protocols.critique_baselines.protocol import QUALITY, pair_name
from core.transcripts import Part, Transcript
from storage.labels import labels, views
from storage.runs import aius
from storage.transfer import imports
from storage.transfer.gold import GoldOptions, gold_rows, verdict_runs
from tests.conftest import make_item, make_target
from tests.sessions import read, write
from tests.storage.shared import a_trace, a_verdict, store_label, stored_study

DEBATE, OTHER = (RunRecord(name=name, protocol="scaleeval") for name in ("debate", "other"))


def export(engine, study, **options):
    return list(read(engine, gold_rows, study, GoldOptions(**options)))


def save(engine, study, annotator, value, target=None, **fields):
    write(engine, store_label, study.id, target or make_target(), annotator, value, **fields)


def by_item(rows):
    return {row.gold.target.item: (row.gold.value, row.gold.source) for row in rows}


def test_judges_enter_only_by_the_runs_that_the_owner_selects_and_decide_no_tie_of_people(engine, a_study):
    with pytest.raises(TiebreakError, match="no run 'nobody' in this study; there are none"):
        export(engine, a_study, judges=("nobody",))
    verdicts = [a_trace(f"item {n}", a_verdict("agreed", (2, 2, 2)), run="debate") for n in range(3)]
    others = [a_trace("item 2", a_verdict("agreed", (1, 1, 1)), run="other"), a_trace("item 1", run="other")]
    imports.import_records(engine, "s", [DEBATE, OTHER, *verdicts, *others])
    save(engine, a_study, "ann", 1)
    (row,) = export(engine, a_study)
    assert (row.gold.value, row.gold.source, row.verdicts, row.opinions) == (1, "single", {}, {})
    by_debate = {"item 0": (1, "single"), "item 1": (2, "judges"), "item 2": (2, "judges")}
    assert by_item(export(engine, a_study, judges=("debate",))) == by_debate
    assert by_item(export(engine, a_study, judges=("debate", "other")))["item 2"] == (None, "unresolved")
    assert by_item(export(engine, a_study, judges=("other",))) == {"item 0": (1, "single"), "item 2": (1, "judges")}
    save(engine, a_study, "bob", 2)
    assert by_item(export(engine, a_study, judges=("debate",))) == by_debate | {"item 0": (None, "unresolved")}


def test_a_row_has_the_origin_of_its_value(engine, a_study):
    save(engine, a_study, "ann", 1, guidelines=1)
    save(engine, a_study, "bob", 2, guidelines=2)
    write(engine, views.record, a_study.id, [make_target()], "ann")
    save(engine, a_study, "ann", 2, guidelines=2)
    (row,) = export(engine, a_study)
    assert (row.study, row.gold.source, row.contention, row.guidelines) == ("s", "unanimous", 0.0, (2,))
    assert (row.blind, row.final) == ({"ann": 1, "bob": 2}, {"ann": 2, "bob": 2})
    write(engine, labels.adjudicate, a_study.id, make_target(), 0, rule="discussion", reason="equal", adjudicator="dee")
    (row,) = export(engine, a_study)
    assert (row.gold.value, row.adjudicator, row.rule, row.reason) == (0, "dee", "discussion", "equal")
    assert row.date is not None


def test_a_withdrawn_label_is_not_in_the_final_values(engine, a_study):
    save(engine, a_study, "ann", 1)
    save(engine, a_study, "bob", 1)
    save(engine, a_study, "ann", None)
    (row,) = export(engine, a_study)
    assert (row.final, row.gold.source, row.gold.annotators) == ({"bob": 1}, "single", 1)


def test_the_passages_that_annotators_selected_are_exported(engine, a_study):
    item = make_item("item 0")
    first, other = item.responses[0].text, len(item.prompt)
    places = [Evidence(block="response-1", start=0, end=3), Evidence(block="elsewhere", start=2, end=5)]
    save(engine, a_study, "ann", 1, evidence=[Evidence(block="question", start=0, end=other)])
    save(engine, a_study, "ann", 2, evidence=places)
    save(engine, a_study, "bob", 2)
    (row,) = rows = export(engine, a_study)
    assert row.evidence == (("ann", "response-1", first[:3]), ("ann", "elsewhere", "2-5"))
    stream = io.StringIO()
    gold_csv.write_csv(rows, stream)
    (cells,) = csv.DictReader(io.StringIO(stream.getvalue()))
    assert cells["evidence"] == f"ann:response-1:{first[:3]};ann:elsewhere:2-5"
    pseudonyms = {name for name, _, _ in export(engine, a_study, pseudonyms=True)[0].evidence}
    assert len(pseudonyms) == 1 and "ann" not in pseudonyms


def test_pseudonyms_hide_every_name_and_are_stable(engine, a_study):
    save(engine, a_study, "ann", 1)
    write(engine, labels.adjudicate, a_study.id, make_target(), 0, rule="expert", reason="equal", adjudicator="dee")
    stream = io.StringIO()
    gold_csv.write_csv(rows := export(engine, a_study, pseudonyms=True), stream)
    assert "ann:" not in stream.getvalue() and "dee" not in stream.getvalue()
    assert rows[0].adjudicator.startswith("annotator ") and rows[0].adjudicator not in rows[0].final
    save(engine, a_study, "aaa", 1)
    (again,) = export(engine, a_study, pseudonyms=True)
    assert set(rows[0].final) < set(again.final)


def test_columns_of_judges_have_verdicts_and_last_opinions(engine, a_study):
    imports.import_records(engine, "s", [DEBATE, a_trace("item 0", a_verdict("agreed", (2, 2, 2)), run="debate")])
    save(engine, a_study, "ann", 1)
    (row,) = export(engine, a_study, judge_columns=True)
    assert row.verdicts == {"debate": 2} and row.opinions == {f"j{n} (debate)": 2 for n in range(3)}
    assert (row.gold.value, row.gold.source) == (1, "single")
    assert read(engine, verdict_runs, a_study) == ["debate"]


def test_parts_are_readable_also_after_an_edit(engine):
    critique = Critique(author="human", text="Wrong.", aius=(Aiu(id="human.1", text="It is wrong."),))
    transcript = Transcript(parts=(Part(number=1, kind="tool_call", role="assistant", name="find", content="x"),))
    response = Response(text="r", system="model 1", transcript=transcript.digest)
    item = Item(id="q", prompt="p", responses=(response,), critiques=(critique,))
    step = Target(item="q", kind="answer", criterion="error category", part="step 1")
    precision = Target(item="q", kind="aiu_precision", part="human.1")
    recall = Target(item="q", kind="aiu_recall", part="human.1@model")
    weights = Target(item="q", kind="aspect_weights", part="set")
    quality = Target(item="q", kind="aspect_quality", criterion="clarity", part="set")
    given_labels = [(precision, True), (recall, False), (weights, {"depth": 60.0, "style": 40.0}), (quality, 4)]
    given_labels.append((step, "wrong tool"))
    records = [LabelRecord(label=Label(target=target, annotator="ann", value=value)) for target, value in given_labels]
    imports.import_records(engine, "s", [TranscriptRecord(transcript=transcript), ItemRecord(item=item), *records])
    rows = export(engine, study := stored_study(engine))
    assert {row.gold.target.kind: row.part_text for row in rows} == {
        "aiu_precision": "It is wrong.", "aiu_recall": "It is wrong. (in model)",
        "aspect_weights": "depth, style", "aspect_quality": "depth, style",
        "answer": "[1] assistant calls find(x)",
    }  # fmt: skip
    assert rows[0].systems == ("model 1",)
    pieces = Piece(text="It is."), Piece(text="It errs.")
    write(engine, aius.save_edit, study.id, "q", "ann", Split(aiu="human.1", into=pieces))
    edited = {row.gold.target.kind: row.part_text for row in export(engine, study)}
    assert edited["aiu_precision"] == "It is wrong.", "an AIU that was edited away keeps its text"


def test_passages_of_critiques_and_of_the_context_are_exported(engine):
    human, model = critiques = (Critique(author="human", text="Wrong."), Critique(author="model", text="Too short."))
    item = Item(
        id="q",
        prompt="p",
        context="Known.",
        reference="Four.",
        scenario="math",
        group="g",
        responses=(Response(text="r"),),
        critiques=critiques,
    )
    rated = Target(item="q", kind="score", criterion=QUALITY, part=model.id)
    compared = Target(item="q", kind="preference", criterion=QUALITY, part=pair_name(model, human))
    passages = {
        rated: [Evidence(block="critique", start=0, end=3), Evidence(block="context", start=0, end=5)],
        compared: [Evidence(block="critique-2", start=0, end=5), Evidence(block="reference", start=0, end=4)],
    }
    given_labels = [
        Label(target=target, annotator="ann", value=1, evidence=found) for target, found in passages.items()
    ]
    imports.import_records(engine, "s", [ItemRecord(item=item), *(LabelRecord(label=label) for label in given_labels)])
    rows = {row.gold.target: row for row in export(engine, stored_study(engine))}
    assert rows[rated].evidence == (("ann", "critique", "Too"), ("ann", "context", "Known"))
    assert rows[compared].evidence == (("ann", "critique-2", "Wrong"), ("ann", "reference", "Four"))
    assert (rows[rated].scenario, rows[rated].group, rows[rated].systems) == ("math", "g", ("",))


def test_a_time_that_is_not_finite_is_not_stored(engine, a_study):
    save(engine, a_study, "ann", 1, seconds=float("inf"))
    (label,) = read(engine, labels.of_study, a_study.id)
    assert label.seconds is None
