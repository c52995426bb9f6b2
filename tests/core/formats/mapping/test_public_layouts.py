"""The layouts of public data sets are imported by the mappings in docs/mappings, from small files of our own."""

from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.items import is_exchanged
from core.formats.mapping.mapping import build_mapping, dump_mapping, load_mappings
from core.formats.mapping.suggest import suggest_table
from core.formats.records import AdjudicationRecord, LabelRecord, Record, TraceRecord
from core.formats.registry import read_records
from core.trace import VerdictReached
from tests.core.formats.mapping.test_judges_and_gold import read
from tests.core.formats.shared import MAPPINGS, items_of, labels_of, of_kind, verdicts_of
from tests.paths import ROOT

LAYOUTS = ROOT / "tests" / "fixtures" / "layouts"
FIRST = {"alignbench": "data.jsonl", "faireval": "question.jsonl", "flask": "reviews.jsonl"}
"""Layouts of several files -> the table."""
PREFERRED = {"reward_bench": "!", "hh_rlhf": "Knock"}
"""Layouts whose first response is the preferred one -> a part of its text."""
VALUES: dict[str, dict[str, list[Any]]] = {
    "mt_bench": {"labels": [2, 0]},
    "chatbot_arena": {"labels": [1, 0]},
    "alpaca_eval": {"judges": [1, 0, 2]},
    "summeval": {"labels": [2, 1, 2, 5, 5, 5, 4, 4, 4, 3, 3, 3, *[2] * 5, *[5] * 5, *[4] * 5, *[5] * 5] * 2},
    "helpsteer2": {"labels": [4, 4, 3, 0, 1]},
    "helpsteer3": {"labels": [1, 0], "gold": [1]},
    "ultrafeedback": {"judges": [5] * 4 + [None] * 4 + [2] * 4},
    "llmbar": {"gold": [2]},
    "reasoning": {"gold": ["B", "A"]},
    "judgebench": {"gold": [1, 2]},
    "judgebench_judges": {"gold": [1, 1], "judges": [1, None]},
    "feedback_bench": {"gold": [3, 5], "judges": [3, 5]},
    "wmt_mqm": {"labels": [-6, 0, -25]},
    "hanna": {"labels": [1, 2, 3, 4, 5, 1, 2, 2, 2, 2, 2, 2]},
    "shp": {"gold": [1, 2]},
    "oasst": {"labels": [0.75, 1, 0] * 2},
    "beavertails": {"gold": [False, False, True]},
    "alignbench": {},
    "flask": {"judges": [5, None]},
    "summarize_from_feedback": {"labels": [1]},
    "webgpt": {"labels": [1, 0, 2]},
    "nectar": {"judges": [2, 1, 1]},
    "faireval": {"labels": [2]},
    "openmeva": {"labels": [4, 3, 1, 4, 3, 1, 4, 3, 2, 4, 3, 2]},
    "newsroom": {"labels": [1, 4, 3, 2, 1, 4, 3, 2, 5, 4, 3, 2, 5, 4, 3, 2]},
    "llm_comparator": {"judges": [1, 0]},
    "qags": {"labels": ["yes", "yes", "no", "yes"]},
}


def table_of(name: str) -> Path:
    return LAYOUTS / name / FIRST[name] if name in FIRST else next((LAYOUTS / name).iterdir())


def imported(name: str) -> list[Record]:
    return list(read_records(table_of(name), mapping=load_mappings(MAPPINGS / f"{name}.yaml")[0]))


def values(records: list[Record]) -> dict[str, list[Any]]:
    """Return the values of labels, gold and judges in the order of the records."""
    found: dict[str, list[Any]] = {}
    for record in records:
        match record:
            case LabelRecord(label=label):
                found.setdefault("labels", []).append(label.value)
            case AdjudicationRecord(ruling=ruling):
                found.setdefault("gold", []).append(ruling.value)
            case TraceRecord(events=(*_, VerdictReached(verdict=verdict))):
                found.setdefault("judges", []).extend(opinion.value for opinion in verdict.opinions)
    return found


@pytest.mark.parametrize("name", VALUES)
def test_a_public_layout_has_its_items_and_values(name: str) -> None:
    records = imported(name)
    assert values(records) == VALUES[name]
    assert all(item.prompt and all(response.text for response in item.responses) for item in items_of(records))


@pytest.mark.parametrize("name", PREFERRED)
def test_shuffled_responses_are_in_either_order_and_the_gold_names_the_chosen_one(name: str) -> None:
    records = imported(name)
    gold = values(records)["gold"]
    chosen = [item.responses[value - 1].text for item, value in zip(items_of(records), gold, strict=True)]
    assert set(gold) == {1, 2}
    assert all(PREFERRED[name] in text for text in chosen)


def test_questions_of_mt_bench_have_their_category_as_scenario(tmp_path: Path) -> None:
    assert [item.scenario for item in items_of(imported("mt_bench"))] == [None]
    path = tmp_path / "data.jsonl"
    question = (
        "Compose an engaging travel blog post about a recent trip to Hawaii, highlighting cultural experiences and"
    )
    path.write_text(table_of("mt_bench").read_text().replace("Name a river.", f"{question} must-see attractions."))
    records = list(read_records(path, mapping=load_mappings(MAPPINGS / "mt_bench.yaml")[0]))
    assert [item.scenario for item in items_of(records)] == ["writing"]


def test_every_mapping_in_the_documentation_has_a_test_of_its_layout() -> None:
    others = {"pandalm", "pandalm_judge", "topical_chat", "metacritique_benchmark"}
    assert {path.stem for path in MAPPINGS.glob("*.yaml")} == {*VALUES, *PREFERRED, *others}
    assert {*VALUES, *PREFERRED} == {folder.name for folder in LAYOUTS.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("name", sorted(path.stem for path in MAPPINGS.glob("*.yaml")))
def test_a_dumped_mapping_is_read_back_equal(tmp_path: Path, name: str) -> None:
    mapping = load_mappings(MAPPINGS / f"{name}.yaml")[0]
    (tmp_path / "mapping.yaml").write_text(dump_mapping(mapping), encoding="utf-8")
    assert load_mappings(tmp_path / "mapping.yaml")[0] == mapping


def test_a_conversation_is_one_text_with_its_roles() -> None:
    (item,) = items_of(imported("helpsteer3"))
    assert item.prompt == "user: Name a river.\n\nassistant: The Rhine.\n\nuser: Another one?"


def test_a_slice_of_a_conversation_and_its_last_message(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": [{"type": "text", "text": "A"}]}]
    (item,) = items_of(
        read(tmp_path, [{"chosen": turns}], 'id: "{row}"\nprompt: "chosen.:-1"\nresponses: [{text: chosen.-1}]')
    )
    assert (item.prompt, item.responses[0].text) == ("Q", "A")


def test_the_errors_of_one_rater_are_one_label_with_all_categories() -> None:
    labels = labels_of(imported("wmt_mqm"))
    assert (labels[0].value, labels[0].reason) == (-6, "Accuracy/Omission\nFluency/Grammar")


def test_shuffling_exchanges_labels_judges_and_the_order_they_were_shown_in(tmp_path: Path) -> None:
    mapping = """
id: id
prompt: q
shuffle: true
responses: [{text: a}, {text: b}]
labels: [{layout: wide, kind: preference, annotators: [ann]}]
judges: [{kind: preference, judge: {constant: g}, value: g, order: order}]
"""
    rows = [{"id": str(n), "q": "Q", "a": "A", "b": "B", "ann": 1, "g": 2, "order": "12"} for n in range(8)]
    records = read(tmp_path, rows, mapping)
    shown = [record.events[0].turn.shown for record in of_kind(records, TraceRecord)]
    exchanged = [is_exchanged(row["id"]) for row in rows]
    assert [item.responses[0].text for item in items_of(records)] == ["B" if other else "A" for other in exchanged]
    assert values(records) == {
        "labels": [1 + other for other in exchanged],
        "judges": [2 - other for other in exchanged],
    }
    assert shown == [(2, 1) if other else (1, 2) for other in exchanged]


LABELS = "labels: [{layout: long, kind: preference,"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("shuffle: true", "`shuffle` is for items with two responses"),
        ("explode: [votes, who]", "field 'who': expected a list, not 'Ann'"),
        ("join: [{file: a.csv, key: a}, {file: b.csv, key: a}]", "two files of `join` have the same `name`"),
        ("where: {kind: [x]}", "field 'where': no record has these values, so there is no item"),
        (f"{LABELS} annotator: '{{element}}', value: v}}]", "add `explode`, or `each`"),
        (f"{LABELS} each: votes, annotator: who, value: wert}}]", "field 'wert': no element of 'votes' has this field"),
        (f"{LABELS} each: vote, annotator: who, value: v}}]", "field 'vote': no record of the file has this field"),
        ("labels: [{layout: wide, kind: preference, annotators: [v]}]", "add `each: votes`"),
        (
            "gold: [{kind: score, value: {compare: [a, a]}, scale: {level: interval, low: 0, high: 1}}]",
            "give a preference, not a score",
        ),
        ("gold: [{kind: preference, value: {compare: [a, a]}}]", "field 'a': expected a number to compare, not 'text'"),
        ("gold: [{kind: preference, value: {field: a}}]", "`first_words`, `remove` or `divider`"),
        ("gold: [{kind: preference, value: 3}]", "expected a field, or {constant: ...}"),
        (f"{LABELS} annotator: a, value: v, aggregate: sum}}]", "a sum or mean needs a scale with `low` and `high`"),
    ],
)
def test_a_wrong_mapping_is_refused_with_the_reason(tmp_path: Path, fields: str, message: str) -> None:
    rows = [{"a": "text", "kind": "y", "votes": [{"who": "Ann", "v": 1}]}]
    with pytest.raises(FileFormatError) as caught:
        read(tmp_path, rows, f'id: "{{row}}"\nresponses: [{{text: a}}]\n{fields}')
    assert message in str(caught.value)


def test_a_sum_beyond_the_scale_is_refused(tmp_path: Path) -> None:
    rows = [{"a": "text", "who": "Ann", "v": -20}] * 2
    mapping = """
id: {constant: x}
responses: [{text: a}]
labels:
  - {layout: long, kind: score, annotator: who, value: v, aggregate: sum, scale: {level: interval, low: -25, high: 0}}
"""
    with pytest.raises(FileFormatError, match="expected a number from -25 to 0, not -40"):
        read(tmp_path, rows, mapping)


def test_a_ranking_is_a_preference_for_each_pair(tmp_path: Path) -> None:
    mapping = """
id: id
responses: [{text: a}, {text: b}, {text: c}]
labels:
  - {layout: ranking, annotator: who, ranking: {ranks: [ra, rb, rc]}}
"""
    rows = "id,a,b,c,who,ra,rb,rc\n1,A,B,C,ann,1,2,2\n1,A,B,C,ben,3,,1\n"
    labels = labels_of(read(tmp_path, rows, mapping, "t.csv"))
    found = [(label.annotator, label.target.part, label.value) for label in labels]
    assert found == [("ann", "1-2", 1), ("ann", "1-3", 1), ("ann", "2-3", 0), ("ben", "1-3", 2)]
    with pytest.raises(FileFormatError, match=r"line 2, field 'ra': expected a rank from 0 on .*not 'x'"):
        read(tmp_path, rows.replace("ann,1", "ann,x"), mapping, "t.csv")
    blank = rows.replace("ben,3,,1", "ben,3,-1,1")
    with pytest.raises(FileFormatError, match=r"line 3, field 'rb': expected a rank from 0 on .*add it to `values`"):
        read(tmp_path, blank, mapping, "t.csv")
    stated = mapping.replace("annotator: who", 'values: {"-1": null}, annotator: who')
    assert labels == labels_of(read(tmp_path, blank, stated, "t.csv"))
    two = mapping.replace(", {text: c}", "")
    with pytest.raises(FileFormatError, match="expected a rank for each of 2 responses, not 3"):
        read(tmp_path, rows, two, "t.csv")


def test_the_judges_ranking_of_a_pair_is_a_preference_for_the_item(tmp_path: Path) -> None:
    mapping = """
id: id
responses: [{text: a}, {text: b}]
judges: [{kind: preference, judge: {constant: g}, ranking: {ranks: scores, higher_is_better: true}}]
"""
    records = read(tmp_path, [{"id": "1", "a": "A", "b": "B", "scores": [3, 7]}], mapping)
    (opinion,) = verdicts_of(records)[0].opinions
    assert (opinion.part, opinion.value) == ("", 2)


WINNERS = "prompt,model_a,model_b,response_a,response_b,winner\nQ,x,y,A,B,y\nR,y,x,A,B,y\nS,x,y,A,B,tie\n"


def test_a_winner_can_be_the_name_of_a_system(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(WINNERS, encoding="utf-8")
    draft = suggest_table(tmp_path / "t.csv")
    assert draft["gold"] == [
        {"kind": "preference", "value": {"system": "winner"}, "values": {"tie": 0}, "source": "column winner"}
    ]
    assert values(list(read_records(tmp_path / "t.csv", mapping=build_mapping(draft)))) == {"gold": [2, 1, 0]}
    (tmp_path / "t.csv").write_text(WINNERS.replace("tie", "z"), encoding="utf-8")
    with pytest.raises(FileFormatError, match="line 4, field 'winner': expected one of 1, 2, 0, tie, not 'z'"):
        list(read_records(tmp_path / "t.csv", mapping=build_mapping(draft)))


def test_a_system_is_a_part_of_a_field_and_numbered_objects_are_items(tmp_path: Path) -> None:
    rows = {"1": {"text": "A", "run": "gpt-7"}, "2": {"text": "B", "run": "llama-8"}}
    mapping = 'explode: "*"\nid: "{element}"\nresponses: [{text: text, system: {field: run, before_last: "-"}}]'
    items = items_of(read(tmp_path, rows, mapping, "t.json"))
    assert [own.responses[0].system for own in items] == ["gpt", "llama"]
