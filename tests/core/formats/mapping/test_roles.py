"""What a person states of fields in place of a suggestion: roles, scales and the meaning of values."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.roles import apply_scales, apply_values
from core.formats.mapping.suggest import suggest_table
from core.formats.mapping.table import questions
from core.formats.registry import read_records
from tests.core.formats.mapping.shared import confirmed
from tests.core.formats.shared import RANGE, WORDS, labels_of, prose, write_rows


def suggest(path: Path, join: Any = (), **stated: list[str]) -> dict[str, Any]:
    return suggest_table(path, None, join, stated)


def test_roles_and_scales_are_stated_without_a_mapping(tmp_path: Path) -> None:
    rows = [{"q": prose("asked", w), "key": prose("right", w), "user_reply": prose("said", w), "ok": n % 2 == 0}
            for n, w in enumerate(WORDS)]  # fmt: skip
    path = write_rows(tmp_path, rows)
    draft = suggest(path, response=["key"], prompt=["q"], label=["ok"], none=["user_reply"])
    assert (draft["prompt"], draft["responses"][0]["text"], draft["gold"][0]["value"]) == ("q", "key", "ok")
    assert "user_reply" not in str(draft) and not draft["confirmed"]
    rows = [{"prompt": prose(w), "response": prose("said", w), "turker": f"t{k}", "ease": n % 9 * 10}
            for n, w in enumerate(WORDS) for k in range(2)]  # fmt: skip
    scored = apply_scales(suggest(write_rows(tmp_path, rows), label=["ease"]), {"ease": "0-50"})
    (block,) = scored["labels"]
    assert (block["annotator"], block["scale"]) == ("turker", {"level": "interval", "low": 0, "high": 50})
    assert "confirmed" not in block


def test_a_criterion_and_a_judge_are_stated(tmp_path: Path) -> None:
    rows = [{"prompt": prose(w), "response": prose("said", w), "annotator": f"e{k}", "facet": facet}
            | {"rating": (n + k) % 5 + 1, "verdict_of_m": n % 3}
            for n, w in enumerate(WORDS) for k in (0, 1) for facet in ("pace", "end")]  # fmt: skip
    draft = suggest(write_rows(tmp_path, rows), criterion=["facet"], judge=["verdict_of_m"])
    (block,), (judge,) = draft["labels"], draft["judges"]
    assert (block["criterion_field"], block["value"], block.get("criterion")) == ("facet", "rating", None)
    assert judge["columns"] == {"verdict_of_m": "verdict_of_m"} and "aggregate" not in block


def test_the_list_of_the_items_is_stated(tmp_path: Path) -> None:
    inner = [{"said_so": prose(n), "score": n % 3} for n in RANGE]
    path = write_rows(tmp_path, [{"who": "x", "left": {"parts": inner}, "text": prose(n)} for n in range(2)])
    draft = suggest(path, items=["left.parts"], response=["said_so"])
    assert (draft["explode"], draft["responses"], draft["id"]) == (
        "left.parts",
        [{"text": "said_so"}],
        "{row}-{element}",
    )
    assert suggest(path, response=["said_so"])["explode"] == "left.parts", "a field of an element names the list"
    assert "explode" not in suggest(path, items=["none"])
    for stated, message in (
        ({"response": ["left.parts"]}, "state it as `items`"),
        ({"items": ["who"]}, "expected a list"),
        ({"prompt": ["x"]}, "there is no such field"),
        ({"title": ["who"]}, "there is no role 'title'"),
    ):
        with pytest.raises(FileFormatError, match=message):
            suggest(path, **stated)
    deep = [{"docs": [{"parts": [{"text": prose(n, k)} for k in range(3)]}]} for n in range(2)]
    draft = suggest(write_rows(tmp_path, deep), items=["docs+parts"])
    assert (draft["explode"], draft["id"]) == (["docs", "parts"], "{row}-{element_1}-{element}")


def test_a_transcript_and_its_first_wrong_step_are_stated(tmp_path: Path) -> None:
    rows = [{"goal": prose(n), "steps": ["First.", "Then.", "So."], "bad": str(n % 3), "rater": "r"} for n in RANGE]
    path = write_rows(tmp_path, rows)
    draft = suggest(path, transcript=["steps"], step=["bad"])
    (block,) = draft["labels"]
    assert (block["value"], block["steps"], block["confirmed"]) == ("bad", "message from 0", False)
    assert draft["responses"] == [{"transcript": "steps"}] and draft["prompt"] == "goal"
    (question,) = questions(path, build_mapping(draft))
    assert "what the numbers of steps count" in question.sentence()
    assert [own.value for own in labels_of(read_records(path, mapping=confirmed(path, {}, draft)))][:3] == [1, 2, 3]


def test_systems_belong_to_responses_by_their_marks_or_in_order(tmp_path: Path) -> None:
    rows = [{"prompt": prose(w), "text_a": prose("said", w), "text_b": prose(w, "said"), "label": "AB"[n % 2]}
            | {"of_a": f"m{n % 2}", "of_b": f"m{n % 3}"} for n, w in enumerate(WORDS)]  # fmt: skip
    path = write_rows(tmp_path, rows)
    draft = suggest(path, system=["of_b", "of_a"])
    assert draft["responses"] == [{"text": f"text_{one}", "system": f"of_{one}"} for one in "ab"]
    with pytest.raises(FileFormatError, match=r"'of_a'.* cannot be the system: there are not as many responses"):
        suggest(path, system=["of_a"])
    rows = [{"story": n, "writer": f"m{n % 2}", "verdict_label": ("No", "Yes")[n % 3 > 0]} for n in RANGE]
    draft = suggest(write_rows(tmp_path, rows), prompt=["story"], system=["writer"], label=["verdict_label"])
    assert draft["responses"] == [{"text": "writer", "system": "writer"}], "the texts are elsewhere"
    assert draft["gold"][0]["value"] == "verdict_label"


def test_two_fields_of_one_response_and_fields_of_a_joined_file_are_stated(tmp_path: Path) -> None:
    rows = [{"qid": n, "title": prose(w), "body": prose("so", w), "ok": n % 5} for n, w in enumerate(WORDS)]
    path = write_rows(tmp_path, rows)
    (tmp_path / "q.json").write_text(json.dumps([{"qid": n, "asked": prose("why", n)} for n in RANGE]))
    join = [{"file": "q.json", "key": "qid"}]
    draft = suggest(path, join, response=["title+body"], prompt=["asked"], label=["ok"])
    assert (draft["responses"], draft["prompt"]) == ([{"text": ["title", "body"]}], "joined.asked")
    first = next(iter(read_records(path, mapping=build_mapping(draft | {"confirmed": True, "gold": []}))))
    assert first.item.responses[0].text == f"{prose('red')}\n\n{prose('so', 'red')}"
    assert len(suggest(path, join, response=["title", "body"], prompt=["asked"])["responses"]) == 2


def test_the_meaning_of_single_values_is_stated(tmp_path: Path) -> None:
    rows = [{"prompt": prose(w), "response_a": prose("said", w), "response_b": prose("told", w), "winner": n % 3}
            for n, w in enumerate(WORDS)]  # fmt: skip
    path = write_rows(tmp_path, rows)
    draft = suggest_table(path)
    assert questions(path, build_mapping(draft))
    draft = apply_values(draft, {"winner:0": "1", "winner:1": "tie", "winner:2": "none"})
    assert draft["gold"][0]["values"] == {"0": 1, "1": 0, "2": None} and not questions(path, build_mapping(draft))
    with pytest.raises(FileFormatError, match="no label, gold or judge has its value"):
        apply_values(draft, {"prompt:0": "1"})


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("1-5", {"categories": [1, 2, 3, 4, 5]}),
        ("5 to 1", {"categories": [5, 4, 3, 2, 1]}),
        ("0-100", {"level": "interval", "low": 0, "high": 100}),
        ("100-0", {"level": "interval", "low": -100, "high": 0}),
    ],
)
def test_the_ends_of_a_scale_are_stated_with_the_best_last(tmp_path: Path, text: str, scale: dict[str, Any]) -> None:
    rows = [{"prompt": prose(w), "response": prose("said", w), "rank": n % 5 + 1} for n, w in enumerate(WORDS)]
    path = write_rows(tmp_path, rows)
    draft = suggest(path, label=["rank"])
    assert "5, 4, 3, 2, 1 (1 is the best)" in questions(path, build_mapping(draft))[0].sentence()
    (block,) = apply_scales(draft, {"rank": text})["gold"]
    assert block["scale"].items() >= scale.items() and block.get("negative", False) == (text == "100-0")


def test_the_order_of_words_is_stated_and_a_scale_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    rows = [{"prompt": prose(w), "response": prose("said", w), "label": "abc"[n % 3]} for n, w in enumerate(WORDS)]
    draft = suggest_table(write_rows(tmp_path, rows))
    stated = apply_scales(draft, {"label": "c, b, a"})["gold"][0]
    assert stated["scale"] == {"level": "ordinal", "categories": ["c", "b", "a"]} and "confirmed" not in stated
    for field, text in (("label", "3-3"), ("prompt", "1-5"), ("label", "best")):
        with pytest.raises(FileFormatError, match="expected a field with scores, and its scale"):
            apply_scales(draft, {field: text})
