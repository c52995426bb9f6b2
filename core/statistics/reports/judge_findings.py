"""What is known about judges apart from their accuracy: whose labels they repeat, their biases, and where they differ.

The labels of an annotator whom a judge repeats are no independent evidence about it. The reference of all judges is
made without these annotators, so that judges remain comparable; the human ceiling and the test of annotators are made
without those of the judge itself.

The biases of every judge of preferences are one family of tests with Holm's correction; people's is stated beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from core.statistics.data.arrays import Bools, Floats
from core.statistics.data.dataset import ADJUDICATED, BY_PEOPLE, Dataset, consensus
from core.statistics.data.ratings import Ratings, mean_scores
from core.statistics.measures.annotator_dependence import Dependence, State, find_dependence
from core.statistics.measures.bias import (
    NO_SIDE,
    SideEffect,
    Untested,
    excess_limit,
    fisher_p,
    preference_against_half,
    preference_beyond_people,
    preference_given_people,
    preference_in_both_orders,
)
from core.statistics.measures.comparison import paired_comparison, with_corrected
from core.statistics.measures.means import effective_counts, selected_groups, share_estimate, wilson_interval
from core.wording import equate_p, format_count, format_estimate, list_names

Bias = Literal["position", "position, both orders", "length", "self-preference"]
SIDES: Mapping[str, Bias] = {"shown_first": "position", "longer": "length", "own": "self-preference"}
# Bias -> what a positive and a negative effect prefer.
CHOICES: Mapping[Bias, tuple[str, str]] = {
    "position": ("the response shown first", "the response shown last"),
    "position, both orders": ("the response shown first", "the response shown last"),
    "length": ("the longer response", "the shorter response"),
    "self-preference": ("the response of its own family", "the response of another family"),
}
# The judge of the row of people's position bias.
PEOPLE = "people"
# Bias -> why no judge has a row of it.
NO_ROW: Mapping[Bias, str] = {bias: NO_SIDE[side] for side, bias in SIDES.items()}
# Below this share of pairs in one of both orders, the order was not assigned at random.
MIN_ORDER_SHARE = 0.25
# Share of the pairs whose reference is the majority of several labels; below it, only the reference is used.
MIN_LABELLED_SHARE = 0.8
LEVEL = 0.05


@dataclass(frozen=True)
class BiasRow:
    """One bias of one judge."""

    judge: str
    bias: Bias
    effect: SideEffect
    p_corrected: float | None
    """Holm's, over the biases of all judges that were tested together."""
    flips: int | None = None
    """Pairs with another verdict in the other order, of `effect.items`; None if there are no such pairs."""
    limit: float = 0.0
    """The largest effect on all verdicts that the labels do not exclude; 0 if it was not asked for."""
    population: str = "all targets"
    """The targets that the labels are of, if people are needed."""

    @property
    def found(self) -> bool:
        """Whether the corrected p is under 0.05."""
        return self.p_corrected is not None and self.p_corrected < LEVEL

    @property
    def sentence(self) -> str:
        """What the judge prefers, if a bias was found, with its effect and n."""
        value = self.effect.value
        if not self.found or value is None:
            return ""
        estimate = format_estimate(value, self.effect.low, self.effect.high, sign=True)
        verb = "prefer" if self.judge == PEOPLE else "prefers"
        return f"{self.judge} {verb} {CHOICES[self.bias][value < 0]}: {estimate}, n {self.effect.items:,}"


def bias_rows(dataset: Dataset, both_orders: Mapping[str, Floats]) -> list[BiasRow]:
    """Return the biases of every judge of a dataset of preferences.

    `both_orders`: judge -> its choices (N, 2) on pairs that it was asked about in both orders.
    """
    rows = [row for judge in dataset.judges for row in _judge_rows(dataset, judge)]
    for judge, choices in both_orders.items():
        read = choices[~np.isnan(choices).any(axis=1)]
        effect = preference_in_both_orders(choices)
        rows.append(BiasRow(judge, "position, both orders", effect, None, int((read[:, 0] != read[:, 1]).sum())))
    return correct_rows(sorted(rows, key=lambda row: (row.judge, list(CHOICES).index(row.bias))))


def people_row(values: Floats, first: Floats, groups: Sequence[str]) -> BiasRow | None:
    """Return people's preference for the response shown first; None without a label with a known order.

    `values` (N,) are labels, 1, 2 or 0; `first` (N,) the number of the response that their annotator saw first;
    `groups` (N,) their items, or dialogues. It is one test, which the judges' correction does not count. Of an item,
    successive annotators see opposite orders, so the interval is a little too wide:
    the case `position_of_people` of tests/bench/bench_error_rates.py.
    """
    used = (values == 1) | (values == 2)
    if not used.any():
        return None
    share = float((first[used] == 1).mean())
    if not MIN_ORDER_SHARE <= share <= 1 - MIN_ORDER_SHARE:
        effect = SideEffect(None, None, None, None, int(used.sum()), untested=Untested.ONE_ORDER)
    else:
        effect = preference_against_half((values == first)[used], selected_groups(groups, used))
    effect = replace(effect, judge_share=None, people_share=effect.judge_share)
    return BiasRow(PEOPLE, "position", effect, effect.p)


def correct_rows(rows: Sequence[BiasRow]) -> list[BiasRow]:
    """Return the rows with Holm's correction over all tests that were made."""
    return with_corrected(rows, [row.effect.p for row in rows])


def summarize(rows: Sequence[BiasRow], unknown_systems: Sequence[str] = ()) -> str:
    """Return one line: the detected biases, and the number of tested ones.

    `unknown_systems` are those without a known model family.
    """
    tested = sum(row.p_corrected is not None for row in rows)
    found = sorted((row for row in rows if row.found), key=lambda row: -abs(row.effect.value or 0))
    untested = describe_untested(rows, unknown_systems)
    if not tested:
        return f"No bias could be tested.{untested}"
    number = format_count(tested, "test")
    if not found:
        return f"No bias was found in {number} (Holm-corrected p under {LEVEL:g}).{untested}"
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return f"{'; '.join(row.sentence for row in found[:3])}{more}. {len(found)} of {number} found a bias.{untested}"


def describe_untested(rows: Sequence[BiasRow], unknown_systems: Sequence[str]) -> str:
    """Return a sentence with the biases that no judge has a row of, and those of judges with one answer, after a space;
    empty if there are none.
    """
    biases = {row.bias for row in rows if row.judge != PEOPLE}
    reasons = dict(NO_ROW)
    if unknown_systems:
        names = list_names(unknown_systems)
        reasons["self-preference"] += (
            f"; the model family of {names} is not known and can be named in the study's setting Families of models"
        )
    missing = [f"{bias} ({reason})" for bias, reason in reasons.items() if bias not in biases]
    for bias in SIDES.values():
        judges = [row.judge for row in rows if row.bias == bias and row.effect.untested is Untested.ONE_ANSWER]
        missing += [f"{bias} of {judge} ({Untested.ONE_ANSWER.value})" for judge in judges]
    return f" Not tested: {'; '.join(missing)}." if missing else ""


def _judge_rows(dataset: Dataset, judge: str) -> Iterator[BiasRow]:
    opinions = dataset.judges[judge]
    choice = dataset.to_numbers(opinions.values)
    for column, bias in SIDES.items():
        if column in opinions.sides:
            side = np.nan_to_num(opinions.sides[column])
            if ((side == 1) | (side == 2)).any():
                limit = _limit(choice, side, dataset)
                yield BiasRow(judge, bias, _effect(bias, choice, side, dataset), None, limit=limit)


def _limit(choice: Floats, side: Floats, dataset: Dataset) -> float:
    """Return the largest effect that is not excluded; a target without a side counts as one without an effect."""
    people = dataset.to_numbers(dataset.gold)
    used = ((choice == 1) | (choice == 2)) & ((people == 1) | (people == 2))
    excess = np.where(side > 0, (choice == side).astype(float) - (people == side), 0.0)
    return excess_limit(excess[used], selected_groups(dataset.ratings.groups, used))


def _effect(bias: Bias, choice: Floats, side: Floats, dataset: Dataset) -> SideEffect:
    """Return the effect of a bias: against 1/2 for a random order, otherwise against people's own preference."""
    people, groups = dataset.to_numbers(dataset.gold), dataset.ratings.groups
    used = ((side == 1) | (side == 2)) & ((choice == 1) | (choice == 2))
    if bias == "position" and used.any():
        first = float((side[used] == 1).mean())
        if MIN_ORDER_SHARE <= first <= 1 - MIN_ORDER_SHARE:
            return preference_against_half((choice == side)[used], selected_groups(groups, used))
    has_one_answer = np.unique(choice[used]).size == 1
    effect = _effect_beyond_labels(choice == side, side, used, dataset)
    used &= (people == 1) | (people == 2)
    if effect is None:
        effect = preference_given_people(
            (choice == side)[used], (people == side)[used], selected_groups(groups, used), dataset.sample_of(used)
        )
    if bias == "position":
        effect = replace(effect, random_order=False)
    elif has_one_answer and effect.value is not None:
        effect = replace(effect, value=None, low=None, high=None, p=None, untested=Untested.ONE_ANSWER)
    return effect


def _effect_beyond_labels(chose: Bools, side: Floats, used: Bools, dataset: Dataset) -> SideEffect | None:
    """Return the effect from the labels of several annotators; None if the reference is not mostly their majority."""
    if not dataset.scale.categories:
        return None
    majority, labels = consensus(dataset.ratings), dataset.to_numbers(dataset.labels)
    by_labels = (dataset.gold == majority) | (np.isnan(dataset.gold) & np.isnan(majority))
    from_labels = used & by_labels & ((~np.isnan(labels)).sum(axis=1) >= 2)
    if from_labels.sum() < MIN_LABELLED_SHARE * (used & ~np.isnan(dataset.gold)).sum():
        return None
    own = labels[from_labels]
    signs = np.where(own == side[from_labels, None], 1.0, -1.0)
    signs = np.where(np.isnan(own), np.nan, np.where((own == 1) | (own == 2), signs, 0.0))
    weights = None if dataset.sample is None else dataset.sample.weights[from_labels]
    return preference_beyond_people(
        chose[from_labels], signs, selected_groups(dataset.ratings.groups, from_labels), weights
    )


# How far a judge depends on the wording of the criterion: the same judge with several formats, paired by target.


@dataclass(frozen=True)
class FormatRow:
    """The effect of one format on one judge, on the targets that it was asked about with both."""

    judge: str
    base: str
    format: str
    base_accuracy: float | None
    """Share of the targets on which the verdict equals the reference; no verdict is an error (ScaleEval, eq. 2)."""
    accuracy: float | None
    effect: float | None
    """Accuracy with the format minus that with the base format."""
    low: float | None
    high: float | None
    targets: int
    """With a reference."""
    changed: float | None
    """Share of the targets with another verdict; a verdict instead of none is another one."""
    changed_low: float | None
    changed_high: float | None
    judged: int
    """Targets of `changed`, with or without a reference."""
    base_no_verdict: int
    no_verdict: int
    """Of the judged targets."""
    p: float | None
    p_corrected: float | None = None
    """Holm's, over all judges and formats."""
    reason: str = ""

    @property
    def found(self) -> bool:
        """Whether the corrected p is under 0.05."""
        return self.p_corrected is not None and self.p_corrected < LEVEL


def format_rows(dataset: Dataset, pairs: Mapping[tuple[str, str, str], tuple[str, str]]) -> list[FormatRow]:
    """Return the effect of each format, with Holm's correction over those that could be tested.

    `pairs`: a judge, its base format and another one -> the names of both among the judges of the dataset.
    """
    rows = [_format_row(dataset, key, names) for key, names in pairs.items()]
    return with_corrected(rows, [row.p for row in rows])


def summarize_formats(rows: Sequence[FormatRow]) -> str:
    """Return one line: the formats that change an accuracy, and the number of tested ones."""
    tested = sum(row.p_corrected is not None for row in rows)
    found = sorted((row for row in rows if row.found), key=lambda row: -abs(row.effect or 0))
    if not tested:
        return "No format of the criterion could be tested."
    if not found:
        return f"No format of the criterion changes an accuracy in {tested} tests (Holm-corrected p under {LEVEL:g})."
    texts = [f"{row.judge} with the format {row.format}: {row.effect or 0:+.2f}" for row in found[:3]]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return f"{'; '.join(texts)}{more} in accuracy. {len(found)} of {tested} tests found a difference."


def _format_row(dataset: Dataset, key: tuple[str, str, str], names: tuple[str, str]) -> FormatRow:
    base, other = (dataset.judges[name] for name in names)
    judged = base.asked & other.asked
    used = judged & ~np.isnan(dataset.gold)
    missing = np.isnan(base.values) & np.isnan(other.values)
    differs = ((base.values != other.values) & ~missing)[judged]
    base_right, right = ((opinions.values == dataset.gold).astype(float) for opinions in (base, other))
    differences = np.where(used, right - base_right, np.nan)
    groups = dataset.ratings.groups
    compared = paired_comparison(*names[::-1], differences, groups, 1000)
    share = share_estimate(differs, selected_groups(groups, judged))
    return FormatRow(
        *key,
        float(base_right[used].mean()) if used.any() else None, float(right[used].mean()) if used.any() else None,
        compared.difference, compared.low, compared.high, int(used.sum()),
        share.value, share.low, share.high, share.items,
        int(np.isnan(base.values[judged]).sum()), int(np.isnan(other.values[judged]).sum()),
        compared.p_bootstrap, reason=compared.reason,
    )  # fmt: skip


# The annotators whose labels a judge repeats, and datasets without them.

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
    if not dataset.scale.categories:
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
    if not people or not dataset.scale.categories:
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


# Where a judge differs from people more often than elsewhere: one test for each slice of the targets.

# A feature and its value: ("scenario", "math").
Slice = tuple[str, str]
# No test of slices with fewer targets, inside or outside.
MIN_TARGETS = 5


@dataclass(frozen=True)
class SliceRow:
    """How often a judge differs from people in a slice, and outside of it."""

    judge: str
    slice: Slice
    differing: int
    targets: int
    """Targets of the slice."""
    differing_outside: int
    targets_outside: int
    excess: float
    """The share of differing targets in the slice minus that outside."""
    low: float
    high: float
    p: float
    p_corrected: float = 1.0
    """Benjamini & Hochberg's, over all slices of all judges."""
    population: str = "all targets"
    """The targets that the labels are of: each counts once, however it was drawn."""

    @property
    def found(self) -> bool:
        """Whether the corrected p is under 0.05."""
        return self.p_corrected < LEVEL


def slice_rows(
    judge: str, differs: Bools, slices: Mapping[Slice, tuple[Bools, Bools]], groups: Sequence[str] | None = None
) -> list[SliceRow]:
    """Compare each slice of a judge's targets with the others; `differs` (N,) is whether the verdict differs.

    `slices` has (N,) masks: the targets in the slice, and those on which the feature is known. Fisher's exact test;
    the interval of the difference is from both Wilson intervals (Newcombe 1998, method 10). Counts of documents or
    dialogues are divided by their design effect. p-values are not corrected here: see `correct_slices`.
    """
    names = None if groups is None else np.array(groups, object)
    rows = []
    for key, (inside, known) in slices.items():
        masks = (inside & known, known & ~inside)
        if min(int(mask.sum()) for mask in masks) < MIN_TARGETS:
            continue
        parts = [effective_counts(differs[mask], None if names is None else names[mask].tolist()) for mask in masks]
        (share, other), limits = [hits / n for hits, n in parts], [wilson_interval(hits, n) for hits, n in parts]
        (low, high), (other_low, other_high) = limits
        excess = share - other
        (hits, n), (other_hits, other_n) = [(round(hits), round(n)) for hits, n in parts]
        counts = [int(count) for mask in masks for count in (differs[mask].sum(), mask.sum())]
        rows.append(
            SliceRow(
                judge, key, counts[0], counts[1], counts[2], counts[3], excess,
                excess - float(np.hypot(share - low, other_high - other)),
                excess + float(np.hypot(high - share, other - other_low)),
                fisher_p(hits, n, other_hits, other_n),
            )
        )  # fmt: skip
    return rows


def correct_slices(rows: Sequence[SliceRow]) -> list[SliceRow]:
    """Return the rows with corrected p-values, the smallest first."""
    corrected = with_corrected(rows, [row.p for row in rows], "benjamini-hochberg")
    return sorted(corrected, key=lambda row: (row.p_corrected, row.p))
