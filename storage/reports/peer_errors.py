"""A peer review's run against the truth: what people say, or the reference where the verdict is an answer."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Value
from core.problems import Problem, Unreadable
from core.protocols import ratings, registry
from core.protocols.refer import protocol as refer
from core.statistics.reports.peer_errors import Reviewed
from storage import items, labels, runs
from storage.runs import Run
from storage.tables import ItemRow, OpinionRow, TargetRow


@dataclass(frozen=True)
class Errors:
    """A run's traces beside the truth."""

    settings: refer.Settings
    reviewed: tuple[Reviewed, ...]
    without_truth: int
    """Traces left out: nobody labelled the item, people are divided on an answer, or there is no reference."""
    hidden: frozenset[str]
    """Items that whoever asks has not labelled: what others said of them is not told."""


def runs_of(session: Session, study_id: int) -> list[Run]:
    """The study's peer reviews, newest first."""
    return [run for run in runs.of_study(session, study_id) if run.protocol in registry.with_artifact("peer reviews")]


def errors(session: Session, run: Run, viewer: str | None = None) -> Errors:
    """What `core.statistics.reports.peer_errors` works on, for a run that has settings of the protocol."""
    try:
        settings = refer.Settings.model_validate(run.settings)
    except ValidationError:
        raise Problem(f"The settings of run {run.name!r} are not those of a peer review.") from None
    said = _said(session, run.id)
    true, labelled = _truths(session, run, settings, viewer)
    found = [
        Reviewed(
            trace=trace,
            item=item,
            truth=true[item],
            peers=tuple((judge, value) for judge, stage, value in opinions if stage == "last"),
            chair=next((value for _, stage, value in opinions if stage == "verdict"), None),
        )
        for (trace, item), opinions in said.items()
        if item in true
    ]
    there = {item for _, item in said}
    hidden = frozenset(there - labelled) if viewer is not None and settings.kind == "score" else frozenset()
    return Errors(settings, tuple(found), sum(item not in true for _, item in said), hidden)


def _said(session: Session, run_id: int) -> dict[tuple[int, str], list[tuple[str, str, Value | None]]]:
    """(trace, item) -> judge, stage and value of every opinion, in the order of the settings."""
    query = (
        select(
            col(OpinionRow.trace_id),
            col(ItemRow.key),
            col(OpinionRow.judge),
            col(OpinionRow.stage),
            col(OpinionRow.value),
        )
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(OpinionRow.run_id) == run_id)
        .order_by(col(ItemRow.position), col(OpinionRow.id))
    )
    found: dict[tuple[int, str], list[tuple[str, str, Value | None]]] = defaultdict(list)
    for trace, item, judge, stage, value in session.execute(query):
        found[trace, item].append((judge, stage, value))
    return found


def _truths(
    session: Session, run: Run, settings: refer.Settings, viewer: str | None
) -> tuple[dict[str, Value], set[str]]:
    """Item -> the truth (a ruling, else people's mean or most), and the items that the viewer labelled."""
    wanted = (settings.kind, settings.criterion.name)
    given = labels.frame(session, run.study_id)
    given = given[(given["kind"] == wanted[0]) & (given["criterion"] == wanted[1]) & (given["part"] == "")]
    true: dict[str, Value] = _references(session, run.study_id, settings) if settings.kind == "answer" else {}
    for item, there in given.groupby("item", sort=False):
        value = _mean(there["value"].tolist()) if settings.kind == "score" else _most(there["value"].tolist())
        if value is not None:
            true[str(item)] = value
    for ruling in labels.rulings(session, run.study_id):
        if (ruling.target.kind, ruling.target.criterion, ruling.target.part) == (*wanted, ""):
            true[ruling.target.item] = ruling.value
    return true, set(given.loc[given["rater"] == viewer, "item"])


def _mean(values: list[Any]) -> Value | None:
    numbers = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return fmean(numbers) if numbers else None


def _most(values: list[Any]) -> Value | None:
    """The answer that more than half give."""
    counts: Mapping[Any, int] = {value: values.count(value) for value in values}
    most: Value = max(counts, key=lambda value: counts[value])
    return most if counts[most] * 2 > len(values) else None


def _references(session: Session, study_id: int, settings: refer.Settings) -> dict[str, Value]:
    """The items' own gold answers, as far as they can be read: `B`, `B) 60 km/h`, `1,200`, `... #### 42`."""
    found: dict[str, Value] = {}
    for item in items.all_of(session, study_id):
        if not item.reference:
            continue
        answer = f"Answer: {item.reference.rpartition('####')[2].strip()}"
        try:
            found[item.id] = (
                ratings.option(answer, settings.letters) if settings.verdict == "option" else ratings.number(answer)
            )
        except Unreadable:
            continue
    return found
