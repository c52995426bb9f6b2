"""The experiments of docs/papers: tables of five papers, as published and with current models."""

from functools import cache
from pathlib import Path

from core.experiments.definition import Definition, load

FOLDER = Path(__file__).parents[2] / "docs" / "papers"
FIRST_FIELDS = ("name:", "extends:")
"""The first field of an experiment's file; other files there are settings of protocols, or names of models."""


@cache
def files() -> tuple[Path, ...]:
    """Return the experiments' files in the order of their names; none if the folder is not installed."""
    return tuple(file for file in sorted(FOLDER.glob("*/*.yaml")) if _is_experiment(file))


def names() -> list[str]:
    """Return `scaleeval/table-5` and so on."""
    return [f"{file.parent.name}/{file.stem}" for file in files()]


def load_paper(name: str) -> Definition:
    """Return the experiment with one of `names`."""
    return load(FOLDER / f"{name}.yaml")


def title(name: str) -> str:
    """Return the comment in the first line of a file: the table or figure."""
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("#").strip()


def _is_experiment(file: Path) -> bool:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return bool(lines) and lines[0].startswith(FIRST_FIELDS)
