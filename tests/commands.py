"""Commands of the command line, executed in the process of the test."""

from collections.abc import Sequence
from functools import cache

from typer import testing
from typer.testing import Result

import cli

# To build the app with all commands takes longer than many of them.
testing._get_command = cache(testing._get_command)


def run_command(words: Sequence[str], input: str | None = None) -> Result:
    """Execute a command, whose standard input is `input`; the result has its exit code and what it printed."""
    return testing.CliRunner().invoke(cli.app, words, input=input)
