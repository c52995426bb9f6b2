"""Mappings are suggested for columns whose names have punctuation, remarks and other words."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.guess import (
    guess_block,
    guess_confidence,
    guess_roles,
    names_of,
    suggest_mapping,
    warn_of_models,
)
from core.formats.mapping.mapping import build_mapping, draft_of
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.suggest import state_unused_labels, suggest_table
from core.formats.registry import read_records
from tests.core.formats.mapping.test_public_layouts import confirmed
from tests.core.formats.shared import items_of, labels_of, verdicts_of, write_content

FIVE = {"level": "ordinal", "categories": [1, 2, 3, 4, 5]}


def write_table(path: Path, *rows: tuple[str, ...]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def pairs(folder: Path) -> Path:
    judge = ' gpt-4o, temperature=0, prompt "v3 {criterion}"'
    header = ("ID #", "Prompt (Frage)", "system, first", "system, second", "Response {1}", 'Response "2"')
    names = ("Annotator: Zoë", 'Annotator: O\'Brien, "Ben"', judge, "claude (constant)", "order shown")
    first = ("p1", "?", "s", "t", "x", "y", "A", "=", "refused", "A", "AB")
    second = ("p2", "?", "t", "s", "x", "y", "n/a", " b", "B", "A", "BA")
    third = ("p3", "?", "t", "s", "x", "y", "B", "a", "A", "A", "BA")
    return write_table(folder / "pairs.csv", (*header, *names), first, second, third)


def scores(folder: Path) -> Path:
    header = ("Prompt-ID", "prompt", "output", "system", "Zoë", "rater 3", "Prüfer", 'judge one "strict" (gpt-4o, v2)')
    first = ("q1", "?", "x", "s", "5", "N/A", "2.5", "4")
    second = ("q1", "?", "y", "t", "4", "3", "3.5", "N/A")
    return write_table(folder / "scores.csv", header, first, second, ("q2", "!", "z", "s", "3", "2", "4.0", "5"))


def test_names_with_punctuation_and_remarks_are_recognised(tmp_path: Path) -> None:
    table = pairs(tmp_path)
    draft = suggest_table(table)
    ben, judge = '"Annotator: O\'Brien, ""Ben"""', '"gpt-4o, temperature=0, prompt ""v3 {criterion}"""'
    assert (draft["id"], draft["prompt"]) == ("ID #", "Prompt (Frage)")
    assert draft["responses"] == [
        {"text": '"Response {1}"', "system": "system, first"},
        {"text": '"Response ""2"""', "system": "system, second"},
    ]
    (labels,) = draft["labels"]
    assert labels["annotators"] == {"Annotator: Zoë": "Zoë", ben: 'O\'Brien, "Ben"'}
    assert labels["values"] == {"A": 1, "B": 2, "a": 1, "b": 2, "=": 0, "n/a": None}
    (judges,) = draft["judges"]
    assert judges["columns"] == {
        judge: 'gpt-4o, temperature=0, prompt "v3 {criterion}"',
        "claude (constant)": "claude (constant)",
    }
    assert next(iter(judges["columns"])) == judge and judges["values"] == {"A": 1, "B": 2, "refused": None}
    mapping = build_mapping(draft)
    assert unused_fields(table, mapping) == ["order shown"]
    records = list(read_records(table, mapping=mapping))
    assert len(verdicts_of(records)) == 6


def test_a_repeated_id_of_the_prompt_is_the_group(tmp_path: Path) -> None:
    table = scores(tmp_path)
    draft = suggest_table(table)
    assert (draft["id"], draft["group"]) == ("{Prompt-ID}-{system}", "Prompt-ID")
    assert draft["judges"][0]["values"] == {"N/A": None}
    records = read_records(table, mapping=confirmed(table, {}))
    items = items_of(records)
    assert [(item.id, item.group) for item in items] == [("q1-s", "q1"), ("q1-t", "q1"), ("q2-s", "q2")]


def test_unused_columns_with_values_of_labels_are_named(tmp_path: Path) -> None:
    table = scores(tmp_path)
    mapping = build_mapping(suggest_table(table))
    unused = unused_fields(table, mapping)
    assert unused == ["Zoë", "rater 3", "Prüfer"]
    sentence = state_unused_labels(table, [mapping])
    assert sentence == "Not used, and the values look like labels: Zoë, rater 3, Prüfer."


def test_texts_and_constants_are_no_candidates(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", ("id", "output", "x", "y"), ("1", "a", "5", "yes"), ("2", "b", "5", "yes"))
    mapping = build_mapping(suggest_table(table))
    assert state_unused_labels(table, [mapping]) == ""


def test_a_remark_is_not_left_out_of_names_that_would_become_equal() -> None:
    names = names_of(["score (helpful)", "score (honest)", "Prompt (text)", "_id", "id"])
    assert "score" not in names and names["prompt"] == "Prompt (text)" and names["id"] == "id"


def test_a_name_that_is_no_path_gives_no_error() -> None:
    assert suggest_mapping(['say "x"', "a..b", "prompt"]) == {"id": "{row}", "prompt": "prompt"}


@pytest.mark.parametrize("winners", [("win", "lose", "tie"), ("A", "B", "tie", "huh?"), ("A", "B", "C")])
def test_values_without_a_meaning_are_refused_by_the_import(tmp_path: Path, winners: tuple[str, ...]) -> None:
    header = ("id", "prompt", "response_a", "response_b", "winner")
    rows = [(f"q{number}", "?", "x", "y", winner) for number, winner in enumerate(winners)]
    table = write_table(tmp_path / "t.csv", header, *rows)
    mapping = build_mapping(suggest_table(table))
    with pytest.raises(FileFormatError, match="field 'winner': expected one of"):
        list(read_records(table, mapping=mapping))


WORDS = ["N/A", "-", "na", ""]


@pytest.mark.parametrize(
    ("responses", "values", "kind"),
    [(("response_1", "response_2"), ["A", "B"], "preference"), (("response",), ["1", "2", "3"], "score")],
)
def test_words_for_an_empty_cell_are_no_labels(
    tmp_path: Path, responses: tuple[str, ...], values: list[str], kind: str
) -> None:
    """More than half of the distinct values may be such words."""
    cells = [*values, *WORDS]
    rows = [[str(number), "?", *("text" for _ in responses), cell, values[0]] for number, cell in enumerate(cells * 2)]
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "prompt", *responses, "annotator_1", "annotator_2"], *rows])
    (block,) = suggest_table(path)["labels"]
    assert (block["kind"], set(block["annotators"])) == (kind, {"annotator_1", "annotator_2"})
    assert {text for text, value in block["values"].items() if value is None} == {"N/A", "-", "na"}
    assert list(read_records(path, mapping=confirmed(path, {})))


def test_an_id_with_empty_cells_is_no_name(tmp_path: Path) -> None:
    path = write_content(tmp_path / "table.csv", "id,prompt,response\na,?,x\n,?,y\n")
    assert suggest_table(path)["id"] == "{row}"


@pytest.mark.parametrize(
    ("cells", "block"),
    [
        (["A", "B", "tie", ""], {"kind": "preference", "values": {"A": 1, "B": 2, "tie": 0}}),
        (["model_1", "Model 2"], {"kind": "preference", "values": {"model_1": 1, "Model 2": 2}}),
        (["1", "2", "0"], {"kind": "preference", "values": {}}),
        (["A", "B", "ERROR"], {"kind": "preference", "values": {"A": 1, "B": 2}}),
        (["4", "5", "ERROR"], {"kind": "score", "scale": FIVE}),
        (["A", "B", "T"], {"kind": "preference", "values": {"A": 1, "B": 2, "T": 0}}),
        (["1", "2", "tie"], {"kind": "preference", "values": {"tie": 0}}),
        (["win", "lose", "tie"], {"kind": "preference", "values": {"tie": 0}}),
        (
            ["model_a", "model_b", "tie", "tie (bothbad)"],
            {"kind": "preference", "values": {"model_a": 1, "model_b": 2, "tie": 0, "tie (bothbad)": 0}},
        ),
        (["A", "B", "No preference"], {"kind": "preference", "values": {"A": 1, "B": 2, "No preference": 0}}),
        (["A", "B", "C"], {"kind": "preference", "values": {"A": 1, "B": 2}}),  # a third response, or "cannot decide"
        (["T", "F"], None),
        (["1", "2", "T"], {"kind": "preference", "values": {}}),
        (["A", "ERROR"], None),
        (["1", "5", "4"], {"kind": "score", "scale": FIVE}),
        (["2.5", "4"], {"kind": "score", "scale": {"level": "interval", "low": 1, "high": 5}}),
        (["87", "12"], {"kind": "score", "scale": {"level": "interval", "low": 0, "high": 100}}),
        (["A good answer."], None),
        (["", " "], None),
        (["1000"], None),
    ],
)
def test_the_meaning_of_cells_is_guessed(cells: list[str], block: dict | None) -> None:
    assert guess_block(cells) == block


def test_columns_of_judges_and_gold_are_guessed_by_name_and_cells() -> None:
    rows = [{"id": "1", "gpt-4": "A", "claude": "A text.", "gold": "B", "ann": "A"}]
    assert guess_roles(["id", "gpt-4", "claude", "gold", "ann"], rows) == (["gpt-4"], "gold")
    cells = {"gpt_verdict": "A", "conf_gpt": "0.9", "gpt_score": "4", "small_verdict": "B", "human_verdict": "A"}
    columns = [*cells, "small_verdict_confidence"]
    judges, _ = guess_roles(columns, [cells])
    assert judges == ["gpt_verdict", "small_verdict"]
    assert guess_confidence(columns, judges) == {
        "gpt_verdict": "conf_gpt",
        "small_verdict": "small_verdict_confidence",
    }


@pytest.mark.parametrize(
    "name", ["gpt4_pair", "ChatGPT", "claude-3", "expert_llm", "llama3", "Judge 1", "my reward model"]
)
def test_annotators_with_names_of_models_are_reported(name: str) -> None:
    warning = warn_of_models([name, "expert_1", "Hellman", "Claudette", "Judgement Day"])
    assert warning.startswith("1 annotator has the name of a model") and name in warning and "Hellman" not in warning


def test_no_person_is_reported_as_a_model_and_long_lists_are_shortened() -> None:
    assert warn_of_models(["expert_1", "Ann", "Stallman", ""]) == ""
    warning = warn_of_models([f"gpt-{n}" for n in range(40)] * 2)
    assert (
        warning.startswith("40 annotators have names of models")
        and "'gpt-0'" in warning
        and "'gpt-9'" not in warning
        and " more; " in warning
    )
    assert "\n" not in warn_of_models(["gpt\nid: x"])


def test_a_batch_of_mechanical_turk_has_shorter_rows_and_prefixed_names(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    header = (
        "HITId,AssignmentId,WorkerId,Input.prompt,Input.response_a,Input.response_b,Answer.preference,Answer.comment"
    )
    rows = "h1,a1,w1,Q?,x,y,A,ok\nh1,a2,w2,Q?,x,y,B,\nh2,a3,w1,R?,x,y,tie,\n"
    path.write_text(f"{header},Approve,Reject\n{rows}")
    records = list(read_records(path, mapping=build_mapping(suggest_table(path))))
    labels = [(own.target.item, own.annotator, own.value) for own in labels_of(records)]
    assert labels == [("h1", "w1", 1), ("h1", "w2", 2), ("h2", "w1", 0)]
    path.write_text(f"{header},Reward,Reject\n{rows}")
    with pytest.raises(FileFormatError, match="expected 10 cells"):
        suggest_table(path)


def test_scores_of_people_and_of_a_judge_in_one_row_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "scored.json"
    rows = [
        {
            **{"doc_id": "d", "system_id": f"m{number}", "source": "Text.", "system_output": f"Summary {number}."},
            **{"scores": {"fluency": 1.5 + number}, "predict_scores": {"fluency": 0.25}},
        }
        for number in range(3)
    ]
    path.write_text(json.dumps(rows))
    draft = suggest_table(path)
    assert draft["responses"] == [{"text": "system_output", "system": "system_id"}]
    (people,), (judge,) = draft["labels"], draft["judges"]
    assert (people["criterion"], people["scale"]["high"], people["confirmed"]) == ("fluency", 5, False)
    assert judge["columns"] == {"predict_scores.fluency": "predict_scores"}
    assert (judge["scale"]["low"], judge["scale"]["high"]) == (0, 1)
    answers = {"labels": [people | {"confirmed": True}], "judges": [judge | {"confirmed": True}]}
    records = list(read_records(path, mapping=build_mapping(draft | answers)))
    assert [own.value for own in labels_of(records)] == [1.5, 2.5, 3.5]
    assert [own.opinions[0].value for own in verdicts_of(records)] == [2.0] * 3


@pytest.mark.parametrize(("name", "layout"), [("summaries", "wide"), ("comments", "list")])
def test_numbers_of_several_texts_are_no_labels_of_several_people(tmp_path: Path, name: str, layout: str) -> None:
    path = tmp_path / "lists.jsonl"
    rows = [{"id": n, "text": f"Text {n}", name: ["a", "b"], "coherence": [1.5, 4]} for n in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [block["layout"] for block in suggest_table(path)["labels"]] == [layout]


@pytest.mark.parametrize("whole", [False, True])
def test_a_list_of_people_with_their_names_and_ratings_is_labels(whole: bool, tmp_path: Path) -> None:
    def annotation(number: int) -> dict[str, Any]:
        ratings = {"coherence": number, "fluency": None if number == 3 else 2, "overall": ["bad", "good"][number % 2]}
        return {"annotator": {"id": number, "name": f"P{number}"}, "ratings": ratings}

    rows = [
        {"id": f"d{n}", "question": "?", "response": "!", "annotations": [annotation(1 + k) for k in range(5)]}
        for n in range(3)
    ]
    path = write_content(tmp_path / "a.json", json.dumps({"version": 1, "data": rows} if whole else rows))
    labels = labels_of(read_records(path, mapping=confirmed(path, {})))
    found = {(own.target.criterion, own.annotator): own.value for own in labels}
    assert len(labels) == 3 * 14 and found["coherence", "P5"] == 5 and found["overall", "P3"] == "good"


def test_a_list_of_names_beside_a_list_of_scores_names_the_people(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    row = {"id": "a", "question": "?", "response": "!", "annotators": ["Ann", "Bob"], "scores": [1, 5]}
    path.write_text(json.dumps(row) + "\n")
    mapping = confirmed(path, {})
    records = read_records(path, mapping=mapping)
    assert {own.annotator: own.value for own in labels_of(records)} == {
        "Ann": 1,
        "Bob": 5,
    }
    path.write_text(json.dumps(row | {"annotators": ["Ann"]}) + "\n")
    with pytest.raises(
        FileFormatError, match=r"line 1, field 'scores': expected as many labels as annotators, 1, not 2"
    ):
        list(read_records(path, mapping=mapping))


def test_columns_of_systems_are_responses_and_their_scores_no_judges(tmp_path: Path) -> None:
    header = ("id", "prompt", "gpt4_response", "llama_response", "gpt4_judge_score", "llama_judge_score")
    path = write_table(tmp_path / "a.csv", header, ("1", "?", "x", "y", "1", "5"), ("2", "?", "x", "z", "4", "2"))
    draft = suggest_table(path)
    assert [own["name"] for own in draft["responses"]] == ["gpt4", "llama"] and "judges" not in draft
    assert unused_fields(path, build_mapping(draft)) == ["gpt4_judge_score", "llama_judge_score"]


def test_preferences_of_mechanical_turk_are_those_of_workers_without_rejected_ones(tmp_path: Path) -> None:
    header = ("HITId", "WorkerId", "AssignmentStatus", "Input.id", "Input.question", "Input.response_a")
    shown = ("q1", "?", "x", "y")
    rows = [
        ("H1", f"W{number}", "Rejected" if number == 2 else "Approved", *shown, choice)
        for number, choice in enumerate(("Response A", "Response B", "Tie"))
    ]
    path = write_table(tmp_path / "a.csv", (*header, "Input.response_b", "Answer.preference.label"), *rows)
    labels = labels_of(read_records(path, mapping=confirmed(path, {})))
    assert [(own.annotator, own.value) for own in labels] == [("W0", 1), ("W1", 2)]


def test_scores_of_each_response_are_labels_of_this_response(tmp_path: Path) -> None:
    header = ("id", "prompt", "gpt4_output", "llama_output", "gpt4_helpfulness", "llama_helpfulness")
    names = write_table(tmp_path / "names.csv", header, ("1", "?", "x", "y", "5", "1"), ("2", "!", "v", "w", "", "3"))
    letters = ("id", "prompt", "response_a", "response_b", "clarity_a", "clarity_b", "annotator")
    by_letter = write_table(tmp_path / "letters.csv", letters, ("1", "?", "x", "y", "2", "1", "Ann"))
    completions = [
        {"model": model, "response": text, "annotations": {"honesty": {"Rating": rating}}}
        for model, text, rating in (("m1", "x", "4"), ("m2", "y", "1"))
    ]
    nested = write_content(tmp_path / "nested.jsonl", [{"id": "1", "instruction": "?", "completions": completions}])
    expected = {
        names: [("helpfulness", "1", 5), ("helpfulness", "2", 1), ("helpfulness", "2", 3)],
        by_letter: [("clarity", "1", 2), ("clarity", "2", 1)],
        nested: [("honesty", "1", 4), ("honesty", "2", 1)],
    }
    for path, values in expected.items():
        draft = suggest_table(path)
        assert not any(block["confirmed"] for block in draft["labels"])
        mapping = build_mapping({**draft, "labels": [{**block, "confirmed": True} for block in draft["labels"]]})
        assert build_mapping(draft_of(mapping)) == mapping
        labels = labels_of(read_records(path, mapping=mapping))
        assert sorted((own.target.criterion, own.target.part, own.value) for own in labels) == sorted(values)
    with pytest.raises(FileFormatError, match="another kind than preference"):
        build_mapping({"id": "id", "prompt": "p", "gold": [{"kind": "preference", "value": "v", "response": 1}]})


def test_values_of_messages_that_no_part_holds_are_named(tmp_path: Path) -> None:
    answers = [{"role": "model", "content": text, "score": 35, "if_chosen": text == "x"} for text in ("x", "y")]
    rows = [{"id": name, "conversation_history": [{"role": "user", "content": "?"}, *answers]} for name in ("1", "2")]
    path = write_content(tmp_path / "turns.jsonl", "\n".join(map(json.dumps, rows)))
    mapping = build_mapping(suggest_table(path))
    assert unused_fields(path, mapping) == ["conversation_history.score", "conversation_history.if_chosen"]
