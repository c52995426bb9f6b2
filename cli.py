"""Tiebreak on the command line.

A command exits with 0, or with 2 and one sentence on standard error. With --json it prints one JSON value on standard
output, and nothing else there. Modules are imported by the commands that need them, so `--help` is fast.
"""

if __name__ == "__main__":  # first: the other imports take longer than Ctrl+C
    from commands.first_interrupts import end_at_once

    end_at_once()

import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from commands import admin, data, experiments, improvement, judges, output, people, replies, runs, studies, tables

COMMANDS: dict[str, Callable[..., None]] = {
    "import": data.import_file,
    "mapping": data.suggest_mapping,
    "run": runs.run,
    "worker": runs.worker,
    "experiment": experiments.experiment,
    "agreement": people.agreement,
    "tags": people.tags,
    "alignment": people.alignment,
    "judges": judges.judges,
    "compare": judges.compare,
    "compare-runs": judges.compare_runs,
    "biases": judges.biases,
    "formats": judges.formats,
    "slices": judges.slices,
    "rationales": judges.rationales,
    "causes": judges.causes,
    "plan": judges.plan,
    "discussions": judges.discussions,
    "systems": judges.systems,
    "weights": people.weights,
    "laboratory": people.laboratory,
    "table": tables.table,
    "critiques": people.critiques,
    "search": replies.search,
    "unread": replies.unread,
    "reread": replies.reread,
    "offer": studies.offer,
    "adopt": data.adopt,
    "inputs": data.inputs,
    "export": data.export,
    "bundle": data.bundle,
    "report": data.report,
    "backup": data.backup,
    "restore": data.restore,
    "copy-database": data.copy_database,
    "members": admin.members,
    "audit": admin.audit,
    "summaries": studies.summaries,
}
IMPROVE_HELP = "Improve a judge from people's decisions: variants, accepted on held-out items only."
GROUPS: dict[str, tuple[dict[str, Callable[..., None]], dict[str, Any]]] = {
    "accounts": (admin.COMMANDS, {"help": "Manage accounts, their sessions and their API tokens."}),
    "studies": (studies.STUDY_COMMANDS, {"help": "List, rename, archive, delete and restore studies."}),
    "runs": (studies.RUN_COMMANDS, {"help": "List, delete and restore the runs of a study."}),
    "annotators": (people.COMMANDS, {"invoke_without_command": True, "callback": people.annotators}),
    "improve": (improvement.COMMANDS, {"help": IMPROVE_HELP}),
}
"""Name -> the commands of a group, and its options."""


def build_app(first_word: str = "") -> typer.Typer:
    """Return the app; only with the command or group of this name if there is one.

    Typer reads the options of every command that an app has, which takes 20 ms for all of them.
    """
    app = typer.Typer(
        cls=output.ErrorFormattingGroup,
        help="Tiebreak on the command line.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        callback=lambda: None,  # an app with one command would otherwise be that command, without its name
    )
    is_known = first_word in COMMANDS or first_word in GROUPS
    for name, command in COMMANDS.items():
        if not is_known or name == first_word:
            app.command(name)(command)
    for name, (commands, options) in GROUPS.items():
        if not is_known or name == first_word:
            group = typer.Typer(rich_markup_mode=None, **options)
            for own_name, command in commands.items():
                group.command(own_name)(command)
            app.add_typer(group, name=name)
    return app


app = build_app()

if __name__ == "__main__":
    # A command waits for an import in another process; nobody looks at a screen meanwhile.
    os.environ.setdefault("TIEBREAK_LOCK_TIMEOUT", "60")
    build_app(*sys.argv[1:2])()
