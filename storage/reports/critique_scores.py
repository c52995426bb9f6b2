"""Critiques as people see them, and as each judge does: which AIUs are factual, and which are covered.

People's view stands on gold labels of the AIUs that stand now; a judge's on what it said in its newest run over each
critique, of the AIUs that run had.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from core.critiques import IN, Critique, Score, covered, factual, hypotheses, reference, score
from core.labels import Target
from storage import aius, labels, runs
from storage.reports import opinions

PEOPLE = "people"
Said = Mapping[Target, bool | None]
Standing = Mapping[str, Sequence[Critique]]
"""An item's critiques with the AIUs that stand, by the item's name."""


@dataclass(frozen=True)
class Scored:
    """One critique with what one source says of it."""

    item: str
    critique: Critique
    factual: tuple[bool | None, ...]
    covered: tuple[bool | None, ...]

    @property
    def score(self) -> Score:
        """Precision, recall and F1."""
        return score(self.factual, self.covered)


@dataclass(frozen=True)
class Views:
    """What people and judges say of the AIUs of a study."""

    standing: Standing
    people: Said
    """None where people are divided."""
    judges: Mapping[str, Said]
    """None where a reply could not be read."""

    def scored(self) -> dict[str, list[Scored]]:
        """The critiques by source: people, then each judge; what a source said nothing of is left out."""
        people = list(_by_people(self.standing, self.people))
        return {PEOPLE: people} | {judge: list(_by_judge(self.standing, said)) for judge, said in self.judges.items()}


def views(session: Session, study_id: int) -> Views:
    """Everything that was said of a study's AIUs."""
    standing = {key: one.critiques for key, one in aius.every_standing(session, study_id).items()}
    return Views(standing, _gold(session, study_id), _judges(session, study_id))


def _gold(session: Session, study_id: int) -> dict[Target, bool | None]:
    """What stands by people; None where they are divided."""
    return {
        gold.target: gold.value if isinstance(gold.value, bool) else None
        for gold in labels.golds(session, study_id)
        if gold.target.kind in ("aiu_precision", "aiu_recall") and gold.annotators and gold.source != "judges"
    }


def _judges(session: Session, study_id: int) -> dict[str, dict[Target, bool | None]]:
    """Judge -> what it said in its newest run over each critique; models are named where one name has several."""
    said = opinions.opinions(session, study_id)
    said = said[(said["stage"] == "verdict") & said["kind"].isin(["aiu_precision", "aiu_recall"])]
    names = _named(session, study_id, said)
    found: dict[str, dict[tuple[str, str, str], tuple[int, dict[Target, bool | None]]]] = defaultdict(dict)
    columns = ("run", "rater", "item", "kind", "part", "value")
    for run, judge, item, kind, part, value in zip(*(said[name].tolist() for name in columns), strict=True):
        whose = part.partition(IN)[2] or part.rpartition(".")[0]
        newest, targets = found[names[run, judge]].setdefault((item, kind, whose), (run, {}))
        if run > newest:
            targets = {}
        if run >= newest:
            targets[Target(item=item, kind=kind, part=part)] = value
            found[names[run, judge]][item, kind, whose] = (run, targets)
    return {
        judge: {target: value for _, targets in of.values() for target, value in targets.items()}
        for judge, of in found.items()
    }


def _named(session: Session, study_id: int, said: Any) -> dict[tuple[int, str], str]:
    """(run, judge) -> the judge's name, with its model where judges of that name have different ones."""
    models: dict[tuple[int, str], str] = {}
    for run in runs.of_study(session, study_id):
        for judge in run.settings.get("judges") or ():
            if isinstance(judge, dict) and isinstance(judge.get("spec"), dict):
                models[run.id, str(judge.get("name"))] = str(judge["spec"].get("model"))
    there = sorted(set(zip(said["run"].tolist(), said["rater"].tolist(), strict=True)))
    kinds: dict[str, set[str]] = defaultdict(set)
    for run, judge in there:
        kinds[judge].add(models.get((run, judge), ""))
    return {
        (run, judge): judge if len(kinds[judge]) == 1 else f"{judge} ({models.get((run, judge), '')})"
        for run, judge in there
    }


def _by_people(standing: Standing, gold: Said) -> Iterator[Scored]:
    """Critiques of whose standing AIUs people labelled at least one."""
    for item, there in standing.items():
        held = reference(there)
        for critique in hypotheses(there):
            own = [factual(item, aiu.id) for aiu in critique.aius or ()]
            theirs = [covered(item, aiu.id, critique.id) for aiu in (held.aius or () if held else ())]
            if any(target in gold for target in (*own, *theirs)):
                yield Scored(
                    item, critique, tuple(gold.get(one) for one in own), tuple(gold.get(one) for one in theirs)
                )


def _by_judge(standing: Standing, said: Said) -> Iterator[Scored]:
    """Critiques as a judge had them before it: with the AIUs of its own run."""
    by_critique: dict[tuple[str, str], tuple[list[bool | None], list[bool | None]]] = {}
    whose = {(item, aiu.id): one.id for item, there in standing.items() for one in there for aiu in one.aius or ()}
    for target, value in said.items():
        recall = target.kind == "aiu_recall"
        default = target.part.rpartition(".")[0]
        name = target.part.partition(IN)[2] if recall else whose.get((target.item, target.part), default)
        by_critique.setdefault((target.item, name), ([], []))[recall].append(value)
    for item, there in standing.items():
        for critique in hypotheses(there):
            if (item, critique.id) in by_critique:
                precise, recalled = by_critique[item, critique.id]
                yield Scored(item, critique, tuple(precise), tuple(recalled))
