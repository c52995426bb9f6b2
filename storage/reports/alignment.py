"""The alignment of a study's judges with its people, as figures: what the command line prints and pages draw.

A judge is whoever gave an opinion that counts: a method's verdict, and what each judge in it said last and first. One
that spoke of the same target in several runs, or with several models, stands apart for each run.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, Text, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.critiques import IN
from core.labels import Scale
from core.statistics.reports.alignment import AlignmentRow, By, alignment
from storage import database, items, labels, runs
from storage.reports import opinions as raters
from storage.studies import Study
from storage.tables import EventRow, RunRow

if TYPE_CHECKING:
    import pandas as pd

RANK = {"verdict": 0, "last": 1, "first": 2}
FIRST = ", first opinion"
TIE, AS_TIE = 0, "_no_verdict_as_tie"
LIKE_A_PAPER = "no verdict is counted as a tie here, to compare with papers that do so"
TARGET = ["item", "kind", "criterion", "part"]
Scales = Mapping[tuple[str, str], Scale]


@dataclass(frozen=True)
class Sides:
    """What people and judges said of a study, ready to be compared."""

    labels: "pd.DataFrame"
    """People's standing labels: item, scenario, group, kind, criterion, part, rater, value."""
    opinions: "pd.DataFrame"
    """The same with `judge`; also run, stage and, where they are known, system, critique, shown_first, longer."""
    gold: "pd.DataFrame | None"
    """What stands of the criteria on which somebody ruled; None where nobody did."""
    scales: Scales


def rows(engine: Engine, study: Study, by: By = "all", *, resamples: int = 1000) -> list[AlignmentRow]:
    """Every figure of every judge, one row a statistic."""
    there = sides(engine, study)
    plain = [row for part in _parts(there) for row in _rows(part, by, resamples)]
    return plain + _as_ties(there, by, resamples)


def sides(engine: Engine, study: Study) -> Sides:
    """Who said what in a study: people and judges side by side."""
    with database.reading(engine) as session:
        panel = raters.people(session, study)
        said = _named(session, study.id, raters.opinions(session, study.id))
        said = _described(session, study.id, said)
        scales = raters.scales_of(session, study, [panel, raters.Panel(said[said["value"].notna()])])
        gold = _gold(session, study.id)
    return Sides(panel.said, said, gold, scales)


def _rows(there: Sides, by: By, resamples: int) -> list[AlignmentRow]:
    if there.opinions.empty:
        return []
    return alignment(there.labels, there.opinions, scales=there.scales, gold=there.gold, by=by, resamples=resamples)


def _as_ties(there: Sides, by: By, resamples: int) -> list[AlignmentRow]:
    """Accuracy and kappa as some papers have them, which count a missing verdict as a tie: never ours, and so named."""
    said = there.opinions[there.opinions["kind"] == "preference"] if len(there.opinions) else there.opinions
    silent = said[said["judge"].isin(set(said.loc[said["value"].isna(), "judge"]))] if len(said) else said
    filled = silent.assign(value=silent["value"].where(silent["value"].notna(), TIE))
    return [
        replace(row, statistic=row.statistic + AS_TIE, reason="; ".join(filter(None, (LIKE_A_PAPER, row.reason))))
        for row in _rows(replace(there, opinions=filled), by, resamples)
        if row.statistic in ("accuracy_gold", "cohen_kappa_gold")
    ]


def _parts(there: Sides) -> Iterator[Sides]:
    """Judges whose scores are means come by themselves: 2.5 is no category of 1, 2, 3, and no missing value either."""
    said = there.opinions
    between = _between(said, there.scales)
    averaging = set(zip(said["judge"][between], said["kind"][between], said["criterion"][between], strict=True))
    mean = [key in averaging for key in zip(said["judge"], said["kind"], said["criterion"], strict=True)]
    apart = said[mean]
    yield replace(there, opinions=said[[not one for one in mean]])
    if len(apart):
        scales = {key: _continuous(scale) for key, scale in there.scales.items()}
        yield replace(there, opinions=apart, scales=scales)


def _between(said: "pd.DataFrame", scales: Scales) -> list[bool]:
    """Whether each value lies between the categories of its scale."""
    columns = zip(said["kind"], said["criterion"], said["value"], strict=True)
    found = [(scales.get((kind, criterion)), value) for kind, criterion, value in columns]
    return [scale is not None and not scale.holds(value) and scale.spans(value) for scale, value in found]


def _continuous(scale: Scale) -> Scale:
    ends = [one for one in scale.categories if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(ends) < max(len(scale.categories), 1):
        return scale
    return Scale(level="interval", low=min(ends), high=max(ends))


def _named(session: Session, study_id: int, said: "pd.DataFrame") -> "pd.DataFrame":
    """One row for each judge and target, with the judge's name; a verdict stands before a last opinion of the same."""
    first = said["stage"] == "first"
    said = said.assign(judge=said["rater"] + first.map({True: FIRST, False: ""}), rank=said["stage"].map(RANK))
    said = said.sort_values("rank", kind="stable").drop_duplicates(["run", "judge", *TARGET]).sort_index()
    if said.empty:
        return said
    apart = _apart(session, study_id, said)
    names = {run.id: run.name for run in runs.of_study(session, study_id)}
    judge = [
        f"{name} · {names[run]}" if rater in apart else name
        for name, rater, run in zip(said["judge"], said["rater"], said["run"], strict=True)
    ]
    return said.assign(judge=judge)


def _apart(session: Session, study_id: int, said: "pd.DataFrame") -> set[str]:
    """The judges of whom each run's is another one: with other models, or on the same targets once more."""
    once = said.drop_duplicates(["rater", "run", *TARGET])
    twice = set(once["rater"][once.duplicated(["rater", *TARGET])])
    models: dict[str, set[str]] = defaultdict(set)
    asked = {run.id: run.settings for run in runs.of_study(session, study_id)}
    for rater, run in said[["rater", "run"]].drop_duplicates().itertuples(index=False):
        models[rater].add(_model(asked.get(run), rater))
    return twice | {rater for rater, found in models.items() if len(found) > 1}


def _model(settings: Any, name: str) -> str:
    """What a judge of a run is asked with; a file may have brought any settings."""
    told = settings.values() if isinstance(settings, dict) else ()
    several = [one for value in told for one in (value if isinstance(value, list) else [value])]
    for one in several:
        if isinstance(one, dict) and one.get("name") == name and isinstance(one.get("spec"), dict):
            return str(one["spec"].get("model"))
    return ""


def _described(session: Session, study_id: int, said: "pd.DataFrame") -> "pd.DataFrame":
    """With what is known of a target beside its value: whose response it is, which was read first, which is longer."""
    import pandas as pd

    if said.empty:
        return said
    there = {item.id: item for item in items.all_of(session, study_id)}
    orders = _orders(session, study_id)
    system, critique, first, longer = [], [], [], []
    for trace, key, kind, part in zip(said["trace"], said["item"], said["kind"], said["part"], strict=True):
        responses = there[key].responses
        system.append(responses[0].system if kind == "score" and len(responses) == 1 else None)
        whose = part.partition(IN)[2] or part.rpartition(".")[0]
        critique.append(f"{key}\n{whose}" if kind.startswith("aiu_") else None)
        pair = kind == "preference" and len(responses) == 2
        first.append(orders.get(trace) if pair else None)
        longer.append(_longer(*(len(one.text) for one in responses)) if pair else None)
    return said.assign(
        system=pd.Series(system, index=said.index, dtype=object),
        critique=pd.Series(critique, index=said.index, dtype=object),
        shown_first=pd.Series(first, index=said.index, dtype=float),
        longer=pd.Series(longer, index=said.index, dtype=float),
    )


def _longer(first: int, second: int) -> int:
    """1 or 2; 0 where both are as long."""
    return 0 if first == second else 1 if first > second else 2


def _orders(session: Session, study_id: int) -> dict[int, int]:
    """Trace -> the response that was read first, where that was the same one throughout."""
    order = sql_cast(col(EventRow.body)["turn"]["shown"], Text)
    query = (
        select(col(EventRow.trace_id), order)
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(col(RunRow.study_id) == study_id, col(EventRow.type) == "turn")
        .distinct()
    )
    found: dict[int, set[int]] = defaultdict(set)
    for trace, text in session.execute(query):
        shown = json.loads(text) if text else None
        if shown:
            found[trace].add(shown[0])
    return {trace: first.pop() for trace, first in found.items() if len(first) == 1}


def _gold(session: Session, study_id: int) -> "pd.DataFrame | None":
    """What stands by people of each kind and criterion on which somebody ruled."""
    import pandas as pd

    ruled = {(one.target.kind, one.target.criterion) for one in labels.rulings(session, study_id)}
    if not ruled:
        return None
    found = [
        (*one.target.model_dump().values(), one.value)
        for one in labels.golds(session, study_id)
        if (one.target.kind, one.target.criterion) in ruled and one.value is not None and one.source != "judges"
    ]
    return pd.DataFrame(found, columns=[*TARGET, "value"])
