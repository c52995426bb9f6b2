"""The alignment of each judge with the annotators of a study.

A judge is a method with its verdicts, or one of its members with its last and first opinions. A name that judged the
same target in several runs, or with several models, is a separate judge for each run.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.critiques import RECALL_SEPARATOR
from core.errors import TiebreakError
from core.families import find_family
from core.items import pair_numbers, pair_part
from core.labels import Scale, is_number
from core.statistics.data.dataset import Dataset, Frames, build_datasets
from core.statistics.data.frames import ALL, distinct_keys, has_key, row_keys
from core.statistics.measures.pairwise import pairwise_preferences
from core.statistics.reports.alignment import RECALL_BY_KIND, AlignmentRow, By, accuracy_rows, alignment_rows
from core.wording import NO_CRITERION, join_notes, scenario_name
from storage.db import connections
from storage.labels import designs, targets
from storage.labels import labels as stored_labels
from storage.reports import _order_consistency as order_consistency
from storage.reports import chosen_labels, references
from storage.reports import opinions as remembered
from storage.reports.chosen_labels import ALL_TARGETS, CAVEATS, NO_VALUES, NOT_KNOWN, NOTHING, Choices
from storage.reports.opinions import categorical_opinions, find_scales, with_values
from storage.reports.references import Reference, settings_models
from storage.runs import runs, trace_opinions
from storage.studies import items
from storage.studies.items import Outline
from storage.studies.studies import Study

if TYPE_CHECKING:
    import numpy.typing as npt


# Preferences that follow from scores of the responses of one item, so scores are compared with preferences.
#
# Only across kinds: a judge's scores become preferences on the pairs that people (or the reference) compared directly,
# and people's scores on the pairs that a judge compared directly. Scores are still compared with scores as well.

BY_SCORES = ", by scores"
PREFERENCE_TARGET = ("item", "criterion", "part")
# Item, criterion, part.
Key = tuple[str, str, str]


def add_preferences(
    labels: pd.DataFrame, opinions: pd.DataFrame, gold: pd.DataFrame, response_counts: Mapping[str, int]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the three frames with the preferences that follow from scores.

    `opinions` have the column `judge`: a derived one is a judge of its own, "NAME, by scores". A label is derived for
    an annotator without a preference of their own on the pair, and a reference value if there is none.
    `response_counts` has the number of responses of each item.
    """
    if not any(map(_has_scores_of_parts, (labels, opinions, gold))):
        return labels, opinions, gold
    responses = {key: count for key, count in response_counts.items() if count > 1}
    by_judges, by_people = _preferred(opinions), _preferred(labels) | _preferred(gold)
    new_opinions = [
        row | {"judge": f"{row['judge']}{BY_SCORES}"}
        for row in _derive(opinions, ("run", "judge", "stage"), "value", responses)
        if _target_key(row) in by_people
    ]
    own = _preferred(labels, "rater")
    new_labels = [
        row
        for row in _derive(labels, ("rater",), "value", responses)
        if _target_key(row) in by_judges and row["value"] is not None and (*_target_key(row), row["rater"]) not in own
    ]
    known = _preferred(gold)
    new_gold = [
        row | {"number": None}
        for row in _derive(gold, (), "number", responses)
        if _target_key(row) in by_judges and row["value"] is not None and _target_key(row) not in known
    ]
    return _append(labels, new_labels), _append(opinions, new_opinions), _append(gold, new_gold)


def _has_scores_of_parts(frame: pd.DataFrame) -> bool:
    return not frame.empty and bool(((frame["kind"] == "score") & (frame["part"] != "")).any())


def _target_key(row: Mapping[str, Any]) -> Key:
    return row["item"], row["criterion"], row["part"]


def _preferred(frame: pd.DataFrame, *columns: str) -> set[Hashable]:
    """Return (item, criterion, part) of the preferences in a frame, followed by further columns."""
    if frame.empty:
        return set()
    rows = frame[(frame["kind"] == "preference") & frame["value"].notna()]
    return set(zip(*(rows[name] for name in (*PREFERENCE_TARGET, *columns)), strict=True))


def _derive(
    frame: pd.DataFrame, by: Sequence[str], value: str, responses: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield a row for every two responses of an item that one source scored; `by` are the columns of the source."""
    if frame.empty:
        return
    scores = frame[(frame["kind"] == "score") & frame["item"].isin(list(responses)) & (frame["part"] != "")]
    by_source: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = defaultdict(dict)
    for row in scores.to_dict("records"):
        if str(row["part"]).isdecimal() and 1 <= int(row["part"]) <= responses[row["item"]]:
            by_source[tuple(row[name] for name in ("item", "criterion", *by))][int(row["part"])] = {
                str(name): cell for name, cell in row.items()
            }
    for rows in by_source.values():
        first = next(iter(rows.values()))
        count = responses[first["item"]]
        given = [rows.get(place, {}).get(value) for place in range(1, count + 1)]
        numbers = [float(one) if is_number(one) else None for one in given]
        for (i, j), preference in pairwise_preferences(numbers).items():
            if i in rows and j in rows:
                part = pair_part(i, j, count)
                yield first | {"kind": "preference", "part": part, "value": preference}


def _append(frame: pd.DataFrame, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the frame with further rows; values stay objects, because None among numbers would become nan."""
    if not rows:
        return frame
    added = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in frame.columns})
    categories = {name: dtype.categories.dtype for name, dtype in frame.dtypes.items() if dtype == "category"}
    frame = frame.astype(categories)
    for name, dtype in frame.dtypes.items():
        if name not in ("value", "part"):
            added[name] = added[name].astype(dtype)
    return pd.concat([frame, added], ignore_index=True)


# The model family of each judge and each system, and the responses of a judge's own family.


def own_responses(
    session: Session,
    study: Study,
    opinions: pd.DataFrame,
    targets: "npt.NDArray[np.int64]",
    systems: Sequence[tuple[str | None, str | None]],
) -> "npt.NDArray[np.float64]":
    """Return for each opinion the response (1 or 2) that alone is of the judge's family; 0 for neither or both.

    `systems` are those of the two responses of each target, None twice if they are unknown or there is no pair;
    `targets` the target of each opinion. nan if it is no preference, or if the family of the judge or of a system is
    not known.
    """
    named = study.rules.families
    settings = {run.id: run.settings for run in runs.of_study(session, study.id)}
    judges, distinct_judges = distinct_keys(opinions, ["run", "rater"])
    numbers: dict[str | None, int] = {None: -1}
    families = [judge_family(settings.get(run), rater, named) for run, rater in distinct_judges]
    own = np.array([numbers.setdefault(family, len(numbers)) for family in families])[judges]
    by_system = {system: find_family(system, named) for system in {one for pair in systems for one in pair} if system}
    first, second = (
        np.array([numbers.setdefault(by_system.get(pair[place] or ""), len(numbers)) for pair in systems])[targets]
        for place in (0, 1)
    )
    known = (own >= 0) & (first >= 0) & (second >= 0)
    is_first, is_second = own == first, own == second
    side = np.where(is_first == is_second, 0.0, np.where(is_first, 1.0, 2.0))
    return np.where(known, side, np.nan)


def judge_family(settings: Any, name: str, named: Mapping[str, str]) -> str | None:
    """Return the family of a judge: by its name in the study's rules, its model, or all models of its run."""
    if any(name.casefold() == key.casefold() for key in named):
        return find_family(name, named)
    model = judge_model(settings, name)
    models = {model} if model else settings_models(settings) or {name}
    families = {find_family(one, named) for one in models}
    return families.pop() if len(families) == 1 else None


def judge_model(settings: Any, name: str) -> str:
    """Return the model of the judge called `name`; empty if settings, which may be imported, have none."""
    fields = settings.values() if isinstance(settings, dict) else ()
    judges = [judge for field in fields for judge in (field if isinstance(field, list) else [field])]
    for judge in judges:
        if isinstance(judge, dict) and judge.get("name") == name and isinstance(judge.get("spec"), dict):
            return str(judge["spec"].get("model"))
    return ""


def unknown_systems(systems: Iterable[Sequence[str | None]], named: Mapping[str, str]) -> list[str]:
    """Return the systems without a known family, by name; `systems` are those of the responses of each item."""
    names = {name for of_item in systems for name in of_item if name}
    return sorted(name for name in names if find_family(name, named) is None)


# What is known of the responses behind each opinion: systems, lengths, the order shown, the judge's own family.

# System, critique, the longer response (1 or 2; 0 for equal lengths), and its length over that of the shorter one.
Features = tuple[str | None, str | None, float, float]
Value = TypeVar("Value")
NO_PAIR = (float("nan"), float("nan"))


def add_features(
    session: Session, study: Study, opinions: pd.DataFrame, outlines: Mapping[str, Outline]
) -> pd.DataFrame:
    """Add system, critique, shown_first, longer, length_gap and own, if they apply to the kind of opinion."""
    if opinions.empty:
        return opinions
    targets, distinct = distinct_keys(opinions, ["item", "kind", "part"])
    found = [_features(item, outlines[item], kind, part) for item, kind, part in distinct]
    systems_of_pairs = [_systems_of_pair(outlines[item], kind, part) for item, kind, part in distinct]
    systems, critiques = (
        pd.Series([one[place] for one in found], dtype=object).astype("category").take(targets).array
        for place in (0, 1)
    )
    longer, gaps = (np.array([one[place] for one in found], float)[targets] for place in (2, 3))
    shown = first_shown(session, study.id).reindex(opinions["trace"]).to_numpy(float)
    return opinions.assign(
        system=systems,
        critique=critiques,
        shown_first=np.where(np.isnan(longer), np.nan, shown),
        longer=longer,
        length_gap=gaps,
        own=own_responses(session, study, opinions, targets, systems_of_pairs),
    )


def _features(item: str, outline: Outline, kind: str, part: str) -> Features:
    if kind.startswith("aiu_"):
        critique = part.partition(RECALL_SEPARATOR)[2] or part.rpartition(".")[0]
        return None, f"{item}\n{critique}", *NO_PAIR
    if kind == "score":
        return scored_system(outline.systems, part), None, *NO_PAIR
    lengths = _of_pair(outline.lengths, part) if kind == "preference" else ()
    if len(lengths) != 2:
        return None, None, *NO_PAIR
    first, second = lengths
    longer = 0 if first == second else 1 if first > second else 2
    return None, None, longer, max(first, second) / max(min(first, second), 1)


def scored_system(systems: Sequence[str | None], part: str) -> str | None:
    """Return the system whose response a score is about: the only one of the item, or that of the number `part`."""
    if part.isdecimal() and 1 <= int(part) <= len(systems):
        return systems[int(part) - 1]
    return systems[0] if len(systems) == 1 else None


def _systems_of_pair(outline: Outline, kind: str, part: str) -> tuple[str | None, str | None]:
    """Return the two systems of a pair; None twice if one of them has no name."""
    named = _of_pair(outline.systems, part) if kind == "preference" else ()
    systems = [system for system in named if system is not None]
    return (systems[0], systems[1]) if len(systems) == 2 else (None, None)


def _of_pair(of_responses: tuple[Value, ...], part: str) -> tuple[Value, ...]:
    """Return what belongs to the responses of a pair; all of it for a part that names no pair of the item."""
    numbers = pair_numbers(part)
    if numbers is None or numbers[1] > len(of_responses):
        return of_responses
    return tuple(of_responses[number - 1] for number in numbers)


def first_shown(session: Session, study_id: int) -> "pd.Series[float]":
    """Return the response that was shown first by trace, if it was the same in every turn."""
    traces, responses = array("q"), array("q")
    for trace, orders in trace_opinions.orders_of_study(session, study_id):
        first = orders[0][0]
        if len(orders) == 1 or all(order[0] == first for order in orders):
            traces.append(trace)
            responses.append(first)
    index = pd.Index(np.array(traces, np.int64), name="trace")
    return pd.Series(np.array(responses, np.int64), index=index, name="first").astype(float)


# The opinions of all judges of a study with their names and what is known of the responses, without labels.

STAGE_RANK = {"verdict": 0, "last": 1, "first": 2}
FIRST_OPINION = ", first opinion"
TARGET = ["item", "kind", "criterion", "part"]


def _examples(opinions: pd.DataFrame) -> pd.DataFrame:
    """Return the first opinion of each kind, criterion and type of value, without missing values.

    Of answers each value: those on a scale of any number, such as that of steps, are its categories.
    """
    decided = opinions[opinions["value"].notna()]
    types = decided["value"].map(type)
    answers = decided["value"].where(decided["kind"] == "answer", None)
    return decided[~decided[["kind", "criterion"]].assign(type=types, value=answers).duplicated()]


def named_opinions(session: Session, study_id: int) -> pd.DataFrame:
    """Return the opinions of a study with the names of their judges."""
    return _with_judge_names(session, study_id, categorical_opinions(session, study_id))


def _with_judge_names(session: Session, study_id: int, opinions: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each judge and target; a verdict replaces a last opinion of the same judge."""
    if opinions.empty:
        return opinions.assign(judge=opinions["rater"], rank=opinions["stage"])
    rank = opinions["stage"].map(STAGE_RANK).astype("int8")
    opinions = opinions.assign(rank=rank, target=row_keys(opinions, TARGET))
    is_first = (opinions["stage"] == "first").astype(int)
    judge_keys = row_keys(opinions.assign(first=is_first), ["run", "rater", "first"])
    ranked = pd.DataFrame({"judge": judge_keys, "target": opinions["target"]}, index=opinions.index)
    order = np.argsort(opinions["rank"].to_numpy(), kind="stable")
    repeated = ranked.iloc[order].duplicated().reindex(opinions.index).to_numpy(bool)
    if repeated.any():
        opinions, judge_keys = opinions[~repeated], judge_keys[~repeated]
    separate = _raters_by_run(session, study_id, opinions)
    run_names = {run.id: run.name for run in runs.of_study(session, study_id)}
    codes, first_rows = np.unique(judge_keys, return_index=True)
    names = [
        f"{rater}{FIRST_OPINION if stage == 'first' else ''}{f' · {run_names[run]}' if rater in separate else ''}"
        for rater, run, stage in opinions.iloc[first_rows][["rater", "run", "stage"]].itertuples(index=False)
    ]
    judges = pd.Series(names, dtype="str").astype("category").take(np.searchsorted(codes, judge_keys))
    return opinions.assign(judge=judges.array).drop(columns="target")


def _raters_by_run(session: Session, study_id: int, opinions: pd.DataFrame) -> set[str]:
    """Return the raters that are a separate judge in each run: with other models, or on the same targets again."""
    once = opinions.drop_duplicates(["rater", "run", "target"])
    repeated = set(once["rater"][once.duplicated(["rater", "target"])])
    return repeated | judge_models(session, study_id, opinions)[1]


def judge_models(
    session: Session, study_id: int, opinions: pd.DataFrame
) -> tuple[dict[tuple[str, int], str], set[str]]:
    """Return (rater, run) -> the model of a judge, empty if it is not known, and the raters that have several ones."""
    settings = {run.id: run.settings for run in runs.of_study(session, study_id)}
    pairs = opinions[["rater", "run"]].drop_duplicates().itertuples(index=False, name=None)
    models = {(rater, run): judge_model(settings.get(run), rater) for rater, run in pairs}
    counts = Counter(rater for rater, _ in {(rater, model) for (rater, _), model in models.items()})
    return models, {rater for rater, count in counts.items() if count > 1}


TIE, AS_TIE = 0, "_no_verdict_as_tie"
AS_TIE_NOTE = "no verdict is counted as a tie here, to compare with papers that do so"
JUDGED = ("judge", "kind", "criterion")
# Statistics of verdicts alone.
WITHOUT_LABELS = ("no_verdict_rate", "first_shown_preferred", order_consistency.STATISTIC)
# A statistic of labels and of verdicts on all targets.
OF_ALL = "dawid_skene_accuracy"
Scales = Mapping[tuple[str, str], Scale]


@dataclass(frozen=True)
class AlignmentData(Frames):
    """Labels, opinions and gold of a study."""

    gold: pd.DataFrame
    """The values of the reference: see `storage.reports.references.frame`."""
    reference: Reference
    marks: Mapping[str, str]
    """Judge -> a caveat of its comparison with this reference: a model that is on both sides."""

    systems: Mapping[str, tuple[str, tuple[str | None, ...]]]
    """Item -> its scenario, and the system of each of its responses."""
    choices: Choices = NOTHING
    """The labels and values of the reference that are mainly of disputed targets; the frames have only these."""
    all_labels: pd.DataFrame | None = None
    """The labels with those of other targets; None if they are the same."""

    @cached_property
    def judges(self) -> frozenset[str]:
        """The names of the judges with an opinion."""
        return frozenset(map(str, self.opinions["judge"].unique()))

    @cached_property
    def averaging(self) -> frozenset[tuple[str, str, str]]:
        """The (judge, kind, criterion) whose scores are means: 2.5 is not a category of 1, 2, 3, and not missing."""
        between = is_between_categories(self.opinions, self.scales) if len(self.opinions) else np.zeros(0, bool)
        if not between.any():
            return frozenset()
        return frozenset(self.opinions.loc[between, list(JUDGED)].itertuples(index=False, name=None))

    @cached_property
    def datasets(self) -> tuple[Dataset, ...]:
        """The targets of each kind and criterion with a scale, those of judges with means apart."""
        parts = split_averages(self) if len(self.opinions) else ()
        return tuple(dataset for part in parts for dataset in build_datasets(part, "all"))

    @cached_property
    def categorical_datasets(self) -> tuple[Dataset, ...]:
        """The targets of each kind and criterion whose scale has categories, with verdicts and last opinions."""
        scales = categorical_scales(self.scales)
        opinions = self.opinions
        if opinions.empty:
            return ()
        chosen = (opinions["stage"] != "first").to_numpy(bool) & has_key(opinions, set(scales))
        opinions = opinions[chosen & ~has_key(opinions, self.averaging, JUDGED)]
        return tuple(build_datasets(replace(self, opinions=opinions, scales=scales), "all"))


def categorical_scales(scales: Scales) -> Scales:
    """Return the scales that have categories."""
    return {key: scale for key, scale in scales.items() if scale.categories}


def rows(
    engine: Engine, study: Study, by: By = "all", *, reference: str | None = None, resamples: int = 1000
) -> list[AlignmentRow]:
    """Return every statistic of every judge, one per row; `reference` is written as in `references.FORMS`.

    Raises TiebreakError for a reference that the study does not have.
    """
    return rows_of(engine, study, load_data(engine, study, reference), by, resamples=resamples)


def rows_of(
    engine: Engine, study: Study, data: AlignmentData, by: By = "all", *, resamples: int = 1000
) -> list[AlignmentRow]:
    """Return every statistic of every judge from the data of a study, one per row; computed once for the same data."""
    return remembered.once(data, ("rows", by, resamples), lambda: _rows_of(engine, study, data, by, resamples))


def _rows_of(engine: Engine, study: Study, data: AlignmentData, by: By, resamples: int) -> list[AlignmentRow]:
    with connections.reading(engine) as session:
        orders = order_consistency.rows(session, study.id, data.opinions, by)
    one_scenario = by == "scenario"
    return measured_rows(data, by, resamples=resamples) + [
        _mark(row, data, one_scenario=one_scenario) for row in orders
    ]


def measured_rows(data: AlignmentData, by: By, *, resamples: int = 1000) -> list[AlignmentRow]:
    """Return the rows of `rows_of` without those of response orders, which are read from turns."""
    if data.opinions.empty:
        return []
    named = [one for one in data.datasets if by != "criterion" or one.criterion != ALL]
    datasets = [part for one in named for part in one.split(by)]
    rows = alignment_rows(data, datasets, by, resamples=resamples) + _rows_with_ties(data, by, resamples)
    return [_mark(row, data, one_scenario=by == "scenario") for row in rows]


def compared_keys(data: AlignmentData) -> list[tuple[str, str]]:
    """Return the (kind, criterion) of `rows_of`, without those of response orders alone; "all" criteria first."""
    opinions = data.opinions
    if opinions.empty:
        return []
    found = {(one.kind, one.criterion) for one in data.datasets}
    found |= {("aiu", criterion) for kind, criterion in found if kind in RECALL_BY_KIND}
    found |= set(distinct_keys(opinions[opinions["kind"] == "aspect_weights"], ("kind", "criterion"))[1])
    return sorted(found, key=lambda key: (key[0], key[1] != ALL, key[1]))


def load_data(engine: Engine, study: Study, reference: str | None = None) -> AlignmentData:
    """Return the labels and opinions of a study, and the values of a reference.

    The verdicts and opinions of a debate that is the reference are left out: they would be compared with themselves.
    If labels are mainly of disputed targets, those of other targets are left out: see `chosen_labels`.
    """
    with connections.reading(engine) as session:
        chosen = references.resolve(session, study.id, reference)
        opinions = categorical_opinions(session, study.id)
        given = stored_labels.frame(session, study.id)
        scales = find_scales(session, study, [given, _examples(opinions)])
        if chosen.type == "debate":
            opinions = opinions[~opinions["run"].isin(references.debate_run_ids(session, study.id, chosen.name))]
        outlines = items.outlines(session, study.id)
        opinions = _with_judge_names(session, study.id, opinions)
        disputed = references.disputed_targets(session, study.id)
        gold = references.frame(session, study.id, chosen, scales, disputed)
        scales = with_values(scales, gold)
        responses = {key: len(item.systems) for key, item in outlines.items()}
        labels, opinions, gold = add_preferences(given, opinions, gold, responses)
        opinions = add_features(session, study, opinions, outlines)
        marks = _shared_model_marks(session, study.id, chosen, opinions)
        # A debate has verdicts on all targets: no design has drawn them.
        design = None if chosen.type == "debate" else designs.frame(session, study.id)
        disputed_rows = targets.frame(session, study.id).loc[list(disputed)]
    systems = {key: (item.scenario or "", item.systems) for key, item in outlines.items()}
    data = AlignmentData(labels, opinions, gold, scales, chosen, marks, systems, design=design)
    return _restrict(data, disputed_rows)


def _restrict(data: AlignmentData, disputed: pd.DataFrame) -> AlignmentData:
    """Return the data with the labels that its figures are of.

    Of a kind and criterion with a design those of drawn targets; where labels are mainly of disputed targets, or only
    these are drawn, those of disputed targets.
    """
    drawn = data
    if data.design is not None:
        labels, gold = (chosen_labels.keep_drawn(frame, data.design) for frame in (data.labels, data.gold))
        drawn = replace(data, labels=labels, gold=gold)
    of_everybody = data.reference.type in ("gold", "majority", "mean")
    found = chosen_labels.find(drawn.datasets, disputed, of_everybody=of_everybody)
    left_out = chosen_labels.count_left_out(data.labels, drawn.labels)
    found = replace(found, left_out=left_out, probabilities=chosen_labels.different_probabilities(data.design))
    if found == NOTHING:
        return drawn
    labels = chosen_labels.keep_disputed(drawn.labels, found.of_labels)
    gold = chosen_labels.keep_disputed(drawn.gold, found.of_reference)
    return replace(data, labels=labels, gold=gold, choices=found, all_labels=drawn.labels)


def _shared_model_marks(
    session: Session, study_id: int, reference: Reference, opinions: pd.DataFrame
) -> dict[str, str]:
    """Return judge -> a note on the models that are also on the panel of the reference's debate."""
    if opinions.empty or reference.type != "debate":
        return {}
    models = {run.id: settings_models(run.settings) for run in runs.of_study(session, study_id)}
    debates = references.debate_run_ids(session, study_id, reference.name)
    panel = {model for run in debates for model in models[run]}
    own = {judge: of_judge.unique().tolist() for judge, of_judge in opinions.groupby("judge")["run"]}
    found = {str(judge): panel & {one for run in ids for one in models.get(run, ())} for judge, ids in own.items()}
    return {
        judge: f"{', '.join(sorted(shared))} is on the debate's panel too" for judge, shared in found.items() if shared
    }


def _mark(row: AlignmentRow, data: AlignmentData, *, one_scenario: bool) -> AlignmentRow:
    """Return the row with the targets that it is of, and with its reference in words."""
    if row.statistic not in WITHOUT_LABELS:
        population = data.choices.population(
            row.kind, row.criterion, of_labels=not row.reference, one_scenario=one_scenario
        )
        if population != ALL_TARGETS and row.statistic == OF_ALL:
            return replace(row, value=None, low=None, high=None, reason=NO_VALUES[population])
        if one_scenario and not row.items:
            row = replace(row, population=NOT_KNOWN)
        elif population != ALL_TARGETS:
            row = row.noted(CAVEATS[population], population=population)
    if not row.reference:
        return row
    return replace(row, reference=join_notes(f"{data.reference}: {row.reference}", data.marks.get(row.judge, "")))


def _rows_with_ties(data: AlignmentData, by: By, resamples: int) -> list[AlignmentRow]:
    """Return accuracy and kappa with a missing verdict as a tie, named so: some papers report these."""
    preferences = data.opinions[data.opinions["kind"] == "preference"]
    incomplete = set(preferences.loc[preferences["value"].isna(), "judge"])
    affected = preferences[preferences["judge"].isin(incomplete)]
    filled = affected.assign(value=affected["value"].where(affected["value"].notna(), TIE))
    rows = accuracy_rows(build_datasets(replace(data, opinions=filled), by), resamples=resamples)
    return [row.noted(AS_TIE_NOTE, statistic=row.statistic + AS_TIE) for row in rows]


def split_averages(data: AlignmentData) -> Iterator[AlignmentData]:
    """Separate the judges whose scores are means."""
    opinions = data.opinions
    if not data.averaging:
        yield data
        return
    is_average = has_key(opinions, data.averaging, JUDGED)
    yield replace(data, opinions=opinions[~is_average])
    scales = {key: continuous_scale(scale) for key, scale in data.scales.items()}
    yield replace(data, opinions=opinions[is_average], scales=scales)


def comparable_scales(opinions: pd.DataFrame, scales: Scales) -> dict[tuple[str, str], Scale]:
    """Return the scales on which all these judges can be compared with each other.

    A criterion on which one of them has means between categories is a scale of numbers for all.
    """
    comparable = dict(scales)
    if len(opinions):
        between = opinions[is_between_categories(opinions, scales)]
        for key in set(zip(between["kind"], between["criterion"], strict=True)):
            comparable[key] = continuous_scale(scales[key])
    return comparable


def is_between_categories(opinions: pd.DataFrame, scales: Scales) -> "npt.NDArray[np.bool_]":
    """Return whether each opinion is a number between two categories of its scale, such as a mean of samples."""
    between = np.zeros(len(opinions), bool)
    keys, distinct = distinct_keys(opinions, ("kind", "criterion"))
    values = opinions["value"].to_numpy(object)
    for place, key in enumerate(distinct):
        scale = scales.get(key)
        if scale is not None and scale.categories:
            rows = np.flatnonzero(keys == place)
            between[rows] = [_is_between(scale, value) for value in values[rows].tolist()]
    return between


def _is_between(scale: Scale, value: Any) -> bool:
    return not isinstance(value, dict) and not scale.contains(value) and scale.covers(value)


def continuous_scale(scale: Scale) -> Scale:
    """Return an interval scale with the same ends; the scale itself if it is not one of numbers."""
    ends = [category for category in scale.categories if is_number(category)]
    if len(ends) < max(len(scale.categories), 1):
        return scale
    return Scale(level="interval", low=min(ends), high=max(ends))


# Kinds, criteria and scenarios that a request names, compared with those that there are.


def check_key(data: AlignmentData, kind: str | None, criterion: str | None) -> None:
    """Raise TiebreakError if no label, verdict or value of the reference has this kind and criterion; None is any."""
    frames = (data.labels, data.opinions, data.gold)
    check_keys({key for frame in frames for key in distinct_keys(frame, ("kind", "criterion"))[1]}, kind, criterion)


def check_keys(known: Collection[tuple[str, str]], kind: str | None, criterion: str | None) -> None:
    """Raise TiebreakError if none of the known (kind, criterion) is this one; None is any kind or criterion."""
    _check("kind", kind, sorted({name for name, _ in known}))
    criteria = {name for key, name in known if kind in (None, key)}
    pooled = {ALL} if len(criteria) > 1 else set()
    wanted = None if criterion is None else criterion or NO_CRITERION
    _check("criterion", wanted, [*pooled, *(name or NO_CRITERION for name in sorted(criteria - pooled))])


def check_scenario(known: Collection[str], scenario: str | None) -> None:
    """Raise TiebreakError if a scenario, "" for items without one, is not known; None is any."""
    _check("scenario", None if scenario is None else scenario_name(scenario), [*map(scenario_name, sorted(known))])


def check_scenario_of_items(data: AlignmentData, scenario: str | None) -> None:
    """Raise TiebreakError if no item of the study has this scenario, "" for none; None is any."""
    check_scenario({name for name, _ in data.systems.values()}, scenario)


def _check(noun: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and known and name not in known:
        raise TiebreakError(f"There is no {noun} called {name!r} here; there are: {', '.join(known)}.")
