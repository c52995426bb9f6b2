"""What a study gives away: everything it holds as records, its gold labels, its labels as they stand."""

from collections.abc import Iterator

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.formats.records import (
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    Record,
    RulingRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    TraceRecord,
)
from core.items import Item
from core.labels import Kind
from storage import labels, studies, traces
from storage.database import reading
from storage.studies import Study
from storage.tables import ItemRow, RunRow, TraceRow


def records(engine: Engine, study: Study) -> Iterator[Record]:
    """Everything a study holds, in an order that can be read back; streamed."""
    with reading(engine) as session:
        yield StudyRecord(
            description=study.description, guidelines=study.guidelines, rules=study.rules, sample=study.sample
        )
        for criterion in studies.criteria(session, study.id):
            yield CriterionRecord(criterion=criterion)
        for (kind, name), scale in sorted(studies.scales(session, study.id).items()):
            yield ScaleRecord(kind=_kind(kind), criterion=name, scale=scale)
        query = select(col(ItemRow.body)).where(col(ItemRow.study_id) == study.id).order_by(col(ItemRow.position))
        for body in session.scalars(query.execution_options(yield_per=1000)):
            yield ItemRecord(item=Item.model_validate(body))
        yield from _runs(session, study.id)
        for label in labels.all_of(session, study.id):
            yield LabelRecord(label=label)
        yield from labels.marks(session, study.id)
        for ruling in labels.rulings(session, study.id):
            yield RulingRecord(ruling=ruling)


def _runs(session: Session, study_id: int) -> Iterator[Record]:
    rows = session.scalars(select(RunRow).where(col(RunRow.study_id) == study_id).order_by(col(RunRow.id))).all()
    for row in rows:
        yield RunRecord.model_validate(
            {
                "name": row.name,
                "protocol": row.protocol,
                "criterion": row.criterion,
                "settings": row.settings,
                "prompts": row.prompts,
                "seed": row.seed,
                "source": row.source,
                "created_at": row.created_at,
            }
        )
    for row in rows:
        found = (
            select(col(TraceRow.id), col(ItemRow.key))
            .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
            .where(col(TraceRow.run_id) == row.id)
            .order_by(col(ItemRow.position))
        )
        for trace_id, key in session.execute(found).all():
            yield TraceRecord(run=row.name, item=key, events=tuple(traces.whole(session, trace_id)))


def _kind(kind: str) -> Kind:
    return kind  # type: ignore[return-value]
