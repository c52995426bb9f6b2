"""What is offered for labelling: pairs on which judges agree or that nobody judged, and scales of scores and answers.

Every item can be scored on a criterion with a scale, without a judge's opinion.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from core.designs import Design, Form, composed
from core.errors import TiebreakError
from core.formats.study_records import CriterionRecord, ScaleRecord
from core.items import Criterion, Item
from core.labels import PREFERENCE, STEPS, Adjudication, Kind, Label, Scale, Target, Value
from core.protocols.registry import PROTOCOLS
from core.texts import _
from core.transcripts import ERROR_CATEGORY, FIRST_WRONG_STEP, step_part
from storage.db import audit
from storage.db.connections import batches
from storage.db.guards import QUEUE, reading_for
from storage.db.tables import OpinionRow, TargetRow, TraceRow
from storage.labelling.context import QUEUES, open_context, task_name
from storage.labelling.queue_view import open_view
from storage.labels import designs, labels, targets, views
from storage.runs import runs, trace_opinions
from storage.runs.traces import Trace
from storage.studies import items, studies, transcripts


def unseen_dispute(session: Session, study: studies.Study, annotator: str) -> str | None:
    """Return the opaque id of a task on which a debate ended in dispute, if the annotator's label of it would be blind.

    Of several the one with the most labels: a further one counts in the agreement. None if there is none.
    """
    work = open_context(session, "disagreements", study.name, annotator)
    query = (
        select(col(TargetRow.id))
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .where(col(TargetRow.id).in_(list(open_view(session, work).tab("todo"))))
        .where(col(OpinionRow.stage) == "verdict", targets.own_outcome() == "disputed")
        .order_by(col(TargetRow.counted).desc(), col(TargetRow.id))
    )
    with reading_for(QUEUE):
        disputed = list(session.scalars(query))
    seen = views.viewed(session, work.annotator_id, disputed)
    return next((task_name(work, target) for target in disputed if target not in seen), None)


# Pairs of responses that are offered to annotators although the judges agree on them, or have not judged them.

KIND: Kind = "preference"
IDS_IN_STATEMENT = 500


@dataclass(frozen=True)
class Offer:
    """The result of an offer."""

    added: int
    """Pairs that are in the annotators' queue now, and were not before."""
    drawn: int
    total: int
    """All pairs of the study on the criterion."""


def offered_criteria(session: Session, study_id: int) -> list[str]:
    """Return the criteria on which pairs can be offered: the study's, and those on which judges compared pairs."""
    judged = select(col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == KIND)
    names = {one.name for one in studies.criteria(session, study_id)} | set(session.scalars(judged.distinct()))
    return sorted(names - {queue.criterion for queue in QUEUES.values() if queue.criterion})


def check_criterion(session: Session, study_id: int, criterion: str) -> None:
    """Raise TiebreakError for a criterion on which pairs cannot be offered; declare the scale of one on which they can.

    `designs.set_design` then has a queue in which people can label.
    """
    names = offered_criteria(session, study_id)
    if criterion not in names:
        raise TiebreakError(
            f"The study has no criterion {criterion!r}; it has: {', '.join(names) or 'none; add it on Studies'}."
        )
    if (KIND, criterion) not in studies.scales(session, study_id):
        studies.declare_scale(session, study_id, ScaleRecord(kind=KIND, criterion=criterion, scale=PREFERENCE))


def request(session: Session, study: studies.Study, kind: str, criterion: str, target_ids: list[int]) -> int:
    """Add chosen targets of a kind and criterion to the annotators' queue; returns how many were not in it before.

    No draw explains them, so figures of all targets leave their labels out. Each added one gets the study's overlap.
    """
    if kind == KIND and (KIND, criterion) not in studies.scales(session, study.id):
        studies.declare_scale(session, study.id, ScaleRecord(kind=KIND, criterion=criterion, scale=PREFERENCE))
    added = _add(session, study, target_ids)
    audit.record(
        session, audit.Action.settings, study_id=study.id, change="targets sent to people", criterion=criterion,
        targets=len(target_ids), added=added,
    )  # fmt: skip
    return added


def _add(session: Session, study: studies.Study, target_ids: list[int]) -> int:
    """Set the overlap of targets that are not offered yet; returns how many these are."""
    added = 0
    for batch in batches(target_ids, IDS_IN_STATEMENT):
        statement = (
            update(TargetRow)
            .where(col(TargetRow.id).in_(batch), col(TargetRow.disputed).is_(False))
            .values(overlap=study.rules.overlap, disputed=True)
            .returning(col(TargetRow.id))
        )
        added += len(session.scalars(statement, execution_options={"synchronize_session": False}).all())
    return added


def change_design(
    session: Session,
    study: studies.Study,
    criterion: str,
    *,
    form: Form | None = None,
    by: str = "",
    shares: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] | None = None,
    seed: int | None = None,
    kind: Kind = KIND,
) -> Design:
    """Change the design of a criterion's pairs, or of its scores; what is not given stays as it is.

    `shares`: stratum -> probability. `sizes`: stratum -> a number of pairs in all. Raises TiebreakError if the study
    has no such criterion, or for a design that cannot be drawn.
    """
    if kind == "score":
        _check_scores(session, study.id, criterion)
    else:
        check_criterion(session, study.id, criterion)
    present = designs.current(session, study.id).get((kind, criterion))
    wanted = composed(present, form, by, shares or {}, seed)
    return designs.set_design(session, study.id, criterion, wanted, sizes, kind)


def _check_scores(session: Session, study_id: int, criterion: str) -> None:
    """Raise TiebreakError for a criterion without a scale for scores; of others every item gets its scores."""
    scale = scales(session, study_id).get(("score", criterion))
    if scale is None:
        raise TiebreakError(_("The study has no scores on {criterion!r}.", criterion=criterion))
    create_targets(session, study_id, "score", criterion, scale)


def draw_more(session: Session, study: studies.Study, criterion: str, labels: Mapping[str, int]) -> Design:
    """Draw so many further pairs of each stratum that people have not labelled; waiting ones are counted among them.

    Raises TiebreakError as `change_design`, also if the design has other strata.
    """
    counted = designs.counts(session, study.id, criterion)
    sizes = {one.name: max(one.drawn, one.labelled + labels.get(one.name, 0)) for one in counted}
    return change_design(session, study, criterion, sizes=sizes or labels)


def offer(
    session: Session, study: studies.Study, criterion: str, *, count: int | None = None, seed: int | None = None
) -> Offer:
    """Add pairs on a criterion to the annotators' queue: `count` of all pairs, drawn at random, or every pair for None.

    It is a round of the criterion's design: what is in the queue by its present design stays there. A larger sample
    contains the smaller one. Raises TiebreakError if the study has no such criterion, or no item with two responses, or
    if pairs were drawn with another seed.
    """
    check_criterion(session, study.id, criterion)
    total, before = designs.create_pairs(session, study.id, criterion), _count_offered(session, study.id, criterion)
    present = designs.current(session, study.id).get((KIND, criterion))
    if seed is None:
        seed = present.seed if present is not None else 0
    if count is None:
        design = Design(Form.everything, seed)
    else:
        design = designs.with_sample(session, study.id, criterion, count, seed)
    if present is None or design.rule != present.rule:
        designs.set_design(session, study.id, criterion, design)
    added = _count_offered(session, study.id, criterion) - before
    return Offer(added, total if count is None else min(count, total), total)


def offer_on_new(session: Session, study: studies.Study, criterion: str) -> Offer:
    """Add a criterion to the study, and every pair on it to the queue; raises TiebreakError as `offer` does."""
    if not criterion:
        raise TiebreakError(_("A criterion needs a name."))
    studies.add_criterion(session, study.id, CriterionRecord(criterion=Criterion(name=criterion)))
    return offer(session, study, criterion)


def _count_offered(session: Session, study_id: int, criterion: str) -> int:
    query = select(func.count()).where(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == KIND)
    query = query.where(col(TargetRow.criterion) == criterion, col(TargetRow.disputed).is_(True))
    return session.scalars(query).one()


# Scores and answers of every item, on a criterion and its scale.

# A kind and a criterion.
ScaleKey = tuple[Kind, str]


def scales(session: Session, study_id: int) -> dict[ScaleKey, Scale]:
    """Return the scales of scores and answers: those of the runs, of the study's criteria, and declared ones."""
    scales: dict[ScaleKey, Scale] = {}
    with reading_for(QUEUE):  # the scales of the runs tell nothing of the opinions
        found = runs.of_study(session, study_id)
    for run in found:
        scales |= _run_scales(run)
    criteria = studies.criteria(session, study_id)
    scales |= {("score", criterion.name): criterion.scale for criterion in criteria if criterion.scale}
    declared = studies.scales(session, study_id)
    if transcripts.has_any(session, study_id):
        scales["answer", FIRST_WRONG_STEP] = STEPS
    scales |= {key: scale for key, scale in declared.items() if key[0] in ("score", "answer")}
    return dict(sorted(scales.items(), key=lambda pair: (pair[0][0] != "score", pair[0][1])))


def _run_scales(run: runs.Run) -> dict[ScaleKey, Scale]:
    """Return the scales of a run's scores or answers.

    An imported run may have any settings and protocol: then it is the scale of the criterion in them, if there is one.
    """
    try:
        protocol = PROTOCOLS[run.protocol]
        return dict(protocol.scales(protocol.settings.model_validate(run.settings)))
    except (KeyError, TiebreakError, ValidationError):
        pass
    try:
        criterion = Criterion.model_validate(run.settings["criterion"])
    except (ValidationError, LookupError, TypeError):
        return {}
    return {("score", criterion.name): criterion.scale} if criterion.scale else {}


def create_targets(session: Session, study_id: int, kind: Kind, criterion: str, scale: Scale) -> None:
    """Add the targets that are missing, so every item of the study can be labelled on a criterion."""
    if (kind, criterion) not in studies.scales(session, study_id):
        studies.declare_scale(session, study_id, ScaleRecord(kind=kind, criterion=criterion, scale=scale))
    existing = {t.item for _, t in targets.of_study(session, study_id) if (t.kind, t.criterion) == (kind, criterion)}
    if (kind, criterion) == ("answer", ERROR_CATEGORY):
        named = wrong_steps(session, study_id)
        new = [Target(item=item, kind=kind, criterion=criterion, part=part) for item, part in sorted(named)]
    else:
        missing = [item for item in items.of_study(session, study_id) if item.id not in existing]
        new = [target for item in missing for target in item_targets(item, kind, criterion)]
    if new:
        targets.get_or_create_ids(session, study_id, new)


def wrong_steps(session: Session, study_id: int) -> set[tuple[str, str]]:
    """Return the item and the part of each step that an annotator or an adjudicator named as the first wrong one."""
    given: list[Label | Adjudication] = [*labels.of_study(session, study_id), *labels.adjudications(session, study_id)]
    return {
        (own.target.item, step_part(int(own.value), own.target.part))
        for own in given
        if (own.target.kind, own.target.criterion) == ("answer", FIRST_WRONG_STEP)
        and isinstance(own.value, int | float)
        and own.value
    }


def item_targets(item: Item, kind: Kind, criterion: str) -> list[Target]:
    """Return one target for the item, or for a score one for each of several responses, with its number as part.

    The first wrong step is asked for of each response with a transcript.
    """
    if (kind, criterion) == ("answer", FIRST_WRONG_STEP):
        numbers = [number for number, response in enumerate(item.responses, 1) if response.transcript]
        parts = [str(number) if len(item.responses) > 1 else "" for number in numbers]
        return [Target(item=item.id, kind=kind, criterion=criterion, part=part) for part in parts]
    is_whole = kind == "answer" or len(item.responses) < 2
    parts = [""] if is_whole else [str(number) for number in range(1, len(item.responses) + 1)]
    return [Target(item=item.id, kind=kind, criterion=criterion, part=part) for part in parts]


# The criteria of traces: those of a study, and the one of a trace with several that needs a label most.


def criterion_to_label(session: Session, trace: Trace) -> str:
    """Return the criterion to begin with when the trace is labelled: the run's, or the first one without agreement.

    There is no agreement on a criterion if its verdict has no value or the judges' last opinions on it differ. If they
    agree on all criteria, it is the first; empty if the verdict has none.
    """
    if trace.criterion:
        return trace.criterion
    query = (
        select(col(TargetRow.criterion), col(TargetRow.kind), col(TargetRow.part), col(OpinionRow.stage))
        .add_columns(col(OpinionRow.value))
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .where(col(OpinionRow.trace_id) == trace.id, col(OpinionRow.stage).in_(("verdict", "last")))
        .order_by(col(OpinionRow.id))
    )
    criteria: dict[str, bool] = {}
    last: dict[tuple[str, ...], Value] = {}
    for criterion, kind, part, stage, value in session.execute(query):
        is_open = (
            value is None
            if stage == "verdict"
            else value is not None and (last.setdefault((criterion, kind, part), value) != value)
        )
        criteria[criterion] = criteria.get(criterion, False) or is_open
    return next((name for name, is_open in criteria.items() if is_open), next(iter(criteria), ""))


@reading_for(QUEUE)
def judged_criteria(session: Session, study_id: int) -> list[str]:
    """Return the names of the criteria of a study's runs and of their verdicts, sorted."""
    study_runs = runs.of_study(session, study_id)
    criteria = {run.criterion for run in study_runs if run.criterion}
    if any(isinstance(run.settings, dict) and run.settings.get("criteria") for run in study_runs):
        criteria.update(trace_opinions.verdict_criteria(session, study_id))
    return sorted(criteria)
