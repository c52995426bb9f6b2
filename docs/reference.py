"""Writes the reference pages of the documentation from the commands and the Python API: `make docs`."""

import inspect
import sys
from pathlib import Path

import typer.main
from typer.cli import get_docs_for_click

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))


def commands() -> str:
    """Return every command with its options, as Markdown."""
    from cli import app

    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="cli.py")
    return get_docs_for_click(obj=command, ctx=context, name="cli.py", title="Commands")


def api() -> str:
    """Return every public function and method of `tiebreak.py`, as Markdown."""
    import tiebreak

    parts = ["# Python API", inspect.getdoc(tiebreak) or ""]
    for owner in (tiebreak, tiebreak.Database, tiebreak.Study):
        prefix = "tiebreak." if owner is tiebreak else ""
        if not prefix:
            parts += [f"## {owner.__name__}", inspect.getdoc(owner) or ""]
        for name, function in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_") and name in (tiebreak.__all__ if prefix else dir(owner)):
                signature = f"{prefix}{name}{inspect.signature(function)}"
                parts += [f"### {name}", f"```python\n{signature}\n```", inspect.getdoc(function) or ""]
    return "\n\n".join(parts)


if __name__ == "__main__":
    (FOLDER / "commands.md").write_text(commands(), "utf-8")
    (FOLDER / "api.md").write_text(api() + "\n", "utf-8")
