"""The inter-annotator agreement of a study, and the agreement between the judges of its runs.

Below them are the items from which a statistic is computed, with every rater's values, strongest disagreement first.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.annotator_names import is_unknown
from core.designs import DISPUTED, UNJUDGED
from core.labels import TRUTH, Scale, Target, Value
from core.statistics.data.dataset import sample_of
from core.statistics.data.frames import ALL, By, find_pools, pooled_scales, row_keys, select_rows
from core.statistics.data.sample import SEPARATOR
from core.statistics.measures.agreement import COUNT_STATISTICS
from core.statistics.reports.agreement import AgreementRow, Annotators, agreement_rows
from core.wording import format_count, join_notes, report_criterion, scenario_group
from storage.db import connections
from storage.db.tables import AnnotatorRow, LabelRow
from storage.labels import designs, labels, targets
from storage.reports.opinions import (
    RaterGroup,
    RaterPanel,
    Scales,
    find_scales,
    judge_panels,
    opinion_frame,
)
from storage.studies import items
from storage.studies.studies import Study

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.statistics.data.arrays import Bools, Ints


TARGET_KEY = ("kind", "criterion", "item", "part")
DRAW_KEYS = ("stratum", "weight", "size")
NOT_DRAWN = ("", 0.0, 0.0)
# A note explains prevalence if the percentage is high, Fleiss' kappa is low, and AC1 is higher by this margin.
HIGH_AGREEMENT, LOW_KAPPA, AC1_MARGIN = 0.8, 0.4, 0.3
# Minimum share of a value for "nearly all" instead of "most" in a note.
NEARLY_ALL = 0.8
INTERVALS_FOR: Mapping[Annotators, str] = {
    "fixed": "Intervals are for these annotators on other items: other annotators are not taken into account.",
    "sample": "Intervals are for other items and for other annotators like these.",
}


@dataclass(frozen=True)
class PanelReport:
    """The rows of one panel: over everything, by scenario, by pair of raters."""

    name: str
    stage: str
    judges: str
    as_shown: bool
    overall: tuple[AgreementRow, ...]
    scenarios: tuple[AgreementRow, ...] = ()
    pairs: tuple[AgreementRow, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences on low kappas that come from nearly all raters choosing the same value."""

    def rows(self) -> Iterator[AgreementRow]:
        """Yield all rows, with the panel's name in their groups."""
        parts: dict[By, tuple[AgreementRow, ...]] = {
            "all": self.overall, "scenario": self.scenarios, "raters": self.pairs,
        }  # fmt: skip
        for by, rows in parts.items():
            yield from (replace(row, group=_group_name(self, row.group, by)) for row in rows)


@dataclass(frozen=True)
class AgreementReport:
    """The agreement of the annotators, or of the judges."""

    panels: tuple[PanelReport, ...]
    scales: Mapping[tuple[str, str], Scale]
    """By (kind, criterion); criterion "all" if criteria are pooled."""
    unmeasured: tuple[str, ...]
    """Kinds that were labelled or judged, and have no scale for which a statistic is defined."""


def rows(
    engine: Engine, study: Study, by: By, *, resamples: int = 1000, annotators: Annotators = "fixed"
) -> list[AgreementRow]:
    """Return every statistic of a study, one per row: first of the annotators, then of the judges.

    `annotators`: what the annotators' intervals are for; judges are fixed.
    """
    with connections.reading(engine) as session:
        panels = [_drawn_panel(session, study), *judge_panels(session, study)]
        scales = find_scales(session, study, [panel.values for panel in panels])
        pooled = _pooled_pairs(session, study.id)
    return [
        replace(_with_pooled_pairs(row, pooled, by), group=_group_name(panel, row.group, by))
        for panel in panels
        if not panel.as_shown or by in ("all", "criterion")
        for row in measure_panel(panel, by, scales, resamples, "fixed" if panel.stage else annotators)
    ]


def _pooled_pairs(session: Session, study_id: int) -> dict[str, int]:
    """Return scenario -> the number of pairs of systems of its items with two responses; "all" for all items."""
    pairs: dict[str, set[tuple[str, ...]]] = {}
    for outline in items.outlines(session, study_id).values():
        names = tuple(sorted(name for name in outline.systems if name))
        if len(names) == 2:
            for scenario in (ALL, scenario_group(outline.scenario or "")):
                pairs.setdefault(scenario, set()).add(names)
    return {scenario: len(found) for scenario, found in pairs.items()}


def _with_pooled_pairs(row: AgreementRow, pooled: Mapping[str, int], by: By) -> AgreementRow:
    """Return a row of preferences with the caveat that it is of several pairs of systems, if it is."""
    number = pooled.get(scenario_group(row.group) if by == "scenario" else ALL, 0)
    if row.kind != "preference" or number < 2:
        return row
    return row.noted(f"{number} pairs of systems are pooled")


def _declared(panels: Sequence[RaterPanel], scales: Scales) -> Mapping[tuple[str, str], Scale]:
    """Return the scales of criteria, and of those that are pooled."""
    pooled = [pooled_scales(find_pools(panel.values, scales)) for panel in panels]
    return {**scales, **{key: scale for of_panel in pooled for key, scale in of_panel.items()}}


def report(
    engine: Engine,
    study: Study,
    group: RaterGroup,
    *,
    resamples: int = 1000,
    overall: Sequence[AgreementRow] | None = None,
) -> AgreementReport:
    """Return the agreement of the annotators ("people") or of the judges, overall and split.

    `overall` are the annotators' rows of `annotator_agreement`, if the caller has them.
    """
    with connections.reading(engine) as session:
        panels = [_drawn_panel(session, study)] if group == "people" else judge_panels(session, study)
        scales = find_scales(session, study, [panel.values for panel in panels])
    reports = tuple(_report_panel(panel, scales, resamples, overall) for panel in panels)
    kinds = {str(kind) for panel in panels for kind in panel.values["kind"].unique()}
    measured = {row.kind for panel in reports for row in panel.overall}
    return AgreementReport(reports, _declared(panels, scales), tuple(sorted(kinds - measured)))


def describe_unmeasured(kinds: Sequence[str]) -> str:
    """Return a sentence about kinds of values that have no scale."""
    names = ", ".join(kind.replace("_", " ") for kind in kinds)
    return f"Not shown: {names}. Kappa and alpha need a declared scale, or scores that are all numbers."


# The rows of the annotators over everything, and the scales by (kind, criterion) as in `AgreementReport`.
OverallAgreement = tuple[Sequence[AgreementRow], Mapping[tuple[str, str], Scale]]


def annotator_agreement(
    engine: Engine, study: Study, *, resamples: int = 1000, annotators: Annotators = "fixed"
) -> OverallAgreement:
    """Return the agreement of the annotators over everything; `annotators` as in `rows`."""
    with connections.reading(engine) as session:
        panel = _drawn_panel(session, study)
        scales = find_scales(session, study, [panel.values])
    return measure_panel(panel, "all", scales, resamples, annotators), _declared([panel], scales)


def _report_panel(
    panel: RaterPanel, scales: Scales, resamples: int, overall: Sequence[AgreementRow] | None
) -> PanelReport:
    rows = tuple(measure_panel(panel, "all", scales, resamples) if overall is None else overall)
    report = PanelReport(panel.name, panel.stage, panel.judges, panel.as_shown, rows)
    if panel.as_shown:
        return report
    scenarios = tuple(measure_panel(panel, "scenario", scales, resamples))
    pairs = tuple(measure_panel(panel, "raters", scales, resamples))
    return replace(report, scenarios=scenarios, pairs=pairs, notes=tuple(prevalence_notes(panel, rows, scenarios)))


def _group_name(panel: RaterPanel | PanelReport, group: str, by: By) -> str:
    """Return `coding` for annotators, `judges, last opinions · coding` for judges."""
    group = scenario_group(group) if by == "scenario" else group
    part = "" if by in ("all", "criterion") else group
    return " · ".join(filter(None, (panel.name, part))) if panel.stage else group


def _drawn_panel(session: Session, study: Study) -> RaterPanel:
    """Return the annotators' labels; where a design draws targets, those of drawn ones with what each stands for.

    Agreement is of targets with two labels, so these alone stand for the targets of their stratum. See
    `core.statistics.reports.agreement.label_sample` for the columns.
    """
    values, design = labels.frame(session, study.id), designs.frame(session, study.id)
    if design is None or values.empty:
        return RaterPanel(values)
    keys = list(values[list(TARGET_KEY)].itertuples(index=False, name=None))
    labelled = {key for key, number in Counter(keys).items() if number > 1}
    counted: dict[tuple[str, ...], tuple[str, float, float]] = {}
    populations: dict[tuple[str, str], str] = {}
    for subject, rows in design.groupby(["kind", "criterion"]):
        kind, criterion = map(str, subject)
        targets_of_rows = list(rows[list(TARGET_KEY)].itertuples(index=False, name=None))
        has_label = np.array([key in labelled for key in targets_of_rows], bool)
        sample = sample_of(rows, np.arange(len(rows)), has_label)
        assert sample is not None
        names, sizes = np.array(sample.names, object)[sample.strata], sample.sizes[sample.strata]
        of_criterion = [f"{criterion}{SEPARATOR}{name}" for name in names]
        counted |= dict(zip(targets_of_rows, zip(of_criterion, sample.weights, sizes, strict=True), strict=True))
        note = _population_note(names, sample.weights > 0)
        populations[kind, criterion] = ", ".join(filter(None, (note, sample.describe())))
    designed = set(populations)
    kept = [place for place, key in enumerate(keys) if key[:2] not in designed or counted.get(key, NOT_DRAWN)[1] > 0]
    draws = pd.DataFrame([counted.get(keys[place], (None, None, None)) for place in kept], columns=DRAW_KEYS)
    values = values.iloc[kept].reset_index(drop=True)
    return RaterPanel(pd.concat([values, draws], axis=1), populations=populations)


def _population_note(strata: "npt.NDArray[np.object_]", counted: "Bools") -> str:
    """Return the strata that agreement is of, if some of those that judges saw have no label; otherwise ""."""
    judged = strata != UNJUDGED
    covered = sorted(set(strata[counted]))
    if not covered or set(covered) >= set(strata[judged]):
        return ""
    return "of disputed targets" if covered == [DISPUTED] else f"of {', '.join(covered)} alone"


def measure_panel(
    panel: RaterPanel, by: By, scales: Scales, resamples: int = 1000, annotators: Annotators = "fixed"
) -> list[AgreementRow]:
    """Return a panel's statistics; criteria that share a scale are pooled as "all" too, except by criterion."""
    rows = []
    for row in _statistics(panel, by, scales, resamples, annotators):
        criterion = None if row.criterion == ALL else row.criterion
        scenario = row.group if by == "scenario" else None
        noted = row.noted(panel.population(row.kind, row.criterion))
        rows.append(noted.noted(panel.exclusion_note(row.kind, criterion, scenario)))
    return rows


def _statistics(
    panel: RaterPanel, by: By, scales: Scales, resamples: int, annotators: Annotators
) -> list[AgreementRow]:
    """Return the rows of a panel.

    Speakers without a name count in the statistics that ignore which rater chose which category, and are left out of
    those that match raters by name: the same number is another judge in another debate.
    """
    values = panel.values
    unnamed = values["rater"].map(is_unknown).to_numpy(bool)
    if not panel.stage or not unnamed.any() or by == "raters":
        named_values = values if not panel.stage else values[~unnamed]
        return agreement_rows(named_values, by=by, scales=scales, resamples=resamples, annotators=annotators)
    raters = int(np.bincount(row_keys(values, TARGET_KEY)).max())
    every = agreement_rows(values, by=by, scales=scales, resamples=resamples)
    named = {
        (row.kind, row.criterion, row.group, row.statistic): row
        for row in agreement_rows(values[~unnamed], by=by, scales=scales, resamples=resamples)
    }
    rows = []
    for row in every:
        by_name = named.get((row.kind, row.criterion, row.group, row.statistic))
        if row.statistic in COUNT_STATISTICS:
            rows.append(replace(row, raters=raters))
        elif by_name is not None:
            rows.append(by_name.noted("speakers without a name are left out"))
    return rows


def prevalence_notes(
    panel: RaterPanel, overall: Sequence[AgreementRow], scenarios: Sequence[AgreementRow]
) -> Iterator[str]:
    """Yield a sentence for each low kappa that comes from nearly all raters choosing the same value."""
    for rows, by in ((overall, "all"), (scenarios, "scenario")):
        statistics: dict[tuple[str, str, str], dict[str, float]] = {}
        for row in rows:
            if row.value is not None:
                statistics.setdefault((row.kind, row.criterion, row.group), {})[row.statistic] = row.value
        pooled_kinds = {kind for kind, criterion, _ in statistics if criterion == ALL}
        for (kind, criterion, group), values in statistics.items():
            scenario = group if by == "scenario" else None
            if _has_prevalence(values) and (criterion == ALL or kind not in pooled_kinds):
                yield _prevalence_note(panel, kind, criterion, scenario, values)


def _has_prevalence(values: Mapping[str, float]) -> bool:
    percent, kappa, ac1 = (values.get(name, np.nan) for name in ("percent", "fleiss_kappa", "gwet_ac1"))
    return percent >= HIGH_AGREEMENT and kappa < LOW_KAPPA and ac1 - kappa >= AC1_MARGIN


def _prevalence_note(
    panel: RaterPanel, kind: str, criterion: str, scenario: str | None, values: Mapping[str, float]
) -> str:
    rows = select_rows(panel.values, kind, None if criterion == ALL else criterion, scenario)
    (value, count), *_ = Counter(rows["value"].tolist()).most_common(1)
    place = ", ".join(filter(None, ("" if criterion == ALL else criterion, scenario))) or "Overall"
    most = "nearly all" if count >= NEARLY_ALL * len(rows) else "most"
    return (
        f"{place}: {100 * values['percent']:.0f} % agreement but kappa {values['fleiss_kappa']:.2f}: {most} chose "
        f"{value} (prevalence). AC1 {values['gwet_ac1']:.2f}."
    )


# Tags in the reasons of labels, such as "#length": a taxonomy with the annotators' agreement on each tag.


# A word after #, which is not in an address or an entity.
TAG = re.compile(r"(?<![\w#&/])#([^\W\d_][\w-]{1,39})")
KIND, STATISTIC = "tag", "fleiss_kappa"
# The most frequent ones are compared.
MAX_TAGS = 40
# No interval of kappa for a tag in fewer reasons: with 5 expected uses the intervals held the truth in 82 %.
MIN_USES = 10
# (Target id, annotator) -> the reason of the current label.
Reasons = Mapping[tuple[int, str], str]


@dataclass(frozen=True)
class TagRow:
    """One tag, or all of them."""

    tag: str
    """ "all" for the pooled tags; a tag of this name is in quotes."""
    labels: int
    """Current labels whose reason has it."""
    targets: int
    annotators: int
    kappa: float | None
    """Fleiss' kappa of using the tag or not, on targets for which two annotators gave a reason."""
    low: float | None
    high: float | None
    compared: int
    """Targets of kappa; for all tags, targets x tags."""
    reason: str


def find_tags(text: str) -> list[str]:
    """Return the tags of a reason in lower case, each once."""
    return list(dict.fromkeys(tag.lower() for tag in TAG.findall(text)))


def tags(session: Session, study_id: int, *, resamples: int = 1000) -> list[TagRow]:
    """Return every tag, the most frequent first, after the row of all tags; empty without a tag."""
    reasons = _current_reasons(session, study_id)
    used: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for label, text in reasons.items():
        for tag in map(report_criterion, find_tags(text)):
            used[tag].append(label)
    if not used:
        return []
    names = sorted(used, key=lambda tag: (-len(used[tag]), tag))[:MAX_TAGS]
    frame = _frame(targets.frame(session, study_id), reasons, names)
    scales = {(KIND, tag): TRUTH for tag in names}
    found = {
        row.criterion: row
        for row in agreement_rows(frame, by="all", scales=scales, resamples=resamples)
        if row.statistic == STATISTIC
    }
    every = sorted({label for of_tag in used.values() for label in of_tag})
    pooled = [_row(ALL, every, found.get(ALL))] if len(names) > 1 else []
    return [*pooled, *(_row(tag, used[tag], found.get(tag)) for tag in names)]


def _row(tag: str, labels: Sequence[tuple[int, str]], agreement: AgreementRow | None) -> TagRow:
    counts = len(labels), len({target for target, _ in labels}), len({annotator for _, annotator in labels})
    if agreement is None:
        return TagRow(tag, *counts, None, None, None, 0, "no target has reasons of two annotators")
    low, high, reason = agreement.low, agreement.high, agreement.reason
    if low is not None and len(labels) < MIN_USES:
        few = f"no interval: {format_count(len(labels), 'use')} of the tag, {MIN_USES} are needed"
        low, high, reason = None, None, join_notes(few, reason)
    return TagRow(tag, *counts, agreement.value, low, high, agreement.items, reason)


def _current_reasons(session: Session, study_id: int) -> Reasons:
    """Return the reasons of the annotators' newest labels that have one."""
    query = (
        select(col(LabelRow.target_id), col(AnnotatorRow.name), col(LabelRow.reason), col(LabelRow.value).is_(None))
        .join(AnnotatorRow, col(AnnotatorRow.id) == col(LabelRow.annotator_id))
        .where(col(LabelRow.study_id) == study_id)
        .order_by(col(LabelRow.id))
    )
    newest = {
        (target, name): "" if is_withdrawn else reason for target, name, reason, is_withdrawn in session.execute(query)
    }
    return {label: reason for label, reason in newest.items() if reason.strip()}


def _frame(known: pd.DataFrame, reasons: Reasons, tags: Sequence[str]) -> pd.DataFrame:
    """Return one row for each tag and reason: whether the reason has the tag."""
    rows = [
        (target, name, tag, tag in tags_of)
        for (target, name), text in reasons.items()
        for tags_of in [set(map(report_criterion, find_tags(text)))]
        for tag in tags
    ]
    ids, names, criteria, values = zip(*rows, strict=True)
    frame = known.reindex(list(ids)).reset_index(drop=True)
    part = frame["kind"] + "\n" + frame["criterion"] + "\n" + frame["part"]
    frame["value"] = pd.Series(values, dtype=object)
    return frame.assign(kind=KIND, criterion=list(criteria), part=part, rater=list(names))


# The item first: items with equal disagreement are in this order.
ITEM_KEY = ("item", "kind", "criterion", "part")


@dataclass(frozen=True)
class ItemQuery:
    """The items of one statistic; None means no filter."""

    group: RaterGroup
    kind: str
    criterion: str | None = None
    scenario: str | None = None
    raters: tuple[str, ...] = ()
    """Raters who all rated the item."""
    judges: str = ""
    """The set of judges (see `RaterPanel.judges`), if runs of the study have different ones."""


@dataclass(frozen=True)
class TargetValues:
    """The values of one target by rater: of all annotators, or of the judges of one debate."""

    target: Target
    scenario: str
    values: dict[str, tuple[Value, ...]]
    """For a judge the first and the last opinion, or one value if they are equal."""
    trace: int | None
    """The debate, or the newest one about the target."""
    blind: bool
    """The viewer has not labelled the target yet: `values` is empty."""


@dataclass(frozen=True)
class RatedValues:
    """The values behind the agreement of people or judges."""

    labels: pd.DataFrame
    """Current labels of all annotators."""
    frames: tuple[tuple[str, pd.DataFrame], ...]
    """(set of judges, values): the labels, or the judges' first, then last opinions, with the item's name."""


def load_values(engine: Engine, study: Study, group: RaterGroup) -> RatedValues:
    """Return the values of people or judges."""
    with connections.reading(engine) as session:
        people = labels.frame(session, study.id)
        if group == "people":
            return RatedValues(people, (("", people),))
        opinions = opinion_frame(session, study.id)
        names = dict(zip(opinions["trace"], opinions["item"], strict=True))
        panels = [panel for panel in judge_panels(session, study) if not panel.as_shown]
    frames = [(panel.judges, panel.values.assign(item=panel.values["trace"].map(names))) for panel in panels]
    return RatedValues(people, tuple(frames))


def find_items(
    engine: Engine,
    study: Study,
    query: ItemQuery,
    viewer: str | None = None,
    *,
    values: RatedValues | None = None,
    limit: int | None = None,
) -> tuple[list[TargetValues], int]:
    """Return the first `limit` items of a statistic, strongest disagreement first, and the number of all.

    `viewer` is the annotator who is signed in: values of targets that the viewer has not labelled are hidden. `values`
    are those of `load_values`, if they were loaded before.
    """
    values = values or load_values(engine, study, query.group)
    rows = _select_values(values, query)
    if rows.empty:
        return [], 0
    keys = row_keys(rows, [*ITEM_KEY, *(["trace"] if "trace" in rows else [])])
    order = _order_items(rows, keys, query)
    chosen = order[:limit]
    places = {key: place for place, key in enumerate(chosen.tolist())}
    found = _collect_values(rows[np.isin(keys, chosen)], keys[np.isin(keys, chosen)], places)
    if query.group == "people":
        with connections.reading(engine) as session:
            traces = targets.newest_traces(session, study.id, [item.target for item in found])
        found = [replace(item, trace=traces.get(item.target)) for item in found]
    if viewer is not None:
        own = values.labels[(values.labels["rater"] == viewer).to_numpy(bool)]
        labelled = set(targets.of_frame(own))
        found = [item if item.target in labelled else replace(item, values={}, blind=True) for item in found]
    return found, order.size


def _select_values(values: RatedValues, query: ItemQuery) -> pd.DataFrame:
    """Return the rows of a statistic; the last rows of a rater and item have its last value."""
    frames = [frame for judges, frame in values.frames if judges == query.judges or query.group == "people"]
    selected = [select_rows(frame, query.kind, query.criterion, query.scenario) for frame in frames]
    return pd.concat(selected, ignore_index=True) if selected else values.labels[:0]


def _order_items(rows: pd.DataFrame, keys: "Ints", query: ItemQuery) -> "Ints":
    """Return the keys of the items that all raters of the query rated, those with most distinct last values first."""
    table = pd.DataFrame({"key": keys, "rater": rows["rater"], "value": rows["value"].map(repr)})
    last = table.drop_duplicates(["key", "rater"], keep="last")
    compared = last[last["rater"].isin(query.raters)] if query.raters else last
    counts = compared.groupby("key", sort=True)["rater"].size()
    wanted = len(set(query.raters)) or (2 if query.group == "people" else 1)
    distinct = compared.groupby("key", sort=True)["value"].nunique()[counts >= wanted]
    return distinct.index.to_numpy()[np.argsort(-distinct.to_numpy(), kind="stable")]


def _collect_values(rows: pd.DataFrame, keys: "Ints", places: Mapping[int, int]) -> list[TargetValues]:
    """Return the items of the rows, in the order of their places."""
    found: dict[int, TargetValues] = {}
    debates = rows["trace"].tolist() if "trace" in rows else [None] * len(rows)
    columns = (rows["scenario"].tolist(), rows["rater"].tolist(), rows["value"].tolist(), debates)
    for key, target, scenario, rater, value, debate in zip(
        keys.tolist(), targets.of_frame(rows), *columns, strict=True
    ):
        name = scenario if isinstance(scenario, str) else ""
        item = found.setdefault(key, TargetValues(target, name, {}, debate, False))
        earlier = item.values.get(rater, ())
        item.values[rater] = earlier if earlier == (value,) else (*earlier, value)
    return [found[key] for key in sorted(found, key=places.__getitem__)]
