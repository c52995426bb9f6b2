"""Precision and recall of critiques, by the annotators and by each judge (MetaCritique).

The annotators' scores follow from gold labels of the current AIUs; a judge's from its newest run over each critique,
with the AIUs of that run.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy.orm import Session

from core.critiques import (
    RECALL_SEPARATOR,
    Critique,
    CritiqueScore,
    hypothesis_critiques,
    precision_target,
    recall_target,
    reference_critique,
    score_critique,
)
from core.labels import Kind, Target
from storage import aius, labels, runs
from storage.reports.opinions import opinion_frame

if TYPE_CHECKING:
    import pandas as pd

PEOPLE = "people"
KINDS: tuple[Kind, ...] = ("aiu_precision", "aiu_recall")
AiuValues = Mapping[Target, bool | None]
CritiquesByItem = Mapping[str, Sequence[Critique]]
"""Item -> its critiques with their current AIUs."""


@dataclass(frozen=True)
class ScoredCritique:
    """A critique with the truth values of its AIUs from one source."""

    item: str
    critique: Critique
    factual: tuple[bool | None, ...]
    covered: tuple[bool | None, ...]

    @property
    def score(self) -> CritiqueScore:
        """Precision, recall and F1."""
        return score_critique(self.factual, self.covered)

    def with_unread_as(self, assumed: bool) -> "ScoredCritique":
        """Return the critique with a truth value for every AIU without one."""
        factual, covered = (
            tuple(assumed if value is None else value for value in values) for values in (self.factual, self.covered)
        )
        return replace(self, factual=factual, covered=covered)


@dataclass(frozen=True)
class CritiqueData:
    """The truth values of the AIUs of a study."""

    critiques: CritiquesByItem
    people: AiuValues
    """Gold labels; None if there is no majority."""
    judges: Mapping[str, AiuValues]
    """None if a reply could not be read."""

    def scored(self) -> dict[str, list[ScoredCritique]]:
        """Return source -> its critiques with at least one value: "people", then each judge."""
        people = list(_score_by_annotators(self.critiques, self.people))
        judges = {judge: list(_score_by_judge(self.critiques, values)) for judge, values in self.judges.items()}
        return {PEOPLE: people} | judges


def load_data(session: Session, study_id: int) -> CritiqueData:
    """Return the truth values of all AIUs of a study."""
    critiques = {item: state.critiques for item, state in aius.current_states(session, study_id).items()}
    return CritiqueData(critiques, _gold_values(session, study_id), _judge_values(session, study_id))


def critique_of_target(target_part: str) -> str:
    """Return the critique that an AIU was written for, or that was searched for it: see `core.critiques`."""
    return target_part.partition(RECALL_SEPARATOR)[2] or target_part.rpartition(".")[0]


def _gold_values(session: Session, study_id: int) -> dict[Target, bool | None]:
    return {
        gold.target: gold.value if isinstance(gold.value, bool) else None
        for gold in labels.gold_labels(session, study_id, KINDS)
    }


def _judge_values(session: Session, study_id: int) -> dict[str, dict[Target, bool | None]]:
    """Return judge -> AIU -> its value in the newest run over the AIU's critique."""
    opinions = opinion_frame(session, study_id, KINDS)
    opinions = opinions[opinions["stage"] == "verdict"]
    names = _judge_names(session, study_id, opinions)
    newest: dict[str, dict[tuple[str, str, str], tuple[int, dict[Target, bool | None]]]] = defaultdict(dict)
    columns = (opinions[name].tolist() for name in ("run", "rater", "item", "kind", "part", "value"))
    for run, rater, item, kind, part, value in zip(*columns, strict=True):
        critiques = newest[names[run, rater]]
        key = (item, kind, critique_of_target(part))
        if key not in critiques or run > critiques[key][0]:
            critiques[key] = (run, {})
        if run == critiques[key][0]:
            critiques[key][1][Target(item=item, kind=kind, part=part)] = value
    return {
        judge: {target: value for _, values in critiques.values() for target, value in values.items()}
        for judge, critiques in newest.items()
    }


def _judge_names(session: Session, study_id: int, opinions: "pd.DataFrame") -> dict[tuple[int, str], str]:
    """Return (run id, rater) -> the judge's name, with its model if judges of that name have different ones."""
    models: dict[tuple[int, str], str] = {}
    for run in runs.of_study(session, study_id):
        for judge in run.settings.get("judges") or ():
            if isinstance(judge, dict) and isinstance(judge.get("spec"), dict):
                models[run.id, str(judge.get("name"))] = str(judge["spec"].get("model"))
    keys = sorted(set(zip(opinions["run"].tolist(), opinions["rater"].tolist(), strict=True)))
    models_by_rater: dict[str, set[str]] = defaultdict(set)
    for run_id, rater in keys:
        models_by_rater[rater].add(models.get((run_id, rater), ""))
    return {
        (run_id, rater): rater if len(models_by_rater[rater]) == 1 else f"{rater} ({models.get((run_id, rater), '')})"
        for run_id, rater in keys
    }


def _score_by_annotators(critiques_by_item: CritiquesByItem, gold: AiuValues) -> Iterator[ScoredCritique]:
    """Yield the critiques of which at least one current AIU has a label."""
    for item, critiques in critiques_by_item.items():
        reference = reference_critique(critiques)
        for critique in hypothesis_critiques(critiques):
            precision = [precision_target(item, aiu.id) for aiu in critique.aius or ()]
            recall = [recall_target(item, aiu.id, critique.id) for aiu in (reference.aius or () if reference else ())]
            if any(target in gold for target in (*precision, *recall)):
                yield ScoredCritique(item, critique, tuple(map(gold.get, precision)), tuple(map(gold.get, recall)))


def _score_by_judge(critiques_by_item: CritiquesByItem, values: AiuValues) -> Iterator[ScoredCritique]:
    """Yield the critiques that a judge has judged, with the AIUs of its run."""
    owners = aiu_owners(critiques_by_item)
    by_critique: dict[tuple[str, str], tuple[list[bool | None], list[bool | None]]] = {}
    for target, value in values.items():
        key = (target.item, owners.get((target.item, target.part)) or critique_of_target(target.part))
        by_critique.setdefault(key, ([], []))[target.kind == "aiu_recall"].append(value)
    for item, critiques in critiques_by_item.items():
        for critique in hypothesis_critiques(critiques):
            if (item, critique.id) in by_critique:
                factual, covered = by_critique[item, critique.id]
                yield ScoredCritique(item, critique, tuple(factual), tuple(covered))


def aiu_owners(critiques_by_item: CritiquesByItem) -> dict[tuple[str, str], str]:
    """Return (item, AIU) -> the critique that has the AIU."""
    return {
        (item, aiu.id): critique.id
        for item, critiques in critiques_by_item.items()
        for critique in critiques
        for aiu in critique.aius or ()
    }
