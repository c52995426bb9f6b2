"""A mapping is suggested for common layouts, from values and names; what is not understood is named."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.suggest import build_suggested, state_row_names, state_unused_labels, suggest_table
from core.formats.mapping.table import questions, read_outcome, roles, statements
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord
from core.formats.registry import read_records
from tests.core.formats.mapping.shared import confirmed
from tests.core.formats.shared import (
    RANGE,
    WORDS,
    gold_of,
    items_of,
    labels_of,
    prose,
    verdicts_of,
    write_content,
    write_rows,
)

Values = dict[Any, list[Any]]


def values_of(path: Path) -> tuple[list[Any], Values]:
    """Return the items, and (criterion, response, annotator or "gold") -> the values of the first item."""
    items, values = [], Values()
    for record in read_records(path, mapping=confirmed(path, {})):
        match record:
            case ItemRecord(item=item):
                items.append(item)
            case LabelRecord(label=own) if len(items) == 1:
                values.setdefault((own.target.criterion, own.target.part, own.annotator), []).append(own.value)
            case AdjudicationRecord(ruling=own) if len(items) == 1:
                values.setdefault((own.target.criterion, own.target.part, "gold"), []).append(own.value)
    return items, values


def write_table(path: Path, *rows: tuple[str, ...]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


JUDGE = ' gpt-4o, temperature=0, prompt "v3 {criterion}"'


def test_names_with_punctuation_and_remarks_are_recognised(tmp_path: Path) -> None:
    header = ("ID #", "Prompt (Frage)", "system, 1", "system, 2", "Response {1}", 'Response "2"')
    names = ("Annotator: Zoë", 'Annotator: O\'Brien, "Ben"', JUDGE, "claude (constant)", "order shown")
    first = ("p1", "?", "s", "t", "x", "y", "A", "=", "refused", "A", "AB")
    second = ("p2", "?", "t", "s", "x", "y", "n/a", " b", "B", "A", "BA")
    third = ("p3", "?", "t", "s", "x", "y", "B", "a", "A", "A", "BA")
    table = write_table(tmp_path / "pairs.csv", (*header, *names), first, second, third)
    draft = suggest_table(table)
    assert (draft["id"], draft["prompt"]) == ("ID #", "Prompt (Frage)")
    texts = ('"Response {1}"', '"Response ""2"""')
    assert draft["responses"] == [{"text": text, "system": f"system, {n}"} for n, text in enumerate(texts, 1)]
    (labels,), (judges,) = draft["labels"], draft["judges"]
    ben = '"Annotator: O\'Brien, ""Ben"""'
    assert labels["annotators"] == {"Annotator: Zoë": "Zoë", ben: 'O\'Brien, "Ben"'}
    assert labels["values"] == {"A": 1, "B": 2, "a": 1, "b": 2, "=": 0, "n/a": None}
    assert [*judges["columns"].values()] == [JUDGE.strip(), "claude (constant)"]
    assert judges["values"] == {"A": 1, "B": 2, "refused": None}
    assert unused_fields(table, build_mapping(draft)) == ["order shown"] and not draft["confirmed"]
    assert len(verdicts_of(read_records(table, mapping=confirmed(table, {})))) == 6


def talk(*texts: str, **more: object) -> list[dict[str, object]]:
    """Return messages of a user and an assistant in turn; the last one has more fields."""
    found = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return [*found[:-1], found[-1] | more]


CALL = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]}
# Name -> the rows of a table; its id, prompt and responses; and the values of its first item.
LAYOUTS: dict[str, tuple[list[dict[str, Any]], str, str | None, list[dict[str, str]], Values]] = {
    "a system and a person in each row": (
        [
            {"seg": n, "bot": bot, "complex_line": prose(WORDS[n]), "easy_line": prose(WORDS[n], bot)}
            | {"turker": f"t{k}", "ease_rating": (7 * n + 13 * k) % 10 * 10, "bleu": 0.1234567 * n}
            for n in RANGE
            for bot in ("x", "y")
            for k in range(3)
        ],
        "{complex_line}-{bot}",
        "complex_line",
        [{"text": "easy_line", "system": "bot"}],
        {("ease_rating", "", f"t{k}"): [(13 * k) % 10 * 10] for k in range(3)},
    ),
    "columns of systems, and one of gold": (
        [
            {"question": prose(n), "answer_fid": WORDS[n], "answer_bing": prose("bing", n), "correct_fid": n % 2 == 0}
            | {"correct_bing": n % 3 == 0}
            for n in RANGE
        ],
        "{row}",
        "question",
        [{"text": "answer_fid", "name": "fid"}, {"text": "answer_bing", "name": "bing"}],
        {("correct", "1", "gold"): [True], ("correct", "2", "gold"): [True]},
    ),
    "columns that are called as models are": (
        [{"task": prose(n), "GPT-4": prose("a", n), "Claude": prose("b", n), "GPT-4 score": n % 5 + 1} for n in RANGE],
        "{row}",
        "task",
        [{"text": "GPT-4", "name": "GPT-4"}, {"text": "Claude", "name": "Claude"}],
        {("", "1", "gold"): [1]},
    ),
    "objects of systems": (
        [
            {"question": prose("asked", WORDS[n])}
            | {name: {"text": prose(name, n), "score": n % 5 + k} for k, name in enumerate(("gpt4", "claude"))}
            for n in RANGE
        ],
        "{row}",
        "question",
        [{"text": "gpt4.text", "name": "gpt4"}, {"text": "claude.text", "name": "claude"}],
        {("", "1", "gold"): [0], ("", "2", "gold"): [1]},
    ),
    "numbered columns of people": (
        [{"id": n, "prompt": prose(n), "response": prose(n, n), "rating_1": n % 5 + 1, "rating_2": 5} for n in RANGE],
        "id",
        "prompt",
        [{"text": "response"}],
        {("", "", "rating_1"): [1], ("", "", "rating_2"): [5]},
    ),
    "a chosen and a rejected response": (
        [{"prompt": prose(n), "chosen": prose("a", n), "rejected": prose("b", n), "chosen_model": "m"} for n in RANGE],
        "{row}",
        "prompt",
        [{"text": "chosen", "system": "chosen_model"}, {"text": "rejected"}],
        {("", "", "gold"): [2]},
    ),
    "a list of two responses and a choice": (
        [{"post": prose(n), "summaries": [{"text": prose(k, n), "policy": k} for k in "xy"], "choice": "AB"[n % 2]}
         for n in RANGE],
        "{row}",
        "post",
        [{"text": f"summaries.{n}.text", "system": f"summaries.{n}.policy"} for n in (0, 1)],
        {("", "", "gold"): [1]},
    ),
    "elements of a list": (
        [
            {"doc": prose("long", WORDS[n]), "samples": [
                {"model": f"m{k % 2}", "reply": prose(n, k), "quality": ["good", "bad", "odd"][(n + k) % 3]}
                for k in range(4)
            ]}
            for n in RANGE
        ],
        "{row}-{element}",
        "doc",
        [{"text": "reply", "system": "model"}],
        {("quality", "", "annotators"): ["good"]},
    ),
    "a transcript with a first wrong step": (
        [
            {"id": n, "task": prose(n), "trajectory": talk("Go.", "", **CALL), "mistake_step": n % 2}
            for n in RANGE
        ],
        "id",
        "task",
        [{"transcript": "trajectory"}],
        {("first wrong step", "", "gold"): [1]},
    ),
    "conversations of a pair": (
        [
            {"id": n, "model_a": "x", "model_b": "y", "judge": f"r{n % 2}", "winner": ("model_a", "tie")[n % 2]}
            | {f"conversation_{k}": talk("1", k, "2", f"{k} again {n}") for k in "ab"}
            for n in RANGE
        ],
        "id",
        None,
        [{"transcript": f"conversation_{k}", "system": f"model_{k}"} for k in "ab"],
        {("", "", "r0"): [1]},
    ),
    "a translation": (
        [{"source": prose(n), "target": prose("so", n), "rater": f"r{n % 3}", "score": n} for n in RANGE],
        "{source}-{target}",
        "source",
        [{"text": "target"}],
        {("", "", "r0"): [0]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_common_layout_is_suggested(tmp_path: Path, name: str) -> None:
    rows, id, prompt, responses, expected = LAYOUTS[name]
    path = write_rows(tmp_path, rows)
    draft = suggest_table(path)
    assert (draft["id"], draft.get("prompt"), draft["responses"]) == (id, prompt, responses)
    items, values = values_of(path)
    assert values == expected and len(items) == len({item.id for item in items}) >= len(RANGE)


COLUMNS: dict[str, tuple[str, Values]] = {
    "two people about each system": (
        "prompt,gpt4_response,gpt5_response,gpt4_rater_1,gpt4_rater_2,gpt5_rater_1,gpt5_rater_2,winner\n"
        "p0,x,y,2,3,4,5,gpt5\np1,v,w,1,1,5,5,tie",
        {("", "1", "rater_1"): [2], ("", "1", "rater_2"): [3], ("", "2", "rater_1"): [4], ("", "2", "rater_2"): [5],
         ("", "", "gold"): [2]},
    ),
    "criteria of responses before their letters, and facts": (
        "prompt,response_a,response_b,a_clarity,b_clarity,a_correct,b_correct,a_tokens\n"
        "p0,x,y,1,4,true,false,9\np1,x,y,2,5,false,true,7",
        {("clarity", "1", "annotators"): [1], ("clarity", "2", "annotators"): [4],
         ("correct", "1", "gold"): [True], ("correct", "2", "gold"): [False]},
    ),
    "scores of some of three responses": (
        "id,prompt,response_1,response_2,response_3,score_1,score_3\ne0,p0,x,y,z,1,3\ne1,p1,x,y,z,2,5",
        {("", "1", "gold"): [1], ("", "3", "gold"): [3]},
    ),
    "one criterion of several people": (
        "id,question,answer,tone_annotator_1,tone_annotator_2\na,q,x,good,bad\nb,p,y,bad,bad",
        {("tone", "", "annotator_1"): ["good"], ("tone", "", "annotator_2"): ["bad"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_with_values_are_of_their_response_and_person(tmp_path: Path, name: str) -> None:
    text, expected = COLUMNS[name]
    path = write_content(tmp_path / "t.csv", text)
    items, values = values_of(path)
    assert values == expected and len(items) == text.count("\n")
    assert set(unused_fields(path, confirmed(path, {}))) <= {"a_tokens"}


def test_what_is_not_understood_is_named_and_never_guessed(tmp_path: Path) -> None:
    """Lists of values, values that nobody is known to have given, signed preferences, means, and deep objects."""
    left = {
        "scores_of_people": [3, 4], "reviews": [{"who": "Ann", "score": 2}], "overall_preference": -2,
        "mean_score": 2.5,        "annotations": {"honesty": {"Rating": 4}}, "rank_a": 1, "vibe": "good",
    }  # fmt: skip
    rows = [{"id": n, "prompt": prose(n), "response_a": prose("a", n), "response_b": prose("b", n)} for n in RANGE]
    rows = [row | left | {"vibe": ("good", "bad")[n % 2], "rank_a": n % 3 + 1} for n, row in enumerate(rows)]
    path = write_rows(tmp_path, rows)
    draft = suggest_table(path)
    assert draft["confirmed"] is False and draft.keys().isdisjoint(("labels", "judges", "gold"))
    names = "scores_of_people, reviews, overall_preference, mean_score, annotations.honesty.Rating, rank_a, vibe"
    assert state_unused_labels(path, [build_mapping(draft)]) == f"Not used, and the values look like labels: {names}."


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": n, "output": "ab"[n % 2], "x": "5", "y": "yes", "meta": {"split": "test"}} for n in RANGE],  # constants
        [{"id": n, "output": prose(n), "category": "ab"[n % 2], "n_tokens": n, "bleu": 0.123456 * n} for n in RANGE],
        [{"id": n, "output": prose(n), "embedding": [0.123456 * n, 17.3], "messages": talk("a", "b")} for n in RANGE],
    ],
)
def test_facts_texts_and_measured_numbers_are_no_labels(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = write_rows(tmp_path, rows)
    mapping, _ = build_suggested(suggest_table(path))
    assert state_unused_labels(path, [mapping]) == "" and not mapping.gold and not mapping.labels


def test_what_follows_from_values_is_confirmed_by_a_person(tmp_path: Path) -> None:
    rows = [{"asked": prose(n), "said": prose("so", n), "verdict_label": "ab"[n % 2]} for n in RANGE]
    path = write_rows(tmp_path, rows)
    mapping = build_mapping(suggest_table(path))
    assert questions(path, mapping) and len(roles(path, mapping)) > 2
    with pytest.raises(FileFormatError, match="guessed from their values"):
        list(read_records(path, mapping=mapping))


def test_rows_of_one_prompt_are_an_item_of_several_people_or_a_group_of_systems(tmp_path: Path) -> None:
    long = "why " * 40
    people = [{"prompt": f"{n} {long}", "response": f"x{n}", "annotator": who, "score": n + 1}
              for n in range(2) for who in ("Ann", "Ben")]  # fmt: skip
    items, values = values_of(write_rows(tmp_path, people))
    assert len(items) == 2 and len(items[0].id) <= 80 and values == {("", "", "Ann"): [1], ("", "", "Ben"): [1]}
    systems = write_content(tmp_path / "systems.csv", "prompt,model,response,score\np,a,x,1\np,b,y,2\nq,a,v,3\nq,b,w,4")
    items, _ = values_of(systems)
    assert [(item.id, item.group) for item in items] == [("p-a", "p"), ("p-b", "p"), ("q-a", "q"), ("q-b", "q")]
    assert statements(systems, confirmed(systems, {}))[1] == ["4 rows are 4 items in 2 groups"]


@pytest.mark.parametrize("ids", ["a,,c", "a,a,b"])
def test_an_id_with_empty_or_repeated_cells_is_no_name(tmp_path: Path, ids: str) -> None:
    rows = "".join(f"{id},{text}?,x\n" for id, text in zip(ids.split(","), "pqr", strict=True))
    path = write_content(tmp_path / "table.csv", f"id,prompt,response\n{rows}")
    draft = suggest_table(path)
    assert draft["id"] == "{row}"
    assert bool(state_row_names(path, build_mapping(draft))) == (ids == "a,a,b")


def test_several_values_of_a_person_need_what_tells_them_apart(tmp_path: Path) -> None:
    rows = [{"prompt": prose(w), "response": prose("said", w), "expert": f"e{n % 2}", "part": test, "score": n % 3}
            for n, w in enumerate(WORDS) for test in "abc"]  # fmt: skip
    path = write_rows(tmp_path, rows)
    draft = suggest_table(path)
    assert draft["labels"][0]["aggregate"] == "first" and not draft["confirmed"]
    sentence = read_outcome(path, build_mapping(draft)).further
    assert sentence.startswith(f"{2 * len(WORDS)} of {3 * len(WORDS)} labels would be left out")
    path = write_rows(tmp_path, [{"criterion" if name == "part" else name: row[name] for name in row} for row in rows])
    draft = suggest_table(path)
    assert draft["labels"][0]["criterion_field"] == "criterion" and "aggregate" not in draft["labels"][0]
    assert read_outcome(path, build_mapping(draft)).labels == len(rows)


RATED = [
    {"id": n, "prompt": prose(n), "answer": prose("said", n)}
    | {"annotation_1": "abc"[n % 3], "annotation_2": "abc"[n % 2]}
    | {"final": "abc"[n % 3], "gpt4_label": "ab"[n % 2], "conf_gpt4_label": n / 24, "comment": prose("so", n)}
    for n in range(24)
]


def test_values_of_one_criterion_by_people_judges_and_gold_have_one_scale(tmp_path: Path) -> None:
    draft = suggest_table(write_rows(tmp_path, RATED))
    blocks = [block for name in ("labels", "judges", "gold") for block in draft[name]]
    assert [block["scale"]["categories"] for block in blocks] == [["a", "b", "c"]] * 3
    assert not any("criterion" in block for block in blocks)
    assert draft["judges"][0]["columns"] == {"gpt4_label": "gpt4_label"}
    assert draft["judges"][0]["confidence"] == {"gpt4_label": "conf_gpt4_label"}
    assert (draft["gold"][0]["value"], draft["gold"][0]["reason"]) == ("final", "comment")


def test_rows_of_a_judge_are_its_verdicts_and_kinds_are_left_to_a_person(tmp_path: Path) -> None:
    rows = [
        {"instruction": prose(n), "output": prose("so", n), "annotator": f"gpt-{n % 2}", "score": n % 5} for n in RANGE
    ]
    draft = suggest_table(write_rows(tmp_path, rows))
    assert draft["judges"][0]["judge"] == "annotator" and "labels" not in draft
    kinds = [row | {"annotator_kind": ("HUMAN", "LLM")[n % 2]} for n, row in enumerate(rows)]
    path = write_rows(tmp_path, kinds)
    draft = suggest_table(path)
    assert draft.keys().isdisjoint(("labels", "judges", "gold"))
    assert "score" in state_unused_labels(path, [build_mapping(draft)])


def test_workers_of_a_batch_are_annotators_and_rejected_rows_are_left_out(tmp_path: Path) -> None:
    header = ("HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Title", "Input.question", "Input.response_a")
    rows = [
        ("H1", f"a{n}", f"W{n}", "Rejected" if n == 2 else "Approved", "Task of many words here", "?", "x", "y", choice)
        for n, choice in enumerate(("Response A", "Response B", "Tie"))
    ]
    path = write_table(tmp_path / "a.csv", (*header, "Input.response_b", "Answer.preference"), *rows)
    labels = labels_of(read_records(path, mapping=confirmed(path, {})))
    assert [(own.target.item, own.annotator, own.value) for own in labels] == [("H1", "W0", 1), ("H1", "W1", 2)]


def test_an_object_with_many_objects_and_the_lists_of_a_record_are_the_items(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    books = {word: {"summary": prose(word), "rating": n % 5 + 1} for n, word in enumerate(WORDS)}
    lists = {name: [{"output": prose(name, n), "rating": n % 5} for n in RANGE] for name in "xyz"}
    systems = {name: {f"{n}": row for n, row in enumerate(rows[:10])} for name, rows in lists.items()}
    whole = {"version": 1, "data": [{"output": prose(n), "rating": n % 5} for n in RANGE]}
    books["red2"] = books["red"]
    for content, first in ((books, "1-red"), (systems, "1-x-0"), (lists, "x-1"), (whole, "1-1")):
        path.write_text(json.dumps(content), encoding="utf-8")
        records = list(read_records(path, mapping=confirmed(path, {})))
        items = items_of(records)
        assert items[0].id == first and len(items) == len(gold_of(records)) == len({item.id for item in items}) >= 12


def test_messages_are_texts_transcripts_or_the_prompt(tmp_path: Path) -> None:
    pair = [{"chosen": talk("Q?", "x"), "rejected": talk("Q?", "y")}]
    draft = suggest_table(write_rows(tmp_path, pair))
    assert draft["prompt"] == "chosen.:-1"
    assert [own["text"] for own in draft["responses"]] == ["chosen.-1", "rejected.-1"]
    parted = [{"messages_a": talk("Q?", "x", "R?", "z"), "messages_b": talk("Q?", "y", "R?", "w"), "better": "A"}]
    assert [*suggest_table(write_rows(tmp_path, parted))["responses"][0]] == ["transcript"]
    asked = [{"context": talk("Q?", "x", "R?"), "response": "z", "is_safe": True, "target": False}]
    draft = suggest_table(write_rows(tmp_path, asked))
    assert (draft["prompt"], draft["responses"]) == ("context", [{"text": "response"}]) and "reference" not in draft
    row = {"id": "1", "conversation_history": [*talk("?"), *[{"role": "model", "content": "x", "score": 35}] * 2]}
    path = write_rows(tmp_path, [row])
    assert unused_fields(path, build_mapping(suggest_table(path))) == ["conversation_history.score"]


def test_a_table_without_a_text_is_an_incomplete_mapping(tmp_path: Path) -> None:
    path = write_rows(tmp_path, [{"prompt_id": n, "is_quality_control": n % 2 == 0} for n in RANGE])
    mapping, is_complete = build_suggested(suggest_table(path))
    assert not is_complete and not mapping.confirmed


@pytest.mark.parametrize("name", ["rater{}", "Rater {}", "annotator_{}", "coder{}", "worker {}", "expert{}", "judge{}"])
def test_the_number_of_a_person_or_a_judge_is_none_of_a_response(tmp_path: Path, name: str) -> None:
    people = [name.format(number) for number in (1, 2, 3)]
    texts = [f"What is {n} and {n} together?,It is {n} I think,It is not {n} at all" for n in range(9)]
    lines = [f"{text},{'A,B,tie' if number % 2 else 'B,A,A'}" for number, text in enumerate(texts)]
    header = ",".join(["prompt", "response 1", "response 2", *people])
    path = write_content(tmp_path / "t.csv", "\n".join([header, *lines]))
    draft = suggest_table(path)
    (block,) = draft["judges"] if name == "judge{}" else draft["labels"]
    assert block["kind"] == "preference" and {*block.get("columns", block.get("annotators"))} == {*people}


def test_a_text_beside_a_response_is_its_prompt(tmp_path: Path) -> None:
    lines = [f"What is {n} and {n} together?,It is {n} as far as I know,{1 + n % 5}" for n in range(9)]
    draft = suggest_table(write_content(tmp_path / "t.csv", "\n".join(["text,response,quality", *lines])))
    assert (draft["prompt"], draft["responses"]) == ("text", [{"text": "response"}])


def test_several_stated_annotators_have_a_column_each(tmp_path: Path) -> None:
    lines = [
        f"What is {n} and {n}?,It is {n} I think,It is not {n} at all,{'A,B' if n % 2 else 'tie,A'}" for n in range(9)
    ]
    path = write_content(tmp_path / "t.csv", "\n".join(["prompt,answer_a,answer_b,anna,ben", *lines]))
    (block,) = suggest_table(path, stated={"annotator": ["anna", "ben"]})["labels"]
    assert (block["kind"], block["annotators"]) == ("preference", {"anna": "anna", "ben": "ben"})
