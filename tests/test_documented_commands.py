"""Every command, benchmark and make target that README, CONTRIBUTING or docs/ names exists, with the options named."""

import re
import runpy
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup

import cli
from tests.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^\s*```.*?^\s*```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(r"(?:^|\s|/)cli\.py\s+(.+)")
BENCHMARK = re.compile(r"^(?:.*-m tests\.bench\.)?((?:bench_|performance_table)\w*)(.*)")
TARGET = re.compile(r"^(?:[A-Z_]+=\S+ )?make ([a-z-]+)")


@cache
def code_of(page: Path) -> tuple[str, ...]:
    """Return the lines of code blocks, without comments, and the code within sentences."""
    text = page.read_text(encoding="utf-8")
    blocks = [*FENCED.findall(text), *(line for line in text.splitlines() if line.startswith("    "))]
    lines = [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]
    return (*lines, *(" ".join(span.split()) for span in SPAN.findall(FENCED.sub("", text))))


def found(pattern: re.Pattern[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield the name of the page and the match, for each piece of code that matches."""
    for page in PAGES:
        for code in code_of(page):
            if match := pattern.search(code):
                yield str(page.relative_to(ROOT)), match


@cache
def whole() -> Any:
    return typer.main.get_command(cli.app)


def commands_of(words: list[str]) -> Iterator[Any]:
    """Yield the command, or those of `group one|other`; raises KeyError for a word that is none of its group's."""
    command = whole()
    first, *rest = words
    words = [*cli.current_words([first]), *rest] if first in cli.OLD_NAMES else words
    while isinstance(command, TyperGroup) and words and re.fullmatch(r"[a-z][a-z|-]*", words[0]):
        first, *words = words
        *others, last = first.split("|")
        yield from (command.commands[other] for other in others)
        command = command.commands[last]
    yield command


def options_of(command: Any) -> set[str]:
    own = {"--help", *(option for one in command.params for option in (*one.opts, *one.secondary_opts))}
    return own.union(*map(options_of, command.commands.values())) if isinstance(command, TyperGroup) else own


def test_commands_and_their_options_exist():
    problems = []
    for page, match in found(COMMAND):
        try:
            known = set().union(*map(options_of, commands_of(match[1].split())))
        except KeyError as error:
            problems.append(f"{page}: cli.py {match[1]}: no command {error}")
            continue
        problems += [
            f"{page}: cli.py {match[1]}: no {option}" for option in OPTION.findall(match[1]) if option not in known
        ]
    assert not problems


def test_make_targets_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert not [f"{page}: make {match[1]}" for page, match in found(TARGET) if match[1] not in targets]


BENCHMARKS = sorted({match[1] for _, match in found(BENCHMARK)})


@pytest.mark.slow  # imports what the benchmark measures
@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_have_the_options_and_cases_that_are_named(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with warnings.catch_warnings(action="ignore"), pytest.raises(SystemExit) as ended:
        runpy.run_module(f"tests.bench.{name}", run_name="__main__")
    assert ended.value.code == 0
    words = set(re.findall(r"[\w-]+", capsys.readouterr().out))
    named = [(page, match[2]) for page, match in found(BENCHMARK) if match[1] == name]
    missing = [
        f"{page}: {name}: {word}"
        for page, rest in named
        for word in (*OPTION.findall(rest), *re.findall(r"(?<=\s)[a-z_]{3,}(?=\s|$)", rest))
        if word not in words
    ]
    assert not missing
