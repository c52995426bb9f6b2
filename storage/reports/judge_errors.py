"""The disagreements of each judge with people, with their probable causes, and the targets to label again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.errors import TiebreakError
from core.labels import Value
from core.statistics.data.arrays import Codes
from core.statistics.data.frames import Scale
from core.statistics.data.ratings import Ratings, encode_categories
from core.statistics.measures.disagreement_causes import CAUSES, Causes, find_causes
from core.statistics.measures.effort import entropy
from core.statistics.reports.recommendations import comparable_judges
from storage import targets
from storage.labelling import assignment
from storage.reports import judge_ranking
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.disagreements import JudgeQuery, Pair, pairs
from storage.reports.judge_ranking import RankingQuery, Selection, find_dataset
from storage.studies import Study

INFORMATIVE = 20
"""Targets that are offered to annotators at once."""


@dataclass(frozen=True)
class Disagreement:
    """A target on which a judge differs from the majority, with the probability of each cause."""

    pair: Pair
    probabilities: tuple[float, ...]
    """In the order of `CAUSES`."""

    @property
    def uncertainty(self) -> float:
        """The entropy of the causes, as a share of its maximum: what one more label can tell."""
        return float(entropy(np.array([self.probabilities]))[0])


@dataclass(frozen=True)
class JudgeErrors:
    """One judge's disagreements with people and their causes."""

    judge: str
    causes: Causes
    disagreements: tuple[Disagreement, ...]
    """The most uncertain first; empty without a decomposition."""

    @property
    def sentence(self) -> str:
        """The decomposition in words, with its n."""
        causes = self.causes
        if not causes.shares:
            return f"{self.judge}: {causes.reason}."
        parts = [f"{one.value:.0%} [{one.low:.0%}, {one.high:.0%}] {one.cause}" for one in causes.shares]
        return f"{self.judge} differs from people on {causes.disagreements:,} of {causes.items:,}: {', '.join(parts)}."


def report(data: AlignmentData, query: RankingQuery, *, resamples: int = 400) -> list[JudgeErrors]:
    """Decompose the disagreements of every judge of a query, the judge with the most disagreements first."""
    dataset = find_dataset(data, query)
    if dataset is None:
        return []
    names = query.judges or comparable_judges(dataset)
    found = [_judge_errors(data, query, name, dataset.scale, resamples) for name in names]
    return sorted(found, key=lambda errors: -errors.causes.disagreements)


def _judge_errors(data: AlignmentData, query: RankingQuery, judge: str, scale: Scale, resamples: int) -> JudgeErrors:
    judged = [
        pair for pair in pairs(data, JudgeQuery(judge, query.kind, query.criterion, query.scenario)) if pair.labels
    ]
    verdicts = encode_categories(np.array([pair.judge for pair in judged], object), scale.categories)
    causes = find_causes(_ratings(data, judged, scale), verdicts, resamples=resamples)
    rows = [
        Disagreement(pair, tuple(chances))
        for pair, chances in zip(judged, causes.probabilities.tolist(), strict=True)
        if not np.isnan(chances[0])
    ]
    return JudgeErrors(judge, causes, tuple(sorted(rows, key=lambda row: -row.uncertainty)))


def _ratings(data: AlignmentData, judged: Sequence[Pair], scale: Scale) -> Ratings:
    """Return people's labels of the pairs' targets; targets of one document or item are a group."""
    annotators = sorted({name for pair in judged for name in pair.labels})
    values: list[Value | None] = [pair.labels.get(name) for pair in judged for name in annotators]
    codes: Codes = encode_categories(np.array(values, object), scale.categories)
    return Ratings(
        tuple(map(str, range(len(judged)))),
        tuple(annotators),
        codes.reshape(len(judged), len(annotators)),
        scale.categories,
        tuple(groups_of(data, judged)),
    )


def groups_of(data: AlignmentData, judged: Sequence[Pair]) -> list[str]:
    """Return the document or dialogue of each pair, otherwise its item: targets of one are not independent."""
    documents = {}
    if "group" in data.opinions:
        known = data.opinions[data.opinions["group"].notna()]
        documents = dict(zip(known["item"], known["group"], strict=True))
    return [str(documents.get(pair.target.item) or pair.target.item) for pair in judged]


def request_labels(session: Session, study_id: int, disagreements: Sequence[Disagreement]) -> int:
    """Ask for one more label of each target; returns how many targets that are."""
    ids = targets.get_or_create_ids(session, study_id, [one.pair.target for one in disagreements])
    assignment.request_labels(session, study_id, list(ids.values()))
    return len(ids)


def of_study(engine: Engine, study: Study, selection: Selection) -> list[JudgeErrors]:
    """Decompose the disagreements of a study; raises TiebreakError if no judge has labels of the same targets."""
    data = load_data(engine, study, "majority")
    keys = [
        key
        for key in judge_ranking.rankable(data)
        if selection.kind in (None, key[0]) and selection.criterion in (None, key[1])
    ]
    found = report(data, RankingQuery(*keys[0], scenario=selection.scenario)) if keys else []
    if not found:
        raise TiebreakError("No disagreement can be explained: no target has both a verdict and labels of people.")
    return found


def table(found: Sequence[JudgeErrors]) -> list[dict[str, object]]:
    """Return one row for each judge."""
    rows = []
    for errors in found:
        causes = errors.causes
        row: dict[str, object] = {
            "judge": errors.judge, "targets": causes.items, "disagreements": causes.disagreements,
        }  # fmt: skip
        shares = {share.cause: share for share in causes.shares}
        for cause in CAUSES:
            share, name = shares.get(cause), cause.replace(" ", "_")
            row |= {
                name: share and share.value,
                f"{name}_low": share and share.low,
                f"{name}_high": share and share.high,
            }
        rows.append(row | {"error_rate_on_clear": causes.error_rate, "kappa": causes.kappa, "reason": causes.reason})
    return rows
