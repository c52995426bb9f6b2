"""Metrics of texts as judges: their scores against the items' references become the verdicts of a run of their own."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core import text_metrics
from core.errors import TiebreakError
from core.formats.mapping.judges import convert
from core.formats.records import Record, RunRecord, TraceRecord
from core.items import Item, pair_numbers, pair_parts
from core.labels import PREFERENCE, Kind, Opinion, Scale, Value
from core.trace import Outcome, Verdict, VerdictReached
from storage.db.connections import reading
from storage.db.tables import TargetRow
from storage.runs import runs
from storage.studies import items, studies
from storage.studies.studies import Study
from storage.transfer import imports
from storage.transfer.imports import ImportCounts

UNIT = Scale(level="interval", low=0.0, high=1.0)
NO_REFERENCE = "the item has no reference"


def add_run(engine: Engine, study: Study, metric: str, name: str = "") -> ImportCounts:
    """Score every response with a metric, and store the scores as an imported run.

    On an item with one response a score is moved linearly from 0 to 1 onto the scale of each criterion for scores; on
    one with several the higher score of each pair is the preference on each criterion for preferences. Raises
    TiebreakError if the metric is not installed, no item has a reference, or the study has a run of this name.
    """
    with reading(engine) as session:
        found = items.of_study(session, study.id)
        names = {run.name for run in runs.of_study(session, study.id)}
        targets = _targets(session, study.id)
    scorer, library = text_metrics.load(metric)
    named = name or text_metrics.METRICS[metric].title
    if named in names:
        raise TiebreakError(f"The study has a run called {named!r}; name another one.")
    referenced = [item for item in found if item.reference and item.responses]
    if not referenced:
        raise TiebreakError("No item has a reference and a response, which a metric compares.")
    pairs = [(response.text, item.reference or "") for item in referenced for response in item.responses]
    scores = iter(scorer(*map(list, zip(*pairs, strict=True))))
    by_item = {item.id: [next(scores) for _ in item.responses] for item in referenced}
    kind = "preference" if all(len(item.responses) > 1 for item in referenced) else "score"
    settings = {"judge": {"name": named, "spec": {"model": library}}}
    protocol = "single-judge" if kind == "preference" else "single-score"
    records: list[Record] = [RunRecord(name=named, protocol=protocol, settings=settings)]
    for item in found:
        for part in pair_parts(len(item.responses)) or [""]:
            opinions = _opinions(item, part, by_item.get(item.id, ()), named, targets)
            if not opinions:
                continue
            outcome: Outcome = "agreed" if item.id in by_item else "no_verdict"
            value = opinions[0].value if len(opinions) == 1 else None
            verdict = Verdict(outcome=outcome, value=value, opinions=opinions, reason=opinions[0].problem)
            records.append(TraceRecord(run=named, item=item.id, part=part, events=(VerdictReached(verdict=verdict),)))
    if len(records) == 1:
        raise TiebreakError("The study has no criterion for scores, or for preferences, that its items fit.")
    return imports.import_records(engine, study.name, records)


def _targets(session: Session, study_id: int) -> dict[tuple[Kind, str], Scale]:
    """Return the scale of each (kind, criterion) of a study: of scores, and of preferences that it has targets for."""
    query = select(col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id)
    found = session.execute(
        query.add_columns(col(TargetRow.part)).where(col(TargetRow.kind) == "preference").distinct()
    )
    compared = {criterion for criterion, part in found if not part or pair_numbers(part)}
    of_scores = {key: scale for key, scale in studies.scales_of_labels(session, study_id).items() if key[0] == "score"}
    return of_scores | {("preference", criterion): PREFERENCE for criterion in sorted(compared)}


def _opinions(
    item: Item, part: str, scores: Sequence[float], judge: str, targets: Mapping[tuple[Kind, str], Scale]
) -> tuple[Opinion, ...]:
    """Return the verdict on each criterion for the response or the pair of the part; without scores it has none."""
    wanted = "preference" if len(item.responses) > 1 else "score"
    first, second = pair_numbers(part) or (1, 2)
    opinions = []
    for (kind, criterion), scale in targets.items():
        if kind != wanted:
            continue
        value: Value | None = None
        if len(scores) > 1:
            one, other = scores[first - 1], scores[second - 1]
            value = 0 if one == other else 1 + (other > one)
        elif scores:
            value = convert(scores[0], UNIT, scale)
        problem = "" if scores else NO_REFERENCE
        opinions.append(
            Opinion(
                kind=kind, judge=judge, stage="verdict", value=value, criterion=criterion, part=part, problem=problem
            )
        )
    return tuple(opinions)
