"""Agreement, alignment, weights and critiques."""

from contextlib import suppress
from dataclasses import asdict
from datetime import UTC
from typing import Annotated, Any, Literal

import typer

from commands import lazy_imports
from commands.output import Database, Reading, Reference, Result, Source, as_table, format_table, with_population

with lazy_imports():
    from core.formats import tables as data_tables
    from core.statistics.reports import weight_distances
    from storage.db import connections
    from storage.reports import agreement as agreement_report
    from storage.reports import alignment as alignment_report
    from storage.reports import annotators as annotator_report
    from storage.reports import critiques as critique_report
    from storage.reports import weights as weight_report
    from storage.transfer import erasure


def agreement(
    source: Source,
    engine: Database,
    by: Annotated[Literal["all", "scenario", "criterion", "raters"], typer.Option(help="Split the rows.")] = "all",
    annotators: Annotated[
        Literal["fixed", "sample"],
        typer.Option(help="Intervals for these annotators, or as a sample for others like them too (five or more)."),
    ] = "fixed",
) -> Result:
    """Print the agreement between annotators. Rows of the judges' first and last opinions follow."""
    rows = [asdict(row) for row in agreement_report.rows(engine, source, by, annotators=annotators)]
    unmeasured = [] if rows else agreement_report.report(engine, source, "people").unmeasured
    empty = agreement_report.describe_unmeasured(unmeasured) if unmeasured else "No labels yet."
    text = "\n".join([*([agreement_report.INTERVALS_FOR[annotators]] if rows else []), format_table(rows, empty)])
    return rows, text


def tags(source: Source, session: Reading) -> Result:
    """Print the tags in the reasons of labels ("#length"), with the annotators' agreement on each and on all."""
    rows = [asdict(row) for row in agreement_report.tags(session, source.id)]
    return as_table(rows, "No reason has a tag, such as #length.")


def alignment(
    source: Source,
    engine: Database,
    by: Annotated[Literal["all", "scenario", "criterion"], typer.Option(help="Split the rows.")] = "all",
    reference: Reference = None,
) -> Result:
    """Print each judge's alignment with a reference.

    Statistics with `gold` in their name, such as accuracy_gold, compare with the chosen reference, whichever it is. The
    column `reference` has its name and the sources of its values.
    """
    data = alignment_report.load_data(engine, source, reference)
    rows = [asdict(row) for row in alignment_report.rows_of(engine, source, data, by)]
    chosen = data.reference
    heading = f"Reference {chosen}: {chosen.title}. Statistics with `gold` in their name compare with this reference."
    table = format_table(with_population(rows), "No judge has given an opinion yet.")
    return rows, "\n".join([heading, *data.choices.notes, "", table]) if rows else table


def weights(
    source: Source,
    engine: Database,
    top: Annotated[
        int | None, typer.Option(min=1, help="Compare only this many heaviest aspects, by Fagin's K^(1/2).")
    ] = None,
) -> Result:
    """Print the distances between aspect weights. They are Kendall's, by pair of raters (DnA-Eval)."""
    measure = weight_distances.rank_distance if top is None else weight_distances.top_k_distance(top)
    rows = data_tables.records(weight_report.rows(engine, source, measure), weight_report.COLUMNS)
    return as_table(rows, "No weights yet.")


def laboratory(source: Source, engine: Database, reference: Reference = None) -> Result:
    """Print stored aspect scores under other weights. Is the gain from decomposing or from weighting (DnA-Eval)?"""
    reports = weight_report.laboratory(engine, source, reference=reference)
    parts = []
    for result in reports:
        note = f"No fitted weights: {result.unfitted}." if result.unfitted else ""
        table = format_table(data_tables.records(result.schemes, weight_report.SCHEME_COLUMNS), "")
        parts.append("\n".join(filter(None, (result.judge, result.answer, result.details, note, table))))
    empty = "No run of DnA-Eval has scores for pairs of responses with a preference of people."
    return [asdict(result) for result in reports], "\n\n".join(parts) or empty


def critiques(
    source: Source,
    engine: Database,
    pairs: Annotated[bool, typer.Option("--pairs", help="Compare two critiques by models, by F1.")] = False,
    accuracy: Annotated[bool, typer.Option("--accuracy", help="Compare each judge with the gold labels.")] = False,
) -> Result:
    """Print precision, recall and F1 of critiques. They are by author, from annotators and judges (MetaCritique)."""
    board = critique_report.leaderboard(engine, source)
    rows: list[dict[str, Any]]
    if pairs:
        rows = [asdict(row) for row in board.pairs]
    elif accuracy:
        rows = data_tables.records(board.accuracies, [critique_report.ACCURACY_KEYS])
    else:
        rows = data_tables.records(board.rows, critique_report.COLUMNS)
    columns = [
        {name: cell for name, cell in row.items() if not name.endswith(("low", "high", "reason"))} for row in rows
    ]
    return rows, format_table(columns, "No critique has been judged yet.")


# Annotators, their training, hidden checks and repeats.


def annotators(source: Source, session: Reading) -> Result:
    """Print each annotator's labels, agreement, training, hidden checks and repeats. Shares have 95 % intervals."""

    summaries = {summary.name: summary for summary in annotator_report.summaries(session, source.id, UTC)}
    results = {result.annotator: result for result in annotator_report.results(session, source)}
    rows = []
    for name in sorted({*summaries, *results}):
        summary, result = summaries.get(name), results.get(name)
        none = annotator_report.Share(0, 0)
        rows.append(
            {
                "annotator": name,
                "labels": summary.labels if summary else 0,
                **_share("gold", summary.gold if summary else none),
                "training": {True: "passed", False: "not passed", None: ""}[result.passed] if result else "",
                "attempts": result.attempts if result else 0,
                **_share("first_attempt", result.first if result else none),
                **_share("checks", result.checks if result else none),
                **_share("repeats", result.repeats if result else none),
            }
        )
    return as_table(rows, "No labels yet.")


def _share(name: str, share: Any) -> dict[str, float | int | None]:
    value, low, high = share.interval
    return {name: value, f"{name}_low": low, f"{name}_high": high, f"{name}_n": share.n}


def erase(
    engine: Database,
    name: Annotated[str, typer.Argument(help="The name of the person who is erased.")],
    labels: Annotated[
        Literal["keep", "remove"], typer.Option(help="Whether labels and decisions stay under a random name.")
    ],
    apply: Annotated[bool, typer.Option("--apply", help="Erase the person. It cannot be undone.")] = False,
) -> Result:
    """Erase a person from all studies, accounts and the audit log; without --apply nothing is stored."""

    class NotApplied(Exception):
        """Rolls the transaction back."""

    with suppress(NotApplied), connections.writing(engine) as session:
        found = erasure.erase(session, name, erasure.Labels(labels))
        if not apply:
            raise NotApplied
    parts = {"removed": found.removed, "named": found.renamed, "mentions the name": found.mentions}
    rows = [{"table": table, "rows": n, "was": part} for part, counts in parts.items() for table, n in counts.items()]
    lines = [format_table(rows, "Nothing of the person is stored but the name.")]
    kept = f"What stays is by {found.alias!r}." if found.alias else "Nothing of the person stays."
    lines.append(f"{'Erased' if apply else 'Would erase'} {name!r}. {kept}")
    lines += ["Free texts that mention the name are not changed."] if found.mentions else []
    lines += [] if apply else ["Nothing is stored without --apply; earlier backups keep the person."]
    return asdict(found) | {"applied": apply}, "\n".join(lines)
