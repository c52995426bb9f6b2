"""Which verdicts of a judge, or of a cascade of judges, may stand without a person, at a risk with a guarantee."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.labels import Target
from core.statistics.data.dataset import Dataset
from core.statistics.data.frames import ALL
from core.statistics.data.sample import SEPARATOR, Sample
from core.statistics.measures import policies
from core.statistics.measures.designs import effective_labels, permanent_numbers
from core.statistics.measures.policies import Cascade, Verdicts, find_cascade
from core.statistics.measures.risk import Calibration, RiskCurve, calibrate, fewest_labels
from core.wording import Described, format_count, list_names, stored_criterion
from storage.db import connections
from storage.db.tables import LabelRow, TargetRow
from storage.labelling import offers
from storage.labels import labels as stored_labels
from storage.labels import targets
from storage.reports import disagreements, judge_costs, signals
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.chosen_labels import ALL_TARGETS, DISPUTED_TARGETS
from storage.reports.disagreements import Drilldown
from storage.reports.opinions import once
from storage.reports.signals import Signal
from storage.reports.systems import Choice
from storage.studies.studies import Study

if TYPE_CHECKING:
    from core.statistics.data.arrays import Bools, Floats, Ints

# Below it, thousands of labels without an error would be needed.
SMALLEST_RISK = 0.001
SEED = 0
"""Of the numbers that choose labels for verification, and labels of equal probability."""
RISK, CONFIDENCE = 0.05, 0.95
REFERENCE = "gold"


class State(StrEnum):
    """The answer of a policy, as commands print it."""

    accept = "accept"
    none = "none"
    not_enough_labels = "not enough labels"


class Reason(Described):
    """Why no verdict is accepted."""

    nothing = ""
    disputed = (
        "labels_of_disputed_targets",
        "Labels are of disputed targets only, so the risk of the other verdicts is not known.",
    )
    scenarios = (
        "labels_of_some_scenarios",
        "Some scenarios have no labels, or fewer than others, so the risk of all verdicts is not known.",
    )
    unlabelled_stratum = (
        "stratum_without_labels",
        "A part of the targets has no drawn label, so the risk of its verdicts is not known.",
    )
    few_labels = "few_labels", "There are fewer labels than a bound without any error takes."
    too_many_errors = "too_many_errors", "No threshold keeps the promise with the labels that there are."
    verification = "verification_contradicts", "The labels that were kept aside contradict the promise."


@dataclass(frozen=True)
class PolicyQuery:
    """What is asked: the judges in their order, and the promise."""

    judges: tuple[str, ...] = ()
    """Empty for the judge with the most verdicts."""
    kind: str | None = None
    criterion: str | None = None
    """As in reports; None for the one with the most labels."""
    signal: str | None = None
    """None for the first of `signals.Signal` that each judge has, as for a judge of a cascade that lacks this one."""
    risk: float = RISK
    confidence: float = CONFIDENCE
    looks: int = 1
    """How often the result will be looked at while labels arrive; each look spends an equal part of 1 - confidence."""


NO_QUERY = PolicyQuery()


@dataclass(frozen=True)
class Ceiling:
    """What noisy people make reachable."""

    agreement: float
    """The share of pairs of labels of a target that are equal."""
    targets: int
    """With two labels or more."""
    labels: int
    """The median number of labels of a labelled target."""
    gold_error: float
    """How often the majority of so many labels errs."""


@dataclass(frozen=True)
class JudgePart:
    """What one judge of a policy accepts."""

    judge: str
    signal: Signal
    curve: RiskCurve
    calibrations: Mapping[Signal, Calibration]
    """Of the signals whose values are all between 0 and 1."""
    dollars: float | None
    """Per verdict; None if it is not known."""

    @property
    def threshold(self) -> float | None:
        """The least confidence of an accepted verdict; None if none is accepted."""
        return self.curve.chosen.threshold if self.curve.chosen else None


@dataclass(frozen=True)
class PolicyReport:
    """The policy that a query gives, with everything that its figures are of."""

    query: PolicyQuery
    """With the judges, kind and criterion that were chosen."""
    state: State
    reason: Reason
    parts: tuple[JudgePart, ...]
    cascade: Cascade
    targets: int
    """The population: what the first judge was asked about."""
    labelled: int
    """Of these, targets whose labels the bounds and the verification use."""
    effective: float
    undecided: int
    """Labelled targets without a decision of people, such as a tie: each counts as an error."""
    chosen: int
    """Targets with labels that no draw explains: they are left out."""
    shown: int
    """Labelled targets that are left out because prompts of the judges show their labels."""
    design: str
    ceiling: Ceiling | None
    seconds: float | None
    """The median of a label."""
    overlap: int
    places: "Ints"
    """(N,): the places of the targets of the piles in `dataset_of`."""
    has_gold: "Bools"
    """(N,): whether people have decided a target."""
    sample: Sample | None
    """The draw of the targets; None without a design."""

    @property
    def pile(self) -> "Ints":
        """(N,): the number of the judge whose verdict is accepted; as many as there are judges for people."""
        return self.cascade.pile if self.state is State.accept else np.full(self.targets, len(self.parts))

    @property
    def accepted(self) -> int:
        """The verdicts that stand without a person."""
        return self.cascade.accepted if self.state is State.accept else 0

    @property
    def risk_upper(self) -> float | None:
        """The bound of the risk of the accepted verdicts."""
        return self.cascade.upper if self.state is State.accept else None

    @property
    def coverage(self) -> float:
        """The share of the targets whose verdict is accepted."""
        return self.accepted / self.targets if self.targets else 0.0

    @property
    def undecided_by_people(self) -> int:
        """The targets that go to people and have no decision of theirs yet."""
        return int((~self.has_gold & (self.pile == len(self.parts))).sum())

    @property
    def hours(self) -> float | None:
        """People's hours for these, at the median time of a label."""
        known = self.seconds is not None
        return self.undecided_by_people * self.overlap * (self.seconds or 0) / 3600 if known else None

    @property
    def more(self) -> "MoreLabels | None":
        """The further labels that could decide."""
        found = [
            MoreLabels(
                part.curve.more_labels, part.judge, part.curve.more_above, _labels_of_strata(part.curve, self.sample)
            )
            for part in self.parts
            if part.curve.more_labels is not None and part.curve.more_above is not None
        ]
        decidable = self.reason in (Reason.few_labels, Reason.too_many_errors)
        return min(found, key=lambda one: one.labels, default=None) if decidable else None


@dataclass(frozen=True)
class MoreLabels:
    """Labels that could decide, if the share of errors stays."""

    labels: int
    judge: str
    above: float
    """Of verdicts with at least this confidence."""
    strata: Mapping[str, int]
    """Stratum of the design -> its labels that have to be drawn to have them; empty without a design."""


def _labels_of_strata(curve: RiskCurve, sample: Sample | None) -> dict[str, int]:
    """Return the labels that raise the least share of labelled targets in proportion: the bound takes equal shares."""
    point = next((one for one in curve.points if one.threshold == curve.more_above), None)
    if sample is None or point is None or not point.labelled:
        return {}
    labelled = np.bincount(sample.strata[sample.weights > 0], minlength=sample.sizes.size)
    share = (point.labelled + (curve.more_labels or 0)) / point.accepted
    wanted = np.ceil(share * sample.sizes) - labelled
    names = [name.rpartition(SEPARATOR)[2] for name in sample.names]
    return {name: int(more) for name, more in zip(names, wanted, strict=True) if more > 0}


def choices(data: AlignmentData, query: PolicyQuery = NO_QUERY) -> list[Choice]:
    """Return what policies can be made for with the kind, criterion and judges of a query, most labels first."""
    found = [_choice(dataset) for dataset in data.categorical_datasets if dataset.criterion != ALL]
    offered = [
        one
        for one in found
        if one.judges
        and query.kind in (None, one.kind)
        and query.criterion in (None, one.criterion, stored_criterion(one.criterion))
        and set(query.judges) <= set(one.judges)
    ]
    return sorted(offered, key=lambda one: (-one.labelled, one.kind, one.criterion))


def _choice(dataset: Dataset) -> Choice:
    verdicts = {name: int((~np.isnan(one.values)).sum()) for name, one in dataset.judges.items()}
    judges = sorted((name for name, count in verdicts.items() if count), key=lambda name: (-verdicts[name], name))
    return Choice(dataset.kind, dataset.criterion, tuple(judges), int((~np.isnan(dataset.gold)).sum()))


def of_study(engine: Engine, study: Study, query: PolicyQuery) -> PolicyReport:
    """Return the policy of a study; raises TiebreakError for a judge, criterion or signal that it does not have."""
    data = load_data(engine, study, REFERENCE)
    with connections.reading(engine) as session:
        return report(session, study, data, query)


def resolve(data: AlignmentData, query: PolicyQuery) -> tuple[PolicyQuery, Dataset]:
    """Return the query with what it leaves open, and its targets."""
    if not SMALLEST_RISK <= query.risk < 1 or not 0 < query.confidence < 1 or query.looks < 1:
        raise TiebreakError(
            f"A policy needs a risk from {SMALLEST_RISK} to 1, a confidence between 0 and 1, and at least one look."
        )
    if twice := next((name for name in query.judges if query.judges.count(name) > 1), None):
        raise TiebreakError(itself(twice))
    offered = choices(data, query)
    if not offered:
        known = choices(data)
        judges = list_names(sorted({name for one in known for name in one.judges})) or "none"
        raise TiebreakError(
            f"A policy needs verdicts on a scale with categories, of a judge and a criterion that the study has; there "
            f"are the judges {judges}, on {list_names(sorted({one.criterion for one in known})) or 'no criterion'}."
        )
    chosen = offered[0]
    named = query.judges or chosen.judges[:1]
    dataset = next(
        one for one in data.categorical_datasets if (one.kind, one.criterion) == (chosen.kind, chosen.criterion)
    )
    return replace(query, judges=named, kind=chosen.kind, criterion=chosen.criterion), dataset


def itself(judge: str) -> str:
    """Return why a judge is not asked twice."""
    return f"{judge!r} cannot escalate to itself: a cascade asks each judge once."


def report(session: Session, study: Study, data: AlignmentData, query: PolicyQuery) -> PolicyReport:
    """Return the policy of loaded data, whose reference is people's decisions."""
    query, dataset = resolve(data, query)
    places = population_of(dataset, query)
    found = [signals_of(session, study.id, data, dataset, judge) for judge in query.judges]
    if query.signal is not None and not any(query.signal in one for one in found):
        _signal(query.signal, query.judges[0], found[0])
    chosen = [
        _signal(query.signal if query.signal in one else None, judge, one)
        for judge, one in zip(query.judges, found, strict=True)
    ]
    verdicts, labels = verdicts_of(session, study, data, dataset, query, chosen)
    level = 1 - query.confidence
    cascade = find_cascade(
        verdicts, labels.probabilities, labels.numbers, promised=query.risk, level=level, looks=query.looks
    )
    state, reason = _state(query, cascade, labels)
    prices = _prices(session, study.id, data)
    parts = tuple(
        JudgePart(judge, signal, curve, _calibrations(one, places, own.wrong, labels.probabilities), prices.get(judge))
        for judge, signal, one, own, curve in zip(query.judges, chosen, found, verdicts, cascade.curves, strict=True)
    )
    used = labels.used
    return PolicyReport(
        query,
        state,
        reason,
        parts,
        cascade,
        targets=places.size,
        labelled=int(used.sum()),
        effective=effective_labels(1 / labels.probabilities[used]),
        undecided=int((used & labels.undecided).sum()),
        chosen=labels.chosen,
        shown=labels.shown,
        design=labels.design,
        ceiling=_ceiling(dataset),
        seconds=_seconds(session, study.id, dataset),
        overlap=study.rules.overlap,
        places=places,
        has_gold=_has_gold(session, study.id, dataset, places),
        sample=None if dataset.sample is None else dataset.sample.select(places),
    )


def population_of(dataset: Dataset, query: PolicyQuery) -> "Ints":
    """Return the places of the targets that the first judge was asked about."""
    return np.flatnonzero(dataset.judges[query.judges[0]].asked)


def verdicts_of(
    session: Session, study: Study, data: AlignmentData, dataset: Dataset, query: PolicyQuery, names: Sequence[str]
) -> "tuple[list[Verdicts], Labels]":
    """Return the verdicts of each judge with the signal of that name, and the labels; both of the population."""
    places = population_of(dataset, query)
    shown = signals.shown_items(session, study.id, data.opinions, query.judges)
    labels = _labels_of(data, dataset, places, shown)
    verdicts = []
    for judge, name in zip(query.judges, names, strict=True):
        found = signals_of(session, study.id, data, dataset, judge)
        wrong = labels.wrong(dataset.judges[judge].values[places])
        verdicts.append(Verdicts(found[_signal(name, judge, found)][places], wrong))
    return verdicts, labels


def signals_of(
    session: Session, study_id: int, data: AlignmentData, dataset: Dataset, judge: str
) -> "dict[Signal, Floats]":
    """Return the signals of a judge, each (N,), read once for the same data: see `signals.of_judge`."""
    key = ("signals", dataset.kind, dataset.criterion, judge)
    return once(data, key, lambda: signals.of_judge(session, study_id, data.opinions, dataset, judge))


def available(session: Session, study_id: int, data: AlignmentData, query: PolicyQuery) -> list[Signal]:
    """Return the signals that the first judge of a query has, the default first."""
    full, dataset = resolve(data, query)
    found = signals_of(session, study_id, data, dataset, full.judges[0])
    return [signal for signal in Signal if signal in found]


# The targets of the piles.


def list_pile(
    data: AlignmentData, report: PolicyReport, pile: int, viewer: str | None, *, limit: int, item: str | None = None
) -> Drilldown:
    """Return the targets of a pile with the verdicts of the judge that accepts them.

    The last pile, of as many as there are judges, is people's: its targets are listed with those of the first judge.
    """
    judge, places = report.query.judges[pile % len(report.parts)], report.places[report.pile == pile]
    return disagreements.list_places(dataset_of(data, report), places, (judge,), viewer, limit=limit, item=item)


def without_decision(data: AlignmentData, report: PolicyReport) -> list[Target]:
    """Return the targets that go to people and have no decision of theirs yet."""
    dataset = dataset_of(data, report)
    open_places = report.places[(report.pile == len(report.parts)) & ~report.has_gold]
    criterion = stored_criterion(dataset.criterion)
    return [
        targets.from_columns(str(dataset.item[place]), dataset.kind, criterion, str(dataset.part[place]))
        for place in open_places.tolist()
    ]


def send_to_people(session: Session, study: Study, data: AlignmentData, report: PolicyReport) -> int:
    """Add the targets without a decision to the annotators' queue; returns how many were not in it before."""
    ids = targets.get_or_create_ids(session, study.id, without_decision(data, report))
    return offers.request(session, study, report.query.kind or "", criterion_of(report), list(ids.values()))


def criterion_of(report: PolicyReport) -> str:
    """Return the stored name of the criterion."""
    return stored_criterion(report.query.criterion or "")


def _prices(session: Session, study_id: int, data: AlignmentData) -> dict[str, float]:
    """Return judge -> dollars of a verdict, if they are known."""
    costs = judge_costs.cost_by_judge(session, study_id, data.opinions)
    prices = {judge: cost.dollars_per_thousand for judge, cost in costs.items()}
    return {judge: price / 1000 for judge, price in prices.items() if price is not None}


def dataset_of(data: AlignmentData, report: PolicyReport) -> Dataset:
    """Return the targets that the places of a report are in."""
    return resolve(data, report.query)[1]


def _signal(name: str | None, judge: str, found: "Mapping[Signal, Floats]") -> Signal:
    if name is None:
        return next(signal for signal in Signal if signal in found)
    if name not in found:
        raise TiebreakError(f"The verdicts of {judge!r} have no signal {name!r}; there are: {', '.join(found)}.")
    return Signal(name)


def _calibrations(
    found: "Mapping[Signal, Floats]", places: "Ints", wrong: "Floats", probabilities: "Floats"
) -> dict[Signal, Calibration]:
    calibrations: dict[Signal, Calibration] = {}
    for signal, values in found.items():
        confidence = values[places]
        known = ~np.isnan(confidence) & ~np.isnan(wrong)
        if signal is not Signal.none and known.any() and 0 <= np.nanmin(confidence) <= np.nanmax(confidence) <= 1:
            calibrations[signal] = calibrate(confidence[known], 1 - wrong[known], probabilities[known])
    return calibrations


def _state(query: PolicyQuery, cascade: Cascade, labels: "Labels") -> tuple[State, Reason]:
    """Return the state with its reason."""
    if labels.reason is not Reason.nothing:
        return State.not_enough_labels, labels.reason
    if cascade.verification is not None and cascade.verification.contradicts:
        return State.none, Reason.verification
    if cascade.accepted:
        return State.accept, Reason.nothing
    level = (1 - query.confidence) / query.looks / len(query.judges)
    most = max((point.labelled for curve in cascade.curves for point in curve.points), default=0)
    if most < fewest_labels(query.risk, level):
        return State.not_enough_labels, Reason.few_labels
    return State.none, Reason.too_many_errors


# The labels that count, and with which probability.


@dataclass(frozen=True)
class Labels:
    """The labels of N targets of a population."""

    gold: "Floats"
    used: "Bools"
    undecided: "Bools"
    probabilities: "Floats"
    numbers: "Floats"
    chosen: int
    shown: int
    design: str
    reason: Reason

    def wrong(self, verdicts: "Floats") -> "Floats":
        """Return 1 for each verdict (N,) that differs from people, 0 for an equal one, nan without either."""
        wrong = np.where(self.undecided, 1.0, verdicts != self.gold)
        return np.where(self.used & ~np.isnan(verdicts), wrong, np.nan)


def _labels_of(data: AlignmentData, dataset: Dataset, places: "Ints", shown: Collection[str] = ()) -> Labels:
    """Return the labels of the targets at some places, without those of the items that are `shown` to a judge.

    Of a design, a label counts 1 / its probability: that of the draw, scaled so that the labels of a stratum stand for
    its targets, which is right if labels are missing at random within strata. Without a design, labels are a random
    sample unless they are mainly of some targets; then one target of each group counts.
    """
    gold = dataset.gold[places]
    labelled = ~np.isnan(dataset.labels[places]).all(axis=1) | ~np.isnan(gold)
    is_shown = labelled & np.isin(dataset.item[places], list(shown))
    labelled &= ~is_shown
    keys = [f"{item}:{part}" for item, part in zip(dataset.item[places], dataset.part[places], strict=True)]
    numbers = permanent_numbers(SEED, [f"policy {key}" for key in keys])
    population = data.choices.population(dataset.kind, dataset.criterion)
    reason = Reason.nothing
    if population != ALL_TARGETS:
        reason = Reason.disputed if population == DISPUTED_TARGETS else Reason.scenarios
    probabilities, used = np.ones(places.size), labelled
    if dataset.sample is not None:
        sample = dataset.sample.select(places)
        used = labelled & sample.drawn
        counts = np.bincount(sample.strata, minlength=sample.sizes.size)
        stands_for = np.where(used & (sample.probability > 0), 1 / np.maximum(sample.probability, 1e-9), 0.0)
        answered = np.bincount(sample.strata, stands_for, minlength=sample.sizes.size)
        probabilities = np.minimum(1.0, sample.probability * (answered / np.maximum(counts, 1))[sample.strata])
        judged = np.any([~np.isnan(one.values[places]) for one in dataset.judges.values()], axis=0)
        if reason is Reason.nothing and (judged & (probabilities <= 0)).any():
            reason = Reason.unlabelled_stratum
        probabilities = np.where(probabilities > 0, probabilities, 1.0)
        design = dataset.sample.describe()
    else:
        used = _one_of_each_group(dataset, places, labelled, numbers)
        design = "no design is stored: labels are taken as a random sample"
        if used.sum() < labelled.sum():
            design = f"{design}, one of each document, dialogue or item"
    chosen = data.choices.left_out.get((dataset.kind, dataset.criterion), 0)
    undecided = labelled & np.isnan(gold)
    return Labels(gold, used, undecided, probabilities, numbers, chosen, int(is_shown.sum()), design, reason)


def _has_gold(session: Session, study_id: int, dataset: Dataset, places: "Ints") -> "Bools":
    """Return whether people decided the targets at some places; also those whose labels were chosen."""
    known = ~np.isnan(dataset.gold[places])
    if dataset.sample is None:
        return known
    criterion, kind = stored_criterion(dataset.criterion), dataset.kind
    decided = {
        (gold.target.item, gold.target.part)
        for gold in stored_labels.gold_labels(session, study_id, [kind])  # type: ignore[list-item]
        if gold.value is not None and gold.target.criterion == criterion
    }
    names = zip(dataset.item[places].tolist(), dataset.part[places].tolist(), strict=True)
    decided_places: Bools = np.array([name in decided for name in names], bool)
    return known | decided_places


def _one_of_each_group(dataset: Dataset, places: "Ints", labelled: "Bools", numbers: "Floats") -> "Bools":
    """Return the labelled target with the least number of each group: labels of a group were not drawn separately."""
    groups = dataset.ratings.groups
    if groups is None:
        return labelled
    own = np.flatnonzero(labelled)
    own = own[np.argsort(numbers[own], kind="stable")]
    names = np.array(groups, object)[places[own]].astype(str)
    first = np.unique(names, return_index=True)[1]
    used = np.zeros(labelled.size, bool)
    used[own[first]] = True
    return used


def _ceiling(dataset: Dataset) -> Ceiling | None:
    """Return how often gold itself errs; None without targets that have two labels.

    Targets whose labels have no majority count too: without them, two people would always agree.
    """
    labels = dataset.labels
    present = (~np.isnan(labels)).sum(axis=1)
    weights = np.ones(present.size) if dataset.sample is None else dataset.sample.weights
    several, weights = labels[present > 1], weights[present > 1]
    if not weights.any():
        return None
    counts = np.stack([(several == code).sum(axis=1) for code in range(len(dataset.scale.categories))], axis=1)
    pairs = counts.sum(axis=1) * (counts.sum(axis=1) - 1)
    agreement = float(weights @ (counts * (counts - 1)).sum(axis=1) / (weights @ pairs))
    given = int(np.median(present[present > 0]))
    error = policies.error_of_one_label(agreement, int((counts.sum(axis=0) > 0).sum()))
    return Ceiling(agreement, len(several), given, policies.error_of_majority(error, given))


def _seconds(session: Session, study_id: int, dataset: Dataset) -> float | None:
    """Return the median seconds of a label."""
    query = (
        select(col(LabelRow.seconds))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(
            col(LabelRow.study_id) == study_id, col(TargetRow.kind) == dataset.kind,
            col(TargetRow.criterion) == stored_criterion(dataset.criterion), col(LabelRow.seconds).is_not(None),
        )
    )  # fmt: skip
    seconds = [one for one in session.scalars(query) if one is not None]
    return float(np.median(seconds)) if seconds else None


# The result in words.


def describe(report: PolicyReport) -> str:
    """Return the answer in one sentence or two."""
    query = report.query
    if report.state is State.accept:
        verdicts = format_count(report.targets, "verdict")
        return (
            f"{report.accepted:,} of {verdicts} ({report.coverage:.0%}) may stand without a person: "
            f"{list_names([_threshold(part) for part in report.parts if part.threshold is not None])}. At most "
            f"{percent(query.risk)} of them differ from people's decisions, with {percent(query.confidence)} "
            f"confidence (bound {report.risk_upper:.3f})."
        )
    return " ".join(filter(None, (f"{report.state.capitalize()}.", report.reason.words, describe_more(report))))


def _threshold(part: JudgePart) -> str:
    if part.signal is Signal.none:
        return f"all of {part.judge}"
    return f"{part.judge} at {part.signal.words} of at least {part.threshold:.3g}"


def percent(share: float) -> str:
    """Return a share as `5 %`."""
    return f"{100 * share:.3g} %"


def describe_more(report: PolicyReport) -> str:
    """Return which labels could decide, and how that was found; "" if none could."""
    more = report.more
    if more is None:
        return ""
    labels = format_count(more.labels, "more label")
    of = "" if report.parts[0].signal is Signal.none else f" with a confidence of at least {more.above:.3g}"
    drawn = list_names([f"{count:,} {name}".strip() for name, count in more.strata.items()])
    to_draw = f" That takes labels of {drawn} targets, drawn at random." if drawn else ""
    return (
        f"{labels} of verdicts of {more.judge}{of} could decide: then the bound there is at "
        f"most {percent(report.query.risk)}, if shares of errors stay and the other labels grow in proportion.{to_draw}"
    )


def draw_more(session: Session, study: Study, report: PolicyReport) -> None:
    """Draw the labels that could decide into the annotators' queue, by the design of the study."""
    offers.draw_more(session, study, criterion_of(report), report.more.strata if report.more else {})


def describe_ceiling(report: PolicyReport) -> str:
    """Return which risk noisy people make reachable."""
    found = report.ceiling
    if found is None:
        return "No target has labels of two people, so it is not known how often people's decisions are wrong."
    text = (
        f"Two people agree on {found.agreement:.0%} of pairs of labels ({format_count(found.targets, 'target')}): the "
        f"decision of {format_count(found.labels, 'label')} is then wrong in about {found.gold_error:.1%}, and a "
        f"perfect judge differs from it as often."
    )
    if found.gold_error < report.query.risk:
        return text
    return f"{text} A risk below that is out of reach without more labels per target or adjudication."


def describe_number(report: PolicyReport) -> str:
    """Return n."""
    return f"n = {format_count(report.labelled, 'label')} (effective {report.effective:,.0f})"


def describe_basis(report: PolicyReport) -> str:
    """Return n, the population and the design."""
    parts = [
        describe_number(report),
        f"population: {format_count(report.targets, 'target')} that {report.query.judges[0]} was asked about",
        report.design,
    ]
    if report.undecided:
        parts.append(f"{format_count(report.undecided, 'target')} without a decision of people count as errors")
    if report.chosen:
        parts.append(f"{format_count(report.chosen, 'label')} of chosen targets left out")
    if report.shown:
        parts.append(f"{format_count(report.shown, 'labelled target')} left out that prompts of the judge show")
    return f"{'; '.join(parts)}."


def describe_verification(report: PolicyReport) -> str:
    """Return what the labels that were kept aside say; "" if no verdict is accepted."""
    found = report.cascade.verification
    if not report.cascade.accepted:
        return ""
    if found is None:
        return f"No label was kept aside for verification: that takes {policies.FEWEST_TO_SPLIT} labels."
    return (
        f"Verification: {found.errors} of {format_count(found.labelled, 'accepted verdict')} whose labels were kept "
        f"aside {'differs' if found.errors == 1 else 'differ'} from people (bound {found.upper:.3f})."
    )


def table(report: PolicyReport) -> dict[str, Any]:
    """Return the result as one flat object, without the certificate."""
    more, found = report.more, report.cascade.verification
    return {
        "state": str(report.state),
        "reason": str(report.reason),
        "kind": report.query.kind,
        "criterion": report.query.criterion,
        "judges": list(report.query.judges),
        "signal": str(report.parts[0].signal),
        "threshold": report.parts[0].threshold if report.state is State.accept else None,
        "risk": report.query.risk,
        "confidence": report.query.confidence,
        "looks": report.query.looks,
        "risk_upper": report.risk_upper,
        "accepted": report.accepted,
        "to_people": report.targets - report.accepted,
        "coverage": report.coverage,
        "n": report.labelled,
        "effective_n": report.effective,
        "targets": report.targets,
        "undecided": report.undecided,
        "chosen": report.chosen,
        "shown": report.shown,
        "design": report.design,
        "more_labels": None if more is None else vars(more) | {"strata": dict(more.strata)},
        "verification": found and {"n": found.labelled, "errors": found.errors, "upper": found.upper},
        "gold_error": None if report.ceiling is None else report.ceiling.gold_error,
        "stages": [_stage(report, place) for place in range(len(report.parts))],
    }


def _stage(report: PolicyReport, place: int) -> dict[str, object]:
    part = report.parts[place]
    chosen = part.curve.chosen if report.state is State.accept else None
    return {
        "judge": part.judge,
        "signal": str(part.signal),
        "threshold": chosen and chosen.threshold,
        "accepted": int((report.pile == place).sum()),
        "n": chosen and chosen.labelled,
        "errors": chosen and chosen.errors,
        "risk_upper": chosen and chosen.upper,
        "signals": list(map(str, part.calibrations)),
    }


def curve_rows(report: PolicyReport) -> list[dict[str, object]]:
    """Return one row for each judge and threshold."""
    return [
        {
            "judge": part.judge, "signal": str(part.signal), "threshold": point.threshold, "accepted": point.accepted,
            "coverage": point.accepted / report.targets, "n": point.labelled, "errors": point.errors,
            "risk": point.risk, "risk_upper": point.upper,
        }
        for part in report.parts
        for point in part.curve.points
    ]  # fmt: skip


def calibration_rows(parts: Sequence[JudgePart]) -> list[dict[str, object]]:
    """Return one row for each judge and signal that can be calibrated."""
    return [
        {
            "judge": part.judge, "signal": str(signal), "name": signal.words, "n": found.labels,
            "error": found.error, "error_low": found.error_low, "error_high": found.error_high,
            "auroc": found.auroc, "auroc_low": found.auroc_low, "auroc_high": found.auroc_high,
        }
        for part in parts
        for signal, found in part.calibrations.items()
    ]  # fmt: skip
