"""Tiebreak on the command line.

A command exits with 0, or with 2 and one sentence on standard error; a check that fails has a code of its own. With
--json it prints one JSON value on standard output, and nothing else there. Old names of commands go on, with one line
of notice on standard error. Modules are imported by the commands that need them, so `--help` is fast.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer

from commands import admin, data, improvement, judges, output, people, runs, studies, tables

Function = Callable[..., Any]


class Command(NamedTuple):
    """The function of a command, and the name that it had before commands were grouped by nouns."""

    function: Function
    old_name: str = ""


class Noun(NamedTuple):
    """A group of commands. Without a subcommand it executes the one named `default`, if there is one."""

    help: str
    commands: dict[str, Command]
    default: str = ""


# Every command, in the order of `--help`. A noun with one command is that command.
NOUNS: dict[str, Noun | Command] = {
    "data": Noun(
        "Import, export, search and publish data.",
        {
            "import": Command(data.import_file, "import"),
            "mapping": Command(data.suggest_mapping, "mapping"),
            "export": Command(data.export, "export"),
            "bundle": Command(data.bundle, "bundle"),
            "report": Command(data.report, "report"),
            "search": Command(runs.search, "search"),
            "adopt": Command(data.adopt, "adopt"),
            "inputs": Command(data.inputs, "inputs"),
        },
    ),
    "prompts": Noun("Prompts of the papers' released code.", {"import": Command(data.import_prompts)}),
    "studies": Noun(
        "Manage studies and their members.",
        {
            "list": Command(studies.list_studies),
            "rename": Command(studies.rename),
            "archive": Command(studies.archive),
            "delete": Command(studies.delete),
            "restore": Command(studies.restore),
            "members": Command(admin.members, "members"),
            "offer": Command(studies.offer, "offer"),
            "design": Command(studies.design),
        },
    ),
    "runs": Noun(
        "Start, compare and manage runs. Read replies again.",
        {
            "start": Command(runs.run, "run"),
            "list": Command(studies.list_runs),
            "delete": Command(studies.delete_run),
            "restore": Command(studies.restore_run),
            "compare": Command(judges.compare_runs, "compare-runs"),
            "unread": Command(runs.unread, "unread"),
            "reread": Command(runs.reread, "reread"),
        },
    ),
    "experiments": Noun(
        "Runs that differ in named settings, and their tables.",
        {
            "run": Command(runs.experiment, "experiment"),
            "status": Command(runs.experiment_status),
            "table": Command(tables.table, "table"),
        },
    ),
    "judges": Noun(
        "Rank and compare judges. Without a command: rank.",
        {
            "rank": Command(judges.judges),
            "compare": Command(judges.compare, "compare"),
            "alignment": Command(people.alignment, "alignment"),
            "metric": Command(judges.metric),
            "influence": Command(runs.influence),
            "biases": Command(judges.biases, "biases"),
            "formats": Command(judges.formats, "formats"),
            "slices": Command(judges.slices, "slices"),
            "rationales": Command(judges.rationales, "rationales"),
            "causes": Command(judges.causes, "causes"),
            "discussions": Command(judges.discussions, "discussions"),
            "policy": Command(judges.policy, "policy"),
            "policy-verify": Command(judges.policy_verify, "policy verify"),
        },
        default="rank",
    ),
    "people": Noun(
        "Annotators, their agreement and their labels.",
        {
            "agreement": Command(people.agreement, "agreement"),
            "tags": Command(people.tags, "tags"),
            "annotators": Command(people.annotators, "annotators"),
            "erase": Command(people.erase, "annotators erase"),
            "plan": Command(judges.plan, "plan"),
        },
    ),
    "systems": Command(judges.systems),
    "critiques": Command(people.critiques),
    "weights": Noun(
        "Compare weights of aspects. Without a command: distances.",
        {"distances": Command(people.weights), "laboratory": Command(people.laboratory, "laboratory")},
        default="distances",
    ),
    "improve": Noun(
        "Improve a judge: variants, accepted on held-out items only.",
        {
            "split": Command(improvement.split),
            "status": Command(improvement.status),
            "disagreements": Command(improvement.disagreements),
            "suggest": Command(improvement.suggest),
            "propose": Command(improvement.propose),
            "guidelines": Command(improvement.guidelines),
            "evaluate": Command(improvement.evaluate),
            "accept": Command(improvement.accept),
            "history": Command(improvement.history),
        },
    ),
    "accounts": Noun(
        "Manage accounts, their sessions and their API tokens.",
        {
            "add": Command(admin.add),
            "invite": Command(admin.invite),
            "password": Command(admin.password),
            "disable": Command(admin.disable),
            "enable": Command(admin.enable),
            "change": Command(admin.change),
            "list": Command(admin.list_accounts),
            "tokens": Command(admin.tokens),
            "sessions": Command(admin.sessions),
        },
    ),
    "server": Noun(
        "Operate a server and its database.",
        {
            "worker": Command(runs.worker, "worker"),
            "backup": Command(data.backup, "backup"),
            "restore": Command(data.restore, "restore"),
            "copy-database": Command(data.copy_database, "copy-database"),
            "audit": Command(admin.audit, "audit"),
            "summaries": Command(studies.summaries, "summaries"),
        },
    ),
}
# Old name -> the words of the command.
OLD_NAMES: dict[str, list[str]] = {
    command.old_name: [noun, name]
    for noun, group in NOUNS.items()
    if isinstance(group, Noun)
    for name, command in group.commands.items()
    if command.old_name
}


def current_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with today's name of the command, and with the default of a noun."""
    for length in (2, 1):  # "annotators merge" before "annotators"
        if name := OLD_NAMES.get(" ".join(words[:length])):
            return [*name, *words[length:]]
    group = NOUNS.get(words[0]) if words else None
    is_bare = len(words) < 2 or (words[1].startswith("-") and words[1] != "--help")
    default = [group.default] if isinstance(group, Noun) and group.default and is_bare else []
    return [*words[:1], *default, *words[1:]]


class Commands(output.ErrorFormattingGroup):
    """The top of the app: it knows old names, which `--help` does not show."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the nouns in their order; Typer has groups last."""
        return [noun for noun in NOUNS if noun in self.commands]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the words name; an old name prints the new one on standard error."""
        words = current_words(args)
        if words[0] != args[0]:
            old_words = len(args) - len(words) + 2
            typer.echo(f"`cli.py {' '.join(args[:old_words])}` is now `cli.py {' '.join(words[:2])}`.", err=True)
        return super().resolve_command(ctx, words)


def build_app() -> typer.Typer:
    """Return the app with every command."""
    app = typer.Typer(
        cls=Commands,
        help="Tiebreak on the command line.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for noun, group in NOUNS.items():
        if isinstance(group, Command):
            app.command(noun)(output.to_command(group.function))
            continue
        own = typer.Typer(rich_markup_mode=None, help=group.help)
        for name, command in group.commands.items():
            own.command(name)(output.to_command(command.function))
        app.add_typer(own, name=noun)
    return app


app = build_app()

if __name__ == "__main__":
    # A command waits for an import in another process; nobody looks at a screen meanwhile.
    os.environ.setdefault("TIEBREAK_LOCK_TIMEOUT", "60")
    app()
