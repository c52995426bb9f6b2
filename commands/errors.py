"""Errors of a command: one sentence on standard error, and the exit code 2."""

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from commands import first_interrupts, options
from core.errors import TiebreakError

INTERRUPTED = 130
"""The exit code for Ctrl+C in Typer."""


class ErrorFormattingGroup(TyperGroup):
    """Reports every expected error as one sentence with exit code 2, instead of a usage text in a box."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, or print the help without one, and exit."""
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        try:
            first_interrupts.raise_again()
            code = super().main(words, prog_name, complete_var, False, windows_expand_args, **extra)
        except (TiebreakError, typer.TyperException) as error:
            exit_with_error(error.format_message() if isinstance(error, typer.TyperException) else str(error))
        except Exception as error:
            exit_with_error(database_sentence(error))
        if code == INTERRUPTED:
            exit_with_error(f"Interrupted: the command had not ended. {options.describe_changes()}")
        sys.exit(code)


def database_sentence(error: Exception) -> str:
    """Return an error of the database as a sentence; raises any other error."""
    from storage import database_errors

    if not isinstance(error, database_errors.DBAPIError):
        raise error
    return database_errors.describe(error)


def exit_with_error(message: str) -> NoReturn:
    """Print a message as one sentence, and exit with 2."""
    sentence = " ".join(message.replace("Value error, ", "").split())  # pydantic's wording
    typer.echo(sentence if sentence.endswith((".", "!", "?")) else f"{sentence}.", err=True)
    sys.exit(2)
