"""More pairs for the annotators' queue."""

from dataclasses import asdict
from typing import Annotated

import typer

from commands.options import DatabaseUrl, Json, StudyName, open_study
from commands.output import print_result


def offer(
    study: StudyName,
    criterion: Annotated[str, typer.Option(help="The criterion on which the pairs are labelled.")],
    pairs: Annotated[int | None, typer.Option(min=1, help="Pairs to draw at random. Default: every pair.")] = None,
    seed: Annotated[int, typer.Option(help="A larger sample with the same seed contains the smaller one.")] = 0,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Offer pairs of responses to annotators on which the judges agree, or which no judge has compared."""
    from storage.database import writing
    from storage.labelling import offers

    engine, source = open_study(database, study)
    with writing(engine) as session:
        result = offers.offer(session, source, criterion, count=pairs, seed=seed)
    text = f"Drawn: {result.drawn:,} of {result.total:,} pairs; added to the queue: {result.added:,}."
    print_result(asdict(result), text, as_json)
