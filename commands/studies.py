"""Studies and runs as a whole: the commands `cli.py studies ...` and `cli.py runs ...`."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from commands import lazy_imports, output
from core.designs import AGREED, Form
from core.errors import TiebreakError
from core.labels import Kind

with lazy_imports():
    from storage.db import connections
    from storage.labelling import offers
    from storage.labels import targets
    from storage.reports import contents, label_designs
    from storage.runs import call_totals, runs, trace_opinions
    from storage.studies import studies
    from storage.transfer import deletions


Name = Annotated[str, typer.Argument(help="The study's name.")]
RunName = Annotated[str, typer.Argument(help="The run's name.")]


def list_studies(session: output.Reading) -> output.Result:
    """Print all studies, and the deleted ones that can be restored."""
    counts = contents.progress(session)
    rows: list[dict[str, Any]] = [
        {
            "study": study.name,
            "items": counts[study.id].items,
            "runs": counts[study.id].runs,
            "labels": counts[study.id].labels,
            "state": "archived" if study.archived else "",
        }
        for study in (studies.get(session, name) for name in studies.names(session))
    ]
    nothing = {"items": None, "runs": None, "labels": None}
    rows += [{"study": one.name, **nothing, "state": _deleted(one)} for one in deletions.deleted_studies(session)]
    return output.as_table(rows, "There are no studies.")


def rename(
    session: output.Writing, name: Name, new: Annotated[str, typer.Argument(help="The new name.")]
) -> output.Result:
    """Change the name of a study."""
    studies.rename(session, studies.get(session, name).id, new)
    return {"renamed": name, "to": new}, f"Renamed {name!r} to {new!r}."


def archive(
    session: output.Writing,
    name: Name,
    undo: Annotated[bool, typer.Option("--undo", help="Offer its targets again.")] = False,
) -> output.Result:
    """Archive a study: nobody is offered its targets, and its results stay."""
    studies.archive(session, studies.get(session, name).id, archived=not undo)
    return {"study": name, "archived": not undo}, f"{name!r} is {'active' if undo else 'archived'}."


def delete(session: output.Writing, name: Name) -> output.Result:
    """Delete a study; it can be restored for 30 days."""
    deletions.delete_study(session, studies.get(session, name).id)
    text = f"Deleted {name!r}. To restore it within {deletions.PERIOD.days} days: studies restore {shlex.quote(name)}"
    return {"deleted": name}, text


def restore(session: output.Writing, name: Name) -> output.Result:
    """Restore a deleted study."""
    restored = deletions.restore_study(session, _newest(deletions.deleted_studies(session), name, "study"))
    return {"restored": restored}, f"Restored {restored!r}."


def list_runs(source: output.Source, session: output.Reading) -> output.Result:
    """Print the runs of a study, and the deleted ones that can be restored."""
    found = runs.of_study(session, source.id)
    progress = runs.progress_by_run(session, [run.id for run in found])
    rows: list[dict[str, Any]] = [
        {
            "run": run.name,
            "protocol": run.protocol,
            "traces": progress[run.id].traces,
            "done": progress[run.id].done,
            "state": "running" if run.active and run.state == "requested" else run.state,
        }
        for run in found
    ]
    rows += [
        {"run": one.name, "protocol": None, "traces": one.traces, "done": None, "state": _deleted(one)}
        for one in deletions.deleted_runs(session, source.id)
    ]
    return output.as_table(rows, "The study has no runs.")


def delete_run(name: RunName, source: output.Source, session: output.Writing) -> output.Result:
    """Delete a run with its traces and opinions; labels stay. It can be restored for 30 days."""
    ids = {run.name: run.id for run in runs.of_study(session, source.id)}
    if name not in ids:
        raise TiebreakError(f"The study {source.name!r} has no run called {name!r}.")
    deletions.delete_run(session, ids[name])
    restoring = f"runs restore {shlex.quote(name)} --study {shlex.quote(source.name)}"
    return {"deleted": name}, f"Deleted {name!r}. To restore it within {deletions.PERIOD.days} days: {restoring}"


def restore_run(name: RunName, source: output.Source, session: output.Writing) -> output.Result:
    """Restore a deleted run."""
    deletions.restore_run(session, source.id, _newest(deletions.deleted_runs(session, source.id), name, "run"))
    return {"restored": name}, f"Restored {name!r}."


def _deleted(one: "deletions.Deleted") -> str:
    return f"deleted, until {one.until:%Y-%m-%d}"


def _newest(deleted: "Sequence[deletions.Deleted]", name: str, noun: str) -> int:
    """Return the id of the newest deletion under a name; raises TiebreakError if there is none."""
    ids = [one.id for one in deleted if one.name == name]
    if not ids:
        raise TiebreakError(f"There is no deleted {noun} called {name!r} that can be restored.")
    return ids[0]


# The summaries that are stored with targets, traces and runs.

SHOWN = 20  # differences in the table; JSON has all


def summaries(
    study: Annotated[str | None, typer.Option("--study", help="Only this study.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 2 if a summary differs from the data.")
    ] = False,
    database: output.DatabaseUrl = None,
    as_json: output.Json = False,
) -> None:
    """Compute what is stored with targets, traces and runs again, and print what differed.

    It is the number of labels and the dispute of every target, the orders shown in every trace with a verdict, and the
    sums over the calls of every run that has ended.
    """
    engine = output.open_database(database)
    study_id = output.find_study(engine, study).id if study is not None else None
    with connections.reading(engine) if check else connections.writing(engine) as session:
        rows = _differences(session, study_id, check)
    tables = [
        output.format_table(part[:SHOWN], "") + (f"\nand {len(part) - SHOWN:,} more" if len(part) > SHOWN else "")
        for part in rows.values()
        if part
    ]
    text = "\n\n".join(tables) or "All summaries agree with the labels, opinions and turns."
    output.print_result([row for part in rows.values() for row in part], text, as_json)
    if check and tables:
        wrong = " and ".join(f"{len(part):,} {noun}" for noun, part in rows.items() if part)
        raise TiebreakError(f"The summaries of {wrong} differ; the command without --check corrects them.")


def _differences(session: output.Reading, study_id: int | None, check: bool) -> dict[str, list[dict[str, Any]]]:
    """Return noun -> rows of what differs between the stored summaries and the data; corrects it unless `check`."""
    found = {
        "targets": targets.summary_differences,
        "traces": trace_opinions.order_differences,
        "calls of runs": call_totals.differences,
    }
    return {
        noun: [dict(one.cells) for one in differences(session, study_id, rebuild=not check)]
        for noun, differences in found.items()
    }


# Which pairs people label: more pairs for the annotators' queue, and the design that draws them.

PairCriterion = Annotated[str, typer.Option("--criterion", help="The criterion on which people label.")]


def offer(
    source: output.Source,
    session: output.Writing,
    criterion: PairCriterion,
    pairs: Annotated[int | None, typer.Option(min=1, help="Pairs to draw at random. Default: every pair.")] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="A larger sample with the same seed contains the smaller one. Default: the design's, or 0."),
    ] = None,
) -> output.Result:
    """Offer pairs of responses to annotators on which the judges agree, or which no judge has compared."""
    result = offers.offer(session, source, criterion, count=pairs, seed=seed)
    text = f"Drawn: {result.drawn:,} of {result.total:,} pairs; added to the queue: {result.added:,}."
    return asdict(result), text


def design(
    source: output.Source,
    session: output.Writing,
    criterion: PairCriterion,
    kind: Annotated[
        Literal["preference", "score"], typer.Option(help="What of the criterion people label.")
    ] = "preference",
    form: Annotated[Form | None, typer.Option(help="How pairs are drawn.")] = None,
    by: Annotated[str, typer.Option(help="Strata: contention, scenario or group.")] = "",
    agreed: Annotated[int | None, typer.Option(min=0, help="Pairs on which judges agree, drawn at random.")] = None,
    share: Annotated[
        list[str] | None,
        typer.Option(metavar="STRATUM=SHARE", help="The share of a stratum, such as agreed=0.2; 0.2 is of all others."),
    ] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Pairs in all, divided among the strata.")] = None,
    allocation: Annotated[
        Literal["proportional", "neyman"],
        typer.Option(help="By the pairs of each stratum, or by these and how labels differ in it."),
    ] = "proportional",
    seed: Annotated[int | None, typer.Option(help="Of the draw. Default: the present one, or 0.")] = None,
) -> output.Result:
    """Print which pairs people label, or change it: shares grow, and from the first label on they do not shrink."""
    shares = dict(_read_share(text) for text in share or ())
    changes: dict[str, Any] = {"form": form, "by": by, "shares": shares, "seed": seed}
    if any(value not in (None, "", {}) for value in (*changes.values(), agreed, size)):
        sizes = {} if agreed is None else {AGREED: agreed}
        if size is not None:
            is_neyman = allocation == "neyman"
            sizes |= label_designs.sizes_of_change(
                session, source, criterion, size, neyman=is_neyman, kind=kind, **changes
            )
        offers.change_design(session, source, criterion, sizes=sizes, kind=kind, **changes)
    return _describe_design(criterion, kind, label_designs.find(session, source.id, criterion, kind))


def _read_share(text: str) -> tuple[str, float]:
    """Return stratum and share of `agreed=0.2`, or of `0.2` for all other strata."""
    stratum, _, number = text.rpartition("=")
    try:
        return stratum, float(number)
    except ValueError:
        raise TiebreakError(f"A share is STRATUM=NUMBER, such as agreed=0.2, and not {text!r}.") from None


def _describe_design(criterion: str, kind: Kind, report: "label_designs.DesignReport | None") -> output.Result:
    text = label_designs.describe(report, kind)
    if report is None:
        return {"criterion": criterion, "kind": kind, "form": None}, text
    consequence = label_designs.consequence(report)
    rows = [
        {
            "stratum": one.name,
            "share": round(one.share, 4),
            "targets": one.targets,
            "drawn": one.drawn,
            "labelled": one.labelled,
            "missing": one.missing,
        }
        for one in report.strata
    ]
    own = report.design
    head = f"{label_designs.form_name(report)} (round {own.round}, seed {own.seed}). {text} {consequence}"
    found = {
        "criterion": criterion,
        "kind": report.kind,
        "form": own.form.value,
        "by": own.by,
        "round": own.round,
        "seed": own.seed,
        "strata": rows,
        "chosen": report.chosen,
        "half_width": report.half_width(),
        "consequence": consequence,
    }
    return found, f"{head}\n\n{output.format_table(rows, '')}"
