"""Roles of columns are suggested from their values, whatever the columns are called."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileFormatError
from core.formats.mapping.mapping import build_mapping
from core.formats.mapping.suggest import state_unused_labels, suggest_table
from core.formats.mapping.table import questions, roles
from core.formats.registry import read_records
from tests.core.formats.mapping.test_public_layouts import confirmed
from tests.core.formats.mapping.test_suggested_layouts import values_of

RANGE = range(12)
WORDS = ["red", "green", "blue", "grey", "pink", "cyan", "lime", "gold", "teal", "navy", "plum", "rust"]


def text(*parts: Any) -> str:
    return f"The {' '.join(map(str, parts))} house stands on a hill near the sea"


def write(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


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
    assert state_unused_labels(path, confirmed(path, {})) == ""
    alone = build_mapping({name: draft[name] for name in ("id", "prompt", "responses")})
    assert state_unused_labels(path, alone) == "Not used, and the values look like labels: verdict_of_all."
