"""`cli.py improve` against a server that speaks the OpenAI protocol: from adjudications to an accepted variant."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.formats.records import CriterionRecord, ItemRecord
from core.items import Criterion
from storage.db.connections import connect, write
from storage.labels import labels
from storage.studies import studies
from storage.transfer import imports
from tests.commands import run_command
from tests.conftest import make_item, make_target
from tests.databases import create_database
from tests.openai_server import run_server

pytestmark = pytest.mark.slow
ITEMS = 20


def reply(model: str, prompt: str) -> str:
    """Propose brevity; judge by it if the criterion has it, otherwise choose the longer submission, the wrong one."""
    if "Reply in this form" in prompt:
        return "DEFINITION:\nOf use, and brief.\nGUIDELINES:\nLength is no merit."
    text = "Submission 1" if "brief" in prompt else "Submission 2"
    return f"By the criteria.\n\nFinal answer: {text}"


@pytest.fixture
def server() -> Iterator[Any]:
    with run_server() as running:
        running.text = reply
        yield running


@pytest.fixture
def invoke(tmp_path: Path) -> Any:
    """`invoke("status")` runs a command of the study "s" and returns its JSON; its items wait for adjudication."""
    address = create_database(tmp_path / "t.db")
    items = [ItemRecord(item=make_item(f"item {n}")) for n in range(ITEMS)]
    imports.import_records(
        connect(address), "s", [CriterionRecord(criterion=Criterion(name="helpfulness", definition="Of use.")), *items]
    )

    def run(*arguments: str, fails: str = "") -> Any:
        chosen = [*arguments, "--study", "s", "--database", address, "--json"]
        result = run_command(chosen)
        if fails:
            assert result.exit_code == 2 and fails in result.stderr, result.output
            return None
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    run.engine = connect(address)  # type: ignore[attr-defined]
    return run


def test_from_adjudications_to_an_accepted_variant(server: Any, invoke: Any, tmp_path: Path) -> None:
    settings = tmp_path / "base.yaml"
    judge = f"{{name: j, model: openai/judge, address: '{server.address}', answer_format: text}}"
    settings.write_text(f"judge: {judge}\ncriterion: helpfulness\nshuffle_responses: false\n", encoding="utf-8")
    invoke("runs", "start", "--protocol", "single-judge", "--settings", str(settings))
    invoke("improve", "split", fails="needs gold on items")
    with_gold = range(ITEMS - 2)
    for number in with_gold:
        decision = {"rule": "expert decision", "reason": "It is brief.", "adjudicator": "zoe"}
        write(
            invoke.engine,
            lambda s, n=number, d=decision: labels.adjudicate(s, 1, make_target(f"item {n}"), 1, **d),  # type: ignore[misc]
        )
    assert invoke("improve", "split") == [{"scenario": "math", "development": 9, "held-out": 9}]
    found = invoke("improve", "disagreements", "--run", "base")
    assert len(found) == 9 and found[0]["reason"] == "expert decision: It is brief."

    held_out = {f"item {n}" for n in with_gold} - {row["item"] for row in found}
    prompt = invoke("improve", "suggest", "--run", "base", "--show-prompt")["prompt"]
    assert "It is brief." in prompt and not any(f"for {item}?" in prompt for item in held_out)
    changes = tmp_path / "changes.yaml"
    suggested = invoke("improve", "suggest", "--run", "base", "--output", str(changes))
    assert suggested == {
        "model": "openai/judge", "definition": "Of use, and brief.", "guidelines": "Length is no merit.",
    }  # fmt: skip
    arguments = ("--run", "base", "--file", str(changes), "--origin", "openai/judge")
    assert invoke("improve", "propose", "brief", *arguments) == {"variant": "brief"}

    before = len(server.log)
    on_development = invoke("improve", "evaluate", "brief")
    assert on_development["development"] == "+1.000, n 9 (0.000 to 1.000)" and on_development["held-out"] == ""
    assert len(server.log) == before + 9, "the calls of the judge without the changes are stored"
    invoke("improve", "accept", "brief", fails="no result on held-out items")
    on_held_out = invoke("improve", "evaluate", "brief", "--held-out")
    assert on_held_out["held-out"] == "+1.000, n 9 (0.000 to 1.000)"
    assert on_held_out["p corrected"] == pytest.approx(5 * 2 / 2**9)
    invoke("improve", "evaluate", "brief", "--held-out")
    assert len(server.log) == before + 18, "held-out items are judged once"

    state = invoke("improve", "status")
    assert state["used"] == {"helpfulness": 1} and state["planned"] == 5
    assert invoke("improve", "accept", "brief")["version"] == 2
    newest, first = invoke("improve", "history", "--criterion", "helpfulness")
    assert (newest["definition"], first["definition"]) == ("Of use, and brief.", "Of use.")
    with invoke.engine.connect():
        assert write(invoke.engine, lambda s: studies.criteria(s, 1))[0].definition == "Of use, and brief."
    invoke("improve", "history", "--criterion", "helpfulness", "--restore", "1")
    assert write(invoke.engine, lambda s: studies.criteria(s, 1))[0].definition == "Of use."
