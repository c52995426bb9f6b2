"""The alignment of each judge with the annotators of a study.

A judge is a method with its verdicts, or one of its members with its last and first opinions. A name that judged the
same target in several runs, or with several models, is a separate judge for each run.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from core.critiques import RECALL_SEPARATOR
from core.items import Item
from core.labels import Scale
from core.pairs import pair_item
from core.statistics.reports.alignment import AlignmentRow, By, alignment_rows
from storage import database, items, runs
from storage.reports import derived_preferences, order_consistency, references
from storage.reports.judge_families import judge_model, own_responses
from storage.reports.opinions import RaterPanel, annotator_panel, find_scales, opinion_frame, shown_orders
from storage.reports.references import Reference
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd

STAGE_RANK = {"verdict": 0, "last": 1, "first": 2}
FIRST_OPINION = ", first opinion"
TIE, AS_TIE = 0, "_no_verdict_as_tie"
AS_TIE_NOTE = "no verdict is counted as a tie here, to compare with papers that do so"
TARGET = ["item", "kind", "criterion", "part"]
Scales = Mapping[tuple[str, str], Scale]


@dataclass(frozen=True)
class AlignmentData:
    """Labels, opinions and gold of a study, one per row."""

    labels: "pd.DataFrame"
    """Current labels: item, scenario, group, kind, criterion, part, rater, value."""
    opinions: "pd.DataFrame"
    """The same with `judge`; also run, stage and, if they are known, system, critique, shown_first, longer, own, and
    `length_gap`: the length of the longer response over that of the shorter one."""
    gold: "pd.DataFrame"
    """The values of the reference: see `storage.reports.references.frame`."""
    scales: Scales
    reference: Reference
    marks: Mapping[str, str]
    """Judge -> a caveat of its comparison with this reference: a model that is on both sides."""


def rows(
    engine: Engine, study: Study, by: By = "all", *, reference: str | None = None, resamples: int = 1000
) -> list[AlignmentRow]:
    """Return every statistic of every judge, one per row; `reference` is written as in `references.FORMS`.

    Raises TiebreakError for a reference that the study does not have.
    """
    data = load_data(engine, study, reference)
    statistics = [row for part in split_averages(data) for row in _rows(part, by, resamples)]
    with database.reading(engine) as session:
        consistency = order_consistency.rows(session, study.id, data.opinions, by)
    return [_mark(row, data) for row in [*statistics, *_rows_with_ties(data, by, resamples), *consistency]]


def load_data(engine: Engine, study: Study, reference: str | None = None) -> AlignmentData:
    """Return the labels and opinions of a study, and the values of a reference.

    The verdicts and opinions of a debate that is the reference are left out: they would be compared with themselves.
    """
    with database.reading(engine) as session:
        chosen = references.resolve(session, study.id, reference)
        panel = annotator_panel(session, study)
        opinions = opinion_frame(session, study.id)
        scales = find_scales(session, study, [panel, RaterPanel(opinions[opinions["value"].notna()])])
        if chosen.type == "debate":
            own = {run.id for run in runs.of_study(session, study.id) if run.name == chosen.name}
            opinions = opinions[~opinions["run"].isin(own)]
        opinions = _with_judge_names(session, study.id, opinions)
        gold = references.frame(session, study.id, chosen, scales)
        items_by_id = {item.id: item for item in items.of_study(session, study.id)}
        labels, opinions, gold = derived_preferences.add(panel.values, opinions, gold, items_by_id)
        opinions = _with_responses(session, study, opinions, items_by_id)
        marks = _shared_model_marks(session, study.id, chosen, opinions)
    return AlignmentData(labels, opinions, gold, scales, chosen, marks)


def _shared_model_marks(
    session: Session, study_id: int, reference: Reference, opinions: "pd.DataFrame"
) -> dict[str, str]:
    """Return judge -> a note on the models that are also on the panel of the reference's debate."""
    if opinions.empty:
        return {}
    models = {
        str(judge): references.shared_models(session, study_id, reference, runs_of_judge.unique().tolist())
        for judge, runs_of_judge in opinions.groupby("judge")["run"]
    }
    return {judge: f"{', '.join(shared)} is on the debate's panel too" for judge, shared in models.items() if shared}


def _mark(row: AlignmentRow, data: AlignmentData) -> AlignmentRow:
    """Return the row with its reference in words."""
    if not row.reference:
        return row
    parts = (f"{data.reference}: {row.reference}", data.marks.get(row.judge))
    return replace(row, reference="; ".join(filter(None, parts)))


def _rows(data: AlignmentData, by: By, resamples: int) -> list[AlignmentRow]:
    if data.opinions.empty:
        return []
    return alignment_rows(data.labels, data.opinions, scales=data.scales, gold=data.gold, by=by, resamples=resamples)


def _rows_with_ties(data: AlignmentData, by: By, resamples: int) -> list[AlignmentRow]:
    """Return accuracy and kappa with a missing verdict as a tie, named so: some papers report these."""
    opinions = data.opinions[data.opinions["kind"] == "preference"] if len(data.opinions) else data.opinions
    incomplete = set(opinions.loc[opinions["value"].isna(), "judge"]) if len(opinions) else set()
    affected = opinions[opinions["judge"].isin(incomplete)] if len(opinions) else opinions
    filled = affected.assign(value=affected["value"].where(affected["value"].notna(), TIE))
    return [
        replace(row, statistic=row.statistic + AS_TIE, reason="; ".join(filter(None, (AS_TIE_NOTE, row.reason))))
        for row in _rows(replace(data, opinions=filled), by, resamples)
        if row.statistic in ("accuracy_gold", "cohen_kappa_gold")
    ]


def split_averages(data: AlignmentData) -> Iterator[AlignmentData]:
    """Separate the judges whose scores are means: 2.5 is not a category of 1, 2, 3, and not a missing value."""
    opinions = data.opinions
    between = _is_between_categories(opinions, data.scales)
    columns = (opinions["judge"], opinions["kind"], opinions["criterion"])
    averaging = set(zip(*(column[between] for column in columns), strict=True))
    is_average = [key in averaging for key in zip(*columns, strict=True)]
    yield replace(data, opinions=opinions[[not average for average in is_average]])
    if any(is_average):
        scales = {key: _continuous(scale) for key, scale in data.scales.items()}
        yield replace(data, opinions=opinions[is_average], scales=scales)


def _is_between_categories(opinions: "pd.DataFrame", scales: Scales) -> list[bool]:
    columns = zip(opinions["kind"], opinions["criterion"], opinions["value"], strict=True)
    values = [(scales.get((kind, criterion)), value) for kind, criterion, value in columns]
    return [scale is not None and not scale.contains(value) and scale.covers(value) for scale, value in values]


def _continuous(scale: Scale) -> Scale:
    """Return an interval scale with the same ends; the scale itself if it is not one of numbers."""
    ends = [category for category in scale.categories if isinstance(category, int | float)]
    ends = [end for end in ends if not isinstance(end, bool)]
    if len(ends) < max(len(scale.categories), 1):
        return scale
    return Scale(level="interval", low=min(ends), high=max(ends))


def _with_judge_names(session: Session, study_id: int, opinions: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row for each judge and target; a verdict replaces a last opinion of the same judge."""
    is_first = opinions["stage"] == "first"
    suffix = is_first.map({True: FIRST_OPINION, False: ""})
    opinions = opinions.assign(judge=opinions["rater"] + suffix, rank=opinions["stage"].map(STAGE_RANK))
    opinions = opinions.sort_values("rank", kind="stable").drop_duplicates(["run", "judge", *TARGET]).sort_index()
    if opinions.empty:
        return opinions
    separate = _raters_by_run(session, study_id, opinions)
    run_names = {run.id: run.name for run in runs.of_study(session, study_id)}
    judges = [
        f"{name} · {run_names[run]}" if rater in separate else name
        for name, rater, run in zip(opinions["judge"], opinions["rater"], opinions["run"], strict=True)
    ]
    return opinions.assign(judge=judges)


def _raters_by_run(session: Session, study_id: int, opinions: "pd.DataFrame") -> set[str]:
    """Return the raters that are a separate judge in each run: with other models, or on the same targets again."""
    once = opinions.drop_duplicates(["rater", "run", *TARGET])
    repeated = set(once["rater"][once.duplicated(["rater", *TARGET])])
    models: dict[str, set[str]] = defaultdict(set)
    settings = {run.id: run.settings for run in runs.of_study(session, study_id)}
    for rater, run in opinions[["rater", "run"]].drop_duplicates().itertuples(index=False):
        models[rater].add(judge_model(settings.get(run), rater))
    return repeated | {rater for rater, used in models.items() if len(used) > 1}


def _with_responses(
    session: Session, study: Study, opinions: "pd.DataFrame", items_by_id: Mapping[str, Item]
) -> "pd.DataFrame":
    """Add system, critique, shown_first, longer, length_gap and own, if they apply to the kind of opinion."""
    import pandas as pd

    if opinions.empty:
        return opinions
    orders = _first_shown(session, study.id)
    systems, critiques, first, longer, gaps = [], [], [], [], []
    columns = (opinions[name] for name in ("trace", "item", "kind", "part"))
    for trace, key, kind, part in zip(*columns, strict=True):
        responses = (pair_item(items_by_id[key], part) if kind == "preference" else items_by_id[key]).responses
        systems.append(responses[0].system if kind == "score" and len(responses) == 1 else None)
        critique = part.partition(RECALL_SEPARATOR)[2] or part.rpartition(".")[0]
        critiques.append(f"{key}\n{critique}" if kind.startswith("aiu_") else None)
        is_pair = kind == "preference" and len(responses) == 2
        first.append(orders.get(trace) if is_pair else None)
        lengths = [len(response.text) for response in responses]
        longer.append(_longer(*lengths) if is_pair else None)
        gaps.append(max(lengths) / max(min(lengths), 1) if is_pair else None)
    return opinions.assign(
        system=pd.Series(systems, index=opinions.index, dtype=object),
        critique=pd.Series(critiques, index=opinions.index, dtype=object),
        shown_first=pd.Series(first, index=opinions.index, dtype=float),
        longer=pd.Series(longer, index=opinions.index, dtype=float),
        length_gap=pd.Series(gaps, index=opinions.index, dtype=float),
        own=pd.Series(own_responses(session, study, opinions, items_by_id), index=opinions.index, dtype=float),
    )


def _longer(first: int, second: int) -> int:
    """Return the number of the longer response, 1 or 2; 0 for equal lengths."""
    return 0 if first == second else 1 if first > second else 2


def _first_shown(session: Session, study_id: int) -> dict[int, int]:
    """Return trace id -> the response that was shown first, if it was the same in every turn."""
    first: dict[int, set[int]] = defaultdict(set)
    for trace, order in shown_orders(session, study_id):
        if order:
            first[trace].add(order[0])
    return {trace: responses.pop() for trace, responses in first.items() if len(responses) == 1}
