"""What is known about judges apart from their accuracy: annotators whose labels they repeat, and their biases.

The labels of an annotator whom a judge repeats are no independent evidence about it. The reference of all judges is
made without these annotators, so that judges remain comparable; the human ceiling and the test of annotators are made
without those of the judge itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.statistics.data.dataset import ADJUDICATED, BY_PEOPLE, Dataset, consensus
from core.statistics.data.ratings import Ratings, mean_scores
from core.statistics.measures.annotator_dependence import Dependence, State, find_dependence
from core.statistics.reports.biases import BiasRow, bias_rows
from core.wording import equate_p

NO_REFERENCE = "the reference is of annotators whose labels the judge repeats"


@dataclass(frozen=True)
class Findings:
    """What was found about the judges of a dataset."""

    dependence: Mapping[str, tuple[Dependence, ...]] = field(default_factory=dict)
    """Judge -> the annotators that it repeats or may repeat."""
    biases: Sequence[BiasRow] = ()
    reference_annotator: str = ""
    """The annotator whose labels are the reference; "" if it is made of the labels of all."""

    def repeated(self, judge: str) -> tuple[str, ...]:
        """Return the annotators whom a judge repeats."""
        return tuple(one.annotator for one in self.dependence.get(judge, ()) if one.state is State.repeats)

    def biases_of(self, judge: str) -> tuple[BiasRow, ...]:
        """Return the biases of a judge that were found."""
        return tuple(row for row in self.biases if row.judge == judge and row.found)

    def possible_biases(self, judge: str, effect: float) -> tuple[str, ...]:
        """Return the biases of at least this effect that the labels do not exclude."""
        return tuple(row.bias for row in self.biases if row.judge == judge and row.limit >= effect)


def find(dataset: Dataset, reference_annotator: str = "") -> Findings:
    """Test every judge of a dataset with categories against every annotator, and judges of preferences for biases."""
    return replace(find_repeated(dataset, reference_annotator), biases=find_biases(dataset))


def find_repeated(dataset: Dataset, reference_annotator: str = "") -> Findings:
    """Test every judge of a dataset with categories against every annotator."""
    if not isinstance(dataset.ratings, Ratings):
        return Findings(reference_annotator=reference_annotator)
    verdicts = {
        judge: np.where(opinions.asked & ~np.isnan(opinions.values), opinions.values, -1).astype(np.int16)
        for judge, opinions in dataset.judges.items()
    }
    apart = ~np.isnan(dataset.gold) & (dataset.sources == ADJUDICATED)
    decided = np.where(apart, np.nan_to_num(dataset.gold), -1).astype(np.int16)
    dependence = find_dependence(dataset.ratings, verdicts, decided)
    return Findings(dependence, reference_annotator=reference_annotator)


def find_biases(dataset: Dataset) -> Sequence[BiasRow]:
    """Return the biases of all judges of preferences, none of other kinds; in one order of the responses."""
    return bias_rows(dataset, {}) if dataset.kind == "preference" else []


def left_out_of_reference(dataset: Dataset, findings: Findings) -> tuple[str, ...]:
    """Return the annotators that the reference of all judges is made without; none if nobody would be left."""
    people = sorted({name for judge in dataset.judges for name in findings.repeated(judge)})
    if findings.reference_annotator or set(people) >= set(dataset.ratings.raters):
        return ()
    return tuple(people)


def is_reference_independent(dataset: Dataset, findings: Findings, judge: str) -> bool:
    """Return whether the reference is made without the annotators whom a judge repeats."""
    repeated = set(findings.repeated(judge))
    if findings.reference_annotator:
        return findings.reference_annotator not in repeated
    return repeated <= set(left_out_of_reference(dataset, findings))


def with_independent_reference(dataset: Dataset, findings: Findings) -> Dataset:
    """Return the dataset with the majority of the other annotators, where the reference is a majority of labels."""
    people = left_out_of_reference(dataset, findings)
    return replace(independent_of(dataset, people), ratings=dataset.ratings) if people else dataset


def independent_of(dataset: Dataset, people: Sequence[str]) -> Dataset:
    """Return the dataset without the labels of annotators, also in the reference if it is made of all labels."""
    if not people or not isinstance(dataset.ratings, Ratings):
        return dataset
    others = replace(dataset, ratings=without_annotators(dataset.ratings, people))
    by_people = dataset.sources == BY_PEOPLE if dataset.adjudicated else np.ones(dataset.gold.size, bool)
    if not np.array_equal(dataset.gold[by_people], consensus(dataset.ratings)[by_people], equal_nan=True):
        return others
    majority, numbers = consensus(others.ratings), mean_scores(others.to_numbers(others.labels))
    if np.array_equal(dataset.gold_scores[by_people], dataset.to_numbers(dataset.gold)[by_people], equal_nan=True):
        numbers = dataset.to_numbers(majority)
    gold = np.where(by_people, majority, dataset.gold)
    return replace(others, gold=gold, gold_scores=np.where(by_people, numbers, dataset.gold_scores))


def without_annotators(ratings: Ratings, people: Sequence[str]) -> Ratings:
    """Return the labels of the other annotators, or of all if there is no other one."""
    others = [name for name in ratings.raters if name not in people]
    return ratings.select(raters=others) if people and others else ratings


def describe_dependence(one: Dependence) -> str:
    """Return the dependence as the end of a sentence about the judge."""
    name = one.annotator
    sides = f"{one.sides:,} of {one.targets:,} targets on which annotators differ"
    if one.state is State.repeats:
        return (
            f"repeats the labels of {name} (with {name} on {sides}, {equate_p(one.p_corrected)}), "
            f"so its figures are without {name}"
        )
    what = "annotators" if one.few_annotators else "targets"
    return f"not enough {what} to tell whether it repeats the labels of {name} (with {name} on {sides})"
