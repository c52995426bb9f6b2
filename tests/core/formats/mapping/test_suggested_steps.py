"""Labels of steps are suggested with how the file counts them, and parallel lists as scores of single responses."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping import table
from core.formats.mapping.mapping import build_mapping, draft_of
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.scope import recording_omissions
from core.formats.mapping.suggest import build_suggested, suggest_table
from core.formats.records import RunRecord
from tests.core.formats.shared import gold_of, items_of, labels_of, write_content

NAMES = ("human", "Planner", "Browser", "Coder")
CALL = [{"id": "1", "function": {"name": "search", "arguments": "{}"}}, {"id": "2", "function": {"name": "open"}}]


def failure(number: int, step: int, **more: Any) -> dict[str, Any]:
    """A record as in Who&When: the first message after the question has two calls, and so two parts."""
    roles = ["user", *["assistant"] * 5]
    history: list[Any] = [
        {"role": role, "name": NAMES[place % 4], "content": f"message {place}"} for place, role in enumerate(roles)
    ]
    history[1] |= {"content": None, "tool_calls": CALL}
    named = {"mistake_agent": NAMES[step % 4], "mistake_step": str(step), "mistake_reason": "It guessed."}
    return {"question_ID": f"q{number}", "question": "?", "ground_truth": "42", "history": history, **named, **more}


def write(folder: Path, records: list[Any]) -> Path:
    return write_content(folder / "failures.json", records)


def test_the_agent_of_the_step_states_how_a_file_counts(tmp_path: Path) -> None:
    path = write(tmp_path, [failure(1, 2), failure(2, 5), failure(3, 1)])
    mapping, _ = build_suggested(suggest_table(path))
    (block,) = mapping.gold
    assert (block.steps, block.confirmed, mapping.reference) == ("message from 0", True, "ground_truth")
    records = list(table.read(path, mapping))
    rulings = gold_of(records)
    # the second part of message 1 shifts the steps after it by one
    assert [(own.target.criterion, own.value, own.reason) for own in rulings] == [
        ("first wrong step", step, "It guessed.") for step in (4, 7, 2)
    ]


def test_agents_need_no_usual_role(tmp_path: Path) -> None:
    record = failure(1, 2)
    record["history"] = [own | {"role": own["name"]} for own in record["history"]]
    assert suggest_table(write(tmp_path, [record]))["responses"] == [{"transcript": "history"}]


def test_without_an_agent_a_person_states_how_a_file_counts(tmp_path: Path) -> None:
    path = write(tmp_path, [failure(1, 2, mistake_agent=""), failure(2, 3, mistake_agent="")])
    mapping, _ = build_suggested(suggest_table(path))
    (question,) = table.questions(path, mapping)
    assert "what the numbers of steps count" in question.sentence()
    with pytest.raises(FileFormatError, match="what the numbers of steps count"):
        list(table.read(path, mapping))


def test_a_step_beyond_the_transcript_is_left_out_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "failures.jsonl"
    rows = [failure(number, step) for number, step in enumerate([1, 2, 9, 5])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    mapping, _ = build_suggested(suggest_table(path))
    with recording_omissions() as omissions:
        records = list(table.read(path, mapping))
    assert mapping.gold[0].confirmed and mapping.gold[0].steps == "message from 0"
    assert len(gold_of(records)) == 3
    assert omissions.notes() == ["1 left out: about a step that is not in the transcript (line 3)"]


def test_columns_with_the_names_of_people_are_their_labels_of_steps(tmp_path: Path) -> None:
    rows = [failure(number, 2, first_wrong_step_Ann=number, first_wrong_step_Bob=None) for number in range(3)]
    for row in rows:
        del row["mistake_step"]
    (block,) = suggest_table(write(tmp_path, [*rows, rows[0] | {"first_wrong_step_Bob": 3}]))["labels"]
    assert block["annotators"] == {"first_wrong_step_Ann": "Ann", "first_wrong_step_Bob": "Bob"}
    assert (block["layout"], block["steps"], block["confirmed"]) == ("wide", "message from 0", False)


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
    mapping, _ = build_suggested(suggest_table(path))
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


def test_parallel_lists_are_scores_of_each_response(tmp_path: Path) -> None:
    record = {"id": "a", "text": "article", "machine_summaries": ["x", "y"], "systems": ["s", "t"], "coherence": [2, 5]}
    path = write(tmp_path, [record])
    mapping = build_mapping(suggest_table(path))
    assert not mapping.labels[0].confirmed  # the scale
    mapping = build_mapping(draft_of(mapping) | {"labels": [draft_of(mapping)["labels"][0] | {"confirmed": True}]})
    records = list(table.read(path, mapping))
    items = items_of(records)
    labels = {record.target.item: record.value for record in labels_of(records)}
    found = [(own.prompt, own.group, own.responses[0].text, own.responses[0].system, labels[own.id]) for own in items]
    assert found == [("article", "a", "x", "s", 2), ("article", "a", "y", "t", 5)]
    path.write_text(json.dumps([record | {"coherence": [2]}]))
    with pytest.raises(FileFormatError, match="expected 2 values, as machine_summaries has, not 1"):
        list(table.read(path, mapping))


def test_a_matrix_of_people_and_responses_is_their_scores_unless_it_is_square(tmp_path: Path) -> None:
    record = {"id": "a", "prompt": "q", "outputs": ["x", "y", "z"], "ratings": [[1, 2, 5], [2, 3, 4]]}
    draft = draft_of(build_mapping(suggest_table(path := write(tmp_path, [record]))))
    mapping = build_mapping(draft | {"labels": [draft["labels"][0] | {"confirmed": True}]})
    labels = labels_of(table.read(path, mapping))
    assert [(own.target.item, own.annotator[-1], own.value) for own in labels] == [
        *(("a-1", "1", 1), ("a-1", "2", 2), ("a-2", "1", 2), ("a-2", "2", 3), ("a-3", "1", 5), ("a-3", "2", 4))
    ]
    square = record | {"outputs": ["x", "y"], "ratings": [[1, 2], [2, 3]]}
    assert "labels" not in suggest_table(write(tmp_path, [square]))


def test_scores_of_a_list_beside_the_name_of_a_judge_are_its_verdicts(tmp_path: Path) -> None:
    record = {"input": "q", "generations": ["x", "y"], "rating": [9, 6.5], "labelling_model": "gpt-4"}
    draft = suggest_table(write(tmp_path, [record]))
    assert (draft["judges"][0]["judge"], draft["prompt"], "labels" in draft) == ("labelling_model", "input", False)


def test_no_column_without_values_is_a_response_and_further_texts_of_a_list_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, [{"prompt": "q", "generation": None, "response_a": ["x"], "response_b": ["y", "z"]}])
    mapping = build_mapping(suggest_table(path))
    assert [own.text for own in mapping.responses] == ["response_a.0", "response_b.0"]
    assert unused_fields(path, mapping) == ["generation", "response_b.1:"]
    assert suggest_table(write(tmp_path, [{"prompt": "q", "is_quality_control": False}])).keys() == {
        *["id", "prompt", "confirmed"]
    }


def test_which_of_two_scores_is_better_is_confirmed_by_a_person(tmp_path: Path) -> None:
    row = {"id": 1, "question": "q", "answer_a": "x", "answer_b": "y", "score_a": 3, "score_b": 5}
    mapping = build_mapping(suggest_table(path := write(tmp_path, [row])))
    assert "check the higher number is better" in table.questions(path, mapping)[0].sentence()


def test_the_kind_of_who_gave_a_value_tells_people_from_judges(tmp_path: Path) -> None:
    row = {"span_id": "s", "input": "q", "output": "x", "name": "correctness"}
    kinds = {"HUMAN": "correct", "LLM": "incorrect"}
    rows = [row | {"annotator_kind": kind, "label": word} for kind, word in kinds.items()]
    path = write(tmp_path, rows)
    records = list(table.read(path, build_mapping(suggest_table(path))))
    labels = [(own.target.criterion, own.value) for own in labels_of(records)]
    runs = [own.name for own in records if isinstance(own, RunRecord)]
    assert (labels, runs) == ([("correctness", "correct")], ["LLM"])


def test_scores_of_shuffled_responses_stay_with_their_response(tmp_path: Path) -> None:
    scores = [
        {"layout": "wide", "kind": "score", "criterion": "c", "annotators": {column: "ann"}, "response": number,
         "scale": {"level": "ordinal", "categories": [1, 2]}}
        for number, column in enumerate(("s1", "s2"), 1)
    ]  # fmt: skip
    path = write(tmp_path, [{"id": str(n), "q": "q", "a": "bad", "b": "good", "s1": 1, "s2": 2} for n in range(8)])
    draft = {"id": "id", "prompt": "q", "responses": [{"text": "a"}, {"text": "b"}], "shuffle": True, "labels": scores}
    records = list(table.read(path, build_mapping(draft)))
    items = {own.id: own.responses for own in items_of(records)}
    labels = labels_of(records)
    found = {(items[own.target.item][int(own.target.part) - 1].text, own.value) for own in labels}
    assert (found, {own[0].text for own in items.values()}) == ({("bad", 1), ("good", 2)}, {"bad", "good"})


def test_columns_of_criteria_and_annotators_are_a_block_for_each_criterion(tmp_path: Path) -> None:
    row = {"id": "a", "question": "q", "answer": "x", "tone_annotator_1": "good", "tone_annotator_2": "bad"}
    labels = suggest_table(write(tmp_path, [row | {"annotator_1_depth": 2, "annotator_2_depth": 4}]))["labels"]
    assert [(own["criterion"], own["kind"], [*own["annotators"].values()]) for own in labels] == [
        (criterion, kind, ["annotator_1", "annotator_2"])
        for criterion, kind in (("tone", "answer"), ("depth", "score"))
    ]


def test_steps_that_are_texts_are_the_transcript_although_the_file_has_an_answer(tmp_path: Path) -> None:
    """BIG-Bench Mistake has the steps of a solution, the index of the first wrong one, and the answer."""
    path = write(
        tmp_path,
        [
            {"input": f"What is {n}?", "steps": ["First.", "Then.", "So."], "answer": "(A)", "mistake_index": n % 3}
            for n in range(9)
        ],
    )
    draft = suggest_table(path)
    assert draft["responses"] == [{"transcript": "steps"}] and draft["prompt"] == "input"
    (block,) = draft["gold"]
    assert (block["value"], block["steps"], block["confirmed"]) == ("mistake_index", "message from 0", False)


def test_failures_in_a_list_are_errors_of_steps_by_the_names_of_their_fields(tmp_path: Path) -> None:
    """AgentRx has objects with `step_number` and `failure_category`."""
    failures = [{"step_number": 3, "failure_category": "wrong tool", "step_reason": "So.", "failed_agent": "Planner"}]
    record = {name: own for name, own in failure(1, 2).items() if not name.startswith("mistake")}
    draft = suggest_table(write(tmp_path, [record | {"failures": failures}, record | {"failures": []}]))
    (block,) = draft["labels"]
    assert (block["each"], block["step"], block["value"]) == ("failures", "step_number", "failure_category")
    assert block["reason"] == "step_reason" and block["scale"]["categories"] == ["none", "wrong tool"]
