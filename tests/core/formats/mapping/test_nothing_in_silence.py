"""What an import would get wrong or leave out is refused, corrected or counted."""

from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping import table
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.suggest import state_unused_labels
from core.formats.mapping.table import read_outcome
from core.formats.records import Record, without_contradictions
from tests.core.formats.shared import gold_of, items_of, labels_of, verdicts_of, write_content

FIVE = {"level": "ordinal", "categories": [1, 2, 3, 4, 5]}
OPPOSITE = {"level": "ordinal", "categories": [5, 4, 3, 2, 1]}
NINE = {"level": "interval", "low": 0, "high": 9}
SCORE = {"layout": "wide", "kind": "score", "criterion": "c", "scale": FIVE}
LONG = {"layout": "long", "kind": "score", "scale": FIVE, "annotator": "who", "value": "s"}
GOLD = {"kind": "score", "criterion": "c", "scale": FIVE, "value": "y"}


def read(folder: Path, content: str | list[Any], draft: dict[str, Any]) -> tuple[list[Record], list[str]]:
    """Return the records of a table, by default with the response `a`, and the notes of its import."""
    path = write_content(folder / ("t.csv" if isinstance(content, str) else "t.json"), content)
    mapping = build_mapping({"id": "id", "responses": [{"text": "a"}]} | draft)
    return list(table.read(path, mapping)), read_outcome(path, mapping).lines()


def labels(records: list[Record]) -> list[Any]:
    return [own.value for own in labels_of(records)]


def verdicts(records: list[Record]) -> list[Any]:
    return [own.value for verdict in verdicts_of(records) for own in verdict.opinions]


@pytest.mark.parametrize(
    "blocks",
    [
        {"labels": [SCORE | {"annotators": ["x"]}, SCORE | {"annotators": ["y"], "scale": OPPOSITE}]},
        {"labels": [SCORE | {"annotators": ["x"]}], "gold": [GOLD | {"scale": NINE}]},
        {"judges": [{"kind": "score", "columns": [own], "scale": scale} for own, scale in (("x", FIVE), ("y", NINE))]},
    ],
)
def test_values_of_one_criterion_are_on_one_scale(tmp_path: Path, blocks: dict[str, Any]) -> None:
    with pytest.raises(FileFormatError, match="are on two scales"):
        read(tmp_path, "id,a,x,y\n1,So.,3,4\n", blocks)


@pytest.mark.parametrize(
    ("scale", "cell", "value"),
    [(FIVE, 5, 1), (FIVE, 2, 4), (NINE | {"high": 10}, 10, 1), (FIVE | {"categories": [5, 1]}, 5, 5)],
)
def test_a_judge_on_an_opposite_scale_is_turned(tmp_path: Path, scale: dict[str, Any], cell: int, value: int) -> None:
    people = SCORE | {"annotators": ["x"], "scale": OPPOSITE}
    judge = {"kind": "score", "criterion": "c", "columns": ["y"], "scale": scale}
    records, _ = read(tmp_path, f"id,a,x,y\n1,So.,3,{cell}\n", {"labels": [people], "judges": [judge]})
    assert verdicts(records) == [value]


@pytest.mark.parametrize("value", [{"system": "w"}, "w"])
@pytest.mark.parametrize(("name", "expected"), [("beta", 1), ("gamma", 2)])
def test_the_name_of_a_system_is_its_place_in_the_pair(tmp_path: Path, value: Any, name: str, expected: int) -> None:
    responses = [{"text": own, "name": own} for own in ("alpha", "beta", "gamma")]
    block = {"layout": "long", "kind": "preference", "annotator": {"constant": "ann"}, "pair": [2, 3], "value": value}
    row = "id,alpha,beta,gamma,w\n1,A,B,C,"
    records, _ = read(tmp_path, f"{row}{name}\n", {"responses": responses, "labels": [block]})
    assert labels(records) == [expected]
    with pytest.raises(FileFormatError, match="not 'alpha'"):
        read(tmp_path, f"{row}alpha\n", {"responses": responses, "labels": [block]})


def test_later_values_of_a_first_one_are_on_the_scale(tmp_path: Path) -> None:
    rows = "id,a,who,s\n1,So.,ann,1\n1,So.,ann,banana\n"
    with pytest.raises(FileFormatError, match=r"line 3, field 's': .*'banana'"):
        read(tmp_path, rows, {"labels": [LONG | {"aggregate": "first"}]})


PAIR = {"responses": [{"text": "a"}, {"text": "a"}]}
THREE = {"responses": [{"text": "a"}, {"text": "b"}, {"text": "c", "optional": True}]}
MARGIN = {"layout": "long", "kind": "preference", "annotator": {"constant": "ann"}}
MARGIN |= {"value": {"compare": ["x", "y"], "margin": 0.1}}
RANKING = {"layout": "ranking", "kind": "preference", "annotator": "who", "ranking": {"ranks": ["x", "y", "z"]}}
OBJECT = {"layout": "long", "kind": "score", "scale": FIVE, "each": "o", "annotator": "{element}", "value": "o"}
MEAN = LONG | {"scale": NINE, "aggregate": "mean", "values": {"1": 5, "5": 1}}
SUM = LONG | {"scale": NINE, "aggregate": "sum", "values": {"9": None}}
MARKED = "id,a,who,s\n1,So.,ann,1\n1,So.,ann,1\n2,So.,ben,4\n2,So.,ben,5\n"
REPLIES = [{"id": "d", "score": 5, "who": "ann", "replies": [{"text": "R1", "score": 2}, {"text": "R2"}]}]
REPLY = {"id": "{id}-{element}", "explode": "replies", "responses": [{"text": "text"}]}


@pytest.mark.parametrize(
    ("rows", "draft", "block", "values"),
    [
        pytest.param(MARKED, {}, MEAN, [5, 2.5], id="a mean is not translated again"),
        pytest.param(MARKED, {}, SUM, [2, 9], id="a sum is not translated again"),
        pytest.param(REPLIES, REPLY, SCORE | {"annotators": ["score"]}, [2], id="own fields in the wide layout"),
        pytest.param(REPLIES, REPLY, LONG | {"value": "score"}, [2], id="own fields in the long layout"),
        pytest.param("id,a,x,y\n1,So.,0.8,0.7\n2,No.,0.8,0.69\n", PAIR, MARGIN, [0, 1], id="a margin has its end"),
        pytest.param('id,a,o\n1,So.,"{""ann"": 3, ""ben"": 4}"\n', {}, OBJECT, [3, 4], id="objects in cells"),
        pytest.param("id,a,b,c,who,x,y,z\n1,A,B,,ann,1,2,\n", THREE, RANKING, [1], id="no third response"),
        pytest.param(
            "id,a,x\n1,So.,0.0\n2,No.,1.0\n3,Go.,5\n",
            {},
            SCORE | {"annotators": ["x"], "values": {0: None, 1: 5, 5: 1}},
            [5, 1],
            id="spellings of a number",
        ),
    ],
)
def test_labels_have_the_value_that_the_block_means(
    tmp_path: Path, rows: Any, draft: dict[str, Any], block: dict[str, Any], values: list[Any]
) -> None:
    assert labels(read(tmp_path, rows, draft | {"labels": [block]})[0]) == values


@pytest.mark.parametrize(("name", "column"), [('"v.1"', "v.1"), (" g ", "g"), ('"g {1}"', "g {1}")])
def test_a_filled_column_is_spelled_as_in_any_mapping(tmp_path: Path, name: str, column: str) -> None:
    records, _ = read(tmp_path, f"id,a,{column}\n1,So.,g1\n2,Thus.,\n", {"group": name, "fill": [name]})
    assert [own.group for own in items_of(records)] == ["g1", "g1"]


@pytest.mark.parametrize(
    ("value", "cells"), [(True, "True,False"), (1, "1.0,0.0"), ("true", "true,false"), ([1, "2"], "2,3")]
)
def test_rows_are_selected_by_what_a_cell_means(tmp_path: Path, value: Any, cells: str) -> None:
    first, second = cells.split(",")
    records, _ = read(tmp_path, f"id,a,bad\n1,So.,{first}\n2,Thus.,{second}\n", {"where_not": {"bad": value}})
    assert [own.id for own in items_of(records)] == ["2"]


def test_two_columns_of_one_number_are_refused(tmp_path: Path) -> None:
    draft = {"id": "{id}-{element}", "explode": "numbered", "numbered": {"q": "q_{n}"}, "responses": [{"text": "q"}]}
    with pytest.raises(FileFormatError, match="several columns have the number"):
        read(tmp_path, "id,q_1,q_01\n1,So.,Thus.\n", draft)


def test_values_without_their_mark_and_halves_of_orders_are_counted(tmp_path: Path) -> None:
    value = {"field": "o", "after_last": "[RESULT]"}
    rows = "id,a,b,o,x,y\n1,So.,No.,[RESULT] 4,,B\n2,Thus.,No.,The score is 2,A,B\n"
    draft: dict[str, Any] = {"labels": [LONG | {"value": value, "annotator": {"constant": "ann"}}]}
    assert "1 left out: values that are no label" in read(tmp_path, rows, draft)[1]
    assert "1 left out: values that are no gold" in read(tmp_path, rows, {"gold": [GOLD | {"value": value}]})[1]
    judge = {"kind": "preference", "judge": {"constant": "m"}, "value": "x", "swapped": "y", "values": {"A": 1, "B": 2}}
    _, notes = read(tmp_path, rows, {"responses": [{"text": "a"}, {"text": "b"}], "judges": [judge]})
    assert "1 left out: values of judges that are no verdict" in notes


def test_rows_beyond_a_shorter_file_and_items_without_text_are_counted(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("3\n", encoding="utf-8")
    draft = {"join": {"file": "s.jsonl", "optional": True}, "prompt": "a", "responses": []}
    records, notes = read(tmp_path, "id,a\n1,So.\n2,\n3,Thus.\n", draft)
    assert "2 rows have no record in a joined file" in notes
    assert "1 rows left out: they are null, or prompt and responses are empty" in notes
    assert [own.id for own in items_of(records)] == ["1", "3"]


def test_parts_of_a_text_can_have_parallel_lists_and_the_parts_before_them(tmp_path: Path) -> None:
    rows = [{"models": "bart|gpt", "scores": [1, 5]}]
    draft = {"id": "{element}", "explode": "models", "divider": "|", "parallel": ["scores"], "context": "before"}
    draft |= {"responses": [{"text": "models"}], "labels": [SCORE | {"annotators": ["scores"]}]}
    records, _ = read(tmp_path, rows, draft)
    assert labels(records) == [1, 5]
    assert [own.context for own in items_of(records)] == [None, "bart"]
    turns = [{"who": "a", "said": "Hi."}, {"who": "b", "said": "Ho."}, {"who": "a", "said": "Ha."}]
    draft = {"id": "{element}", "explode": "turns", "context": "before.*.said", "responses": [{"text": "said"}]}
    records, _ = read(tmp_path, [{"turns": turns}], draft)
    assert [own.context for own in items_of(records)] == [None, "Hi.", "Hi.\nHo."]


def test_records_are_joined_to_elements_of_lists(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("key,title\nx,X\ny,Y\n", encoding="utf-8")
    join = {"file": "names.csv", "key": "idea", "other_key": "key", "exploded": True}
    draft = {"id": "idea", "explode": "idea", "parallel": ["s"], "responses": [{"text": "joined.title"}], "join": join}
    draft["labels"] = [SCORE | {"annotators": ["s"]}]
    records, _ = read(tmp_path, [{"idea": ["y", "x"], "s": [2, 3]}], draft)
    assert [own.responses[0].text for own in items_of(records)] == ["Y", "X"]
    with pytest.raises(FileFormatError, match=r"names\.csv has no record 'z'; its first is 'x'"):
        read(tmp_path, [{"idea": ["z"], "s": [2]}], draft)
    with pytest.raises(FileFormatError, match=r"names\.csv: line 2, field 'kye': there is no such field"):
        read(tmp_path, [{"idea": ["x"], "s": [2]}], draft | {"join": join | {"other_key": "kye"}})


def test_two_mappings_do_not_state_one_target_twice(tmp_path: Path) -> None:
    rows = "id,a,x,y\n1,So.,1,5\n"
    first, second = ([read(tmp_path, rows, {"labels": [SCORE | {"annotators": {own: "ann"}}]})[0]] for own in "xy")
    with pytest.raises(FileFormatError, match="mapping 2: mapping 1 has a label of 'ann' for item '1'"):
        list(without_contradictions([*first, *second]))
    first, second = ([read(tmp_path, rows, {"gold": [GOLD | {"value": own}]})[0]] for own in "xy")
    with pytest.raises(FileFormatError, match="mapping 1 has gold for item '1'"):
        list(without_contradictions([*first, *second]))
    assert gold_of(without_contradictions(first))


def test_texts_that_are_taken_from_transcripts_are_counted(tmp_path: Path) -> None:
    spoken = [{"sender_class": "Bot", "text": "Yes."}, {"sender_class": "Human", "text": "Why?"}]
    unknown = [{"text": "Yes."}, {"text": "Why?"}]
    rows = [{"id": "1", "a": None, "t": spoken}, {"id": "2", "a": "So.", "t": unknown}]
    records, notes = read(tmp_path, rows, {"responses": [{"text": "a", "transcript": "t"}]})
    assert [own.responses[0].text for own in items_of(records)] == ["Yes.", "So."]
    assert "1 responses have no text, but the last one of their transcript" in notes
    _, notes = read(tmp_path, rows, {"responses": [{"transcript": "t"}]})
    assert "1 transcripts do not say who speaks: the last message is taken for the answer" in notes


def test_lines_of_a_text_are_joined_by_their_number(tmp_path: Path) -> None:
    (tmp_path / "t.en").write_text("First.\n\nThird, and last.\n", encoding="utf-8")
    draft = {"responses": [{"text": "joined.value"}], "join": {"file": "t.en", "key": "id", "other_key": "{row}"}}
    records, _ = read(tmp_path, "id,a\n3,x\n1,y\n", draft)
    assert [own.responses[0].text for own in items_of(records)] == ["Third, and last.", "First."]


def test_a_part_of_a_divided_text_is_a_value(tmp_path: Path) -> None:
    block = LONG | {"annotator": {"constant": "ann"}, "value": {"field": "s", "divider": ",", "number": 2}}
    records, notes = read(tmp_path, 'id,a,s\n1,So.,"4, 2"\n2,No.,4\n', {"labels": [block]})
    assert labels(records) == [2] and "1 left out: values that are no label" in notes
    with pytest.raises(FileFormatError, match="`divider` and `number`"):
        read(tmp_path, "id,a,s\n1,So.,4\n", {"labels": [LONG | {"value": {"field": "s", "divider": ","}}]})


def test_texts_can_be_templates_and_reasons_lists(tmp_path: Path) -> None:
    draft = {"prompt": "{q} ({topic}).", "responses": [{"text": "Claim {row}: {a}"}], "context": "{topic}"}
    rows = [{"id": "1", "q": "Why?", "a": "So.", "topic": None, "s": 4, "why": ["First.", "Second."]}]
    block = LONG | {"annotator": {"constant": "ann"}, "reason": "why"}
    records, _ = read(tmp_path, rows, draft | {"labels": [block]})
    (item,) = items_of(records)
    assert (item.prompt, item.responses[0].text, item.context) == ("Why? ().", "Claim 1: So.", None)
    assert [own.reason for own in labels_of(records)] == ["First.\nSecond."]
    with pytest.raises(FileFormatError, match="no record of the file has this field"):
        read(tmp_path, rows, draft | {"context": "{theme}"})


def test_a_record_without_an_inner_list_can_be_left_out_by_its_values(tmp_path: Path) -> None:
    rows = [{"state": "Rejected", "answers": [{}]}, {"state": "Approved", "answers": [{"scores": [3, 4]}]}]
    draft = {"id": "{row}-{element}", "explode": ["answers", "scores"], "responses": [{"text": {"constant": "So."}}]}
    draft["labels"] = [SCORE | {"annotators": {"scores": "ann"}}]
    records, notes = read(tmp_path, rows, draft | {"where_not": {"state": "Rejected"}})
    assert labels(records) == [3, 4] and "1 of 3 rows left out by `where` or `where_not`" in notes
    assert items_of(records)[0].responses[0].text == "So."
    with pytest.raises(FileFormatError, match="line 1, field 'scores': this field is missing"):
        read(tmp_path, rows, draft)


def test_records_that_are_null_keep_their_place_and_are_left_out(tmp_path: Path) -> None:
    write_content(tmp_path / "r.json", [{"text": "One."}, {"text": "Two."}, None])
    draft = {"id": "{row}", "responses": [{"text": "joined.text"}], "join": {"file": "r.json"}}
    rows = [None, {"x": 4}, None]
    records, notes = read(tmp_path, rows, draft | {"labels": [SCORE | {"annotators": ["x"]}]})
    assert [own.responses[0].text for own in items_of(records)] == ["Two."]
    assert labels(records) == [4] and any(note.startswith("2 rows left out: they are null") for note in notes)


def test_a_template_without_any_text_is_a_response_that_is_missing(tmp_path: Path) -> None:
    rows = [{"id": "1", "a": None, "x": 4}]
    with pytest.raises(FileFormatError, match="expected the text of a response"):
        read(tmp_path, rows, {"responses": [{"text": "{a}."}]})
    draft = {"prompt": {"constant": "Why?"}, "responses": [{"text": "{a}.", "optional": True}]}
    records, _ = read(tmp_path, rows, draft | {"labels": [SCORE | {"annotators": ["x"], "response": 1}]})
    assert [own.responses for own in items_of(records)] == [()] and labels(records) == []


def test_lists_in_a_joined_file_are_parallel_to_the_exploded_one(tmp_path: Path) -> None:
    judged = {"steps": [{"met": 5}, {"met": 2}]}
    write_content(tmp_path / "judge.json", [judged])
    draft = {"id": "{element}", "explode": "steps", "parallel": ["joined.steps"], "join": {"file": "judge.json"}}
    draft["labels"] = [SCORE | {"annotators": ["met"]}]
    draft["judges"] = [{"kind": "score", "criterion": "c", "columns": ["joined.steps.met"], "scale": FIVE}]
    records, _ = read(tmp_path, [{"steps": [{"a": "So.", "met": 4}, {"a": "No.", "met": 1}]}], draft)
    assert labels(records) == [4, 1] and verdicts(records) == [5, 2]


def test_where_a_text_is_cut_is_stated_and_its_other_places_are_counted(tmp_path: Path) -> None:
    rows = 'id,a,x\n1,"Q: Why? A: So. A: No.",4\n2,"Q: How? A:",3\n'
    response = {"text": {"field": "a", "after_first": "A:"}}
    draft = {"prompt": {"field": "a", "before_first": "A:"}, "responses": [response]}
    draft["labels"] = [SCORE | {"annotators": ["x"]}]
    records, notes = read(tmp_path, rows, draft)
    (first, second) = items_of(records)
    assert (first.prompt, first.responses[0].text, second.responses[0].text) == ("Q: Why?", "So. A: No.", "")
    assert labels(records) == [4, 3]
    assert "2 texts have a mark at which they are cut more than once" in notes, "the prompt's and the response's"
    lines = table.roles(tmp_path / "t.csv", build_mapping({"id": "id"} | draft))
    assert any(line.startswith("response 1: a (after_first 'A:')") for line in lines)
    with pytest.raises(FileFormatError, match="expected the text of a response"):
        read(tmp_path, "id,a,x\n1,So.,4\n", draft)


def test_first_values_that_later_ones_contradict_are_counted(tmp_path: Path) -> None:
    rows = "id,a,who,s\n1,So.,ann,1\n1,So.,ann,2\n2,No.,ann,3\n2,No.,ann,3\n"
    records, notes = read(tmp_path, rows, {"labels": [LONG | {"aggregate": "first"}]})
    assert labels(records) == [1, 3] and "1 labels are the first or the last of values that differ" in notes


def test_a_field_that_another_mapping_reads_is_used(tmp_path: Path) -> None:
    turns = [{"text": f"Turn {n}.", "score": n} for n in (1, 2, 3)]
    rows = [{"id": str(n), "turns": turns, "score": n, "rating": n} for n in (1, 2, 3)]
    path = write_content(tmp_path / "t.json", rows)
    whole = {"id": "id", "responses": [{"text": "turns.0.text"}], "labels": [SCORE | {"annotators": ["score"]}]}
    parts = {"id": "{id}-{element}", "explode": "turns", "responses": [{"text": "text"}]}
    mappings = [build_mapping(whole), build_mapping(parts | {"labels": whole["labels"]})]
    assert state_unused_labels(path, mappings) == "Not used, and the values look like labels: rating."


def test_a_key_that_no_row_has_is_refused_also_for_an_optional_file(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("key,title\n1,X\n", encoding="utf-8")
    join = {"file": "names.csv", "key": "idd", "other_key": "key", "optional": True}
    with pytest.raises(FileFormatError, match="field 'idd': no row has this field"):
        read(tmp_path, "id,a\n1,So.\n", {"join": join})


def test_a_judge_of_a_criterion_of_its_own_keeps_its_scale_beside_criteria_of_rows(tmp_path: Path) -> None:
    people = LONG | {"criterion_field": "what"}
    judge = {"kind": "score", "columns": ["m"], "scale": NINE}
    rows = "id,a,who,what,s,m\n1,So.,ann,clarity,4,9\n"
    records, _ = read(tmp_path, rows, {"labels": [people], "judges": [judge | {"criterion": "metric"}]})
    assert verdicts(records) == [9]
    with pytest.raises(FileFormatError, match="'clarity' are on two scales"):
        read(tmp_path, rows, {"labels": [people], "judges": [judge | {"criterion": "clarity"}]})
    judge = {"kind": "score", "judge": {"constant": "m"}, "value": "m", "scale": NINE, "criterion_field": "what"}
    records, _ = read(tmp_path, rows, {"labels": [people], "judges": [judge]})
    assert verdicts(records) == [5]


def test_parts_with_a_field_called_parent_have_the_fields_of_their_record(tmp_path: Path) -> None:
    rows = [{"id": "d", "turns": [{"text": "One.", "parent": "x"}, {"text": "Two."}]}]
    draft = {"id": "{row}-{element}", "explode": "turns", "responses": [{"text": "text"}], "scenario": "parent.id"}
    records, _ = read(tmp_path, rows, draft)
    assert items_of(records)[1].scenario == "d"
