"""Labels that exist mainly for disputed targets or for some scenarios: the figures of an analysis are then of these.

Decided once for the labels and for the reference of each kind and criterion, when they are loaded for an analysis.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from core.designs import CONTENTION_STRATA
from core.labels import Scale, Target
from core.statistics.data.arrays import Bools, Estimate, Floats, Ints
from core.statistics.data.dataset import Dataset
from core.statistics.data.frames import ALL, select_rows, target_codes
from core.statistics.data.sample import FEWEST_OF_STRATUM, SEPARATOR
from core.statistics.measures.comparison import Comparison
from core.statistics.measures.designs import LabelCounts, count_labels, dispute_ratio, scenarios_without
from core.statistics.reports.judges import Decision, Ranking
from core.verdicts import DISPUTE_THRESHOLD
from core.wording import format_count, join_notes, list_names, report_criterion, scenario_name

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd


# The targets that a figure of labels is of.
Population = Literal["all targets", "disputed targets", "scenarios with labels", "labelled targets", "not known"]
OF_DISPUTED = "of disputed targets"
ALL_TARGETS: Population = "all targets"
DISPUTED_TARGETS: Population = "disputed targets"
NO_VALUE_OF_ALL = "no value of all targets: labels are mainly of disputed targets"
LABELLED_SCENARIOS: Population = "scenarios with labels"
OF_SCENARIOS = "mainly of the scenarios with labels"
# Of figures that count each label once, although a design drew targets with different probabilities.
LABELLED_TARGETS: Population = "labelled targets"
# Of rows without any label.
NOT_KNOWN: Population = "not known"
# The caveat of a figure that is not of all targets.
CAVEATS: Mapping[Population, str] = {
    DISPUTED_TARGETS: OF_DISPUTED,
    LABELLED_SCENARIOS: OF_SCENARIOS,
    LABELLED_TARGETS: "of labelled targets, which were drawn with different probabilities",
}
SENTENCES: Mapping[Population, str] = {
    DISPUTED_TARGETS: f"Figures of people's labels are {OF_DISPUTED}: labels are mainly of these.",
    LABELLED_SCENARIOS: f"Figures of people's labels are {OF_SCENARIOS}: targets of others have labels less often.",
}
# Why there is no value of all targets.
NO_VALUES: Mapping[Population, str] = {
    DISPUTED_TARGETS: NO_VALUE_OF_ALL,
    LABELLED_SCENARIOS: "no value of all targets: some scenarios have no labels, or fewer than others",
}
RANDOM_SAMPLE = "There is no value of all targets: label a random sample of them."
T = TypeVar("T")
# Kind and criterion.
Key = tuple[str, str]


@dataclass(frozen=True)
class ChosenLabels:
    """Labels of one kind and criterion, or values of the reference, that exist mainly for disputed targets."""

    counts: LabelCounts
    names: frozenset[tuple[str, str, str]]
    """The item, criterion and part of each of the disputed targets."""

    def has(self, frame: "pd.DataFrame") -> Bools:
        """Return whether the target of each row is one of these."""
        rows = zip(frame["item"], frame["criterion"], frame["part"], strict=True)
        return np.array([row in self.names for row in rows], bool)


@dataclass(frozen=True)
class FewLabels:
    """The scenarios whose targets have labels less often than those of others."""

    scenarios: tuple[str, ...]
    labelled: int
    targets: int


@dataclass(frozen=True)
class Choices:
    """What is mainly of disputed targets, or of some scenarios, by kind and criterion."""

    of_reference: Mapping[Key, ChosenLabels]
    of_labels: Mapping[Key, ChosenLabels]
    """Of labels, or of several labels of a target, which the comparison of annotators with each other needs."""
    few_of_reference: Mapping[Key, FewLabels] = field(default_factory=dict)
    few_labels: Mapping[Key, FewLabels] = field(default_factory=dict)
    left_out: Mapping[Key, int] = field(default_factory=dict)
    """The targets whose labels were chosen, although targets are drawn by a design: they have no probability."""
    probabilities: Mapping[Key, int] = field(default_factory=dict)
    """With how many different ones the targets are drawn, where with several."""

    def population(
        self, kind: str, criterion: str, *, of_labels: bool = False, one_scenario: bool = False, weighted: bool = True
    ) -> Population:
        """Return the targets that the figures of the reference, or of labels, are of; `criterion` can be "all".

        Figures of one scenario can be of all its targets, whichever other scenarios have labels. `weighted`: labels
        count by their design in the figures.
        """
        if of_key(self.of_labels if of_labels else self.of_reference, kind, criterion):
            return DISPUTED_TARGETS
        few = of_key(self.few_labels if of_labels else self.few_of_reference, kind, criterion)
        if few and not one_scenario:
            return LABELLED_SCENARIOS
        return LABELLED_TARGETS if not weighted and of_key(self.probabilities, kind, criterion) else ALL_TARGETS

    def has_figures_of(self, target: Target) -> bool:
        """Return whether figures of the reference are of a target: it is disputed, or they are of all."""
        criterion = report_criterion(target.criterion)
        chosen = self.of_reference.get((target.kind, criterion))
        return chosen is None or (target.item, criterion, target.part) in chosen.names

    @property
    def notes(self) -> list[str]:
        """The notes on every kind and criterion, with their names."""
        found = (self.of_reference, self.of_labels, self.few_of_reference, self.few_labels, self.left_out)
        keys = dict.fromkeys(key for one in found for key in one)
        return [f"{', '.join(filter(None, key))}: {self.note(*key)}" for key in keys]

    def note(self, kind: str, criterion: str, *, one_scenario: bool = False) -> str:
        """Return sentences on labels of a kind and criterion, or "all", that are not of all targets; "" if none."""
        few = [] if one_scenario else self._note_on_scenarios(kind, criterion)
        return " ".join(
            filter(None, (self._note_on_disputes(kind, criterion), *few, self._note_on_left_out(kind, criterion)))
        )

    def _note_on_left_out(self, kind: str, criterion: str) -> str:
        number = sum(of_key(self.left_out, kind, criterion))
        if not number:
            return ""
        return (
            f"Labels of {format_count(number, 'target')} are left out: these were not drawn, or too few of their round "
            "have labels yet."
        )

    def _note_on_scenarios(self, kind: str, criterion: str) -> list[str]:
        found = of_key(self.few_of_reference, kind, criterion) or of_key(self.few_labels, kind, criterion)
        return [
            f"Figures of people's labels in all scenarios together are {OF_SCENARIOS}: only {one.labelled:,} of "
            f"{format_count(one.targets, 'target')} of {list_names(one.scenarios)} have enough labels. {RANDOM_SAMPLE}"
            for one in found
        ]

    def _note_on_disputes(self, kind: str, criterion: str) -> str:
        of_reference = of_key(self.of_reference, kind, criterion)
        found = of_reference or of_key(self.of_labels, kind, criterion)
        if not found:
            return ""
        labelled, disputed, other_labelled, others = (
            sum(getattr(one.counts, name) for one in found)
            for name in ("disputed_labelled", "disputed", "others_labelled", "others")
        )
        have = "a value of the reference" if of_reference else "enough labels"
        return (
            f"Figures of people's labels are {OF_DISPUTED}: {labelled:,} of {disputed:,} disputed targets have {have}. "
            f"Of {others:,} others, {other_labelled:,} do and are left out. {RANDOM_SAMPLE}"
        )


NOTHING = Choices({}, {})


def describe_populations(populations: Iterable[Population]) -> str:
    """Return a sentence about figures of labels that are not of all targets; empty if all are."""
    sentences = [SENTENCES[one] for one in sorted(set(populations)) if one in SENTENCES]
    return " ".join([*sentences, RANDOM_SAMPLE]) if sentences else ""


def of_key(chosen: Mapping[Key, T], kind: str, criterion: str) -> list[T]:
    """Return those of a kind and criterion, or of every criterion for "all"; kind "aiu" is both kinds of AIUs."""
    return [
        one for key, one in chosen.items() if kind in (key[0], key[0].partition("_")[0]) and criterion in (ALL, key[1])
    ]


def find(datasets: Iterable[Dataset], disputed: "pd.DataFrame", *, of_everybody: bool = True) -> Choices:
    """Return the labels and the values of the reference that are mainly of disputed targets.

    `datasets` have all judges of the analysis; `disputed` has the targets that a run disputed, with the columns item,
    kind, criterion and part. `of_everybody`: the reference is of all labels, so targets with labels but without a
    majority are no targets without labels. Where a design draws the targets, nothing is tested: figures are of the
    strata that have labels.
    """
    of_reference: dict[Key, ChosenLabels] = {}
    of_labels: dict[Key, ChosenLabels] = {}
    few: tuple[dict[Key, FewLabels], dict[Key, FewLabels]] = {}, {}
    for whole in datasets:
        key = whole.kind, whole.criterion
        if whole.criterion == ALL or key in of_labels:
            continue
        asked = np.any([one.asked for one in whole.judges.values()], axis=0)
        dataset = whole.subset(whole.group, asked)
        of_targets = _disputes(dataset, disputed)
        given = (~np.isnan(dataset.labels)).sum(axis=1)
        referenced = ~np.isnan(dataset.gold) | ~np.isnan(dataset.gold_scores)
        for chosen, masks in ((of_reference, [referenced]), (of_labels, [given > 0, given > 1])):
            one = _part_of_all(dataset, of_targets, masks)
            if isinstance(one, ChosenLabels):
                chosen[key] = one
            elif one is not None:
                few[chosen is of_labels][key] = one
        for chosen_scenarios, mask in zip(few, (referenced | of_everybody * given > 0, given > 0), strict=True):
            rare = _few_labels(dataset, of_targets, mask)
            if rare is not None and key not in chosen_scenarios:
                chosen_scenarios[key] = rare
    return Choices(of_reference, of_labels, *few)


def _strata(dataset: Dataset) -> "npt.NDArray[np.str_] | None":
    """Return the name of each target's stratum, "" if the design does not know it; None without a design."""
    if dataset.sample is None:
        return None
    names = [name.rpartition(SEPARATOR)[2] for name in dataset.sample.names]
    return np.array(names)[dataset.sample.strata]


def _part_of_all(dataset: Dataset, disputes: "_Disputes", masks: Sequence[Bools]) -> ChosenLabels | FewLabels | None:
    """Return the part of the targets that labels are of; None if they are of all."""
    strata = _strata(dataset)
    if strata is None or dataset.sample is None:
        return _chosen(dataset, disputes, masks)
    found = _uncovered(dataset, strata, dataset.sample.drawn, masks)
    if found is not None or set(strata.tolist()) <= set(CONTENTION_STRATA):
        return found  # strata by contention have no others to compare
    # Drawn targets, within strata: people could have labelled them in another order than at random.
    own = dataset.sample.drawn
    known = np.unique(strata, return_inverse=True)[1].reshape(-1)
    of_strata = replace(disputes, strata=disputes.strata * (known.max(initial=0) + 1) + known)
    return _chosen(dataset.subset(dataset.group, own), of_strata.select(own), [mask[own] for mask in masks])


def _uncovered(
    dataset: Dataset, strata: "npt.NDArray[np.str_]", drawn: Bools, masks: Sequence[Bools]
) -> ChosenLabels | FewLabels | None:
    """Return what a design leaves out: the strata with hardly a label, if others have more; None if none is without.

    Of strata by contention the targets of those with labels; otherwise the names of those without.
    """
    for labelled in masks:
        sizes = Counter(strata.tolist())
        counts = Counter(strata[drawn & labelled].tolist())
        enough = (name for name, n in counts.items() if n >= min(FEWEST_OF_STRATUM, sizes[name]))
        names, covered = set(sizes), set(enough)
        covered = covered or set(counts)  # of a few labels in all, none is more of the whole than the others
        if not covered or covered == names:
            continue
        own = np.isin(strata, sorted(covered))
        if names <= set(CONTENTION_STRATA):
            return ChosenLabels(count_labels(labelled, own), _names(dataset, own))
        return FewLabels(tuple(map(scenario_name, sorted(names - covered))), 0, int((~own).sum()))
    return None


def _names(dataset: Dataset, mask: Bools) -> frozenset[tuple[str, str, str]]:
    """Return the item, criterion and part of each target of the mask."""
    parts = zip(dataset.item[mask].tolist(), dataset.part[mask].tolist(), strict=True)
    return frozenset((item, dataset.criterion, part) for item, part in parts)


def keep_drawn(frame: "pd.DataFrame", design: "pd.DataFrame | None") -> "pd.DataFrame":
    """Return labels or values of a reference, of kinds and criteria with a design only those of drawn targets."""
    if design is None or frame.empty:
        return frame
    kept = np.ones(len(frame), bool)
    for kind, criterion in design[["kind", "criterion"]].drop_duplicates().itertuples(index=False):
        own = ((frame["kind"] == kind) & (frame["criterion"] == criterion)).to_numpy(bool)
        kept[own] = is_among(frame[own], select_rows(design[design["drawn"]], kind, criterion))
    return frame if kept.all() else frame[kept]


def different_probabilities(design: "pd.DataFrame | None") -> dict[Key, int]:
    """Return with how many probabilities the targets of each kind and criterion are drawn, where with several."""
    if design is None:
        return {}
    drawn = design.loc[design["drawn"], ["kind", "criterion", "probability"]].drop_duplicates()
    numbers = Counter(zip(drawn["kind"], drawn["criterion"], strict=True))
    return {key: number for key, number in numbers.items() if number > 1}


def count_left_out(labels: "pd.DataFrame", kept: "pd.DataFrame") -> dict[Key, int]:
    """Return how many targets have labels that `keep_drawn` left out, by kind and criterion."""
    out = labels.loc[labels.index.difference(kept.index), ["kind", "criterion", "item", "part"]].drop_duplicates()
    return {(str(kind), str(criterion)): len(rows) for (kind, criterion), rows in out.groupby(["kind", "criterion"])}


def keep_disputed(frame: "pd.DataFrame", chosen: Mapping[Key, ChosenLabels]) -> "pd.DataFrame":
    """Return labels or values of a reference, of chosen ones only those of disputed targets."""
    kept = np.ones(len(frame), bool)
    for (kind, criterion), one in chosen.items():
        of_key = ((frame["kind"] == kind) & (frame["criterion"] == criterion)).to_numpy(bool)
        kept[of_key] = one.has(frame[of_key])
    return frame if kept.all() else frame[kept]


def is_among(frame: "pd.DataFrame", targets: "pd.DataFrame") -> Bools:
    """Return whether the target of each row is one of these, both with the columns item, criterion and part."""
    rows, wanted = np.split(target_codes(frame, targets), [len(frame)])
    found: Bools = np.isin(rows, wanted)
    return found


@dataclass(frozen=True)
class _Disputes:
    """What is known of T targets without their labels."""

    disputed: tuple[Bools, ...]
    """(T,) each: a run disputed the target; judges have different opinions on it."""
    strata: Ints
    """(T,): the number of the set of judges that were asked."""
    clusters: Ints | None

    def select(self, mask: Bools) -> "_Disputes":
        """Return what is known of some of the targets."""
        clusters = None if self.clusters is None else self.clusters[mask]
        return _Disputes(tuple(one[mask] for one in self.disputed), self.strata[mask], clusters)


def _disputes(dataset: Dataset, disputed: "pd.DataFrame") -> _Disputes:
    rows = select_rows(disputed, dataset.kind, dataset.criterion)
    names = set(zip(rows["item"], rows["part"], strict=True))
    of_runs = np.array([name in names for name in zip(dataset.item, dataset.part, strict=True)], bool)
    judges = dataset.judges.values()
    between = _differ(np.column_stack([one.values for one in judges]), dataset.scale)
    found = [mask for mask in (of_runs, between) if mask.any() and not mask.all()]
    sets = np.packbits(np.column_stack([one.asked for one in judges]), axis=1)
    strata = np.unique(sets, axis=0, return_inverse=True)[1].reshape(-1)
    clusters = None
    if dataset.ratings.groups is not None:
        _, groups = np.unique(np.array(dataset.ratings.groups, str), return_inverse=True)
        clusters = None if groups.max(initial=-1) + 1 == groups.size else groups
    return _Disputes(tuple(found), strata, clusters)


def _differ(values: Floats, scale: Scale) -> Bools:
    """Return whether opinions (T, J) differ on each target; ordered ones by more than half of the scale."""
    low = np.where(np.isnan(values), np.inf, values).min(axis=1, initial=np.inf)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=1, initial=-np.inf)
    spread = np.where(low <= high, high - np.where(low <= high, low, 0), 0)
    if scale.level == "nominal":
        return np.asarray(spread > 0)
    if scale.categories:
        length = len(scale.categories) - 1.0
    elif scale.low is not None and scale.high is not None:
        length = scale.high - scale.low
    else:
        decided = values[~np.isnan(values)]
        length = float(np.ptp(decided)) if decided.size else 0.0
    return np.asarray(spread > DISPUTE_THRESHOLD * length)


def _chosen(dataset: Dataset, disputes: _Disputes, masks: Sequence[Bools]) -> ChosenLabels | None:
    """Return the kind of dispute by which labels were chosen most clearly; None for none."""
    found = [
        (ratio, count_labels(labelled, disputed), disputed)
        for labelled in masks
        if labelled.any() and not labelled.all()
        for disputed in disputes.disputed
        if (ratio := dispute_ratio(labelled, disputed, disputes.strata, disputes.clusters)) is not None
    ]
    if not found:
        return None
    _, counts, disputed = max(found, key=lambda one: (one[0], one[1].disputed_labelled))
    return ChosenLabels(counts, _names(dataset, disputed))


def _few_labels(dataset: Dataset, disputes: _Disputes, labelled: Bools) -> FewLabels | None:
    """Return the scenarios whose targets have labels less often than those of others; None for a random part.

    Of a design these are drawn targets that have no label yet.
    """
    scenario = dataset.scenario
    if dataset.sample is not None:
        drawn = dataset.sample.drawn
        labelled, disputes, scenario = labelled[drawn], disputes.select(drawn), scenario[drawn]
    if not labelled.any() or labelled.all():
        return None
    names, codes = np.unique(scenario.astype(str), return_inverse=True)
    few = scenarios_without(labelled, codes, disputes.clusters)
    own = np.isin(codes, few)
    named = tuple(scenario_name(names[code]) for code in few)
    return FewLabels(named, int((labelled & own).sum()), int(own.sum())) if few else None


# Rankings and comparisons of judges by labels that are mainly of disputed targets: see `chosen_labels`.

NO_DECISIONS: Mapping[Population, str] = {
    DISPUTED_TARGETS: "labels are mainly of disputed targets, so there is no decision for all targets",
    LABELLED_SCENARIOS: "labels are mainly of some scenarios, so there is no decision for all targets",
}


def named_by_targets(found: Sequence[Comparison], population: Population) -> tuple[Comparison, ...]:
    """Return comparisons whose caveats say that they are of disputed targets, if they are."""
    if population == ALL_TARGETS:
        return tuple(found)
    return tuple(
        replace(one, population=population, reason=join_notes(CAVEATS[population], one.reason)) for one in found
    )


def of_chosen_targets(ranking: Ranking, population: Population, of_labels: Population) -> Ranking:
    """Return a ranking without decisions, which are about all targets, if the reference or labels are not of all.

    The accuracies are of the targets of the reference, `population`; the human ceiling is of those of labels.
    """
    chosen = next((one for one in (population, of_labels) if one != ALL_TARGETS), ALL_TARGETS)
    if chosen == ALL_TARGETS:
        return ranking

    def marked(estimate: Estimate, targets: Population) -> Estimate:
        return replace(estimate, reason=join_notes(CAVEATS.get(targets, ""), estimate.reason))

    judges = (
        replace(
            judge,
            accuracy=marked(judge.accuracy, population),
            less_ceiling=marked(judge.less_ceiling, chosen),
            decision=Decision.not_enough_data,
            reason=f"{NO_DECISIONS[chosen]}; {CAVEATS[chosen]}: {judge.reason}",
        )
        for judge in ranking.judges
    )
    baselines = (replace(one, accuracy=marked(one.accuracy, population)) for one in ranking.baselines)
    return replace(ranking, judges=tuple(judges), ceiling=marked(ranking.ceiling, chosen), baselines=tuple(baselines))
