"""The disagreements of each judge with people, with their probable causes, and the targets to label again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from core.formats.tables import Column, in_file, records
from core.labels import Target
from core.provenance import CAUSE_RESAMPLES
from core.statistics.data.dataset import Dataset
from core.statistics.measures.annotator_dependence import Dependence, State
from core.statistics.measures.causes import CAUSES, Causes, Votes, causes_of_votes, count_votes
from core.statistics.measures.planning import entropy
from core.statistics.reports.judge_findings import describe_dependence, without_annotators
from core.wording import format_percent, join_notes, list_names
from storage.db import audit
from storage.db.audit import Action
from storage.labelling import claims
from storage.labels import targets
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.chosen_labels import ALL_TARGETS, CAVEATS, Population
from storage.reports.disagreements import Drilldown, list_places
from storage.reports.judge_ranking import RankingQuery, Selection, find_dataset
from storage.studies.studies import Study

# The text of a request in the audit log, and how many changes of a study are searched for it.
REQUESTED, LISTED = "one more label requested", 500
# Targets that are offered to annotators at once.
INFORMATIVE = 20


@dataclass(frozen=True)
class JudgeErrors:
    """One judge's disagreements with people and their causes."""

    judge: str
    causes: Causes
    """Without the arrays by target."""
    uncertain: tuple[tuple[int, tuple[float, ...]], ...]
    """The most uncertain disagreements first, at most `INFORMATIVE`: the place of the target in the dataset of the
    query, and the probabilities of its causes. Empty without a decomposition."""
    without: tuple[str, ...] = ()
    """Annotators whose labels the judge repeats: they tell nothing about its errors, and are left out."""
    population: Population = ALL_TARGETS
    """The targets that the causes are of."""

    @property
    def sentence(self) -> str:
        """The decomposition in words, with its n, and whose labels are left out."""
        people = list_names(self.without)
        repeats = f"It repeats the labels of {people}, which are left out." if people else ""
        caveat = CAVEATS.get(self.population, "")
        of_targets = f"These figures are {caveat}." if caveat else ""
        return " ".join(filter(None, (self._decomposition, repeats, of_targets)))

    @property
    def _decomposition(self) -> str:
        causes = self.causes
        if not causes.shares:
            counts = f" on {causes.disagreements:,} of {causes.decided:,}" if causes.disagreements else ""
            return f"{self.judge}{' differs from people' * bool(counts)}{counts}: {causes.reason}."
        parts = [
            f"{format_percent(one.value)} [{format_percent(one.low)}, {format_percent(one.high)}] {one.cause}"
            for one in causes.shares
        ]
        counts = f"{causes.disagreements:,} of {causes.decided:,}"
        return f"{self.judge} differs from people on {counts}: {', '.join(parts)}."


def report(data: AlignmentData, query: RankingQuery, *, resamples: int = CAUSE_RESAMPLES) -> list[JudgeErrors]:
    """Decompose the disagreements of every judge of a query, the judge with the most disagreements first.

    Judges whose values are between the categories have none, and a reason.
    """
    dataset = find_dataset(data, query)
    if dataset is None:
        return []
    names, repeated = tuple(dataset.judges), judge_ranking.dependence(data, query).repeated
    votes = {people: _votes(dataset, people) for people in {repeated(name) for name in names}}
    found = [
        replace(_judge_errors(dataset, votes[repeated(name)], name, resamples), without=repeated(name))
        for name in names
    ]
    dependence = judge_ranking.dependence(data, query).dependence
    found = [_without_unclear(errors, dependence.get(errors.judge, ())) for errors in found]
    nothing = np.empty(0)
    found += [
        JudgeErrors(name, Causes((), 0, 0, 0, nothing.astype(bool), nothing, None, None, reason), ())
        for name, reason in judge_ranking.not_compared(data, query).items()
        if name not in dataset.judges
    ]
    population = judge_ranking.population_of_labels(data, query, weighted=False)
    found = [replace(errors, population=population) for errors in found]
    return sorted(found, key=lambda errors: -errors.causes.disagreements)


def _without_unclear(errors: JudgeErrors, dependence: Sequence[Dependence]) -> JudgeErrors:
    """Return the errors without shares if a copy of an annotator is not excluded: its errors are those of a label."""
    unclear = [one for one in dependence if one.state is State.unclear]
    if not unclear or not errors.causes.shares:
        return errors
    return replace(errors, causes=replace(errors.causes, shares=(), reason=describe_dependence(unclear[0])))


def _votes(dataset: Dataset, left_out: Sequence[str]) -> Votes:
    if not dataset.scale.categories:
        raise TypeError("a scale without categories has no verdicts that are right or wrong")
    return count_votes(without_annotators(dataset.ratings, left_out))


def _judge_errors(dataset: Dataset, votes: Votes, judge: str, resamples: int) -> JudgeErrors:
    opinions = dataset.judges[judge]
    verdicts = np.where(opinions.asked & ~np.isnan(opinions.values), opinions.values, -1).astype(np.int16)
    causes = causes_of_votes(votes, verdicts, resamples=resamples)
    places = np.flatnonzero(~np.isnan(causes.probabilities[:, 0]))
    chances = causes.probabilities[places]
    order: list[int] = np.argsort(-entropy(chances), kind="stable")[:INFORMATIVE].tolist() if len(chances) else []
    uncertain = tuple((int(places[row]), tuple(map(float, chances[row]))) for row in order)
    nothing = np.empty(0)
    return JudgeErrors(judge, replace(causes, disagreeing=nothing.astype(bool), probabilities=nothing), uncertain)


def informative(data: AlignmentData, query: RankingQuery, errors: JudgeErrors, viewer: str | None = None) -> Drilldown:
    """Return the most uncertain disagreements of a judge, the most uncertain first; see `disagreements.list_places`."""
    dataset = find_dataset(data, query)
    if dataset is None:
        return Drilldown((), 0)
    return list_places(dataset, np.array([place for place, _ in errors.uncertain], int), [errors.judge], viewer)


def request_labels(
    session: Session, study_id: int, wanted: Sequence[Target], errors: JudgeErrors, query: RankingQuery
) -> int:
    """Ask for one more label of each target; returns how many targets that are."""
    ids = targets.get_or_create_ids(session, study_id, wanted)
    claims.request_labels(session, study_id, list(ids.values()))
    audit.record(
        session, Action.settings, study_id=study_id, change=REQUESTED, judge=errors.judge,
        criterion=query.criterion, scenario=query.scenario, targets=len(ids),
    )  # fmt: skip
    return len(ids)


def of_study(engine: Engine, study: Study, selection: Selection) -> list[JudgeErrors]:
    """Decompose the disagreements of a study; raises TiebreakError if no judge has labels of the same targets."""
    data = load_data(engine, study, "majority")
    found = report(data, judge_ranking.selected_query(data, selection))
    if not found:
        raise TiebreakError("No disagreement can be explained: no target has both a verdict and labels of people.")
    return found


def _share_of(cause: str, errors: JudgeErrors) -> tuple[float | None, ...]:
    """Return the share of a cause with its interval."""
    share = next((one for one in errors.causes.shares if one.cause == cause), None)
    return (None, None, None) if share is None else (share.value, share.low, share.high)


def keys_of(cause: str) -> str:
    """Return the keys of the share of a cause in files."""
    name = cause.replace(" ", "_")
    return f"{name} {name}_low {name}_high"


COLUMNS = (
    Column("Judge", "judge", key="judge"),
    in_file("causes.decided causes.disagreements", "targets disagreements"),
    Column("Disagreements", lambda one: f"{one.causes.disagreements:,} of {one.causes.decided:,}", "figure"),
    *(Column(cause.capitalize(), partial(_share_of, cause), "estimate", keys_of(cause)) for cause in CAUSES),
    Column("Wrong on clear targets", "causes.error_rate", "estimate", "error_rate_on_clear"),
    in_file("causes.kappa"),
    Column("Without labels of", lambda one: ", ".join(one.without), key="without"),
    Column("", lambda one: join_notes(CAVEATS.get(one.population, ""), one.causes.reason), key="reason"),
    in_file("population"),
)


def table(found: Sequence[JudgeErrors]) -> list[dict[str, object]]:
    """Return one row for each judge."""
    return records(found, COLUMNS)
