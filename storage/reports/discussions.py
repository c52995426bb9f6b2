"""The discussions of a study's judges: opinion changes, who adopts whose opinion, and what rounds and judges add."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.formats.tables import Column
from core.items import pair_numbers
from core.labels import PREFERENCE as PREFERENCE_SCALE
from core.statistics.reports.discussions import Debate, PanelReport, StatedOpinion, report_panel
from core.trace import Turn
from core.wording import report_criterion
from storage.db import connections
from storage.labels import targets
from storage.reports import disagreements
from storage.reports._order_consistency import choice_of_turn
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.disagreements import Drilldown, JudgeQuery
from storage.runs import runs, turns
from storage.studies.studies import Study

if TYPE_CHECKING:
    import pandas as pd

PREFERENCE = "preference"
# Values of the settings under which a judge reads the earlier replies of its own round.
SEQUENTIAL = ("sequential", "in turn", "one by one")
# The judges that speak, and the criterion.
Panel = tuple[tuple[str, ...], str]


def load_debates(session: Session, study_id: int, data: AlignmentData) -> dict[Panel, list[Debate]]:
    """Return the discussions of pairs by panel and criterion; only of traces in which a judge speaks twice.

    Runs that are the reference of `data` are left out.
    """
    opinions = _discussed(data.opinions)
    if opinions.empty:
        return {}
    gold = data.gold[(data.gold["kind"] == PREFERENCE) & data.gold["value"].notna()]
    reference = dict(zip(targets.of_frame(gold), gold["value"], strict=True))
    of_trace = turns.targets_by_trace(opinions)
    sequential = {run.id: _is_sequential(run.settings) for run in runs.of_study(session, study_id)}
    by_run: dict[tuple[int, str], list[Debate]] = defaultdict(list)
    speakers: dict[int, set[str]] = defaultdict(set)
    for trace in turns.by_trace(session, study_id, sorted(set(opinions["run"].tolist()))):
        for target in of_trace.get(trace.trace, ()):
            discussions = _discussions(trace.of_criterion(target.criterion))
            speakers[trace.run].update(opinion.judge for discussion in discussions for opinion in discussion)
            if not any(_has_replies(discussion) for discussion in discussions):
                continue
            value = reference.get(target)
            debate = Debate(
                trace.trace, trace.group, discussions, value if isinstance(value, int) else None, sequential[trace.run]
            )
            by_run[trace.run, report_criterion(target.criterion)].append(debate)
    debates: dict[Panel, list[Debate]] = defaultdict(list)
    for (run, criterion), of_run in by_run.items():
        debates[tuple(sorted(speakers[run])), criterion] += of_run
    return debates


def _discussed(opinions: "pd.DataFrame") -> "pd.DataFrame":
    """Return the preferences between responses of judges with a last opinion."""
    if opinions.empty:
        return opinions
    found = opinions[(opinions["kind"] == PREFERENCE) & (opinions["stage"] == "last")]
    return found[[not part or pair_numbers(part) is not None for part in found["part"]]]


def _discussions(given: tuple[Turn, ...]) -> tuple[tuple[StatedOpinion, ...], ...]:
    """Return the readable preferences for each order of the responses; the first round is 0."""
    by_order: dict[tuple[int, ...], list[StatedOpinion]] = defaultdict(list)
    first = min((turn.round for turn in given), default=0)
    for turn in given:
        value = choice_of_turn(turn)
        if value in PREFERENCE_SCALE.categories:
            by_order[turn.shown].append(StatedOpinion(turn.speaker, turn.round - first, int(value)))
    return tuple(map(tuple, by_order.values()))


def _has_replies(discussion: tuple[StatedOpinion, ...]) -> bool:
    """Return whether a judge speaks in two rounds."""
    return len({opinion.judge for opinion in discussion}) < len({(one.judge, one.round) for one in discussion})


def _is_sequential(settings: Any) -> bool:
    fields: Mapping[str, Any] = settings if isinstance(settings, dict) else {}
    return any(fields.get(name) in SEQUENTIAL for name in ("reply_order", "speaking", "strategy"))


def report(session: Session, study_id: int, data: AlignmentData, *, resamples: int = 1000) -> list[PanelReport]:
    """Return the discussions of each panel on each criterion, the panel with the most discussions first."""
    found = load_debates(session, study_id, data)
    reports = [report_panel(criterion, debates, resamples=resamples) for (_, criterion), debates in found.items()]
    return sorted(reports, key=lambda panel: (-panel.debates, panel.judges, panel.criterion))


def of_study(engine: Engine, study: Study, reference: str | None = None) -> list[PanelReport]:
    """Return the discussions of a study's panels, compared with a reference."""
    data = load_data(engine, study, reference)
    with connections.reading(engine) as session:
        return report(session, study.id, data)


def drill_down(
    data: AlignmentData, rater: str, criterion: str, traces: tuple[int, ...], viewer: str | None
) -> Drilldown:
    """Return the targets of some traces with the first and last opinion of a judge that spoke in them."""
    opinions = data.opinions
    is_own = opinions["trace"].isin(traces) & (opinions["rater"] == rater) & (opinions["stage"] == "last")
    listed = []
    for judge in opinions.loc[is_own, "judge"].unique().tolist():
        changes = disagreements.load_changes(data, JudgeQuery(judge, PREFERENCE, criterion), [criterion])
        of_rater = changes.opinions["trace"].isin(traces) & (changes.opinions["rater"] == rater)
        places = np.flatnonzero(of_rater)
        listed.append(disagreements.list_targets(changes, places, judge, viewer, limit=places.size))
    return Drilldown(tuple(item for one in listed for item in one.items), sum(one.hidden for one in listed))


CHANGE_COLUMNS = (
    Column("Judge", "judge"),
    Column("Changed", lambda row: f"{row.changed:,} of {row.opinions:,}", "figure"),
    Column("Share", "share low high", "estimate"),
    Column("To the reference", "towards", "count"),
    Column("From it", "away", "count"),
    Column("p", "p_corrected", "p", help="Sign test of as many changes to the reference as from it; Holm."),
)
# The columns of a page: first against last opinions, and the majority with fewer rounds and judges.
ABLATION_COLUMNS = (
    Column("Judges", lambda row: _judges_of(row.left_out)),
    Column("Rounds", "rounds", "count"),
    Column("Accuracy", "accuracy", "estimate"),
    Column("Decided", "decided", "estimate"),
    Column("Difference", "difference low high", "estimate"),
    Column("p", "p_corrected", "p"),
)

VOTES_COLUMNS = (
    Column("Opinions", lambda row: "first" if row.rounds == 1 else "last"),
    Column("Judges", "judges", "count"),
    Column(
        "Effective votes", "votes low high", "estimate",
        help="K / (1 + (K - 1) rho): as many independent judges would vary as little. 1: all judges err on the same "
        "targets; K: their errors are independent.",
    ),
    Column("Correlation of errors", "correlation", "estimate", help="rho: the mean over every two judges."),
    Column("n", "discussions", "count", help="Discussions with a reference and an opinion of every judge."),
    Column("Why", "reason"),
)  # fmt: skip


def _judges_of(left_out: str) -> str:
    return f"without {left_out}" if left_out else "all"


def table(reports: list[PanelReport]) -> list[dict[str, object]]:
    """Return one row for each change, influence and ablation, with what it is in `row`."""
    rows: list[dict[str, object]] = []
    for panel in reports:
        place = {"panel": ", ".join(panel.judges), "criterion": panel.criterion}
        for row in panel.changes:
            rows.append(
                place | {"row": "changes", "judge": row.judge, "source": "", "rounds": panel.rounds}
                | {"n": row.opinions, "count": row.changed, "value": row.share, "low": row.low, "high": row.high}
                | {"towards": row.towards, "away": row.away, "p": row.p, "p_corrected": row.p_corrected}
            )  # fmt: skip
        for one in panel.influences:
            rows.append(
                place | {"row": "adopts", "judge": one.judge, "source": one.source, "rounds": panel.rounds}
                | {"n": one.heard, "count": one.adopted, "value": one.share, "low": one.low, "high": one.high}
            )  # fmt: skip
        for part in panel.ablations:
            fields = asdict(part)
            rows.append(
                place | {"row": "majority", "judge": _judges_of(part.left_out)}
                | {"source": "", "n": part.targets, "value": part.accuracy}
                | {name: fields[name] for name in ("rounds", "decided", "difference", "p", "p_corrected", "reason")}
                | {"difference_low": part.low, "difference_high": part.high}
            )  # fmt: skip
        for votes in panel.votes:
            rows.append(
                place | {"row": "effective votes", "judge": _judges_of(""), "source": "", "rounds": votes.rounds}
                | {"n": votes.discussions, "count": votes.judges, "value": votes.votes}
                | {"low": votes.low, "high": votes.high, "correlation": votes.correlation, "reason": votes.reason}
            )  # fmt: skip
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in columns} for row in rows]
