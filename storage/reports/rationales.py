"""What a judge writes when it differs from people: clusters of its replies, each tested as a slice of its targets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Engine, Text, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.statistics.data.dataset import Dataset
from core.statistics.measures.texts import MIN_TEXTS, cluster_texts
from core.statistics.reports.judge_findings import Slice, SliceRow, correct_slices, slice_rows
from core.trace import TurnCompleted
from core.wording import stored_criterion
from storage.db import connections
from storage.db.tables import EventRow
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.disagreements import Drilldown
from storage.reports.discordance import compare_with_people, list_differing
from storage.reports.judge_ranking import RankingQuery, Selection, find_dataset
from storage.runs.events import parse_event
from storage.studies.studies import Study

# The feature of the slices.
FEATURE = "rationale"
# Replies that are clustered, evenly chosen from more.
MAX_TEXTS = 3000
KEYS_IN_QUERY = 500


@dataclass(frozen=True)
class RationaleReport:
    """The clusters of one judge's replies."""

    rows: tuple[SliceRow, ...]
    """The clusters of which the judge has five targets or more inside and outside; corrected together."""
    places: tuple[int, ...]
    """The targets with a reply, by their places in the dataset of the query."""
    clusters: tuple[int, ...]
    """The cluster of each of them."""
    names: tuple[str, ...]
    reason: str = ""
    """Why there are no clusters."""


def report(session: Session, data: AlignmentData, query: RankingQuery, judge: str) -> RationaleReport:
    """Cluster the judge's replies on targets with a verdict and a majority of people."""
    dataset = find_dataset(data, query)
    if dataset is None or judge not in dataset.judges:
        return RationaleReport((), (), (), (), "no targets with a verdict and labels")
    compared = compare_with_people(dataset, judge)
    traces = _traces(dataset, judge)[compared.places]
    step = max(1, -(-len(traces) // MAX_TEXTS))
    chosen = np.arange(0, len(traces), step)
    raters = data.opinions.loc[data.opinions["judge"] == judge, "rater"].unique().tolist()
    wanted = [int(trace) for trace in traces[chosen] if trace == trace]
    texts = _replies(session, wanted, raters, stored_criterion(dataset.criterion))
    with_text = np.array([place for place in chosen if traces[place] in texts], np.int64)
    clusters, names = cluster_texts([texts[int(traces[place])] for place in with_text])
    if not names:
        few = f"{len(with_text)} replies, {MIN_TEXTS} are needed"
        reason = few if len(with_text) < MIN_TEXTS else "the replies share no words, or nearly all of them"
        return RationaleReport((), (), (), (), reason)
    known = np.ones(len(with_text), bool)
    slices = {(FEATURE, name): (clusters == number, known) for number, name in enumerate(names)}
    groups = None if compared.groups is None else [compared.groups[place] for place in with_text]
    rows = correct_slices(slice_rows(judge, compared.differs[with_text], slices, groups))
    places = tuple(compared.places[with_text].tolist())
    return RationaleReport(tuple(rows), places, tuple(clusters.tolist()), names)


def differing_targets(
    data: AlignmentData,
    query: RankingQuery,
    found: RationaleReport,
    judge: str,
    chosen: Slice,
    viewer: str | None = None,
) -> Drilldown:
    """Return the first targets of a cluster on which a judge differs; see `discordance.differing_targets`."""
    number = found.names.index(chosen[1]) if chosen[0] == FEATURE and chosen[1] in found.names else -1
    own = [place for place, cluster in zip(found.places, found.clusters, strict=True) if cluster == number]
    return list_differing(data, query, judge, lambda compared: np.isin(compared.places, own), None, viewer)


def of_study(
    engine: Engine, study: Study, judge: str | None = None, *, criterion: str | None = None
) -> tuple[str, RationaleReport]:
    """Cluster the replies of a judge, or of the first one; raises TiebreakError if there is no such judge."""
    data = load_data(engine, study, "majority")
    query = judge_ranking.selected_query(data, Selection(criterion=criterion))
    dataset = find_dataset(data, query)
    names = [] if dataset is None else sorted(dataset.judges)
    if not names or (judge is not None and judge not in names):
        raise TiebreakError(f"There is no judge called {judge!r} with labels of the same targets.")
    name = judge or names[0]
    with connections.reading(engine) as session:
        return name, report(session, data, query, name)


def _traces(dataset: Dataset, judge: str) -> "np.typing.NDArray[np.float64]":
    return dataset.judges[judge].sides.get("trace", np.full(dataset.gold.size, np.nan))


def _replies(session: Session, traces: Sequence[int], speakers: Sequence[str], criterion: str) -> dict[int, str]:
    """Return trace -> the last reply of one of the speakers; of the only speaker for a verdict of a whole trace.

    Of a trace on several criteria, the replies on this one.
    """
    replies: dict[int, dict[str, str]] = {}
    for batch in connections.batches(list(traces), KEYS_IN_QUERY):
        query = (
            select(col(EventRow.trace_id), cast(col(EventRow.body), Text))
            .where(col(EventRow.trace_id).in_(batch), col(EventRow.type) == "turn")
            .order_by(col(EventRow.trace_id), col(EventRow.seq))
        )
        for trace, body in session.execute(query):
            event = parse_event(body)
            if isinstance(event, TurnCompleted) and event.turn.criterion in ("", criterion):
                replies.setdefault(trace, {})[event.turn.speaker] = event.turn.statement
    found = {}
    for trace, by_speaker in replies.items():
        own = [text for speaker, text in by_speaker.items() if speaker in speakers]
        own = own or (list(by_speaker.values()) if len(by_speaker) == 1 else [])
        if own and own[-1].strip():
            found[trace] = own[-1]
    return found
