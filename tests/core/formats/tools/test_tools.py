"""Files that other tools wrote are read, and files for other tools are read back equal."""

import io
import json
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import FileFormatError
from core.formats import text
from core.formats.mapping.scope import recording_omissions
from core.formats.records import (
    AdjudicationRecord,
    ItemRecord,
    LabelRecord,
    Record,
    RunRecord,
    ScaleRecord,
    TraceRecord,
    TranscriptRecord,
)
from core.formats.registry import READERS, WRITERS, detect_format, read_records, write_records
from core.formats.tools import label_studio
from core.items import Item, Response
from core.labels import Adjudication, Label, Opinion, Scale, Target
from core.trace import Turn, TurnCompleted, Verdict, VerdictReached
from core.transcripts import Part, Transcript
from tests.core.formats.shared import items_of, labels_of, of_kind, write_content
from tests.paths import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "tools"
FILES = {
    "label-studio": ("label_studio.json", {"preference": 4, "score": 4, "answer": 4}, {"gpt-4": 2}),
    "argilla": ("argilla.json", {"preference": 4, "score": 2}, {"gpt-4": 2}),
    "inspect": ("inspect.json", {}, {"match": 2, "helpful": 2}),
    "potato": ("potato", {"answer": 4, "score": 4}, {}),
    "meta-evaluator": ("meta_evaluator", {"answer": 4}, {"strict": 2}),
}
"""Format -> the fixture, its labels by kind, and its traces by run."""


@pytest.mark.parametrize("format", FILES)
def test_a_file_that_the_tool_wrote_is_read(format: str) -> None:
    name, labels, traces = FILES[format]
    assert detect_format(FOLDER / name) == format
    records = list(read_records(FOLDER / name))
    assert len(items_of(records)) == 2
    assert Counter(record.label.target.kind for record in of_kind(records, LabelRecord)) == labels
    assert Counter(record.run for record in of_kind(records, TraceRecord)) == traces
    assert {record.name for record in of_kind(records, RunRecord)} == set(traces)


def test_texts_of_label_studio_under_unusual_names_are_the_prompt_and_texts_alone_are_counted(tmp_path: Path) -> None:
    area = {"from_name": "outputs", "to_name": "x", "type": "textarea", "value": {"text": ["a unit"]}}
    data = {"background": "the plot", "response": "a summary", "reference": "gold"}
    task = [{"id": 4, "data": data, "annotations": [{"completed_by": 1, "result": [area]}], "predictions": []}]
    (tmp_path / "t.json").write_text(json.dumps(task))
    with recording_omissions() as omissions:
        (record,) = of_kind(read_records(tmp_path / "t.json", "label-studio"), ItemRecord)
    assert (record.item.prompt, record.item.responses[0].text) == ("background: the plot", "a summary")
    assert omissions.labels == 1


def test_words_for_a_response_are_a_preference_and_fields_without_a_role_are_named(tmp_path: Path) -> None:
    choice = {"from_name": "best", "type": "choices", "value": {"choices": ["b_winner"]}}
    data = {"prompt": '["Why?", "Really?"]', "response_a": "x", "response_b": "y", "vote": "model_a"}
    task = {"data": data, "annotations": [{"completed_by": 1, "result": [choice]}]}
    (tmp_path / "t.json").write_text(json.dumps([task]))
    with recording_omissions() as omissions:
        records = list(read_records(tmp_path / "t.json", "label-studio"))
    (label,) = labels_of(records)
    assert (label.target.kind, label.value, omissions.notes()) == ("preference", 2, ["not used: vote"])
    assert of_kind(records, ItemRecord)[0].item.prompt == "Why?\n\nReally?"


def test_the_values_of_label_studio_are_read() -> None:
    records = list(read_records(FOLDER / "label_studio.json"))
    values = {
        (one.label.target.item, one.label.target.criterion, one.label.annotator): one.label.value
        for one in of_kind(records, LabelRecord)
    }
    assert values["1", "better", "annotator 1"] == 1 and values["2", "better", "annotator 2"] == 2
    assert values["2", "clarity", "annotator 2"] == 1 and values["1", "safe", "annotator 2"] == "no"
    assert {one.label.reason for one in of_kind(records, LabelRecord)} == {"because"}
    first = of_kind(records, ItemRecord)[0].item
    assert (first.prompt, [response.text for response in first.responses]) == (
        "Which is round?", ["The ball.", "The cube."],
    )  # fmt: skip


def test_an_archive_of_inspect_is_read_like_its_json() -> None:
    assert detect_format(FOLDER / "inspect.eval") == "inspect"
    assert list(read_records(FOLDER / "inspect.eval")) == list(read_records(FOLDER / "inspect.json"))


def test_potatos_answers_are_numbers_or_words_and_text_boxes_are_reasons() -> None:
    labels = labels_of(read_records(FOLDER / "potato"))
    values = {(label.target.item, label.target.criterion, label.annotator): label.value for label in labels}
    assert (values["i1", "quality", "ann"], values["i2", "correct", "ann"]) == (5, "false")
    assert {label.reason for label in labels} == {"because"}


def test_free_text_of_meta_evaluator_is_the_reason() -> None:
    labels = labels_of(read_records(FOLDER / "meta_evaluator"))
    assert {(label.annotator, label.target.item, label.value) for label in labels} == {
        ("ann", "q1", "yes"), ("ann", "q2", "no"), ("ben", "q1", "yes"), ("ben", "q2", "yes"),
    }  # fmt: skip
    assert {label.reason for label in labels} == {"fine"}


def study() -> Iterator[Record]:
    """Yield a pair and a single response with labels, gold and a verdict."""
    pair = Item(
        id="q1", prompt="Which?", responses=(Response(text="", system="a"), Response(text="this", system="b")),
        context="c", scenario="toys",
    )  # fmt: skip
    yield ScaleRecord(kind="score", criterion="tone", scale=Scale(level="ordinal", categories=(1, 2, 3)))
    yield ItemRecord(item=pair)
    yield ItemRecord(item=Item(id="q2", prompt="Say it.", responses=(Response(text="it"),), reference="It."))
    better = Target(item="q1", kind="preference", criterion="better")
    for annotator, value in (("Ann", 1), ("Ben", 0), ("Ann", 2)):
        yield LabelRecord(label=Label(target=better, annotator=annotator, value=value, reason="so"))
    yield LabelRecord(label=Label(target=Target(item="q2", kind="score", criterion="tone"), annotator="Ann", value=3))
    second = Target(item="q1", kind="score", criterion="tone", part="2")
    yield LabelRecord(label=Label(target=second, annotator="Ben", value=1))
    weights = Target(item="q1", kind="aspect_weights", part="x")
    yield LabelRecord(label=Label(target=weights, annotator="Ann", value={"a": 40.0, "b": 60.0}))
    ruling = Adjudication(target=better, value=2, rule="expert", reason="clear", adjudicator="Eve")
    yield AdjudicationRecord(ruling=ruling)
    yield RunRecord(name="judge run", protocol="single-judge")
    opinion = Opinion(kind="preference", judge="j", stage="verdict", value=1, criterion="better")
    turn = Turn(speaker="j", step="choice", round=0, model="m", reply="1", reading=1)
    verdict = Verdict(outcome="agreed", value=1, opinions=(opinion,))
    events = (TurnCompleted(ask=0, turn=turn), VerdictReached(verdict=verdict))
    yield TraceRecord(run="judge run", item="q1", events=events)


def write(folder: Path, format: str) -> Path:
    stream = io.StringIO()
    assert write_records(study(), format, stream) == 1 + (format == "argilla")  # the weights; Argilla has no gold
    path = folder / f"{format}.json"
    path.write_text(stream.getvalue(), encoding="utf-8")
    return path


@pytest.mark.parametrize("format", [name for name in WRITERS if name in READERS])
def test_a_written_study_is_read_back(tmp_path: Path, format: str) -> None:
    path = write(tmp_path, format)
    assert detect_format(path) == format
    records = list(read_records(path))
    items = {one.item.id: one.item for one in of_kind(records, ItemRecord)}
    assert [response.text for response in items["q1"].responses] == ["", "this"]
    assert (items["q1"].scenario, items["q2"].reference, items["q2"].prompt) == ("toys", "It.", "Say it.")
    labels = labels_of(records)
    assert sorted((label.target.criterion, label.target.part, label.value) for label in labels) == [
        ("better", "", 0), ("better", "", 2), ("tone", "", 3), ("tone", "2", 1),
    ]  # fmt: skip
    assert {label.target.kind for label in labels} == {"preference", "score"}
    assert len({label.annotator for label in labels}) == 2
    (trace,) = of_kind(records, TraceRecord)
    assert (trace.run, trace.events[-1].verdict.value) == ("judge run", 1)
    if format != "argilla":  # it has no gold, and users have ids
        (gold,) = of_kind(records, AdjudicationRecord)
        assert (gold.ruling.value, gold.ruling.adjudicator) == (2, "Eve")
        assert {label.annotator for label in labels} == {"Ann", "Ben"}


def test_the_labeling_configuration_has_a_control_for_each_question() -> None:
    config = label_studio.labeling_config(study())
    assert '<Number name="tone" toName="prompt"/>' in config
    assert '<Choice value="response_2"/>' in config and '<Text name="context" value="$context"/>' in config


def test_labels_of_steps_come_back_from_a_log_of_inspect_with_their_transcripts(tmp_path: Path) -> None:
    sample = list(read_records(ROOT / "core" / "protocols" / "single_judge" / "sample.jsonl"))
    stream = io.StringIO()
    assert write_records(iter(sample), "inspect", stream) == 0  # every step has a form
    path = write_content(tmp_path / "steps.json", stream.getvalue())
    read = list(read_records(path))
    labels, written = (labels_of(records) for records in (read, sample))
    assert Counter((label.target, label.annotator, label.value) for label in labels) == Counter(
        (label.target, label.annotator, label.value) for label in written
    )
    assert of_kind(read, TranscriptRecord) == of_kind(sample, TranscriptRecord)
    assert {record.run for record in of_kind(read, TraceRecord)} == {
        record.run for record in of_kind(sample, TraceRecord)
    }
    log = pytest.importorskip("inspect_ai.log", reason="inspect-ai is not installed")
    calls = [one for one in log.read_eval_log(str(path)).samples[0].messages if getattr(one, "tool_calls", None)]
    assert calls[0].tool_calls[0].arguments


def test_annotations_for_phoenix_name_the_spans_of_steps_and_the_traces() -> None:
    parts = tuple(
        Part(number=number, kind="text", role="assistant", content="x", spans=spans)
        for number, spans in ((1, ("s1",)), (2, ("s2", "s3")), (3, ()))
    )
    transcript = Transcript(parts=parts)
    response = Response(text="x", transcript=transcript.digest)
    steps: list[tuple[str, str, Any]] = [
        ("first wrong step", "", 2), ("first wrong step", "", 0),
        ("error category", "step 1", "wrong tool"), ("error category", "step 3", "wrong tool"),
    ]  # fmt: skip
    labels = [
        LabelRecord(
            label=Label(target=Target(item="t", kind="answer", criterion=name, part=part), annotator=who, value=value)
        )
        for who, (name, part, value) in zip(("Ann", "Ben", "Ann", "Ben"), steps, strict=True)
    ]
    item = Item(id="t", prompt="p", responses=(response,))
    stream = io.StringIO()
    pair = ItemRecord(item=Item(id="pair", prompt="p", responses=(Response(text="x"),)))
    other = labels[1].label.model_copy(
        update={"target": Target(item="pair", kind="answer", criterion="first wrong step")}
    )
    stored = [TranscriptRecord(transcript=transcript), ItemRecord(item=item), pair]
    records: list[Record] = [*stored, *labels, LabelRecord(label=other)]
    assert write_records(records, "phoenix", stream) == 2  # step 3 stands for no span, and the pair for no trace
    found = json.loads(stream.getvalue())
    spans = [(one["span_id"], one["identifier"], one["result"]["label"]) for one in found["span_annotations"]]
    assert spans == [("s3", "Ann", "first wrong step"), ("s1", "Ann", "wrong tool")]
    (whole,) = found["trace_annotations"]
    assert (whole["trace_id"], whole["annotator_kind"], whole["result"]["label"]) == ("t", "HUMAN", "0")


def test_verdicts_beyond_the_one_that_argilla_can_hold_are_counted() -> None:
    verdict = list(study())[-1]
    others = [verdict.model_copy(update={"run": name}) for name in ("second", "third")]
    counts = [write_records([*study(), *others], format, io.StringIO()) for format in ("argilla", "inspect")]
    assert counts == [4, 1]


def refusal(folder: Path, format: str, content: object) -> str:
    path = folder / "file.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(FileFormatError) as caught:
        list(read_records(path, format))
    return str(caught.value)


def test_what_cannot_be_read_is_refused_with_a_sentence(tmp_path: Path) -> None:
    span = {"from_name": "tag", "to_name": "t", "type": "labels", "value": {"start": 0}}
    task = [{"data": {"text": "a"}, "annotations": [{"completed_by": 1, "result": [span]}]}]
    assert "the control 'tag' holds labels; readable are choices" in refusal(tmp_path, "label-studio", task)
    spans = [{"fields": {"text": "a"}, "responses": {"tag": [{"value": [{"start": 0, "end": 1, "label": "x"}]}]}}]
    assert "the question 'tag' has spans or a ranking" in refusal(tmp_path, "argilla", spans)
    assert refusal(tmp_path, "argilla", "[NaN]") == "expected JSON: NaN is not a number in JSON"
    assert refusal(tmp_path, "inspect", "[" * 100_000) == "expected JSON that is not nested so deep"
    assert refusal(tmp_path, "argilla", "[" + "9" * 5_000 + "]") == "expected JSON with numbers of at most 15 digits"
    broken = json.dumps([{"data": {"text": "a\x00"}}])
    assert refusal(tmp_path, "label-studio", broken) == "expected text without NUL characters"


def test_an_answer_about_an_unknown_instance_is_refused(tmp_path: Path) -> None:
    state = {"user_id": "ann", "instance_id_to_label_to_value": {"i9": [[{"schema": "ok", "name": "yes"}, "yes"]]}}
    folder = tmp_path / "annotation_output" / "ann"
    folder.mkdir(parents=True)
    (folder / "user_state.json").write_text(json.dumps(state))
    with pytest.raises(FileFormatError, match=r"no data file in .* has the instance 'i9'"):
        list(read_records(tmp_path, "potato"))


def test_annotated_instances_of_older_potatoes_are_read(tmp_path: Path) -> None:
    line = {
        "user": "ann",
        "instance_id": "i1",
        "displayed_text": "A ball.",
        "label_annotations": {"q": {"scale_4": "4"}},
    }
    path = write_content(tmp_path / "annotated_instances.jsonl", [line])
    assert detect_format(path) == "potato"
    (label,) = of_kind(read_records(path), LabelRecord)
    assert (label.label.target.criterion, label.label.value) == ("q", 4)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "left", "tie", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["choices", "text", "a"]), inner),
    max_leaves=4,
)
RESULT = {"from_name": "q", "to_name": "t", "type": "choices"}
SHAPES: dict[str, Callable[[Any], Any]] = {
    "label-studio": lambda v: [{"data": {"text": v, "id": v}, "annotations": [{"result": [RESULT | {"value": v}]}]}],
    "argilla": lambda v: [{"fields": {"text": v}, "responses": {"q": [{"value": v}]}, "metadata": v}],
    "inspect": lambda v: {
        "eval": {}, "samples": [{"id": 1, "input": v, "output": {"choices": v}, "scores": {"s": {"value": v}}}],
    },
}  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(format=st.sampled_from(sorted(SHAPES)), value=values)
def test_any_value_is_read_or_refused(tmp_path: Path, format: str, value: object) -> None:
    path = write_content(tmp_path / "file.json", json.dumps(SHAPES[format](value)))
    try:
        records = list(read_records(path, format))
    except FileFormatError:
        return
    assert of_kind(records, ItemRecord)


def test_the_fields_of_label_studio_tasks_have_a_fixed_order(tmp_path: Path) -> None:
    path = write(tmp_path, "label-studio")
    fields = [[*task["data"]] for task in json.loads(path.read_text())]
    assert [names[:5] for names in fields] == [["id", "prompt", "context", "reference", "response_1"]] * 2


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_log_of_inspect_is_refused_by_the_sum_of_what_its_samples_unpack_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: int
) -> None:
    monkeypatch.setattr(text, "MAX_UNPACKED", 6 * 2**20)
    sample = json.dumps({"id": 1, "input": "a", "output": {}, "messages": ["x" * 2 * 2**20]})
    with zipfile.ZipFile(tmp_path / "log.eval", "w", method) as archive:
        archive.writestr("header.json", "{}")
        for number in range(20):
            archive.writestr(f"samples/{number}_epoch_1.json", sample)
    tracemalloc.start()
    with pytest.raises(FileFormatError, match=r"unpacks to more than|a method that logs do not have"):
        list(read_records(tmp_path / "log.eval"))
    assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    tracemalloc.stop()
