"""The inputs of runs: AIUs that earlier runs extracted, references and aspects."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import DatabaseUrl, Json, StudyName, open_study
from commands.output import format_table, print_result
from core.errors import TiebreakError

if TYPE_CHECKING:
    from storage.adoption import Reextraction


def adopt(
    study: StudyName,
    by: Annotated[str, typer.Option(help="Name of the person who adopts; stored with each edit.")],
    run: Annotated[
        str | None, typer.Option(help="Only what this run generated. Default: the newest with AIUs.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace standing AIUs by those of --run; you confirm which ones are the same."),
    ] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Make the AIUs, critiques and reference answers that runs generated the items' own, where items lack them."""
    from storage import adoption
    from storage.database import reading, writing

    if replace and (run is None or as_json):
        raise TiebreakError("--replace needs --run, and asks questions: it cannot be combined with --json.")
    engine, source = open_study(database, study)
    if run is None or not replace:
        with writing(engine) as session:
            count = adoption.adopt_all(session, source.id, by, run)
        print_result({"study": study, "items": count}, f"Items that adopted AIUs: {count:,}.", as_json)
        return
    with reading(engine) as session:
        found = adoption.reextractions(session, source.id, run)
    confirmed = {(reextraction.item, reextraction.critique): confirm_matches(reextraction) for reextraction in found}
    with writing(engine) as session:
        count = adoption.replace_aius(session, source.id, by, run, confirmed)
    kept = sum(map(len, confirmed.values()))
    typer.echo(f"Critiques with replaced AIUs: {count:,}. AIUs that stay the same, with their labels: {kept:,}.")


def confirm_matches(reextraction: "Reextraction") -> dict[str, str]:
    """Ask about each pair of AIUs that may be the same; return new id -> old id of the confirmed ones."""
    same: dict[str, str] = {}
    typer.echo(
        f"{reextraction.item}, critique {reextraction.critique}: {len(reextraction.matches())} of "
        f"{len(reextraction.new)} new AIUs resemble earlier ones."
    )
    for match in reextraction.matches():
        typer.echo(f"  earlier: {match.old.text}\n  new:     {match.new.text}")
        if typer.confirm(f"  The same statement ({match.similarity:.0%} alike)?", default=False):
            same[match.new.id] = match.old.id
    return same


def inputs(
    study: StudyName,
    file: Annotated[
        Path | None,
        typer.Option(help="CSV, JSON or JSON lines with `item` and `reference`, `aspects` (one a line) or both."),
    ] = None,
    adopt_aspects: Annotated[
        str | None, typer.Option(help="A run whose proposed aspects items without aspects take.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Name of the person who changes inputs; stored with each edit.")
    ] = None,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """List the reference and the aspects by which new runs judge each item, or change them for many items."""
    from storage import inputs as standing_inputs
    from storage.database import reading, writing
    from storage.transfer.inputs_file import read_inputs

    engine, source = open_study(database, study)
    if file is None and adopt_aspects is None:
        with reading(engine) as session:
            rows = [asdict(row) for row in standing_inputs.standing(session, source.id)]
        print_result(rows, format_table(rows, "The study has no items."), as_json)
        return
    if by is None:
        raise TiebreakError("Name the person who changes inputs: --by NAME.")
    wanted = read_inputs(file) if file else {}
    with writing(engine) as session:
        count = standing_inputs.save(session, source.id, by, wanted)
        if adopt_aspects is not None:
            count += standing_inputs.adopt_aspects(session, source.id, by, adopt_aspects)
    print_result({"study": study, "items": count}, f"Items with changed inputs: {count:,}.", as_json)
