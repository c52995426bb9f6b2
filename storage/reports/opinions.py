"""Who said what in a study: people in their labels, and the judges in their first and last opinions.

A judge's unit is a debate, one item in one run. First and last opinions are compared on the same debates: those in
which both could be read of every judge.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from sqlalchemy import Text, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.labels import Kind, Scale, Value
from storage import labels, studies
from storage.studies import Study
from storage.tables import EventRow, ItemRow, OpinionRow, RunRow, TargetRow

if TYPE_CHECKING:
    import pandas as pd

Who = Literal["people", "judges"]
Stage = Literal["", "first", "last"]
Scales = Mapping[tuple[str, str], Scale]
STAGES: tuple[Stage, ...] = ("first", "last")


@dataclass(frozen=True)
class Panel:
    """Raters and what they said: item, scenario, group, kind, criterion, part, rater, value; for judges also trace."""

    said: "pd.DataFrame"
    stage: Stage = ""
    """Empty for people."""
    judges: str = ""
    """Who they are, where runs of the study have different judges."""
    shown: bool = False
    """Values in the order in which the responses were shown, instead of the item's own."""
    debates: "pd.DataFrame | None" = None
    """For judges: kind, criterion, scenario of every debate, and whether it is left out."""

    def left_out(self, kind: str, criterion: str | None = None, scenario: str | None = None) -> str:
        """`17 of 560 debates left out: ...`; empty where none is."""
        if self.debates is None:
            return ""
        there = self.debates[self.debates["kind"] == kind]
        for column, wanted in (("criterion", criterion), ("scenario", scenario)):
            there = there if wanted is None else there[there[column].fillna("") == wanted]
        out = int(there["out"].sum())
        what = "debates" if kind == "preference" else "judgements"
        return f"{out} of {len(there)} {what} left out: an opinion could not be read" if out else ""

    @property
    def name(self) -> str:
        """`judges, last opinions`; empty for people."""
        if not self.stage:
            return ""
        return f"judges, {self.stage} opinions{f' ({self.judges})' * bool(self.judges)}{', as shown' * self.shown}"


def scales_of(session: Session, study: Study, panels: list[Panel]) -> Scales:
    """The scale of everything that was judged: as declared, else the usual one; numbers without one are scores."""
    declared = studies.scales(session, study.id)
    found: dict[tuple[str, str], Scale] = dict(declared)  # type: ignore[arg-type]
    for panel in panels:
        for key, part in panel.said.groupby(["kind", "criterion"], sort=False):
            kind, criterion = cast(tuple[Kind, str], key)
            scale = found.get((kind, criterion)) or studies.USUAL_SCALES.get(kind) or _scores(part["value"])
            if scale is not None:
                found[kind, criterion] = scale
    return found


def _scores(values: "pd.Series[Any]") -> Scale | None:
    """A scale for numbers of which nothing was declared; None for anything else."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return Scale(level="interval") if numbers else None


def people(session: Session, study: Study) -> Panel:
    """Everybody's standing labels."""
    return Panel(labels.frame(session, study.id))


def judges(session: Session, study: Study) -> list[Panel]:
    """The judges' first and last opinions, for each set of judges; again as shown, where responses were swapped."""
    said = opinions(session, study.id)
    said = said[said["stage"] != "verdict"]
    said = said[said.groupby("run")["rater"].transform("nunique") > 1]  # one judge agrees with nobody
    if said.empty:
        return []
    swapped = _swapped(session, study.id)
    names = _names_of_judges(session, study.id)
    sets = said["run"].map(names)
    return [panel for name in sorted(set(names.values())) for panel in _panels(said[sets == name], name, swapped)]


def _panels(said: "pd.DataFrame", judges: str, swapped: dict[int, tuple[int, ...]]) -> Iterator[Panel]:
    import pandas as pd

    about = said["trace"].astype(str).str.cat(said[["kind", "criterion", "part"]].astype(str), sep="\n")
    said = said.assign(out=about.isin(about[said["value"].isna()]))  # one unread AIU does not take the others along
    debates = said[~about.duplicated()]
    kept = said[~said["out"]].drop(columns="out")
    kept = kept.assign(group=kept["group"].where(kept["group"].notna(), kept["item"]), item=kept["trace"].astype(str))
    for shown in (False, True):
        if shown and kept["trace"].isin(swapped).any():
            kept = kept.assign(value=pd.Series(_as_shown(kept, swapped), index=kept.index, dtype=object))
        elif shown:
            return
        for stage in STAGES:
            if (kept["stage"] == stage).any():
                yield Panel(kept[kept["stage"] == stage], stage, judges, shown, debates)


def _as_shown(said: "pd.DataFrame", swapped: dict[int, tuple[int, ...]]) -> list[Value]:
    """The place of each response that was chosen, as the judges read them; what is no choice stays."""
    orders = [swapped.get(trace, ()) for trace in said["trace"]]
    return [
        order.index(value) + 1 if kind == "preference" and value in order else value
        for order, kind, value in zip(orders, said["kind"], said["value"], strict=True)
    ]


def opinions(session: Session, study_id: int) -> "pd.DataFrame":
    """Every opinion: trace, run, item, scenario, group, kind, criterion, part, rater, stage, value (None: unread)."""
    import pandas as pd

    query = (
        select(
            col(OpinionRow.trace_id),
            col(OpinionRow.run_id),
            col(ItemRow.key),
            col(ItemRow.scenario),
            col(ItemRow.cluster),
            col(TargetRow.kind),
            col(TargetRow.criterion),
            col(TargetRow.part),
            col(OpinionRow.judge),
            col(OpinionRow.stage),
            sql_cast(col(OpinionRow.value), Text),
        )
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(OpinionRow.study_id) == study_id)
        .order_by(col(OpinionRow.id))
    )
    columns = ["trace", "run", "item", "scenario", "group", "kind", "criterion", "part", "rater", "stage", "value"]
    said = pd.DataFrame([tuple(row) for row in session.execute(query)], columns=columns)
    known = {text: json.loads(text) for text in said["value"].dropna().unique()}
    return said.assign(value=pd.Series([known.get(text) for text in said["value"]], dtype=object))


def _swapped(session: Session, study_id: int) -> dict[int, tuple[int, ...]]:
    """The order of the responses, of each trace in which it was not the item's own."""
    order = sql_cast(col(EventRow.body)["turn"]["shown"], Text)
    query = (
        select(col(EventRow.trace_id), order)
        .join(RunRow, col(RunRow.id) == col(EventRow.run_id))
        .where(col(RunRow.study_id) == study_id, col(EventRow.type) == "turn")
        .distinct()
    )
    orders = {trace: tuple(json.loads(text)) for trace, text in session.execute(query) if text}
    return {trace: shown for trace, shown in orders.items() if list(shown) != sorted(shown)}


def _names_of_judges(session: Session, study_id: int) -> dict[int, str]:
    """Run -> who judges in it; empty where all runs have the same judges. Models are named where names are equal."""
    query = select(col(RunRow.id), col(RunRow.settings)).where(col(RunRow.study_id) == study_id)
    casts = {run: _cast(settings) for run, settings in session.execute(query)}
    if len(set(casts.values())) < 2:
        return dict.fromkeys(casts, "")
    names = {cast: ", ".join(name for name, _ in cast) for cast in casts.values()}
    return {
        run: names[cast]
        if list(names.values()).count(names[cast]) == 1
        else ", ".join(f"{name}: {model}" for name, model in cast)
        for run, cast in casts.items()
    }


def _cast(settings: Any) -> tuple[tuple[str, str], ...]:
    """The judges of a run by name and model; a file may have brought any settings."""
    told = settings if isinstance(settings, dict) else {}
    there = [told.get(name) for name in ("judges", "peers", "personas")]
    several = [judge for judges in there if isinstance(judges, list) for judge in judges]
    found = [judge for judge in (*several, told.get("chair")) if isinstance(judge, dict)]
    specs = [(judge.get("name"), judge.get("spec")) for judge in found]
    return tuple(sorted((str(name), str(spec.get("model")) if isinstance(spec, dict) else "") for name, spec in specs))


def undecided(session: Session, study_id: int) -> "pd.DataFrame":
    """What a run ended on without a verdict: item, kind, criterion, part."""
    import pandas as pd

    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .select_from(OpinionRow)
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(
            col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) == "verdict", col(OpinionRow.value).is_(None)
        )
    )
    rows = [tuple(row) for row in session.execute(query)]
    return pd.DataFrame(rows, columns=["item", "kind", "criterion", "part"])
