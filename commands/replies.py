"""Replies that could not be read, and stored replies read again."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from commands.output import DatabaseUrl, Json, StudyName, format_table, open_study, print_result


def unread(
    study: StudyName,
    run: Annotated[str | None, typer.Option(help="Only the replies in this run.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only the replies of this judge.")] = None,
    step: Annotated[str | None, typer.Option(help="Only the replies in this step, such as opinion.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Print the text of at most this many replies.")] = 20,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print the replies that could not be read. Counts by judge, step and reason come first, then the texts."""
    from storage.db.connections import reading
    from storage.runs import outcomes as replies
    from storage.worker import find_run

    engine, source = open_study(database, study)
    run_id = None if run is None else find_run(engine, source, run).id
    conditions = replies.UnreadFilter(source.id, run_id, judge, step)
    with reading(engine) as session:
        counts = [asdict(count) for count in replies.count_unread(session, conditions)]
        summaries = [reply.summary() for reply in replies.page_unread(session, conditions, size=limit).rows]
    lines = [format_table(counts, "No unreadable replies."), *(f"\n{format_reply(reply)}" for reply in summaries)]
    print_result({"counts": counts, "replies": summaries}, "\n".join(lines), as_json)


def search(
    study: StudyName,
    text: Annotated[str, typer.Argument(help="The text to search for; case is ignored.")],
    area: Annotated[str, typer.Option("--in", help="items, turns or labels (with notes and decisions).")] = "items",
    limit: Annotated[int, typer.Option(min=1, help="Print at most this many matches.")] = 20,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Print where a text is in a study's items, turns, or reasons and notes, with the field and the trace."""
    from storage.db.connections import reading
    from storage.runs import search as texts

    engine, source = open_study(database, study)
    with reading(engine) as session:
        found = texts.find(session, source.id, text, texts.parse_area(area), limit=limit).matches[:limit]
    rows = [
        {"item": one.item, "field": one.field, "trace": one.trace, "text": f"{one.before}{one.text}{one.after}"}
        for one in found
    ]
    traces = ["" if one.trace is None else f" (trace {one.trace})" for one in found]
    lines = [
        f"{row['item']} · {row['field']}{trace}\n{_indented(str(row['text']))}"
        for row, trace in zip(rows, traces, strict=True)
    ]
    print_result(rows, "\n".join(lines) or "No match.", as_json)


def format_reply(reply: Mapping[str, Any]) -> str:
    """Return an unreadable reply with its place, below the reply to the first request if there were two."""
    from core.items import item_name

    name = item_name(reply["item"], reply["part"])
    place = f"{reply['run']} · {name} · {reply['judge']} · {reply['step']}, round {reply['round']}"
    place += f" (trace {reply['trace']})"
    if not reply["first_problem"]:
        return f"{place}: {reply['problem']}\n{_indented(reply['reply'])}"
    return (
        f"{place}\n  First reply: {reply['first_problem']}\n{_indented(reply['first_reply'])}\n"
        f"  Second reply: {reply['problem']}\n{_indented(reply['reply'])}"
    )


def _indented(text: str) -> str:
    """Return an indented text; its control characters are not sent to the terminal."""
    text = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text.strip())
    return "    " + text.replace("\n", "\n    ")


def reread(
    study: StudyName,
    run: Annotated[str | None, typer.Option(help="Only the replies in this run.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Store the new readings and the resulting verdicts.")] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Apply the parsers of this version to stored replies. No model is called; without --apply nothing is stored.

    A trace whose verdict would need new calls is listed and not changed. Earlier readings stay stored.
    """
    from storage.db import audit
    from storage.db.connections import writing
    from storage.runs import readings

    engine, source = open_study(database, study)
    rereads = list(readings.reread_study(engine, source, run=run, apply=apply))
    changes = [
        {**asdict(change), "outcome": trace.outcome, "needs_calls": trace.needs_calls}
        for trace in rereads
        for change in trace.changes
    ]
    skipped = [
        {"trace_id": t.trace_id, "run": t.run, "item": t.item, "why": t.needs_calls} for t in rereads if t.needs_calls
    ]
    if apply and changes:
        with writing(engine) as session:
            audit.record_change(session, source.id, f"{len(changes)} readings by the parsers of this version")
    columns = ("run", "item", "judge", "step", "round", "old", "new", "rule", "problem", "outcome")
    applicable = [{name: row[name] for name in columns} for row in changes if not row["needs_calls"]]
    verb = "Stored" if apply else "Changes; add --apply to store them"
    parts = [format_table(applicable, "No reading changes.")]
    parts += [f"{verb}: {len(applicable)} readings."] if applicable else []
    parts += ["Not changed, because the verdict would need new calls:", format_table(skipped, "")] if skipped else []
    print_result({"applied": apply, "changes": changes, "left_alone": skipped}, "\n\n".join(parts), as_json)
