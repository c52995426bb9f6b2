"""Labels of steps of transcripts, and lists beside lists of responses, as a mapping states them."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping import table
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.scope import recording_omissions
from core.formats.registry import read_records
from core.labels import STEPS
from tests.core.formats.shared import gold_of, items_of, labels_of, write_content, write_rows

CALL = [{"id": "1", "function": {"name": "search", "arguments": "{}"}}, {"id": "2", "function": {"name": "open"}}]
FIRST_WRONG = {"kind": "answer", "criterion": "first wrong step", "scale": STEPS.model_dump(exclude_defaults=True)}


def test_a_message_with_two_calls_is_two_steps_and_a_step_beyond_the_transcript_is_left_out(tmp_path: Path) -> None:
    history: list[Any] = [{"role": "user", "content": "?"}, *({"role": "assistant", "content": "!"} for _ in range(5))]
    history[1] |= {"content": None, "tool_calls": CALL}
    rows = [{"history": history, "at": at, "why": "It guessed."} for at in (1, 2, 9, 5)]
    path = write_content(tmp_path / "failures.jsonl", rows)
    gold = [FIRST_WRONG | {"value": "at", "reason": "why", "steps": "message from 0"}]
    mapping = build_mapping({"id": "{row}", "responses": [{"transcript": "history"}], "gold": gold})
    with recording_omissions() as omissions:
        records = list(table.read(path, mapping))
    assert [(own.value, own.reason) for own in gold_of(records)] == [(step, "It guessed.") for step in (2, 4, 7)]
    assert omissions.notes() == ["1 left out: about a step that is not in the transcript (line 3)"]


def span(id: str, kind: str, second: int, children: tuple[Any, ...] = (), **attributes: str) -> dict[str, Any]:
    return {
        "span_id": id,
        "span_name": f"{kind} call",
        "timestamp": f"2025-03-19T16:40:{second:02}Z",
        "duration": "PT1.5S",
        "span_attributes": {"openinference.span.kind": kind, **attributes},
        "child_spans": [child | {"parent_span_id": id} for child in children],
    }


def test_errors_of_spans_are_categories_of_steps(tmp_path: Path) -> None:
    model = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Where?"}
    reply = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Here."}
    tool = span("b", "TOOL", 3, **{"tool.name": "map", "input.value": "{}", "output.value": "Rome"})
    root = span("r", "AGENT", 1, (span("a", "LLM", 2, **model, **reply), tool))
    errors = [("b", "Tool error"), ("a", "Goal deviation"), ("b", "Formatting"), ("r", "Goal deviation"), ("x", "Lost")]
    listed = [{"location": place, "category": category, "description": category} for place, category in errors]
    path = tmp_path / "trail.jsonl"
    row = {"trace": json.dumps({"trace_id": "t", "spans": [root]}), "labels": json.dumps({"errors": listed})}
    path.write_text(json.dumps(row) + "\n")
    scale = {"level": "nominal", "categories": ["Formatting", "Goal deviation", "Lost", "Tool error"]}
    block = {"layout": "long", "each": "labels.errors", "annotator": {"constant": "x"}, "kind": "answer"}
    block["scale"] = scale
    block |= {"step": "location", "value": "category", "reason": "description", "steps": "span", "aggregate": "first"}
    mapping = build_mapping({"id": "{row}", "responses": [{"transcript": "transcript"}], "labels": [block]})
    with recording_omissions() as omissions:
        records = list(table.read(path, mapping))
    labels = labels_of(records)
    # the agent's span stands for the first reply in it, which has a category already
    assert [(own.target.part, own.value, own.reason) for own in labels] == [
        ("step 4", "Tool error", "Tool error"),
        ("step 2", "Goal deviation", "Goal deviation"),
    ]
    assert omissions.notes() == [
        "1 left out: about a step that is not in the transcript (line 1)",
        "2 left out: further values of a target by one annotator, of which one counts",
        "1 labels are the first or the last of values that differ",
    ]


def test_scores_of_shuffled_responses_stay_with_their_response(tmp_path: Path) -> None:
    scores = [
        {"layout": "wide", "kind": "score", "criterion": "c", "annotators": {column: "ann"}, "response": number,
         "scale": {"level": "ordinal", "categories": [1, 2]}}
        for number, column in enumerate(("s1", "s2"), 1)
    ]  # fmt: skip
    path = write_rows(tmp_path, [{"id": str(n), "q": "q", "a": "bad", "b": "good", "s1": 1, "s2": 2} for n in range(8)])
    draft = {"id": "id", "prompt": "q", "responses": [{"text": "a"}, {"text": "b"}], "shuffle": True, "labels": scores}
    records = list(table.read(path, build_mapping(draft)))
    items = {own.id: own.responses for own in items_of(records)}
    labels = labels_of(records)
    found = {(items[own.target.item][int(own.target.part) - 1].text, own.value) for own in labels}
    assert (found, {own[0].text for own in items.values()}) == ({("bad", 1), ("good", 2)}, {"bad", "good"})


def test_lists_beside_a_list_of_responses_have_a_value_of_each(tmp_path: Path) -> None:
    record = {"id": "a", "outputs": ["x", "y", "z"], "names": ["s", "t", "u"], "ratings": [[1, 2, 5], [2, 3, 4]]}
    block = {"layout": "list", "kind": "score", "value": "ratings", "scale": {"level": "interval", "low": 1, "high": 5}}
    draft = {"explode": "outputs", "parallel": ["ratings.*", "names"], "id": "{id}-{element}", "labels": [block]}
    mapping = build_mapping(draft | {"responses": [{"text": "outputs", "system": "names"}]})
    records = list(table.read(write_rows(tmp_path, [record]), mapping))
    assert [own.responses[0].system for own in items_of(records)] == ["s", "t", "u"]
    assert [(own.target.item, own.annotator[-1], own.value) for own in labels_of(records)] == [
        *(("a-1", "1", 1), ("a-1", "2", 2), ("a-2", "1", 2), ("a-2", "2", 3), ("a-3", "1", 5), ("a-3", "2", 4))
    ]
    with pytest.raises(FileFormatError, match="expected 3 values, as outputs has, not 1"):
        list(table.read(write_rows(tmp_path, [record | {"names": ["s"]}]), mapping))


def test_further_texts_of_a_list_of_which_the_first_is_a_response_are_named(tmp_path: Path) -> None:
    path = write_rows(tmp_path, [{"a": ["x"], "b": ["y", "z"]}])
    mapping = build_mapping({"id": "{row}", "responses": [{"text": "a.0"}, {"text": "b.0"}]})
    assert unused_fields(path, mapping) == ["b.1:"]


def test_a_transcript_ends_where_a_path_says(tmp_path: Path) -> None:
    talk = [{"role": role, "content": f"{n}"} for n, role in enumerate(("user", "assistant") * 2)]
    path = write_rows(tmp_path, [{"talk": talk}])
    mapping = build_mapping({"id": "{row}", "responses": [{"transcript": "talk.:2"}]})
    (item,) = items_of(read_records(path, mapping=mapping))
    assert item.responses[0].text == "1"


def test_a_preference_is_of_no_response_and_rows_of_a_batch_may_lack_the_last_cells(tmp_path: Path) -> None:
    gold = [{"kind": "preference", "value": "v", "response": 1}]
    with pytest.raises(FileFormatError, match="another kind than preference"):
        build_mapping({"id": "id", "prompt": "p", "gold": gold})
    mapping = build_mapping({"id": "HITId", "prompt": "Input.q"})
    path = write_content(tmp_path / "batch.csv", "HITId,Input.q,Approve,Reject\nh1,Why?\n")
    assert [item.prompt for item in items_of(read_records(path, mapping=mapping))] == ["Why?"]
    with pytest.raises(FileFormatError, match="expected 4 cells"):
        list(read_records(write_content(path, "HITId,Input.q,Reward,Reject\nh1,Why?\n"), mapping=mapping))
