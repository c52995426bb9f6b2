"""Judges, gold, weights, critiques and joined files of a table, and its other layouts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.errors import FileFormatError, TiebreakError
from core.formats.mapping import mapping as mappings
from core.formats.mapping import table
from core.formats.mapping.preview import unused_fields
from core.formats.mapping.roles import apply_scales
from core.formats.mapping.scope import recording_omissions
from core.formats.mapping.suggest import suggest_table
from core.formats.plain_yaml import parse_fields
from core.formats.records import (
    AdjudicationRecord,
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    Record,
    RunRecord,
    ScaleRecord,
    TraceRecord,
)
from core.trace import TurnCompleted, Verdict
from tests.core.formats.shared import gold_of, items_of, labels_of, of_kind, verdicts_of, write_content

PAIR = """
id: id
prompt: q
responses: [{text: a}, {text: b}]
"""
STARS = "{level: ordinal, categories: [1, 2, 3, 4, 5]}"


def read(folder: Path, rows: Any, mapping: str, name: str = "table.json") -> list[Record]:
    return list(table.read(write_content(folder / name, rows), mappings.build_mapping(parse_fields(mapping))))


def verdicts(records: list[Record]) -> dict[tuple[str, str], Verdict]:
    """Return (run, item) -> verdict."""
    return {(trace.run, trace.item): trace.events[-1].verdict for trace in of_kind(records, TraceRecord)}


def pair(**fields: Any) -> dict[str, Any]:
    return {"id": "1", "q": "Say hello.", "a": "Hello!", "b": "Hi."} | fields


def test_columns_of_judges_become_runs_of_their_own(tmp_path: Path) -> None:
    rows = [pair(gpt="A", claude="tie", why="shorter"), pair(id="2", gpt="?", claude="")]
    mapping = (
        PAIR
        + """
judges:
  - {kind: preference, criterion: tone, columns: {gpt: GPT, claude: Claude}, reason: why,
     values: {A: 1, B: 2, tie: 0, "?": null}}
"""
    )
    records = read(tmp_path, rows, mapping)
    assert {(run.name, run.protocol) for run in of_kind(records, RunRecord)} == {
        ("GPT", "single-judge"), ("Claude", "single-judge")
    }  # fmt: skip
    found = verdicts(records)
    assert {key: (verdict.value, verdict.outcome) for key, verdict in found.items()} == {
        ("GPT", "1"): (1, "agreed"), ("GPT", "2"): (None, "no_verdict"), ("Claude", "1"): (0, "agreed"),
    }  # fmt: skip
    assert found["GPT", "2"].opinions[0].problem == "the file has no verdict: '?'"
    turn = of_kind(records, TraceRecord)[0].events[0]
    assert isinstance(turn, TurnCompleted) and (turn.turn.reply, turn.turn.reading) == ("shorter", 1)
    assert [record.criterion.name for record in of_kind(records, CriterionRecord)] == ["tone"]


@pytest.mark.parametrize(
    ("choice", "outcome", "value", "opinions"),
    [
        (2, "agreed", 2, {("j1", "last", 2), ("j2", "last", 2), ("panel", "verdict", 2)}),
        (1, "disputed", None, {("j1", "last", 2), ("j2", "last", 1)}),
    ],
)
def test_one_verdict_a_row_with_model_cost_order_and_stage(
    tmp_path: Path, choice: int, outcome: str, value: int | None, opinions: set[tuple[str, str, int]]
) -> None:
    base = {"judge": "j1", "choice": 1, "model": "m-1", "usd": "0.02", "shown": "BA"}
    rows = [pair(**base), pair(**base | {"judge": "j2", "choice": choice, "shown": "AB"})]
    mapping = (
        PAIR
        + """
judges:
  - {kind: preference, judge: judge, value: choice, model: model, cost: usd, order: shown, as_shown: true,
     order_values: {AB: [1, 2], BA: [2, 1]}, run: panel, stage: last}
"""
    )
    records = read(tmp_path, rows, mapping)
    (run,) = of_kind(records, RunRecord)
    assert run.settings["judges"][0] == {"name": "j1", "spec": {"model": "m-1"}}
    verdict = verdicts(records)["panel", "1"]
    assert opinions <= {(one.judge, one.stage, one.value) for one in verdict.opinions}
    assert (verdict.outcome, verdict.value) == (outcome, value)
    turn = of_kind(records, TraceRecord)[0].events[0].turn
    assert (turn.shown, turn.usage.dollars, turn.model) == ((2, 1), 0.02, "m-1")


@pytest.mark.parametrize(("rule", "of_ties"), [("", None), (", orders: JudgeBench", 1)])
@pytest.mark.parametrize(
    ("ab", "ba", "value"), [(1, 2, 1), (2, 1, 2), (0, 0, 0), (1, 1, None), (1, 0, "of ties"), (0, 2, "of ties")]
)
def test_both_orders_of_a_pair_are_one_verdict(
    tmp_path: Path, rule: str, of_ties: int | None, ab: int, ba: int, value: int | str | None
) -> None:
    """By JudgeBench's rule a tie in one order does not outweigh a choice."""
    value = of_ties if value == "of ties" else value
    mapping = f"{PAIR}judges: [{{kind: preference, judge: {{constant: GPT}}, value: ab, swapped: ba{rule}}}]"
    records = read(tmp_path, [pair(ab=ab, ba=ba)], mapping)
    verdict = verdicts(records)["GPT", "1"]
    assert (verdict.value, verdict.outcome) == (value, "disputed" if value is None else "agreed")
    turns = [event.turn for event in of_kind(records, TraceRecord)[0].events if isinstance(event, TurnCompleted)]
    assert [turn.shown for turn in turns] == [(1, 2), (2, 1)]


def test_a_judges_own_scale_is_converted_to_that_of_the_labels(tmp_path: Path) -> None:
    mapping = f"""
id: id
responses: [{{text: a}}]
labels: [{{layout: wide, kind: score, annotators: [ann], scale: {STARS}}}]
judges: [{{kind: score, columns: [gpt], scale: {{level: interval, low: 0, high: 100}}}}]
"""
    with recording_omissions() as omissions:
        records = read(tmp_path, [{"id": "1", "a": "x", "ann": 3, "gpt": 75}], mapping)
    assert omissions.notes() == ["1 scores of judges are converted to the scale of people's labels"]
    assert verdicts(records)["gpt", "1"].value == 4.0
    assert of_kind(records, ItemRecord)[0].item.prompt == ""
    assert len(of_kind(records, ScaleRecord)) == 1
    assert of_kind(records, TraceRecord)[0].events[0].turn.reading == 75


def test_gold_is_an_adjudication_with_its_source(tmp_path: Path) -> None:
    mapping = (
        PAIR
        + """
gold:
  - {kind: preference, criterion: tone, value: winner, values: {first: 1, none: null},
     source: expert panel, reason: why}
"""
    )
    rows = [pair(winner="first", why="clear"), pair(id="2", winner="none", why=""), pair(id="3", winner="", why="")]
    (ruling,) = gold_of(read(tmp_path, rows, mapping))
    assert (ruling.target.item, ruling.value, ruling.rule, ruling.reason, ruling.adjudicator) == (
        "1", 1, "expert panel", "clear", "imported gold"
    )  # fmt: skip


def test_responses_that_are_only_images_and_constants(tmp_path: Path) -> None:
    mapping = """
id: id
prompt: {constant: "Which picture fits?"}
responses: [{image: one, name: A}, {image: two, name: B}]
"""
    (record,) = of_kind(read(tmp_path, [{"id": 1, "one": "1.png", "two": "2.png"}], mapping), ItemRecord)
    assert record.item.prompt == "Which picture fits?"
    assert [(one.text, one.image) for one in record.item.responses] == [("", "1.png"), ("", "2.png")]


def test_an_item_has_an_image_of_its_prompt(tmp_path: Path) -> None:
    mapping = "id: id\nprompt: task\nimage: file\nresponses: [{text: caption}]"
    rows = [{"id": 1, "task": "Describe it.", "file": "1.png", "caption": "A"}]
    rows.append({"id": 2, "task": "Describe it.", "file": "", "caption": "B"})
    assert [record.item.image for record in of_kind(read(tmp_path, rows, mapping), ItemRecord)] == ["1.png", None]


def test_critiques_with_their_aius(tmp_path: Path) -> None:
    mapping = """
id: id
prompt: q
responses: [{text: a}]
critiques:
  - {author: {constant: human}, source: people, text: critique, aius: pieces}
  - {author: {constant: GPT}, text: other}
  - {author: {constant: reference}, role: reference, text: gold}
"""
    row = {"id": "1", "q": "?", "a": "x", "critique": "Bad.", "other": "", "gold": "y"}
    row |= {"pieces": ["It is bad.", "It is short."]}
    (record,) = of_kind(read(tmp_path, [row], mapping), ItemRecord)
    human, reference = record.item.critiques
    assert (human.author, human.source, [aiu.text for aiu in human.aius or ()]) == (
        "human", "people", ["It is bad.", "It is short."]
    )  # fmt: skip
    assert (reference.role, reference.aius) == ("reference", None)


def test_weights_of_annotators_and_judges_without_a_row_of_zeros(tmp_path: Path) -> None:
    mapping = """
id: id
prompt: q
weights:
  - {annotator: {constant: ann}, aspects: {depth: d_h, style: s_h}}
  - {judge: {constant: llama}, aspects: {depth: d_w, style: s_w}}
"""
    rows = [
        {"id": "1", "q": "?", "d_h": "60%", "s_h": "40", "d_w": 1, "s_w": 3},
        {"id": "2", "q": "?", "d_h": 50, "s_h": 50, "d_w": 0, "s_w": 0},
    ]
    records = read(tmp_path, rows, mapping)
    assert [record.label.value for record in of_kind(records, LabelRecord)] == [
        {"depth": 60, "style": 40}, {"depth": 50, "style": 50}
    ]  # fmt: skip
    found = verdicts(records)
    assert {key: verdict.value for key, verdict in found.items()} == {("llama", "1"): {"depth": 25, "style": 75}}


@pytest.mark.parametrize(
    ("block", "first", "second"),
    [
        ("aspects_field: a, value: w", {"a": ["depth", "style"], "w": [60, "40%"]},
         {"a": ["tone", "fit"], "w": [1, 1]}),
        ("aspects_field: a, value: w, separator: ';'", {"a": "depth;style", "w": "60;40"},
         {"a": "tone; fit", "w": "5;5"}),
        ("value: w", {"w": {"depth": 3, "style": 2}}, {"w": {"tone": 50, "fit": 50}}),
    ],
)  # fmt: skip
def test_aspects_can_differ_from_row_to_row(
    tmp_path: Path, block: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    mapping = f"id: id\nprompt: q\nweights: [{{annotator: {{constant: ann}}, {block}}}]"
    rows = [{"id": "1", "q": "?", **first}, {"id": "2", "q": "?", **second}]
    found = of_kind(read(tmp_path, rows, mapping), LabelRecord)
    assert [label.label.value for label in found] == [{"depth": 60, "style": 40}, {"tone": 50, "fit": 50}]
    assert found[0].label.target.part != found[1].label.target.part


BY_KEY = "{file: gold.csv, key: id, other_key: name}"
BY_PARTS = """{file: gold.csv, key: ["{row}", {constant: S}], other_key: [name, {field: code, before_last: "."}]}"""


@pytest.mark.parametrize("join", [BY_KEY, BY_PARTS, "{file: gold.csv}"])
def test_a_second_file_is_joined_by_key_or_by_line(tmp_path: Path, join: str) -> None:
    (tmp_path / "gold.csv").write_text("name,winner,code\n1,2,S.txt\n2,1,S.txt\n")
    mapping = PAIR + f"join: {join}\ngold: [{{kind: preference, value: joined.winner}}]"
    records = read(tmp_path, [pair(), pair(id="2")], mapping)
    assert [record.ruling.value for record in of_kind(records, AdjudicationRecord)] == [2, 1]


WEIGHTS = "id: id\nprompt: q\nweights: [{annotator: {constant: ann}, aspects_field: a, value: w}]"
GOLD = "gold: [{kind: preference, value: g}]"
GOLD_OF_ROWS = f"labels: [{{layout: long, kind: preference, annotator: who, value: v}}]\n{GOLD}"
TWO_VALUES = "the gold of item '1' is stated twice: 1 and 2"


@pytest.mark.parametrize(
    ("rows", "mapping", "message"),
    [
        ([pair()], PAIR + "join: {file: other.csv}", "there is no file 'other.csv' next to table.json"),
        ([pair()], PAIR + "join: {file: ../gold.csv}", "without a path"),
        ([pair()], PAIR + "join: {file: gold.csv}", "only gold.csv has record 2"),
        ([pair()], PAIR + "join: {file: gold.csv, key: q, other_key: name}", "gold.csv has no record 'Say hello.'"),
        ([pair()], PAIR + "join: {file: gold.csv, many: true}", "need a `key`"),
        ([pair()], PAIR + "join: {file: gold.csv, key: id, other_key: name, where: {winner: 3}}",
         "no record of gold.csv has these values"),
        ([{"id": 1, "instances": [{"a": "x"}]}], "id: id\nresponses: [{text: a}]", "add `explode: instances`"),
        ([pair()], PAIR + "judges: [{kind: preference, judge: {constant: j}, value: v}]", "there are a, b, id, q"),
        ([pair()], PAIR + "judges: [{kind: preference}]", "give either `judge` and `value` or `ranking`, or `columns`"),
        ([pair()], PAIR + "judges: [{kind: preference, judge: {constant: j}, value: a, orders: JudgeBench}]",
         "`orders` needs `swapped`"),
        ([pair()], PAIR + "labels: [{layout: list, kind: preference, value: v, annotators: r}]", "a template with {n}"),
        ([pair()], "id: id\nresponses: [{name: x}]", "a response needs a `text`"),
        ([pair(g=9)], PAIR + GOLD, "expected one of 1, 2, 0, not 9"),
        ([pair(who="a", v=1, g=1), pair(who="b", v=1, g=2)], PAIR + GOLD_OF_ROWS, TWO_VALUES),
        ([pair(g=1, h=2)], PAIR + f"{GOLD[:-1]}, {{kind: preference, value: h}}]", TWO_VALUES),
        ([{"id": "1", "q": "?", "a": ["depth", "style"], "w": [1, 2, 3]}], WEIGHTS,
         "expected one weight for each of 2 different aspects, and there are 3"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_next_step(tmp_path: Path, rows: Any, mapping: str, message: str) -> None:
    (tmp_path / "gold.csv").write_text("name,winner\n1,2\n2,1\n")
    with pytest.raises(FileFormatError) as refused:
        read(tmp_path, rows, mapping)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "a: !!timestamp 2024-99-99", "a: !!int " + "9" * 5000, "a: " + "[" * 3000 + "]" * 3000, "? [a]\n: c", "a: *b",
        "a: " + "{b: " * 100 + "1" + "}" * 100,
    ],
)  # fmt: skip
def test_odd_yaml_is_one_sentence(text: str) -> None:
    with pytest.raises(FileFormatError, match="expected YAML"):
        parse_fields(text)


def test_dates_and_long_numbers_in_yaml_are_text() -> None:
    fields = parse_fields("a: 2024-13-45\nb: " + "9" * 5000)
    assert fields == {"a": "2024-13-45", "b": "9" * 5000}


cells = st.none() | st.booleans() | st.integers(-2, 9) | st.floats(allow_nan=False) | st.text(max_size=4)
json_cells = st.recursive(
    cells, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abx"), inner, max_size=3)
)
tables = st.lists(st.dictionaries(st.sampled_from("iabgjv"), json_cells, max_size=6), min_size=1, max_size=4)
fields = st.sampled_from(
    ["i", "a", "b", "g", "j", "v", "a.x", "{row}", "{i}-{element}", {"constant": "k"}, "a.-1", "a.:1"]
)
values = fields | st.sampled_from(
    [
        {"compare": ["a", "b"], "margin": 1},
        {"compare": ["a", {"constant": "1"}]},
        {"field": "a", "after_last": "0"},
        {"system": "a"},
    ]
)
kinds = st.sampled_from(["preference", "score"])
scales = st.sampled_from(
    [None, {"level": "ordinal", "categories": [1, 2, 3]}, {"level": "interval", "low": 0, "high": 9}]
)
weights = st.fixed_dictionaries({"judge": fields, "aspects": st.just({"x": "a", "y": "b"})}) | st.fixed_dictionaries(
    {"judge": fields, "value": fields}, optional={"aspects_field": fields, "separator": st.just(";")}
)
response_fields = st.fixed_dictionaries({"text": fields}, optional={"each": fields})
blocks = st.fixed_dictionaries(
    {"kind": kinds, "value": values},
    optional={
        "ranking": st.fixed_dictionaries({"ranks": fields}, optional={"of": fields}),
        "each": st.sampled_from(["a", "v"]), "aggregate": st.sampled_from(["sum", "mean", "first", "last"]),
        "criterion_field": fields,
        "scale": scales, "judge": fields, "criteria": st.lists(st.text(max_size=2), max_size=2),
        "layout": st.sampled_from(["list", "long", "wide", "ranking"]), "annotators": st.just("r{n}"),
        "annotator": fields,
        "order": fields, "swapped": fields, "stage": st.sampled_from(["first", "last", "verdict"]),
    },
)  # fmt: skip
drafts = st.fixed_dictionaries(
    {"id": fields},
    optional={
        "prompt": fields, "responses": st.lists(response_fields, max_size=2),
        "explode": st.sampled_from(["a", "v", "*", ["a", "x"], ["*", "a"]]), "labels": st.lists(blocks, max_size=2),
        "judges": st.lists(blocks, max_size=2), "gold": st.lists(blocks, max_size=2),
        "weights": st.lists(weights, max_size=1), "shuffle": st.booleans(),
        "where": st.dictionaries(st.sampled_from("iab"), st.lists(st.text(max_size=1), max_size=3), max_size=1),
    },
)  # fmt: skip


EXAMPLES = int(os.environ.get("TIEBREAK_EXAMPLES", settings.default.max_examples))
"""Generated tables; a thorough search takes 10,000."""


@settings(max_examples=EXAMPLES)
@given(rows=tables, draft=drafts)
def test_a_table_is_imported_whole_or_refused_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], draft: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("tables") / "table.json"
    try:
        path.write_text(json.dumps(rows))
        mapping = mappings.build_mapping(parse_fields(yaml.safe_dump(draft)))
        records = list(table.read(path, mapping))
    except TiebreakError as error:
        sentence = str(error)
        assert sentence and "\n" not in sentence and len(sentence) < 600
        return
    items = {record.item.id for record in of_kind(records, ItemRecord)}
    assert items
    assert {record.label.target.item for record in of_kind(records, LabelRecord)} <= items
    assert {record.item for record in of_kind(records, TraceRecord)} <= items
    runs = [record.name for record in of_kind(records, RunRecord)]
    assert len(runs) == len(set(runs)) and {record.run for record in of_kind(records, TraceRecord)} == set(runs)


usual = st.sampled_from(
    ["id", "prompt", "answer", "response_a", "response_b", "chosen", "rejected", "judge", "label", "responses"]
)
records = st.dictionaries(st.sampled_from(["role", "content", "text", "score"]), cells, max_size=3)
usual_cells = json_cells | st.lists(st.fixed_dictionaries({"role": cells, "content": cells}) | records, max_size=3)


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(rows=st.lists(st.dictionaries(usual, usual_cells, max_size=8), min_size=1, max_size=4))
@example(rows=[{"id": [{"role": None, "content": 9e307}, {"role": None, "content": 0.5}]}])
def test_a_mapping_is_suggested_for_any_table_or_refused_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("tables") / "table.json"
    path.write_text(json.dumps(rows))
    try:
        records = list(table.read(path, mappings.build_mapping(suggest_table(path))))
    except TiebreakError as error:
        sentence = str(error)
        assert "\n" not in sentence and len(sentence) < 600
        return
    assert of_kind(records, ItemRecord)


LONG_WITH_JUDGE = f"""{PAIR}
labels: [{{layout: long, kind: preference, annotator: who, value: v}}]
judges: [{{kind: preference, columns: [j]}}]
"""


def test_a_long_table_repeats_the_verdict_of_a_judge_on_each_row(tmp_path: Path) -> None:
    rows = [{"id": 1, "q": "?", "a": "x", "b": "y", "who": who, "v": 1, "j": 2} for who in ("ann", "ben")]
    records = read(tmp_path, rows, LONG_WITH_JUDGE)
    assert len(labels_of(records)) == 2
    assert [verdict.value for verdict in verdicts(records).values()] == [2]
    (trace,) = of_kind(records, TraceRecord)
    assert len([event for event in trace.events if isinstance(event, TurnCompleted)]) == 1
    rows[1]["j"] = 1
    with pytest.raises(FileFormatError, match="the verdict of 'j' on item '1' to be the same in all its rows"):
        read(tmp_path, rows, LONG_WITH_JUDGE)


def test_a_refused_name_of_an_annotator_has_its_line_and_field(tmp_path: Path) -> None:
    rows = f"id,q,a,b,who,v,j\n1,?,x,y,ann,1,2\n2,?,x,y,{'n' * 81},1,2\n"
    with pytest.raises(FileFormatError, match="line 3, field 'who': A name has at most 80 characters"):
        read(tmp_path, rows, LONG_WITH_JUDGE, "t.csv")


def test_a_verdict_has_the_confidence_of_its_column(tmp_path: Path) -> None:
    mapping = PAIR + "judges: [{kind: preference, judge: {constant: GPT}, value: v, confidence: c}]"
    rows = [{"id": n, "q": "q", "a": "a", "b": "b", "v": 1, "c": c} for n, c in enumerate([0.9, "0.5", None])]
    found = verdicts(read(tmp_path, rows, mapping))
    assert [verdict.opinions[0].confidence for verdict in found.values()] == [0.9, 0.5, None]
    with pytest.raises(FileFormatError, match="confidence"):
        read(tmp_path, [rows[0] | {"c": "sure"}], mapping)
    columns = PAIR + "judges: [{kind: preference, columns: {v: GPT}, confidence: {v: c}}]"
    assert verdicts(read(tmp_path, rows, columns)) == found
    with pytest.raises(TiebreakError, match="`confidence` is a field beside `value`"):
        mappings.build_mapping(parse_fields(mapping.replace("judge: {constant: GPT}, value: v", "columns: {v: GPT}")))


def test_preferences_are_between_two_of_several_responses(tmp_path: Path) -> None:
    path = write_content(tmp_path / "t.csv", "id,a,b,c,ab,ac,gold,j\n1,So.,Thus.,Hence.,1,2,0,2\n2,Now.,Then.,,1,,,\n")
    label = {"layout": "wide", "kind": "preference"}
    draft = {
        "id": "id",
        "responses": [{"text": "a"}, {"text": "b"}, {"text": "c", "optional": True}],
        "labels": [
            label | {"annotators": {"ab": "ann"}, "pair": [1, 2]},
            label | {"annotators": {"ac": "ann"}, "pair": [1, 3], "confirmed": False},
        ],
        "gold": [{"kind": "preference", "value": "gold", "pair": [1, 3], "confirmed": True}],
        "judges": [{"kind": "preference", "judge": {"constant": "m"}, "value": "j", "pair": [2, 3]}],
    }
    mapping = mappings.build_mapping(draft)
    (question,) = table.questions(path, mapping)
    assert question.reading() == "'1' is response 1, '2' is response 3, '0' is a tie"
    draft["labels"][1] = {**draft["labels"][1], "confirmed": True}
    records = list(table.read(path, mappings.build_mapping(draft)))
    labels = labels_of(records)
    found = [(own.target.item, own.target.part, own.value) for own in labels]
    assert found == [("1", "1-2", 1), ("1", "1-3", 2), ("2", "", 1)], "item 2 has only two responses"
    golds = gold_of(records)
    assert [(own.target.item, own.target.part, own.value) for own in golds] == [("1", "1-3", 0)]
    (verdict,) = verdicts_of(records)
    assert [(own.part, own.value) for own in verdict.opinions] == [("2-3", 2)]
    for pair in ([2, 1], [0, 1], [1]):
        with pytest.raises(FileFormatError):
            mappings.build_mapping(draft | {"labels": [label | {"annotators": ["ab"], "pair": pair}]})
    with pytest.raises(FileFormatError, match="between two responses"):
        mappings.build_mapping(draft | {"judges": [{**draft["judges"][0], "order": "ab"}]})


def test_numbers_of_which_fewer_are_better_are_negative_and_words_keep_their_meaning(tmp_path: Path) -> None:
    row = {"id": "1", "text": "So.", "errors": [{"kind": "style"}, {"kind": "style"}], "count": "12"}
    path = write_content(tmp_path / "t.jsonl", [row, row | {"id": "2", "errors": [], "count": "-2"}])
    scale = {"level": "interval", "low": -50, "high": 0}
    marks = {"layout": "long", "kind": "score", "each": "errors", "annotator": {"constant": "ann"}, "negative": True}
    marks |= {"criterion_field": "kind", "value": {"constant": "1"}, "aggregate": "sum", "scale": scale}
    gold = {"kind": "score", "criterion": "errors", "value": "count", "negative": True, "scale": scale}
    gold["values"] = {"-2": None}
    draft = {"id": "id", "responses": [{"text": "text"}], "labels": [marks], "gold": [gold]}
    records = list(table.read(path, mappings.build_mapping(draft)))
    assert [own.value for own in labels_of(records)] == [-2]
    assert [own.value for own in gold_of(records)] == [-12]
    stated, _ = table.statements(path, mappings.build_mapping(draft))
    assert stated[1].lines() == ["'-2' -> no value: 1 times", "'12' -> -12: 1 times"]
    with pytest.raises(FileFormatError, match="`negative` is for a scale with `low` and `high`"):
        mappings.build_mapping(draft | {"gold": [gold | {"scale": {"level": "ordinal", "categories": [1, 2]}}]})
    stated_scale = apply_scales({"gold": [{"kind": "score", "value": "count", "scale": scale}]}, {"count": "100-0"})
    assert stated_scale["gold"][0]["negative"] and stated_scale["gold"][0]["scale"]["low"] == -100


def test_unused_fields_of_elements_that_are_named_by_their_number_are_listed(tmp_path: Path) -> None:
    turns = [{"text": f"Turn {n}.", "rating": n} for n in range(2)]
    path = write_content(tmp_path / "t.jsonl", [{"id": "1", "turns": turns, "scores": [1, 2, 3]}])
    draft = {"id": "id", "prompt": "turns.0.text", "responses": [{"text": "turns.1.text"}]}
    draft["gold"] = [{"kind": "score", "value": "scores.0", "scale": {"level": "ordinal", "categories": [1, 2]}}]
    assert unused_fields(path, mappings.build_mapping(draft)) == ["scores.1:", "turns[].rating"]


LONG = "id,question,score,who\n1,Q1,3,ann\n1,Q2,4,ann\n1,Q1,2,ben\n2,Q1,5,ann\n9,Q3,5,ann\n"


def test_the_first_row_can_lack_the_record_of_an_optional_file(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("key,text\n2,So.\n", encoding="utf-8")
    path = write_content(tmp_path / "t.csv", "key,who,good\n1,ann,Yes\n2,ann,No\n")
    scale = {"level": "nominal", "categories": ["No", "Yes"]}
    label = {"layout": "long", "kind": "answer", "annotator": "who", "value": "good", "scale": scale}
    draft = {"id": "key", "where": {"key": "2"}, "responses": [{"text": "joined.text"}], "labels": [label]}
    draft["join"] = {"file": "texts.csv", "key": "key", "optional": True}
    records = list(table.read(path, mappings.build_mapping(draft)))
    assert [own.responses[0].text for own in items_of(records)] == ["So."]
    draft["responses"] = [{"text": "joined.words"}]
    with pytest.raises(FileFormatError, match=r"line 3, field 'joined\.words'"):
        list(table.read(path, mappings.build_mapping(draft)))


def read_long(
    path: Path, join: dict[str, object], block: dict[str, object]
) -> tuple[list[tuple[object, ...]], list[str]]:
    """Return the labels of three items with those of a long table, and the notes."""
    (path / "long.csv").write_text(LONG, encoding="utf-8")
    table_path = write_content(path / "t.csv", "id,a\n1,Water.\n2,Ice.\n3,Balls.\n")
    scale = {"level": "ordinal", "categories": [1, 2, 3, 4, 5]}
    draft = {
        "id": "id",
        "responses": [{"text": "a"}],
        "join": {"file": "long.csv", "key": "id", "optional": True} | join,
    }
    draft["labels"] = [{"layout": "long", "kind": "score", "scale": scale} | block]
    mapping = mappings.build_mapping(draft)
    labels = labels_of(table.read(table_path, mapping))
    found = [(own.target.item, own.annotator, own.target.criterion, own.value) for own in labels]
    assert "who" not in {name.rpartition(".")[2] for name in unused_fields(table_path, mapping)}
    return found, table.read_outcome(table_path, mapping).lines()


def test_several_records_of_a_key_are_a_list_and_what_no_block_selects_is_counted(tmp_path: Path) -> None:
    block = {"each": "joined", "annotator": "who", "value": "score", "criterion_field": "question"}
    found, notes = read_long(tmp_path, {"many": True}, block | {"where": {"who": "ann"}})
    assert found == [("1", "ann", "Q1", 3), ("1", "ann", "Q2", 4), ("2", "ann", "Q1", 5)]
    assert "1 left out: rows, or elements of lists, that no `where` of a block selects" in notes
    assert "1 rows have no record in a joined file" in notes
    assert "1 left out: records of a joined file that no row names" in notes
    with pytest.raises(FileFormatError, match=r"long\.csv has '1' more than once; .*`many: true`"):
        read_long(tmp_path, {}, block)


def test_records_of_a_joined_file_are_selected_by_their_values(tmp_path: Path) -> None:
    block = {"annotator": "joined.who", "value": "joined.score", "criterion": "Q2"}
    found, notes = read_long(tmp_path, {"where": {"question": "Q2"}}, block)
    assert found == [("1", "ann", "Q2", 4)]
    assert "4 left out: records of a joined file that no row names" in notes


def test_sums_of_several_values_and_of_lists_in_several_rows_are_counted(tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "So.", "marks": [1, 1]}, {"id": "2", "text": "Thus.", "marks": [1, 1]}]
    path = write_content(tmp_path / "t.jsonl", [*rows, rows[1], {**rows[0], "id": "3", "marks": [1]}])
    label = {"layout": "long", "kind": "score", "each": "marks", "annotator": {"constant": "ann"}, "value": "marks"}
    label |= {"aggregate": "sum", "scale": {"level": "interval", "low": 0, "high": 9}}
    draft = {"id": "id", "responses": [{"text": "text"}], "labels": [label]}
    notes = table.read_outcome(path, mappings.build_mapping(draft)).lines()
    assert "2 labels are the sum or mean of 6 values" in notes
    assert any(note.startswith("1 of them are of lists in several rows") for note in notes)
    one_line = write_content(tmp_path / "t.json", [*rows, rows[1]])
    notes = table.read_outcome(one_line, mappings.build_mapping(draft)).lines()
    assert any(note.startswith("1 of them are of lists in several rows") for note in notes)


def test_what_an_empty_cell_means_is_stated_as_it_is_imported(tmp_path: Path) -> None:
    rows = [{"id": "1", "ann": "left", "j": "left"}, {"id": "2", "ann": None, "j": ""}, {"id": "3"}]
    path = write_content(tmp_path / "t.jsonl", [row | {"a": "So.", "b": "Thus."} for row in rows])
    block = {"kind": "preference", "values": {"left": 1, "": 0}}
    draft = {
        "id": "id",
        "responses": [{"text": "a"}, {"text": "b"}],
        "labels": [block | {"layout": "wide", "annotators": ["ann"]}],
        "judges": [block | {"judge": {"constant": "m"}, "value": "j"}],
    }
    mapping = mappings.build_mapping(draft)
    for own in table.statements(path, mapping)[0]:
        assert own.lines() == ["'' -> a tie: 1 times", "'left' -> response 1: 1 times"]
    records = list(table.read(path, mapping))
    assert [own.value for own in labels_of(records)] == [1, 0]
    assert [own.value for own in verdicts_of(records)] == [1, 0]


def test_fields_of_the_row_around_a_list_are_used_by_its_block(tmp_path: Path) -> None:
    path = write_content(tmp_path / "t.jsonl", [{"id": "1", "a": "So.", "who": "ann", "marks": [{"kind": "x"}]}])
    block = {"layout": "long", "kind": "score", "each": "marks", "annotator": "who", "value": {"constant": "1"}}
    block |= {"criterion_field": "kind", "aggregate": "sum", "scale": {"level": "interval", "low": 0, "high": 9}}
    draft = {"id": "id", "responses": [{"text": "a"}], "labels": [block]}
    assert unused_fields(path, mappings.build_mapping(draft)) == []
