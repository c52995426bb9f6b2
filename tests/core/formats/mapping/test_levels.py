"""The level of the items, of the labels and of the systems in nested data is suggested from the values."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.scope import recording_omissions
from core.formats.mapping.suggest import apply_roles, apply_scales, apply_values, suggest_table
from core.formats.mapping.table import roles
from core.formats.registry import read_records
from tests.core.formats.mapping.test_public_layouts import confirmed
from tests.core.formats.mapping.test_roles import RANGE, WORDS, text, write
from tests.core.formats.shared import gold_of, items_of, labels_of, verdicts_of, write_content

YES = ["No", "Yes"]


def labels(path: Path, draft: dict[str, Any] | None = None) -> list[tuple[str, str, str, Any]]:
    """Return item, part, annotator and value of the labels, with the suggestion confirmed."""
    mapping = confirmed(path, {}) if draft is None else build_mapping(draft | {"confirmed": True})
    records = read_records(path, mapping=mapping)
    own = labels_of(records)
    return [(label.target.item, label.target.part, label.annotator, label.value) for label in own]


def test_elements_of_a_list_are_the_items_and_the_lists_in_them_the_labels(tmp_path: Path) -> None:
    answers = [{"worker_id": who, "response": "yes" if who else "no"} for who in (0, 1)]
    sentences = [{"sentence": text(word), "responses": answers} for word in WORDS]
    path = write(tmp_path, [{"article": text("long", n, "article"), "sentences": sentences} for n in RANGE])
    found = labels(path)
    assert suggest_table(path)["labels"][0]["confirmed"] is False  # by its values, and not by its name
    assert found[:3] == [("1-1", "", "0", "no"), ("1-1", "", "1", "yes"), ("1-2", "", "0", "no")]
    assert len(found) == 2 * len(WORDS) * len(RANGE)


def test_an_object_with_many_objects_is_the_list_of_the_items(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    books = {word: {"summary": text(word), "rating": n % 5 + 1} for n, word in enumerate(WORDS * 2)}
    systems = {
        name: {f"{n}": {"output": text(name, n), "rating": n % 5 + 1} for n in range(10)} for name in ("x", "y", "z")
    }
    for content, first in ((dict.fromkeys([*books, "red2"], books["red"]) | books, "1-red"), (systems, "1-x-0")):
        path.write_text(json.dumps(content), encoding="utf-8")
        records = list(read_records(path, mapping=confirmed(path, {})))
        items = items_of(records)
        golds = [record.value for record in gold_of(records)]
        assert items[0].id == first and len(items) == len(golds) == len({item.id for item in items}) > 12


def imported(path: Path, draft: dict[str, Any]) -> list[tuple[str, str | None, str | None, Any]]:
    """Return the prompt, the response, its system and the gold of each item."""
    records = list(read_records(path, mapping=build_mapping(draft)))
    golds = {own.target.item: own.value for own in gold_of(records)}
    items = items_of(records)
    return [(own.prompt, own.responses[0].text, own.responses[0].system, golds.get(own.id)) for own in items]


def test_lists_of_several_objects_of_a_record_are_one_list_of_items(tmp_path: Path) -> None:
    def reviews(*values: str) -> dict[str, Any]:
        return {"review": [{"segment": f"Segment {value}.", "reliable": value} for value in values], "score": {}}

    row = {"title": "A paper", "text": "Its text.", "sysA": reviews("Yes", "No"), "sysB": reviews("No")}
    gold = [{"kind": "answer", "criterion": "r", "value": "reliable", "scale": {"level": "nominal", "categories": YES}}]
    responses = [{"text": "segment", "system": "{element_1}"}]
    draft = {"explode": ["*", "review"], "id": "{row}-{element_1}-{element}", "prompt": "parent.title"}
    assert imported(write(tmp_path, [row]), draft | {"responses": responses, "gold": gold}) == [
        ("A paper", "Segment Yes.", "sysA", "Yes"),
        ("A paper", "Segment No.", "sysA", "No"),
        ("A paper", "Segment No.", "sysB", "No"),
    ]
    with recording_omissions() as omissions:
        imported(write(tmp_path, [row | {"sysC": {"reviews": []}}]), draft | {"responses": responses, "gold": gold})
    assert omissions.notes() == ["1 objects have no list whose elements are the items"]


def test_lists_beside_the_inner_list_and_keys_that_are_texts(tmp_path: Path) -> None:
    sentences = [{"claims": ["a", "b"], "true": ["Yes", "No"]}, {"claims": ["c"], "true": ["No"]}]
    row = {"question": "Why?", "sentences": sentences, "facts": {"It is.": "Yes", "It was.": "No"}}
    gold = [{"kind": "answer", "criterion": "r", "value": "true", "scale": {"level": "nominal", "categories": YES}}]
    draft = {"explode": ["sentences", "claims"], "parallel": ["true"], "id": "{row}-{element_1}-{element}"}
    of_claims = draft | {"prompt": "question", "responses": [{"text": "claims"}], "gold": gold}
    path = write(tmp_path, [row])
    assert imported(path, of_claims) == [
        ("Why?", "a", None, "Yes"),
        ("Why?", "b", None, "No"),
        ("Why?", "c", None, "No"),
    ]
    draft = {"explode": "facts", "id": "{row}-{element}", "prompt": "question", "responses": [{"text": "element_key"}]}
    found = imported(path, draft | {"gold": [gold[0] | {"value": "facts"}]})
    assert found == [("Why?", "It is.", None, "Yes"), ("Why?", "It was.", None, "No")]
    sentences[0]["true"] = ["Yes"]
    with pytest.raises(FileFormatError, match="expected 2 values, as claims has, not 1"):
        imported(write(tmp_path, [row]), of_claims)


def test_keys_of_an_object_can_be_the_steps_that_its_values_are_about(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    turns = [
        {"role": "user", "content": text("asked")},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "found", "tool_call_id": "1"},
        {"role": "assistant", "content": "done"},
    ]
    row = {"messages": turns, "answer_text": "done", "truth": {"target": ["one"]}}
    steps = [{"1": -1, "3": 1}, {"1": 0, "3": 1}]
    path = write(tmp_path, [row | {"question": text(n), "marks": steps[n % 2], "label": n % 2} for n in RANGE])
    draft = suggest_table(path)
    (block,) = draft["labels"]
    assert (block["each"], block["step"], block["steps"]) == ("marks", "{element}", "message from 0")
    assert draft["responses"] == [{"transcript": "messages"}] and [own["value"] for own in draft["gold"]] == ["label"]
    parts = [("step 2", "annotators", -1), ("step 4", "annotators", 1), ("step 2", "annotators", 0)]
    assert [own[1:] for own in labels(path)[:3]] == parts


def test_values_that_name_two_fields_prefer_one_of_them(tmp_path: Path) -> None:
    rows = [
        {"a1": text("first", n), "a2": text("second", n), "turker": f"t{n // 6}", "label": ("a1", "a2", "equal")[n % 3]}
        for n in RANGE
    ]
    assert Counter(value for *_, value in labels(write(tmp_path, rows))) == {1: 4, 2: 4, 0: 4}


def test_systems_of_one_cell_are_an_item_each(tmp_path: Path) -> None:
    systems = ["bart", "gpt", "bart|gpt", "t5"]
    rows = [{"context": text(n // 4), "question": text("q", n), "model": systems[n % 4], "label": n % 2} for n in RANGE]
    path = write(tmp_path, rows)
    draft = suggest_table(path)
    assert (draft["explode"], draft["divider"], draft["confirmed"]) == (["model"], "|", False)
    what = "each part of model between '|' is an item of its own, so the labels of such a row count once for each part"
    assert what in roles(path, build_mapping(draft))
    records = read_records(path, mapping=confirmed(path, {}))
    found = [record.responses[0].system for record in items_of(records)]
    assert found == ["bart", "gpt", "bart", "gpt", "t5"] * 3
    with pytest.raises(FileFormatError, match="`divider` is between the elements of a text to `explode`"):
        build_mapping({"id": "{row}", "prompt": "context", "divider": "|"})


def test_the_criterion_is_what_tells_the_values_of_a_person_apart(tmp_path: Path) -> None:
    tests = ("plot", "style")
    rows = [
        {"story_id": WORDS[n // 4], "test": tests[n % 2], "expert": n // 2 % 2, "passed": ("yes", "no")[n // 3 % 2]}
        | {"comment": text("because", n)}
        for n in range(4 * len(WORDS))
    ]
    path = write(tmp_path, rows)
    draft = suggest_table(path)
    assert any(line.endswith("annotators: expert; reasons: comment") for line in roles(path, build_mapping(draft)))
    (block,) = draft["labels"]
    found = [block[name] for name in ("annotator", "value", "criterion_field", "reason")]
    assert found == ["expert", "passed", "test", "comment"]


RATED = [
    {"id": n, "prompt": text(n), "answer": text("said", n), "annotation_1": "abc"[n % 3], "annotation_2": "abc"[n % 2]}
    | {"agreement": n % 2 == 0, "final": "abc"[n % 3], "gpt4_label": "ab"[n % 2], "other": "NA" if n % 3 else "good"}
    for n in range(24)
]


def test_gold_and_judges_on_the_scale_of_people_are_of_their_criterion(tmp_path: Path) -> None:
    draft = suggest_table(write(tmp_path, RATED))
    gold = [(own["value"], own["criterion"], own["scale"]["categories"]) for own in draft["gold"]]
    assert gold == [("final", "annotation", ["a", "b", "c"])]
    (judge,) = draft["judges"]
    assert (judge["columns"], judge["criterion"]) == ({"gpt4_label": "gpt4_label"}, "annotation")
    assert judge["scale"]["categories"] == ["a", "b", "c"]


def test_a_person_states_the_list_of_items_a_judge_and_the_order_of_words(tmp_path: Path) -> None:
    path = write(tmp_path, RATED)
    draft = apply_roles(path, suggest_table(path), {"judge": ["final"]})
    assert [[*own["columns"]] for own in draft["judges"]] == [["gpt4_label"], ["final"]]
    draft = apply_scales(draft, {"final": "c, b, a"})
    assert draft["judges"][1]["scale"] == {"level": "ordinal", "categories": ["c", "b", "a"]}
    records = list(read_records(path, mapping=build_mapping(_confirm(draft))))
    assert len(verdicts_of(records)) == 2 * len(RATED)
    nested = write(tmp_path, [{"who": "x", "left": {"parts": [{"text": text(n), "score": n % 3} for n in RANGE]}}] * 2)
    draft = apply_roles(nested, {}, {"items": ["left.parts"], "response": ["text"]})
    assert (draft["explode"], draft["responses"]) == ("left.parts", [{"text": "text"}])
    for chosen, message in (
        ({"response": ["left.parts"]}, "state it as `items`"),
        ({"items": ["who"]}, "expected a list"),
    ):
        with pytest.raises(FileFormatError, match=message):
            apply_roles(nested, {}, chosen)


def test_a_short_answer_beside_the_talk_of_agents_is_no_response(tmp_path: Path) -> None:
    talk = [{"role": role, "name": role, "content": text(n)} for n, role in enumerate(("assistant", "user") * 2)]
    asked = ["critic is mild", "plan is bad", "task is lost"]
    marks = [dict.fromkeys(asked, mark) | {"never seen": "no"} for mark in ("no", "yes")]
    rows = [
        {"id": n, "problem_statement": text(n), "trajectory": talk, "data": {"answer": WORDS[n]}}
        | {"note": {"text": text("note", n), "options": marks[n % 2]}}
        for n in RANGE
    ]
    draft = suggest_table(write(tmp_path, rows))
    assert (draft["prompt"], draft["responses"]) == ("problem_statement", [{"transcript": "trajectory"}])
    assert [own["criterion"] for own in draft["gold"]] == [*asked, "never seen"]


def test_words_of_a_ranking_are_the_ranks_that_a_person_states(tmp_path: Path) -> None:
    path = write(tmp_path, [{"prompt": "p", "a": text("a"), "b": text("b"), "rank_a": "last", "rank_b": "best"}])
    block = {"layout": "ranking", "annotator": {"constant": "x"}, "ranking": {"ranks": ["rank_a", "rank_b"]}}
    draft = {"id": "{row}", "prompt": "prompt", "responses": [{"text": "a"}, {"text": "b"}], "labels": [block]}
    with pytest.raises(FileFormatError, match="a rank"):
        labels(path, draft)
    draft = apply_values(draft, {"rank_a:last": "2", "rank_a:best": "1"})
    assert labels(path, draft) == [("1", "", "x", 2)]


def test_systems_that_columns_of_raters_name_are_their_preferences(tmp_path: Path) -> None:
    origins = ("human", "machine")
    rows = [
        {"source": text(n), "A": text("one", n), "B": text("two", n), "A_origin": origins[n % 2]}
        | {
            "B_origin": origins[1 - n % 2],
            "fluent_rater1": origins[n // 2 % 2],
            "fluent_rater2": "tie" if n % 3 else "human",
        }
        for n in RANGE
    ]
    path = write(tmp_path, rows)
    draft = suggest_table(path)
    assert [own["system"] for own in draft["responses"]] == ["A_origin", "B_origin"]
    found = labels(path)
    assert Counter(who for *_, who, _ in found) == {"rater1": 12, "rater2": 12}
    assert [value for *_, who, value in found if who == "rater1"] == [1, 2, 2, 1] * 3


def test_answers_whose_names_end_in_their_systems_are_the_responses(tmp_path: Path) -> None:
    rows = [
        {"question": text("q", n), "answer_fid": WORDS[n], "judge_fid": n % 2 == 0}
        | {f"answer_{name}": text(name, n) for name in ("gpt35", "bing")}
        | {f"judge_{name}": n % 3 == 0 for name in ("gpt35", "bing")}
        | {"score_fid": 1.5 + n % 3, "score_gpt35": 1.5 + n % 4, "score_bing": 1.5 + n % 8}
        for n in RANGE
    ]
    path = write(tmp_path, rows)
    draft = suggest_table(path)
    assert [own["name"] for own in draft["responses"]] == ["fid", "gpt35", "bing"]
    assert [(own["criterion"], own["response"]) for own in draft["gold"][:3]] == [
        ("judge", 1),
        ("judge", 2),
        ("judge", 3),
    ]
    assert [own["scale"]["high"] for own in draft["gold"][3:]] == [10, 10, 10]  # one criterion has one scale


def test_numbers_divided_by_commas_are_of_as_many_people_and_roles_keep_the_divider(tmp_path: Path) -> None:
    rows = [
        {
            "source": text(n // 3),
            "output": text("said", n),
            "system": ("x", "x,y", "y")[n % 3],
            "fluency": f"{n % 4},2,3",
        }
        for n in RANGE
    ]
    path = write(tmp_path, rows)
    draft = apply_roles(path, suggest_table(path), {"reference": ["source"]})
    assert (draft["divider"], draft["reference"]) == (",", "source")
    assert Counter(who for *_, who, _ in labels(path, _confirm(draft))) == dict.fromkeys(
        ("annotator 1", "annotator 2", "annotator 3"), 16
    )


def test_rows_without_texts_or_items_and_empty_prompts_are_counted(tmp_path: Path) -> None:
    rows = [{"q": "why", "as": [{"t": "x"}]}, {"q": "", "as": [{"t": "y"}]}, {"q": "", "as": [{"t": ""}]}]
    path = write(tmp_path, [*rows, {"q": "how", "as": []}, {"q": "off"}])
    draft = {"explode": "as", "id": "{row}-{element}", "prompt": "q", "responses": [{"text": "t"}]}
    with recording_omissions() as omissions:
        records = list(read_records(path, mapping=build_mapping(draft | {"where_not": {"q": "off"}})))
    assert len(items_of(records)) == 2
    assert omissions.notes() == [
        "1 of 4 rows left out by `where` or `where_not`",
        "1 records have an empty list, and no item",
        "1 rows left out: they are null, or prompt and responses are empty",
        "1 rows have an empty prompt",
    ]


def test_cells_are_filled_from_above_and_a_value_is_the_begin_of_a_text(tmp_path: Path) -> None:
    rows = [
        {"q": "why", "a": "x", "b": "y", "best": "Text 2, so."},
        {"q": "", "a": "z", "b": "w", "best": "Text 1. As"},
    ]
    gold = {"kind": "preference", "value": {"field": "best", "first_words": 2}, "values": {"Text 1": 1, "Text 2": 2}}
    draft = {"id": "{row}", "prompt": "q", "responses": [{"text": "a"}, {"text": "b"}], "fill": ["q"], "gold": [gold]}
    records = list(read_records(write(tmp_path, rows), mapping=build_mapping(draft)))
    assert [record.prompt for record in items_of(records)] == ["why", "why"]
    assert [record.value for record in gold_of(records)] == [2, 1]


def test_a_list_of_lines_is_one_text_and_one_turn_is_no_conversation(tmp_path: Path) -> None:
    draft = {"id": "{row}", "prompt": "q", "responses": [{"text": "steps"}]}
    (record,) = read_records(write(tmp_path, [{"q": ["why"], "steps": ["one", "two"]}]), mapping=build_mapping(draft))
    assert (record.item.prompt, record.item.responses[0].text) == ("why", "one\ntwo")


def test_a_number_is_a_response_although_systems_are_called_so_and_an_image_is_a_text(tmp_path: Path) -> None:
    rows = [{"q": "why", "a": "x", "b": "y", "s": "2", "t": "1", "best": "1", "who": "w"}]
    block = {"layout": "long", "kind": "preference", "annotator": "who", "value": "best"}
    responses = [{"text": "a", "system": "s"}, {"text": "b", "system": "t"}]
    draft = {"id": "{row}", "prompt": "q", "responses": responses, "labels": [block]}
    assert labels(write(tmp_path, rows), draft) == [("1", "", "w", 1)]
    rows[0] |= {"s": "gpt", "t": "bart", "best": "bart"}
    assert labels(write(tmp_path, rows), draft) == [("1", "", "w", 2)]
    pixel = "data:image/png;base64,iVBORw0KGgo="
    path = write(tmp_path, [{"q": "", "a": "", "i": pixel}])
    with recording_omissions() as omissions:
        mapping = build_mapping({"id": "{row}", "prompt": "q", "responses": [{"text": "a", "image": "i"}]})
        assert len(list(read_records(path, mapping=mapping))) == 1 and not omissions.blank


def test_the_parts_of_a_text_are_the_values_of_numbered_criteria(tmp_path: Path) -> None:
    block = {"layout": "long", "each": "marks", "divider": "#", "annotator": "who", "criterion_field": "{element}"}
    block |= {"value": "marks", "kind": "score", "scale": {"level": "interval", "low": 0, "high": 100}}
    draft = {"id": "{row}", "prompt": "q", "labels": [block]}
    records = read_records(write(tmp_path, [{"q": "why", "who": "w", "marks": "92#14"}]), mapping=build_mapping(draft))
    found = labels_of(records)
    assert [(label.target.criterion, label.value) for label in found] == [("1", 92), ("2", 14)]


def _confirm(draft: dict[str, Any]) -> dict[str, Any]:
    blocks = {name: [own | {"confirmed": True} for own in draft.get(name, ())] for name in ("labels", "judges", "gold")}
    return draft | blocks | {"confirmed": True}


def test_a_column_of_another_name_has_the_system_of_usual_columns(tmp_path: Path) -> None:
    rows = [
        {"id": n, "prompt": text(n), "response": text("said", n), "bot": "xy"[n % 2], "score": n % 5 + 1} for n in RANGE
    ]
    draft = suggest_table(write(tmp_path, rows))
    assert draft["responses"] == [{"text": "response", "system": "bot"}] and not draft["confirmed"]


def test_columns_with_a_number_in_their_names_are_a_list_of_items(tmp_path: Path) -> None:
    path = write_content(
        tmp_path / "t.csv", "Input.text_1,Input.text_2,Answer.q_2,Answer.q_1,who\nSo.,Thus.,No,Yes,ann\n"
    )
    gold = [{"kind": "answer", "criterion": "r", "value": "q", "scale": {"level": "nominal", "categories": YES}}]
    draft = {"numbered": {"text": "Input.text_{n}", "q": "Answer.q_{n}"}, "explode": "numbered"}
    draft |= {"id": "{row}-{element}", "prompt": "who", "responses": [{"text": "text"}], "gold": gold}
    assert imported(path, draft) == [("ann", "So.", None, "Yes"), ("ann", "Thus.", None, "No")]
    assert unused_fields(path, build_mapping(draft | {"prompt": {"constant": "?"}})) == ["who"]
    for pattern, message in (("Input.text_", "numbered"), ("Input.words_{n}", "no column is called Input.words_{n}")):
        with pytest.raises(FileFormatError, match=re.escape(message)):
            imported(path, draft | {"numbered": {"text": pattern, "q": "Answer.q_{n}"}})
