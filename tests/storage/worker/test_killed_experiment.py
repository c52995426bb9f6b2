"""ScaleEval's Table 5 from its file, killed twice: no call is repeated but those in flight."""

from pathlib import Path

import pytest

from core.protocols.prompt_parts import CRITERION_FORMATS
from tests.openai_server import run_server
from tests.papers.killed import CELLS, IN_FLIGHT, execute_and_kill, prepare_study, print_table

ITEMS = 2
"""Items of each scenario; tests/bench/bench_experiment.py has 20, after the debates."""


@pytest.mark.slow
def test_an_experiment_that_is_killed_twice_pays_no_call_twice_but_those_in_flight(tmp_path: Path) -> None:
    url = prepare_study(tmp_path, ITEMS)
    with run_server(latency=0.02) as server:
        killed = execute_and_kill(tmp_path, url, server, "scaleeval/table-5", limit=ITEMS, reference="gold")
    calls = CELLS * ITEMS
    assert (killed.progress["finished"], killed.progress["done"], killed.progress["totals"]["calls"]) == (
        CELLS, calls, calls,
    )  # fmt: skip
    assert killed.different == calls
    assert killed.repeated <= killed.progress["totals"]["interrupted"] <= IN_FLIGHT
    # A reply that was stored before the turn is reused when the run continues.
    assert killed.progress["totals"]["reused"] <= IN_FLIGHT
    lines = print_table(url, "scaleeval-table-5", "accuracy").splitlines()
    assert lines[1].split() == ["format", "criterion", "and", "scenario", "judge-0-0", "judge-1-1", "judge-2-2"]
    assert len(lines) == 3 + len(CRITERION_FORMATS) * 4
