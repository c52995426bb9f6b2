"""Tables of people's values about responses are imported by their suggested mapping, with what a person confirms."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.confirmation import answer
from core.formats.mapping.joins import find_joins
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.scope import recording_omissions
from core.formats.mapping.suggest import suggest_table
from core.formats.mapping.table import questions, read_outcome, statements
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord
from core.formats.registry import read_records
from tests.core.formats.mapping.test_public_layouts import confirmed
from tests.core.formats.shared import items_of, labels_of, write_content

Values = dict[Any, list[Any]]


def values_of(path: Path, stated: dict[str, Any] | None = None) -> tuple[list[Any], Values]:
    """Return the items, and (criterion, response, annotator or "gold") -> the values of the first item."""
    items, values = [], Values()
    for record in read_records(path, mapping=confirmed(path, stated or {})):
        match record:
            case ItemRecord(item=item):
                items.append(item)
            case LabelRecord(label=own) if len(items) == 1:
                values.setdefault((own.target.criterion, own.target.part, own.annotator), []).append(own.value)
            case AdjudicationRecord(ruling=own) if len(items) == 1:
                values.setdefault((own.target.criterion, own.target.part, "gold"), []).append(own.value)
    return items, values


COLUMNS: dict[str, tuple[str, Values]] = {
    "names with blanks and hyphens": (
        "prompt,GPT-4 output,GPT-4 mini output,GPT-4 mini score,gpt4_score\np0,x,y,2,5\np1,v,w,1,4",
        {("", "1", "annotators"): [5], ("", "2", "annotators"): [2]},
    ),
    "two people about each system": (
        "prompt,gpt4_response,gpt4_mini_response,gpt4_rating_ann,gpt4_rating_ben,gpt4_mini_rating_ann,"
        "gpt4_mini_rating_ben,winner\np0,x,y,2,3,4,5,gpt4_mini\np1,v,w,1,1,5,5,tie",
        {
            **{("", "1", "ann"): [2], ("", "1", "ben"): [3], ("", "2", "ann"): [4], ("", "2", "ben"): [5]},
            ("", "", "gold"): [2],
        },
    ),
    "the response before the criterion, and facts": (
        "prompt,response_a,response_b,a_clarity,b_clarity,a_correct,b_correct,a_tokens\np0,x,y,1,4,0,1,9\np1,x,y,2,5,1,0,7",
        {
            **{("clarity", "1", "annotators"): [1], ("clarity", "2", "annotators"): [4]},
            **{("correct", "1", "annotators"): [0], ("correct", "2", "annotators"): [1]},
        },
    ),
    "scores of some of three responses": (
        "id,prompt,response_1,response_2,response_3,score_1,score_3\ne0,p0,x,y,z,1,3\ne1,p1,x,y,z,2,5",
        {("", "1", "annotators"): [1], ("", "3", "annotators"): [3]},
    ),
    "words, and preferences for each criterion": (
        "id,prompt,output_a,output_b,clarity_a,clarity_b,safety_preference,safety_reason\n"
        "0,p,x,y,good,bad,Both Good,r\n1,q,x,y,bad,bad,B-is-slightly-better,r",
        {
            **{("clarity", "1", "annotators"): ["good"], ("clarity", "2", "annotators"): ["bad"]},
            ("safety", "", "gold"): [0],
        },
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_about_responses_are_labels_of_these_responses(tmp_path: Path, name: str) -> None:
    text, expected = COLUMNS[name]
    path = write_content(tmp_path / "t.csv", text)
    items, values = values_of(path)
    assert values == expected and len(items) == 2
    assert set(unused_fields(path, confirmed(path, {}))) <= {"a_tokens"}


def test_two_columns_of_one_value_are_left_to_a_person(tmp_path: Path) -> None:
    path = write_content(
        tmp_path / "t.csv",
        "prompt,GPT-4 output,mini output,GPT-4 score,gpt4_score,mini score\np,x,y,0,1,1\nq,x,y,1,1,0",
    )
    assert "labels" not in suggest_table(path) and "judges" not in suggest_table(path)


def test_rows_of_one_prompt_are_one_item_of_several_people_or_a_group_of_systems(tmp_path: Path) -> None:
    people = tmp_path / "people.jl"
    row = '{{"prompt": "{0} {1}", "response": "x{0}", "annotator": "{2}", "score": {3}}}\n'
    long = "why " * 40
    people.write_text("".join(row.format(n, long, who, n + 1) for n in range(2) for who in ("Ann", "Ben")))
    items, values = values_of(people)
    assert len(items) == 2 and len(items[0].id) <= 80 and values == {("", "", "Ann"): [1], ("", "", "Ben"): [1]}
    systems = write_content(tmp_path / "systems.csv", "prompt,model,response,score\np,a,x,1\np,b,y,2\nq,a,v,3\nq,b,w,4")
    items, values = values_of(systems)
    assert [(item.id, item.group) for item in items] == [("p-a", "p"), ("p-b", "p"), ("q-a", "q"), ("q-b", "q")]
    assert statements(systems, confirmed(systems, {}))[1] == ["4 rows are 4 items in 2 groups"]


def test_files_are_joined_by_the_fields_that_pair_up_and_wrong_keys_are_counted(tmp_path: Path) -> None:
    files = {
        "outputs": "output_id,task_id,model,output_text\no1,t1,a,Law is.\no2,t1,b,Law was.\no3,t2,a,Tax is.\n",
        "ratings": "output_id,annotator,score\no1,Ann,3\no1,Ben,4\no2,Ann,5\n",
        "tasks": "task_id,question\nt1,What is law?\nt2,What is tax?\n",
    }
    paths = {name: tmp_path / f"{name}.csv" for name in files}
    for name, text in files.items():
        paths[name].write_text(text)
    table, joins = find_joins([*paths.values()])
    assert table.name == "ratings.csv" and [own["key"] for own in joins] == ["output_id", "outputs.task_id"]
    mapping = build_mapping(suggest_table(table, None, joins))
    mapping = answer(mapping, *questions(table, mapping), {})
    with recording_omissions() as omissions:
        records = list(read_records(table, mapping=mapping))
    item = next(record for record in items_of(records))
    assert (item.id, item.prompt, item.responses[0].text) == ("o1", "What is law?", "Law is.")
    assert len(labels_of(records)) == 3 and omissions.records_without_row == 1 + 1
    paths["ratings"].write_text(files["ratings"] + "o8,Ann,1\no9,Ben,2\n")
    with pytest.raises(FileFormatError, match=r"outputs.csv has no record 'o8', 'o9' \(2 keys\)"):
        list(read_records(table, mapping=mapping))
    paths["outputs"].write_text(files["outputs"] + "o3,t1,b,x\no2,t1,b,x\n")
    with pytest.raises(FileFormatError, match=r"outputs.csv has 'o2', 'o3' \(2 keys\) more than once"):
        list(read_records(table, mapping=mapping))


def talk(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def person(name: str, pref: str) -> dict[str, Any]:
    return {"evaluator": name, "helpful_pref": pref, "time_spent": 3}


PAIR = {"model_a": "m", "model_b": "n", "winner": "model_b"}
RECORDS: dict[str, tuple[dict[str, Any], str, list[str], Values]] = {
    "a nested score and a fact of the prompt beside the winner": (
        PAIR
        | {
            "id": "1",
            "messages_a": talk("Q?", "x"),
            "messages_b": talk("Q?", "y"),
            "is_code": True,
            "tag": {"score": 4},
        },
        "Q?",
        ["x", "y"],
        {("", "", "gold"): [2]},
    ),
    "a field of metadata, and conversations that part": (
        {
            **{"id": "1", "convo_a": talk("Q?", "x", "R?", "z"), "convo_b": talk("Q?", "y", "R?", "w")},
            **{"better_is_a": False, "metadata": {"context": "paper"}},
        },
        "Q?",
        ["z", "w"],
        {("", "", "gold"): [2]},
    ),
    "the source of a prompt, and preferences of people": (
        {
            **{"comparison_id": "1", "text": "What is it?", "source": "web", "completion_a": "x", "completion_b": "y"},
            "annotations": [person("w1", "A-is-clearly-better"), person("w2", "Tie")],
        },
        "What is it?",
        ["x", "y"],
        {("helpful", "", "w1"): [1], ("helpful", "", "w2"): [0]},
    ),
    "a right answer is no response": (
        {
            **{"item_name": "1", "question": "Q?", "gt_answer": "right", "gen_answer": "x"},
            "annotations": [{"annotator": f"p{n}", "score": n / 2} for n in range(3)],
        },
        "Q?",
        ["x"],
        {("", "", f"p{n}"): [n / 2] for n in range(3)},
    ),
    "objects of the chosen and the rejected response": (
        {"id": "2", "prompt": "Q?", "chosen": {"text": "x", "score": 3}, "rejected": {"text": "y", "score": 1}},
        "Q?",
        ["x", "y"],
        {("", "", "gold"): [1]},
    ),
    "a choice among four is no response": (
        {f"turn_response_{n}": n for n in "abcd"} | {"turn_prompt": "Q?", "turn_preferred_response": "B"},
        "Q?",
        ["a", "b", "c", "d"],
        {},
    ),
    "messages of each of four responses": (
        {
            "prompt": {"id": "1", "messages": talk("Q?")},
            "responses": [{"messages": [{"role": "assistant", "content": own}]} for own in "abcd"],
        },
        "Q?",
        ["a", "b", "c", "d"],
        {},
    ),
    "truth values in the order of a list of people": (
        {
            **{"prompt": talk("Q?"), "completion": "x", "rubric": "Asks back.", "binary_labels": [True, False]},
            "anonymized_physician_ids": ["p", "q"],
        },
        "Q?",
        ["x"],
        {("binary_labels", "", "p"): [True], ("binary_labels", "", "q"): [False]},
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_no_other_field_is_the_prompt_a_response_or_a_label(tmp_path: Path, name: str) -> None:
    record, prompt, responses, expected = RECORDS[name]
    path = write_content(tmp_path / "t.jsonl", [record])
    (item,), values = values_of(path)
    assert (item.prompt, [own.text for own in item.responses], values) == (prompt, responses, expected)


def test_percentages_of_several_aspects_are_weights(tmp_path: Path) -> None:
    path = write_content(
        tmp_path / "t.csv", "id,question,answer_a,answer_b,rater,clarity_weight,depth_weight\n1,Q?,x,y,Ann,75%,25%\n"
    )
    _, values = values_of(path)
    assert [*values.values()] == [[{"clarity": 75, "depth": 25}]] and [who for *_, who in values] == ["Ann"]


def test_each_chosen_and_rejected_response_of_lists_are_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"id": str(n), "prompt": f"Q{n}?", "chosen": ["x"], "rejected": ["y", "z"]} for n in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items, values = values_of(path)
    assert [item.id for item in items] == ["0-1-1", "0-1-2", "1-1-1", "1-1-2"] and {item.group for item in items} == {
        "0",
        "1",
    }
    assert items[0].responses[values["", "", "gold"][0] - 1].text == "x"


def talk(*texts: str, **more: object) -> list[dict[str, object]]:
    """Return messages of a user and an assistant in turn; the last one has more fields."""
    roles = ("user", "assistant")
    found = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    return [*found[:-1], found[-1] | more]


CALL = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]}


def test_both_transcripts_of_a_pair_are_suggested_and_a_text_of_messages_has_their_calls(tmp_path):
    row = {"task id": "p", "trajectory_1": talk("Go.", "", **CALL), "trajectory_2": talk("Go.", "No."), "preferred": 1}
    path = write_content(tmp_path / "a.jsonl", [row | {"agent_1": "x", "agent_2": "y", "rater": "r"}])
    draft = suggest_table(path)
    pairs = [(one["transcript"], one["system"]) for one in draft["responses"]]
    assert pairs == [("trajectory_1", "agent_1"), ("trajectory_2", "agent_2")]
    assert draft["labels"][0]["value"] == "preferred"
    mapping = build_mapping({"id": "task id", "responses": [{"text": "trajectory_1"}]})
    (item,) = items_of(read_records(path, mapping=mapping))
    assert "search" in item.responses[0].text


def test_rows_about_a_part_of_a_conversation_are_left_out(tmp_path):
    pair = {"question_id": 1, "model_a": "x", "model_b": "y", "judge": "r", "winner": "model_a"}
    pair |= {name: talk("1", name, "2", f"{name} again") for name in ("conversation_a", "conversation_b")}
    path = write_content(tmp_path / "t.jsonl", [{**pair, "turn": turn} for turn in (1, 2)])
    draft = suggest_table(path)
    assert draft["where"] == {"turn": 2}
    assert [one["transcript"] for one in draft["responses"]] == ["conversation_a", "conversation_b"]
    (only,) = suggest_table(write_content(tmp_path / "first.jsonl", [{**pair, "turn": 1}]))["responses"][:1]
    assert only["transcript"] == "conversation_a.:2"


def test_true_and_false_are_no_response_and_no_reference_and_a_task_in_words_is_the_prompt(tmp_path):
    rows = [
        {"task_id": f"w{n}", "task": f"How many were counted in {1900 + n}?", "target": True, "is_correct": False}
        | {"trajectory": talk("Look.", "", **CALL)}
        for n in range(12)
    ]
    draft = suggest_table(write_content(tmp_path / "s.jsonl", rows))
    assert (draft["id"], draft["prompt"]) == ("task_id", "task")
    assert draft["responses"] == [{"transcript": "trajectory"}]
    assert draft.keys().isdisjoint(("reference", "scenario", "gold"))


def test_lists_of_three_prompts_and_responses_are_items_and_not_turns(tmp_path: Path) -> None:
    rows = [{"hitid": f"h{n}", "query": str([f"Why is {n}{k}?" for k in range(3)])}
            | {"response": str([f"It is so, {n}{k}." for k in range(3)])} for n in range(4)]  # fmt: skip
    path = write_content(tmp_path / "batch.json", rows)
    draft = suggest_table(path)
    assert (draft["explode"], draft["parallel"], draft["id"]) == ("query", ["response"], "{hitid}-{element}")


def test_a_response_that_a_record_lacks_is_optional(tmp_path):
    """EVOUNA's answers of five systems: of some questions one is null, or judged although it is empty."""
    rows = [
        {
            "question": f"Why is the house number {n} here?",
            "answer_fid": f"It is near {n} trees.",
            "answer_bot": f"There were {n} men.",
        }
        | {"judge_fid": n % 2 == 0, "judge_bot": n % 3 == 0}
        for n in range(30)
    ]
    rows[20] |= {"answer_fid": None, "judge_fid": None}
    rows[21] |= {"answer_fid": "", "judge_fid": False}
    path = write_content(tmp_path / "t.json", rows)
    draft = suggest_table(path)
    assert [own.get("optional") for own in draft["responses"]] == [True, None]
    outcome = read_outcome(path, build_mapping(draft))
    assert outcome.counts == {
        "items with 2 responses": 29,
        "items with 1 responses": 1,
        "gold values (answer, judge)": 59,
    }


def test_a_remark_in_place_of_a_value_is_no_value_in_any_field(tmp_path):
    """FED has remarks such as `N/A (no errors)` among the numbers of some criteria."""
    numbers = [{"fluency": [n % 3, 2], "depth": [n % 3, 0]} for n in range(30)]
    numbers[3]["fluency"], numbers[29]["depth"] = ["N/A (no errors)", 2], [1, "N/A: off topic"]
    rows = [
        {"context": f"How are you, {n}?", "response": f"Fine, {n} times.", "annotations": own}
        for n, own in enumerate(numbers)
    ]
    path = write_content(tmp_path / "t.json", rows)
    outcome = read_outcome(path, build_mapping(suggest_table(path)))
    assert outcome.labels == 118 and outcome.omissions.labels == 2
