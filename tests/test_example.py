"""The worked example: its commands print what docs/example.md says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.commands import run_command
from tests.databases import create_database
from tests.paths import ROOT

BLOCK = re.compile(r"```(sh|text|python)\n(.*?)```", re.DOTALL)


@pytest.mark.slow
def test_the_commands_of_the_example_print_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = create_database(tmp_path / "tiebreak.db")
    monkeypatch.chdir(ROOT)
    printed = ""
    for language, text in BLOCK.findall((ROOT / "docs" / "example.md").read_text(encoding="utf-8")):
        if language == "sh":
            printed = ""
            for line in text.strip().splitlines():
                words = shlex.split(line)[2:]
                if words[1] in ("report", "bundle"):
                    words[-1] = str(tmp_path / words[-1])
                result = run_command([*words, "--database", url])
                assert result.exit_code == 0, result.output
                printed += result.output
        elif language == "text":
            lines = {" ".join(line.split()) for line in printed.splitlines()}
            assert {" ".join(line.split()) for line in text.strip().splitlines()} <= lines, printed
        else:
            exec(text.replace("sqlite:///tiebreak.db", url))
            assert r"careful & 0.90 & 0.83 & 0.94 & 120" in capsys.readouterr().out
    assert (tmp_path / "report.html").stat().st_size > 10_000 and (tmp_path / "sums.zip").exists()
