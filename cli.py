"""Tiebreak on the command line.

A command exits with 0, or with 2 and one sentence on standard error. With --json it prints one JSON value on standard
output, and nothing else there. Modules are imported by the commands that need them, so `--help` is fast.
"""

from collections.abc import Callable

import typer

from commands import (
    accounts,
    adoption,
    annotators,
    audit,
    errors,
    experiments,
    export,
    improvement,
    judges,
    members,
    offers,
    publication,
    replies,
    run_comparison,
    runs,
    statistics,
    studies,
    summaries,
    tables,
    transfer,
    workers,
)

app = typer.Typer(
    cls=errors.ErrorFormattingGroup,
    help="Tiebreak on the command line.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "import": transfer.import_file,
    "mapping": transfer.suggest_mapping,
    "run": runs.run,
    "worker": workers.worker,
    "experiment": experiments.experiment,
    "agreement": statistics.agreement,
    "tags": statistics.tags,
    "alignment": statistics.alignment,
    "judges": judges.judges,
    "compare": judges.compare,
    "compare-runs": run_comparison.compare_runs,
    "biases": judges.biases,
    "formats": judges.formats,
    "slices": judges.slices,
    "rationales": judges.rationales,
    "causes": judges.causes,
    "plan": judges.plan,
    "discussions": judges.discussions,
    "systems": judges.systems,
    "weights": statistics.weights,
    "laboratory": statistics.laboratory,
    "table": tables.table,
    "critiques": statistics.critiques,
    "search": replies.search,
    "unread": replies.unread,
    "reread": replies.reread,
    "offer": offers.offer,
    "adopt": adoption.adopt,
    "inputs": adoption.inputs,
    "export": export.export,
    "bundle": publication.bundle,
    "report": publication.report,
    "backup": transfer.backup,
    "restore": transfer.restore,
    "members": members.members,
    "audit": audit.audit,
    "summaries": summaries.summaries,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
account_commands = typer.Typer(help="Manage accounts, their sessions and their API tokens.", rich_markup_mode=None)
for name, command in accounts.COMMANDS.items():
    account_commands.command(name)(command)
app.add_typer(account_commands, name="accounts")
study_commands = typer.Typer(help="List, rename, archive, delete and restore studies.", rich_markup_mode=None)
for name, command in studies.STUDY_COMMANDS.items():
    study_commands.command(name)(command)
app.add_typer(study_commands, name="studies")
run_commands = typer.Typer(help="List, delete and restore the runs of a study.", rich_markup_mode=None)
for name, command in studies.RUN_COMMANDS.items():
    run_commands.command(name)(command)
app.add_typer(run_commands, name="runs")
annotator_commands = typer.Typer(invoke_without_command=True, rich_markup_mode=None, callback=annotators.annotators)
for name, command in annotators.COMMANDS.items():
    annotator_commands.command(name)(command)
app.add_typer(annotator_commands, name="annotators")
improve_commands = typer.Typer(
    help="Improve a judge from people's decisions: variants, accepted on held-out items only.", rich_markup_mode=None
)
for name, command in improvement.COMMANDS.items():
    improve_commands.command(name)(command)
app.add_typer(improve_commands, name="improve")

if __name__ == "__main__":
    app()
