"""The discussions of a study's judges: opinion changes, who adopts whose opinion, and what rounds and judges add."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.formats.tables import Column, in_file, records
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
from storage.runs import events, runs
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
    of_trace = events.targets_by_trace(opinions)
    sequential = {
        run.id: any(run.settings.get(name) in SEQUENTIAL for name in ("reply_order", "speaking", "strategy"))
        for run in runs.of_study(session, study_id)
        if isinstance(run.settings, dict)
    }
    by_run: dict[tuple[int, str], list[Debate]] = defaultdict(list)
    speakers: dict[int, set[str]] = defaultdict(set)
    for trace in events.turns_by_trace(session, study_id, sorted(set(opinions["run"].tolist()))):
        for target in of_trace.get(trace.trace, ()):
            discussions = _discussions(trace.of_criterion(target.criterion))
            speakers[trace.run].update(opinion.judge for discussion in discussions for opinion in discussion)
            if not any(_has_replies(discussion) for discussion in discussions):
                continue
            value = reference.get(target)
            decided, in_turn = value if isinstance(value, int) else None, sequential.get(trace.run, False)
            debate = Debate(trace.trace, trace.group, discussions, decided, in_turn)
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
        changes = disagreements.load_changes(data, JudgeQuery(judge, PREFERENCE, criterion))
        if changes is not None and judge in changes.first:
            places = np.flatnonzero(np.isin(changes.dataset.judges[judge].sides["trace"], traces))
            options: dict[str, Any] = {"limit": None, "first": changes.first}
            listed.append(disagreements.list_places(changes.dataset, places, [judge], viewer, **options))
    return disagreements.join(listed)


# The columns of a page and of `table`: first against last opinions, the majority with fewer rounds and judges, and how
# many independent votes the opinions are worth; who adopts whose opinion is a chart.
CHANGE_COLUMNS = (
    Column("Judge", "judge", key="judge"),
    Column("Changed", lambda row: f"{row.changed:,} of {row.opinions:,}", "figure"),
    in_file("opinions changed", "n count"),
    Column("Share", "share low high", "estimate", "value low high"),
    Column("To the reference", "towards", "count", "towards"),
    Column("From it", "away", "count", "away"),
    in_file("p"),
    Column("p", "p_corrected", "p", "p_corrected", "Sign test of as many changes to the reference as from it; Holm."),
)
INFLUENCE_COLUMNS = (in_file("judge source"), in_file("heard adopted share low high", "n count value low high"))
ABLATION_COLUMNS = (
    Column("Judges", lambda row: _judges_of(row.left_out), key="judge"),
    in_file("targets", "n"),
    Column("Rounds", "rounds", "count", "rounds"),
    Column("Accuracy", "accuracy", "estimate", "value"),
    Column("Decided", "decided", "estimate", "decided"),
    Column("Difference", "gain.difference gain.low gain.high", "estimate", "difference difference_low difference_high"),
    in_file("gain.p_bootstrap", "p"),
    Column("p", "gain.p_corrected", "p", "p_corrected"),
    in_file("gain.reason"),
)
VOTES_COLUMNS = (
    Column("Opinions", lambda row: "first" if row.rounds == 1 else "last"),
    Column("Judges", "judges", "count", "count"),
    Column(
        "Effective votes", "votes low high", "estimate", "value low high",
        "K / (1 + (K - 1) rho): as many independent judges would vary as little. 1: all judges err on the same "
        "targets; K: their errors are independent.",
    ),
    Column("Correlation of errors", "correlation", "estimate", "correlation", "rho: the mean over every two judges."),
    Column("n", "discussions", "count", "n", "Discussions with a reference and an opinion of every judge."),
    Column("Why", "reason", key="reason"),
    in_file("rounds"),
)  # fmt: skip


def _judges_of(left_out: str) -> str:
    return f"without {left_out}" if left_out else "all"


def table(reports: list[PanelReport]) -> list[dict[str, object]]:
    """Return one row for each change, influence and ablation, with what it is in `row`."""
    rows: list[dict[str, object]] = []
    for panel in reports:
        parts: tuple[tuple[str, Sequence[Any], Sequence[Column]], ...] = (
            ("changes", panel.changes, CHANGE_COLUMNS),
            ("adopts", panel.influences, INFLUENCE_COLUMNS),
            ("majority", panel.ablations, ABLATION_COLUMNS),
            ("effective votes", panel.votes, VOTES_COLUMNS),
        )
        for name, found, columns in parts:
            place = {"panel": ", ".join(panel.judges), "criterion": panel.criterion, "row": name}
            place |= {"judge": _judges_of(""), "source": ""}
            rows += [place | {"rounds": panel.rounds} | row for row in records(found, columns)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name) for name in names} for row in rows]
