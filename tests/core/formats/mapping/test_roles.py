"""Roles of columns are suggested from their values, whatever the columns are called."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.suggest import (
    apply_roles,
    apply_scales,
    apply_values,
    state_row_names,
    state_unused_labels,
    suggest_table,
)
from core.formats.mapping.table import questions, read_outcome, roles, statements
from core.formats.registry import read_records
from tests.core.formats.mapping.test_public_layouts import confirmed
from tests.core.formats.mapping.test_suggested_layouts import values_of
from tests.core.formats.shared import write_content

RANGE = range(12)
WORDS = ["red", "green", "blue", "grey", "pink", "cyan", "lime", "gold", "teal", "navy", "plum", "rust"]


def text(*parts: Any) -> str:
    return f"The {' '.join(map(str, parts))} house stands on a hill near the sea"


def write(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    return write_content(tmp_path / "t.json", rows)


RATED = [
    {"seg": n, "bot": bot, "complex_line": text(WORDS[n]), "easy_line": text(WORDS[n], bot), "turker": f"t{k}"}
    | {"ease": (7 * n + 13 * k) % 10 * 10, "bleu": 0.1234567 * n}
    for n in RANGE
    for bot in ("x", "y")
    for k in range(3)
]
GROUNDED = [
    {"bot": "xyz"[n % 3], "corpus": "wow", "knowledge": text("known", WORDS[n]), "message": text("asked", WORDS[n])}
    | {"reply": text("said", WORDS[n]), "attribution": ["full", "not", "generic", "not"][n % 4]}
    for n in RANGE
]
AGENTS = [
    {
        "who": f"user_{n % 3}",
        "judge": f"p{n % 3}",
        "task_id": f"web.{n // 2}",
        "bench": f"b{n // 6}",
        "agent_name": "xy"[n % 2],
    }
    | {"went_well": ["yes", "no", "unsure", "no", "yes"][n % 5]}
    for n in RANGE
]
NESTED = [
    {"passage": f"p{n}", "tasks": {str(k): {bot: {"response": text(n, k, bot), "reviews": [
        {"worker": f"w{w}", "overall-rating": (n + k + w) % 5 * 20} for w in range(3)
    ]} for bot in ("x", "y")} for k in range(2)}}
    for n in RANGE
]  # fmt: skip
LISTED = [
    {"doc": text("long", WORDS[n]), "key": f"k{n}", "samples": [
        {"model": f"m{k % 2}", "prompt": f"short-{k // 2}", "explanation": text(n, k)}
        | {"mark": ["good", "bad", "odd"][(n + k) % 3]}
        for k in range(4)
    ]}
    for n in RANGE
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "id", "prompt", "responses", "people", "count"),
    [
        (RATED, "{seg}-{bot}", "complex_line", [{"text": "easy_line", "system": "bot"}], {"t0", "t1", "t2"}, 24),
        (GROUNDED, "{row}", "message", [{"text": "reply", "system": "bot"}], {"gold"}, 12),
        (AGENTS, "{task_id}-{agent_name}", "task_id", [{"text": "agent_name", "system": "agent_name"}], {"p0"}, 12),
        (NESTED, "{row}-{element}", None, [{"text": f"{b}.response", "name": b} for b in "xy"], {"w0", "w1", "w2"}, 24),
        (LISTED, "{row}-{element}", "doc", [{"text": "explanation", "system": "{model} {prompt}"}], {"gold"}, 48),
    ],
)  # fmt: skip
def test_roles_of_columns(
    tmp_path: Path, rows: Any, id: str, prompt: str | None, responses: Any, people: set[str], count: int
) -> None:
    path = write(tmp_path, rows)
    draft = suggest_table(path)
    assert (draft["id"], draft.get("prompt"), draft["responses"]) == (id, prompt, responses)
    items, values = values_of(path)
    assert len(items) == count and {person for _, _, person in values} == people
    mapping = build_mapping(draft)  # what is guessed from values is confirmed by a person, the roles too
    assert questions(path, mapping) and not mapping.confirmed and len(roles(path, mapping)) > len(responses)
    with pytest.raises(FileFormatError, match="guessed from their values"):
        list(read_records(path, mapping=mapping))


def test_measured_numbers_and_facts_are_no_labels(tmp_path: Path) -> None:
    (block,) = suggest_table(write(tmp_path, RATED))["labels"]
    assert (block["value"], block["annotator"], block["scale"]["high"]) == ("ease", "turker", 100)
    draft = suggest_table(write(tmp_path, AGENTS))
    assert [own["value"] for own in draft["labels"]] == ["went_well"]


def test_unused_values_that_look_like_labels_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, [{"prompt": text(n), "response": text(n, n), "verdict_of_all": n % 2} for n in RANGE])
    draft = suggest_table(path)
    assert state_unused_labels(path, [confirmed(path, {})]) == ""
    alone = build_mapping({name: draft[name] for name in ("id", "prompt", "responses")})
    assert state_unused_labels(path, [alone]) == "Not used, and the values look like labels: verdict_of_all."


PAIRED = [
    {"question_id": n // 2, "model_1": "abc"[n % 3], "model_2": "bca"[n % 3], "turn": n % 2 + 1}
    | {f"winner{k}": ["model_1", "model_2", "tie"][(n * n // 4 + k) % 3] for k in (1, 2, 3)}
    for n in RANGE
]
CODED = [
    {"art_id": n, "ann": f"Ann. {k}", "criteriaID": c, "annotation": (n + k) % 4 + 1}
    for n in RANGE
    for k in range(2)
    for c in ("bias", "tone")
]
BATCH = [
    {"HITId": f"h{n}", "Title": text("task"), "AssignmentId": f"a{n}{k}", "WorkerId": f"w{k}", "Reward": "$0.20"}
    | {
        "Input.summary_text": text("long", WORDS[n]),
        "Answer.S1Answer": "pn"[n * (k + 1) % 3 // 2],
        "Answer.S2Answer": "np"[n * (2 - k) % 5 // 3],
    }
    | {f"Input.statement_{m}": text("short", WORDS[n], m) for m in (1, 2)}
    for n in RANGE
    for k in range(2)
]
OBJECTS = [
    {"question": text("asked", WORDS[n]), "gpt4": {"text": text("one", WORDS[n]), "score": n % 5 + 1}}
    | {"claude": {"text": text("two", WORDS[n]), "score": (n + 2) % 5 + 1}}
    for n in RANGE
]
CODER = [
    {"Item ID": f"K{n}", "Model Tested": f"bot {m}", "Accuracy (0-4)": (n + m) % 3}
    | {"Fabrication": ["none", "minor", "severe"][(n * n + m) % 3]}
    for n in RANGE
    for m in range(2)
]


def test_files_without_texts_are_judgements_of_what_is_elsewhere(tmp_path: Path) -> None:
    draft = suggest_table(write(tmp_path, PAIRED))
    assert [own["system"] for own in draft["responses"]] == ["model_1", "model_2"]
    (block,) = draft["labels"]
    assert (block["kind"], len(block["annotators"])) == ("preference", 3)
    draft = suggest_table(write(tmp_path, CODED))
    assert (draft["prompt"], draft["labels"][0]["criterion_field"]) == ("art_id", "criteriaID")
    scales = {own["criterion"]: own["scale"] for own in suggest_table(write(tmp_path, CODER))["gold"]}
    assert scales["accuracy"]["categories"] == [0, 1, 2, 3, 4]
    assert scales["fabrication"]["categories"] == ["minor", "none", "severe"]


def test_numbered_answers_of_a_batch_and_scores_in_objects_are_about_their_texts(tmp_path: Path) -> None:
    draft = suggest_table(write(tmp_path, BATCH))
    assert draft["prompt"] == '"Input.summary_text"' and not draft["confirmed"]
    found = [(own["annotator"], own["criterion"], own["response"]) for own in draft["labels"]]
    assert found == [("WorkerId", "s answer", 1), ("WorkerId", "s answer", 2)]
    draft = suggest_table(write(tmp_path, OBJECTS))
    assert draft["responses"] == [{"text": "gpt4.text", "name": "gpt4"}, {"text": "claude.text", "name": "claude"}]
    blocks = [own for name in ("labels", "gold") for own in draft.get(name, [])]
    assert [own["response"] for own in blocks] == [1, 2]


def test_a_person_states_other_roles_and_scales_without_a_mapping(tmp_path: Path) -> None:
    rows = [{"q": text("asked", w), "key": text("right", w), "user_reply": text("said", w), "ok": n % 2 == 0}
            for n, w in enumerate(WORDS)]  # fmt: skip
    path = write(tmp_path, rows)
    chosen = {"response": ["key"], "prompt": ["q"], "label": ["ok"], "none": ["user_reply"]}
    draft = apply_roles(path, suggest_table(path), chosen)
    assert (draft["prompt"], draft["responses"][0]["text"], draft["gold"][0]["value"]) == ("q", "key", "ok")
    assert "user_reply" not in str(draft) and not draft["confirmed"]
    with pytest.raises(FileFormatError, match="there is no such field"):
        apply_roles(path, draft, {"prompt": ["x"]})
    scored = apply_scales(suggest_table(write(tmp_path, RATED)), {"ease": "0-100"})
    assert scored["labels"][0]["scale"] == {"level": "interval", "low": 0, "high": 100}
    assert "confirmed" not in scored["labels"][0]


def test_the_meaning_of_single_values_is_stated(tmp_path: Path) -> None:
    rows = [{"prompt": text(w), "response_a": text("said", w), "response_b": text("told", w), "winner": n % 3}
            for n, w in enumerate(WORDS)]  # fmt: skip
    path = write(tmp_path, rows)
    assert questions(path, build_mapping(suggest_table(path)))
    values = {"winner:0": "1", "winner:1": "tie", "winner:2": "none"}
    draft = apply_values(suggest_table(path), values)
    assert draft["gold"][0]["values"] == {"0": 1, "1": 0, "2": None}
    assert not questions(path, build_mapping(draft))
    with pytest.raises(FileFormatError, match="no label, gold or judge has its value"):
        apply_values(draft, {"prompt:0": "1"})


def test_an_import_says_before_it_starts_what_it_would_mix(tmp_path: Path) -> None:
    """Ids of two fields, cells with two systems, and a label of each of three tests without the test as criterion."""
    rows = [{"In.id": f"d{n}", "In.question": text(w), "In.sys": system, "In.answer": text(system, w),
             "Answer.score": n % 5 + 1} for n, w in enumerate(WORDS) for system in ("alpha", "beta|gamma")]  # fmt: skip
    path = write(tmp_path, rows)
    mapping = build_mapping(suggest_table(path))
    assert any("such as 'd0-alpha'" in line for line in roles(path, mapping))
    assert "each is one system: 'beta|gamma'" in statements(path, mapping)[1]
    rows = [{"prompt": text(w), "response": text("said", w), "expert": f"e{n % 2}", "test": test, "verdict": n % 3}
            for n, w in enumerate(WORDS) for test in "abc"]  # fmt: skip
    long = {"layout": "long", "annotator": "expert", "value": "verdict", "kind": "score",
            "scale": {"level": "ordinal", "categories": [0, 1, 2]}}  # fmt: skip
    fields = {"id": "prompt", "prompt": "prompt", "responses": [{"text": "response"}]}
    path = write(tmp_path, rows)
    mixed, told_apart = ({"aggregate": "last"}, {"criterion_field": "test"})
    sentence = read_outcome(path, build_mapping(fields | {"labels": [long | mixed]})).further
    assert sentence.startswith(f"{2 * len(WORDS)} of {3 * len(WORDS)} labels would be left out")
    assert read_outcome(path, build_mapping(fields | {"labels": [long | told_apart]})).further == ""


def test_a_field_that_a_person_leaves_out_has_no_role(tmp_path: Path) -> None:
    rows = [{"story": n, "writer": f"m{n % 2}", "verdict": ("No", "Yes")[n % 3 > 0], "why": text("since", w)}
            for n, w in enumerate(WORDS)]  # fmt: skip
    path = write(tmp_path, rows)
    stated = apply_roles(path, suggest_table(path), {"prompt": ["story"], "system": ["writer"], "none": ["why"]})
    assert "why" not in str(stated) and stated["prompt"] == "story"
    rows = [{"prompt": text(w), "response": text("said", w), "annotator": f"e{k}", "facet": facet,
             "rating": (n + k) % 5 + 1}
            for n, w in enumerate(WORDS) for k in (0, 1) for facet in ("pace", "end")]  # fmt: skip
    path = write(tmp_path, rows)
    (block,) = apply_roles(path, suggest_table(path), {"criterion": ["facet"]})["labels"]
    assert (block["criterion_field"], block["value"], block.get("criterion")) == ("facet", "rating", None)


def test_two_fields_are_never_one_gold(tmp_path: Path) -> None:
    rows = [{"prompt": text(w), "response": text("said", w)}
            | {f"round_{k}": {"quality": (n + k) % 5 + 1} for k in (1, 2)} for n, w in enumerate(WORDS)]  # fmt: skip
    found = suggest_table(write(tmp_path, rows))["gold"]
    assert [own["criterion"] for own in found] == ["round_1 quality", "round_2 quality"]


def test_ranks_of_responses_are_a_ranking_and_a_rank_alone_is_asked_about(tmp_path: Path) -> None:
    rows = [{"seg": f"s{n}", "judge_id": f"j{n % 3}"} | {f"system{k}id": f"m{(n + k) % 4}" for k in (1, 2, 3)}
            | {f"system{k}rank": (n * k) % 3 or -1 for k in (1, 2, 3)} for n in RANGE]  # fmt: skip
    path = write(tmp_path, rows)
    (block,) = suggest_table(path)["labels"]
    assert block["ranking"]["ranks"] == ["system1rank", "system2rank", "system3rank"]
    assert (block["layout"], block["annotator"], block["values"]) == ("ranking", "judge_id", {"-1": None})
    assert any("the lowest is the best" in line for line in roles(path, build_mapping(suggest_table(path))))
    rows = [{"prompt": text(w), "response": text("said", w), "rank": n % 5 + 1} for n, w in enumerate(WORDS)]
    path = write(tmp_path, rows)
    draft = apply_roles(path, suggest_table(path), {"label": ["rank"]})
    assert "5, 4, 3, 2, 1 (1 is the best)" in questions(path, build_mapping(draft))[0].sentence()
    assert apply_scales(draft, {"rank": "1-5"})["gold"][0]["scale"]["categories"] == [1, 2, 3, 4, 5]
    assert apply_scales(draft, {"rank": "5-1"})["gold"][0]["scale"]["categories"] == [5, 4, 3, 2, 1]
    large = apply_scales(draft, {"rank": "100-0"})["gold"][0]
    assert large["negative"] and large["scale"] == {"level": "interval", "low": -100, "high": 0}


def test_a_stated_role_is_used_or_refused(tmp_path: Path) -> None:
    rows = [{"options": f"m{n % 3}", "plot": "ab"[n // 5 % 2], "key": f"k{n}", "bot": "xy"[n % 2]} for n in RANGE]
    path = write(tmp_path, rows)
    draft = apply_roles(path, suggest_table(path), {"system": ["options", "bot"]})
    assert [own["system"] for own in draft["responses"]] == ["options", "bot"]
    assert "options" not in [own["value"] for own in draft["gold"]]
    rows = [{"prompt": text(w), "text_a": text("said", w), "text_b": text(w, "said"), "label": "AB"[n % 2]}
            | {"of_a": f"m{n % 2}", "of_b": f"m{n % 3}"} for n, w in enumerate(WORDS)]  # fmt: skip
    path = write(tmp_path, rows)
    draft = apply_roles(path, suggest_table(path), {"system": ["of_b", "of_a"]})
    assert draft["responses"] == [{"text": f"text_{one}", "system": f"of_{one}"} for one in "ab"]
    path = write(tmp_path, RATED)
    with pytest.raises(FileFormatError, match=r"'turker'.* cannot be the system: there are fewer responses"):
        apply_roles(path, suggest_table(path), {"system": ["bot", "turker"]})


def test_answers_of_toloka_and_criteria_with_quotations(tmp_path: Path) -> None:
    rows = [{"INPUT:story": text(w), "INPUT:system": "xy"[n % 2], "OUTPUT:category": (n + k) % 5 + 1, "HINT:text": ""}
            | {"ASSIGNMENT:assignment_id": f"a{n}{k}", "ASSIGNMENT:worker_id": f"w{k}"}
            for n, w in enumerate(WORDS) for k in range(2)]  # fmt: skip
    draft = suggest_table(write(tmp_path, rows))
    (block,) = draft["labels"]
    assert (draft["responses"], block["annotator"], block["value"]) == (
        [{"text": "INPUT:story", "system": "INPUT:system"}], "ASSIGNMENT:worker_id", "OUTPUT:category"
    )  # fmt: skip
    rows = [{"annot_id": f"p{n % 2}", "ucca_annot_id": f"m{n % 2}", "talk": text("said", w)}
            | {"ids": [n, n + 1, n + 2][: n % 4], "label_count": {"yes": n % 3}}
            | {name: n % 5 + 1 for name in ("warmth", "advice")}
            | {f"{name}_example": text(name, n) for name in ("warmth", "advice")}
            for n, w in enumerate(WORDS)]  # fmt: skip
    path = write(tmp_path, rows)
    draft = suggest_table(path)
    assert [(own["annotator"], own["value"]) for own in draft["labels"]] == [
        ("annot_id", "warmth"),
        ("annot_id", "advice"),
    ]
    assert (draft["responses"], draft.get("prompt")) == ([{"text": "talk"}], None)
    rows = [{"Task": n, "Correctness": n % 6, "Structure": (n + 1) % 6} for n in RANGE]
    path = write(tmp_path, rows)
    draft = suggest_table(path)
    assert [own["annotators"] for own in draft["labels"]] == [
        {"Correctness": "annotators"},
        {"Structure": "annotators"},
    ]
    assert "score 'Correctness': people's labels, annotators: annotators" in roles(path, build_mapping(draft))


def test_items_are_named_by_what_names_prompts_and_by_rows_only_if_a_person_says_so(tmp_path: Path) -> None:
    rows = [{"id": f"q{n // 2}", "prompt": text(w), "response": text("said", w), "annotator": f"w{n % 3}"}
            | {"score": n % 5 + 1} for n, w in enumerate(WORDS)]  # fmt: skip
    path = write(tmp_path, rows)
    mapping = build_mapping(suggest_table(path))
    assert not mapping.confirmed and "rows have the same id" in state_row_names(path, mapping)
    assert not state_row_names(path, build_mapping({"id": "id", "prompt": "prompt"}))
    rows = [{"annotated_at": f"t {n}", "sample_id": f"s{n // 2}", "model": "ab"[n % 2], "reply": text("said", w)}
            | {"asked": text(n // 2, "what"), "score": n % 5 + 1} for n, w in enumerate(WORDS)]  # fmt: skip
    assert suggest_table(write(tmp_path, rows))["id"] == "{sample_id}-{model}"


def test_a_person_states_the_transcript_and_its_first_wrong_step(tmp_path: Path) -> None:
    log = [{"role": role, "content": text(role)} for role in ("user", "assistant", "assistant")]
    path = write(tmp_path, [{"task": text("do", w), "log": log, "bad": n % 2 + 1} for n, w in enumerate(WORDS)])
    draft = apply_roles(path, suggest_table(path), {"transcript": ["log"], "step": ["bad"]})
    assert draft["responses"] == [{"transcript": "log"}]
    assert [(own["criterion"], own["value"]) for own in draft["gold"]] == [("first wrong step", "bad")]
    with pytest.raises(FileFormatError, match="not known as steps of the transcript"):
        apply_roles(path, suggest_table(path), {"step": ["task"]})


def test_radio_buttons_are_one_label_and_inputs_of_a_batch_are_none(tmp_path: Path) -> None:
    rows = [{"WorkerId": f"w{k}", "AssignmentId": f"a{n}{k}", "Input.answer": text("said", w), "Input.ids": [1, 2]}
            | {f"Answer.clarity.{own}": own == (n + k) % 3 + 1 for own in (1, 2, 3)}
            | {f"Answer.age.{own}": own == "old" for own in ("old", "young")}
            | {f"Answer.kind.{own}": own == ("fine", "bad")[n % 2] for own in ("fine", "bad")}
            for n, w in enumerate(WORDS) for k in range(2)]  # fmt: skip
    path = write(tmp_path, rows)
    expected = {("clarity", "", f"w{k}"): [k + 1] for k in range(2)} | {
        ("kind", "", f"w{k}"): ["fine"] for k in range(2)
    }
    assert values_of(path)[1] == expected
    (question,) = questions(path, build_mapping(suggest_table(path)))
    assert question.reading() == "the scale is 1, 2, 3 (3 is the best)"


def test_rows_with_one_text_are_one_item_and_an_id_of_a_prompt_is_the_prompt(tmp_path: Path) -> None:
    rows = [{"question": text("asked", w), "answer": text("said", w, own), "rater": f"r{k}", "score": (n + k) % 5 + 1}
            for n, w in enumerate(WORDS) for own in "xy" for k in range(2)]  # fmt: skip
    assert len(values_of(write(tmp_path, rows))[0]) == 24
    rows = [{"done_at": f"2026-01-0{own}T10:{n:02}", "ref_id": n, "sys_id": f"{own} 1{own} 2{own} 3{own}"}
            | {"candidate": text(w, own), "fluent_score": (n + own) % 5 + 1}
            for n, w in enumerate(WORDS) for own in (1, 2)]  # fmt: skip
    draft = suggest_table(write(tmp_path, rows))
    assert (draft["prompt"], draft["responses"]) == ("ref_id", [{"text": "candidate", "system": "sys_id"}])
    assert draft["id"] == "{ref_id}-{sys_id}"


@pytest.mark.parametrize(
    "texts", [{}, {"answer_a": "a long answer of the first", "answer_b": "a long answer of the next"}]
)
def test_two_systems_in_one_cell_are_those_of_a_pair(tmp_path: Path, texts: dict[str, str]) -> None:
    rows = [{"key_id": f"k{n}", "options": ("x vs y", "y vs x")[n % 2], "plot": ("x", "y", "same")[n % 3]}
            | {name: f"{own} {n}" for name, own in texts.items()} for n in RANGE]  # fmt: skip
    items, values = values_of(write(tmp_path, rows))
    assert [[own.system for own in item.responses] for item in items[:2]] == [["x", "y"], ["y", "x"]]
    assert values == {("plot", "", "gold"): [1]}


def test_two_fields_of_one_response_and_fields_of_a_joined_file_are_stated(tmp_path: Path) -> None:
    path = write(
        tmp_path, [{"qid": n, "title": text(w), "body": text("so", w), "ok": n % 5} for n, w in enumerate(WORDS)]
    )
    (tmp_path / "q.json").write_text(json.dumps([{"qid": n, "asked": text("why", n)} for n in RANGE]))
    join = [{"file": "q.json", "key": "qid"}]
    chosen = {"response": ["title+body"], "prompt": ["asked"], "label": ["ok"]}
    draft = apply_roles(path, suggest_table(path, None, join), chosen, join)
    assert (draft["responses"], draft["prompt"]) == ([{"text": ["title", "body"]}], "joined.asked")
    first = next(iter(read_records(path, mapping=build_mapping(draft | {"confirmed": True, "gold": []}))))
    assert first.item.responses[0].text == f"{text('red')}\n\n{text('so', 'red')}"
    draft = apply_roles(path, suggest_table(path, None, join), chosen | {"response": ["title", "body"]}, join)
    assert len(draft["responses"]) == 2


def test_stated_responses_have_their_numbered_systems_and_inputs_are_no_labels(tmp_path: Path) -> None:
    rows = [{f"INPUT:{name}_{k}": text(name, k, w) for name in ("story", "ending") for k in "ab"}
            | {"INPUT:system_a": "xy"[n % 2], "INPUT:system_b": "yz"[n % 2], "OUTPUT:category": "12"[n // 4 % 2]}
            | {"ASSIGNMENT:worker_id": f"w{n % 3}"} for n, w in enumerate(WORDS)]  # fmt: skip
    path = write(tmp_path, rows)
    endings = [f"INPUT:ending_{k}" for k in "ab"]
    draft = apply_roles(path, suggest_table(path), {"response": endings, "prompt": ["INPUT:story_a"]})
    assert [own["system"] for own in draft["responses"]] == ["INPUT:system_a", "INPUT:system_b"]
    assert [own["value"] for own in draft["labels"]] == ["OUTPUT:category"]


def test_lists_written_with_commas_are_values_of_the_listed_people(tmp_path: Path) -> None:
    rows = [{"text": text(w), "completion": [{"at": n}], "annotators": ("Ann, Ben", "Ann,Ben,Cy")[n % 2]}
            | {"abuse": ("1,-2", "0,1,-1")[n % 2], "number of annotations": 2 + n % 2}
            for n, w in enumerate(WORDS)]  # fmt: skip
    path = write(tmp_path, rows)
    items, values = values_of(path)
    assert [own.text for own in items[0].responses] == [text("red")]
    assert values == {("abuse", "", "Ann"): [1], ("abuse", "", "Ben"): [-2]}


def test_sides_and_usual_codes_for_no_value_are_asked_about_and_the_best_of_three_is_no_score(tmp_path: Path) -> None:
    texts = [{"id": n, "question": f"Why is it so, and is it {n}?"} for n in range(9)]
    sides = [own | {"response_b": f"b {own['id']}", "response_a": f"a {own['id']}"} for own in texts]
    table = [own | {"preferred": ("left", "Right", "tie")[own["id"] % 3]} for own in sides]
    (question,) = questions(write(tmp_path, table), build_mapping(suggest_table(write(tmp_path, table))))
    assert question.reading() == "left is the first response, right the second"
    assert question.literal_values() == {"left": 1, "Right": 2}
    table = [own | {"answer": f"{own['id']} b", "score": (1, 2, 99)[own["id"] % 3]} for own in texts]
    (question,) = questions(write(tmp_path, table), build_mapping(suggest_table(write(tmp_path, table))))
    assert question.reading().endswith("; 99 is a value like the others, and not an empty cell")
    several = {f"response_{k}": f"This is the long answer number {k}" for k in (1, 2, 3)}
    table = [own | several | {"best": own["id"] % 3 + 1, "annotator": "w"} for own in texts]
    assert "labels" not in suggest_table(write(tmp_path, table))


@pytest.mark.parametrize(
    ("values", "block"),
    [
        (lambda name, n: {f"{name}_score": n % 5 + 1}, {"criterion": "score"}),
        (lambda name, n: {f"{name}_ratings": [n % 5 + 1, n % 4 + 1]}, {"criterion": "ratings", "layout": "list"}),
        (
            lambda name, n: {f"grade-{name}": {f"grader{n % 4}": n % 5, f"grader{5 + n % 3}": n % 3}},
            {"criterion": "grade", "annotator": "{element}", "each": "grade-fine-model"},
        ),
    ],
)
def test_texts_whose_names_are_in_those_of_values_are_the_responses(tmp_path, values, block):
    """CoNaLa's human grades have the system `codex` beside `grade-codex`."""
    names = ("base", "fine", "fine-model")
    rows = [
        {"intent": f"Sort the {n} names of the harbour town."}
        | {name: f"The {name} of {n} sorts them by the first letter." for name in names}
        | {key: own for name in names for key, own in values(name, n).items()}
        for n in range(40)
    ]
    path = write(tmp_path, rows)
    draft = suggest_table(path)
    assert draft["prompt"] == "intent"
    assert draft["responses"] == [{"text": name, "name": name} for name in names]
    blocks = [*draft.get("labels", ()), *draft.get("gold", ())]
    assert [own["response"] for own in blocks] == [1, 2, 3]
    assert blocks[2].items() >= block.items()
    sizes = read_outcome(path, build_mapping(draft)).counts
    assert sizes["items with 3 responses"] == 40


def test_a_word_for_no_value_among_numbers_is_no_value(tmp_path):
    """MR-MATH has `N/A` where no step is wrong."""
    rows = [{"task": f"Add {n} to the sum of both.", "solution": f"The sum of both is {n} here."} for n in range(30)]
    for n, row in enumerate(rows):
        row |= {"worker_id": f"w{n % 3}", "quality": "N/A" if n % 4 else n % 5}
    path = write(tmp_path, rows)
    outcome = read_outcome(path, build_mapping(suggest_table(path)))
    assert outcome.labels == 8 and outcome.omissions.labels == 22


def test_a_rater_is_a_person_and_no_rating(tmp_path):
    rows = [
        {"id": f"q{n}", "question": f"Why is number {n} so large?", "answer": f"Because it is {n} times ten."}
        | {"rater": who, "quality": n % 5 + 1}
        for n in range(8)
        for who in ("Ann", "Ben")
    ]
    draft = suggest_table(write(tmp_path, rows))
    (block,) = draft["labels"]
    assert (block["annotator"], block["value"]) == ("rater", "quality") and "gold" not in draft
