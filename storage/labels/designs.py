"""The designs of a study in the database: their rounds, the draws stored with targets, and the queue that follows.

A draw follows from the stored rounds and the present state of a target (`core.designs`), so it is computed again where
outcomes change, in the same transaction, and two writers cannot store different draws.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, Select, and_, bindparam, case, delete, exists, func, or_, select, tuple_, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core import designs
from core.designs import Design, Form, State
from core.errors import TiebreakError
from core.formats.study_records import DesignRecord
from core.items import pair_parts
from core.labels import Kind, Scale, Value
from core.wording import report_criterion
from storage.db import audit
from storage.db.audit import Action
from storage.db.connections import execute, insert_missing
from storage.db.guards import QUEUE, reading_for
from storage.db.tables import (
    AdjudicationRow,
    DesignRow,
    ItemRow,
    OpinionRow,
    ScaleRow,
    StudyRow,
    TargetRow,
    TraceRow,
    now,
)
from storage.labels import targets
from storage.labels.targets import DISPUTED, TargetKey, own_outcome
from storage.studies import studies

if TYPE_CHECKING:
    import pandas as pd

# A kind and the stored name of a criterion.
Subject = tuple[str, str]
SUBJECT = ("study_id", "kind", "criterion")
KIND: Kind = "preference"
"""The only kind whose queue does not have every target without a design."""
FRAME_COLUMNS = ("item", "kind", "criterion", "part", "stratum", "probability", "drawn", "number")
# The first round that draws a target, whether it had a label before, and whether it has one.
ANSWERS = ("first", "chosen", "labelled")


class Drawn(NamedTuple):
    """The columns of a target that follow from its design; without one they are the defaults."""

    stratum: str = ""
    probability: float | None = None
    drawn: bool = False
    round: int | None = None


@dataclass(frozen=True)
class Stratum:
    """The targets of one stratum of a design."""

    name: str
    share: float
    targets: int
    drawn: int
    labelled: int
    """Of the drawn ones, those with a label; the others are missing."""
    chosen: int
    """Targets with a label that were not drawn: it has no probability, and no part in figures of all targets."""

    @property
    def missing(self) -> int:
        """Drawn targets without a label."""
        return self.drawn - self.labelled


def rounds(session: Session, study_id: int) -> dict[Subject, list[Design]]:
    """Return the rounds of each design of a study, oldest first."""
    rule = ("form", "seed", "shares", "by", "round", "cuts", "floor", "author", "created_at")
    columns: list[Any] = [getattr(DesignRow, name) for name in ("kind", "criterion", "before", "between_runs", *rule)]
    query = select(*columns).where(col(DesignRow.study_id) == study_id).order_by(col(DesignRow.round))
    found: dict[Subject, list[Design]] = defaultdict(list)
    for kind, criterion, before, between_runs, form, *others in session.execute(query):
        design = replace(Design(Form(form), *others), before=tuple(before), between_runs=between_runs)
        found[kind, criterion].append(design)
    return dict(found)


def current(session: Session, study_id: int) -> dict[Subject, Design]:
    """Return the newest round of the design of each kind and criterion that has one."""
    return {subject: own[-1] for subject, own in rounds(session, study_id).items()}


def add_rounds(session: Session, study_id: int, subject: Subject, added: Iterable[Design]) -> None:
    """Store rounds of a design that are not stored yet; the draws do not change with them."""
    kind, criterion = subject
    rows = [
        {"study_id": study_id, "kind": kind, "criterion": criterion, **asdict(one), "form": one.form.value}
        | {"shares": dict(one.shares), "cuts": dict(one.cuts), "before": list(one.before)}
        | {"created_at": one.created_at or now()}
        for one in added
    ]
    insert_missing(session, DesignRow, rows)


def records(session: Session, study_id: int) -> Iterator[DesignRecord]:
    """Yield the rounds of a study's designs as records, without their authors."""
    for (kind, criterion), own in sorted(rounds(session, study_id).items()):
        for one in own:
            fields = {name: value for name, value in vars(one).items() if name != "author"}
            yield DesignRecord.model_validate({"kind": kind, "criterion": criterion, **fields})


def add_records(session: Session, study_id: int, added: Iterable[DesignRecord]) -> None:
    """Add the rounds of a file; raises TiebreakError if the study has another design of the same name.

    Targets that had a label before a round in the file, or in the study, are stored with it.
    """
    stored = {(subject, one.round): one for subject, own in rounds(session, study_id).items() for one in own}
    for record in sorted(added, key=lambda record: record.round):
        subject, design = (record.kind, record.criterion), record.design()
        known = stored.setdefault((subject, record.round), design)
        if known.rule != design.rule:
            raise TiebreakError(
                f"The study has another design of labels on {record.criterion!r}; import the file into a new study."
            )
        add_rounds(session, study_id, subject, [design])
        if not set(design.before) <= set(known.before):
            _add_chosen(session, study_id, {(subject, record.round): set(design.before)})


def unlabelled_defaults(session: Session, study_id: int) -> set[Subject]:
    """Return the kinds and criteria whose design no person has chosen, and on which there is no label or decision."""
    own = {subject for subject, design in current(session, study_id).items() if not design.author}
    query = select(col(TargetRow.kind), col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id)
    return own - {(kind, name) for kind, name in session.execute(query.where(_is_decided(TargetRow)).distinct())}


def _is_decided(row: Any) -> Any:
    """Return the condition that a target has a label or an adjudication, as of gold from a file."""
    return or_(col(row.counted) > 0, exists().where(col(AdjudicationRow.target_id) == col(row.id)))


def forget_if_chosen(session: Session, study_id: int, subjects: Collection[Subject]) -> None:
    """Remove the designs of those with labels or gold of targets that were not drawn: how these were chosen is unknown.

    For the first labels of a criterion, if they come from a file.
    """
    query = select(col(TargetRow.kind), col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id)
    chosen = query.where(_is_decided(TargetRow), col(TargetRow.drawn).is_(False)).distinct()
    wrong = sorted({(kind, name) for kind, name in session.execute(chosen)} & set(subjects)) if subjects else []
    if not wrong:
        return
    for row in (DesignRow, TargetRow):
        is_wrong = tuple_(col(row.kind), col(row.criterion)).in_(wrong)
        change: Any = delete(row) if row is DesignRow else update(row).values(**Drawn()._asdict())
        own = change.where(col(row.study_id) == study_id, is_wrong)
        session.execute(own, execution_options={"synchronize_session": False})
    targets.mark_disputed_of_study(session, study_id)


# The draws of targets.

_SUBJECTS = (
    select(col(TargetRow.study_id), col(TargetRow.kind), col(TargetRow.criterion))
    .where(col(TargetRow.id).in_(bindparam("targets", expanding=True)))
    .distinct()
)


def apply(session: Session, target_ids: Collection[int]) -> None:
    """Draw targets again whose outcomes have changed, and put those that people label into the queue.

    The first verdicts on a criterion without a label, gold or a request make the study's default design.
    """
    if not target_ids:
        return
    targets.lock_targets(session, target_ids)
    own, subjects = {"targets": list(target_ids)}, defaultdict[int, set[Subject]](set)
    for study_id, kind, criterion in execute(session, _SUBJECTS, own):
        subjects[study_id].add((kind, criterion))
    with reading_for(QUEUE):
        for study_id, judged in subjects.items():
            known = rounds(session, study_id)
            _add_new(session, study_id, [criterion for kind, criterion in judged if kind == KIND], known)
            by_subject = {subject: known[subject] for subject in judged & known.keys()}
            if by_subject:
                _draw(session, study_id, by_subject, _states(session, study_id, by_subject, own["targets"]))
    targets.mark_disputed(session, target_ids)


def apply_to_study(session: Session, study_id: int) -> None:
    """Draw every target of a study again, with new ones for items that have none yet, and fill the queue."""
    by_subject = rounds(session, study_id)
    for (kind, criterion), own in by_subject.items():
        if kind == KIND and own[-1].draws_unjudged:
            create_pairs(session, study_id, criterion)
    if by_subject:
        with reading_for(QUEUE):
            _draw(session, study_id, by_subject, _states(session, study_id, by_subject))
    targets.mark_disputed_of_study(session, study_id)


def add_defaults(session: Session, study_id: int) -> None:
    """Store the default design of each criterion of imported verdicts without a label, gold and a request.

    Only if the study draws agreed pairs: files of earlier versions have no such share, and no design.
    """
    if not studies.by_id(session, study_id).rules.agreed_share:
        return
    query = select(col(TargetRow.criterion)).where(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == KIND)
    _add_new(session, study_id, session.scalars(query.distinct()).all(), rounds(session, study_id))


def _add_new(session: Session, study_id: int, criteria: Iterable[str], known: dict[Subject, list[Design]]) -> None:
    """Store the default design of criteria that have none, nor a label, gold or a request, and add it to `known`.

    One with a queue of all of its targets has none.
    """
    from core.protocols.critique_baselines.protocol import QUALITY, REFINED

    is_chosen = or_(_is_decided(TargetRow), col(TargetRow.overlap).is_not(None))
    for criterion in sorted({*criteria} - {QUALITY, REFINED}):
        own = _of_criterion(TargetRow, study_id, criterion)
        subject: Subject = (KIND, criterion)
        if subject in known or session.scalars(select(col(TargetRow.id)).where(*own, is_chosen).limit(1)).first():
            continue
        share = studies.by_id(session, study_id).rules.agreed_share
        design = designs.default_design(share, study_seed(session, study_id))
        add_rounds(session, study_id, subject, [design])
        known[subject] = rounds(session, study_id)[subject]  # another transaction may have been faster
        _record(session, study_id, subject, known[subject][-1])
        new = {subject: known[subject]}
        _draw(session, study_id, new, _states(session, study_id, new))


def study_seed(session: Session, study_id: int) -> int:
    """Return the seed of a study's default designs, which nobody can guess who sees the queue."""
    return int.from_bytes(studies.secret(session, study_id)[:4], "big") // 2


class _Known(NamedTuple):
    id: int
    number_key: str
    subject: Subject
    state: State
    stored: Drawn
    labelled: bool


def _states(
    session: Session,
    study_id: int,
    by_subject: Mapping[Subject, Sequence[Design]],
    target_ids: Collection[int] | None = None,
) -> list[_Known]:
    """Return the targets whose kind and criterion has a design, of a study or of some of its targets, with their
    present states.
    """
    query = _state_query(any(own[-1].form == Form.weighted for own in by_subject.values()), target_ids is not None)
    if len(by_subject) == 1:
        [(wanted, name)] = by_subject
        query = query.where(col(TargetRow.kind) == wanted, col(TargetRow.criterion) == name)
    has_scores = any(kind == "score" for kind, _ in by_subject)
    distant = _distant_scores(session, study_id, target_ids) if has_scores else set()
    found = []
    rows = execute(session, query, {"study": study_id, "targets": list(target_ids or ())})
    for id, kind, criterion, item, part, scenario, group, *others in rows:
        subject = (kind, criterion)
        if subject in by_subject:
            disputed, judged, uncertainty, differ, counted, *stored = others
            state = State(bool(disputed), bool(judged), scenario or "", group or "", uncertainty or 0.0)
            state = state._replace(between_runs=bool(differ) or id in distant)
            found.append(_Known(id, f"{item}:{part}", subject, state, Drawn(*stored), counted > 0))
    return found


def _distant_scores(session: Session, study_id: int, target_ids: Collection[int] | None) -> set[int]:
    """Return the targets with scores of two runs that differ by more than half of their scale, as in a dispute.

    Of these targets alone, if they are given: a run asks after each of its verdicts.
    """
    from core.verdicts import DISPUTE_THRESHOLD, contention, is_disputed  # a tenth of a second

    query = (
        select(col(TargetRow.id), col(ScaleRow.id), col(ScaleRow.body), col(OpinionRow.run_id), col(OpinionRow.value))
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .join(ScaleRow, and_(*(col(getattr(ScaleRow, name)) == col(getattr(TargetRow, name)) for name in SUBJECT)))
        .where(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == "score")
        .where(col(OpinionRow.stage) == "verdict", col(OpinionRow.value).is_not(None))
    )
    if target_ids is not None:
        query = query.where(col(TargetRow.id).in_(target_ids))
    scales: dict[int, Scale] = {}
    scores: dict[tuple[int, int], dict[int, Value]] = defaultdict(dict)
    for id, scale_id, body, run_id, value in session.execute(query):
        if scale_id not in scales:
            scales[scale_id] = Scale.model_validate(body)
        scores[id, scale_id][run_id] = value
    return {
        id
        for (id, scale_id), of_runs in scores.items()
        if is_disputed(contention(of_runs.values(), scales[scale_id]), DISPUTE_THRESHOLD)
    }


@cache  # to build the query takes longer than to execute it
def _state_query(weighted: bool, some: bool) -> Select[Any]:
    target = (col(TargetRow.id), col(TargetRow.kind), col(TargetRow.criterion))
    item = (col(ItemRow.key), col(TargetRow.part), col(ItemRow.scenario), col(ItemRow.cluster))
    verdict = exists().where(col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.stage) == "verdict")
    own = (col(TargetRow.stratum), col(TargetRow.probability), col(TargetRow.drawn), col(TargetRow.round))
    uncertainty = _uncertainty() if weighted else sql_cast(None, Integer)
    state = (targets.is_contested(), verdict.correlate(TargetRow), uncertainty, targets.runs_differ())
    columns = (*target, *item, *state, col(TargetRow.counted), *own)
    query = select(*columns).join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
    query = query.where(col(TargetRow.study_id) == bindparam("study", type_=Integer))
    return query.where(col(TargetRow.id).in_(bindparam("targets", expanding=True))) if some else query


def _uncertainty() -> Any:
    """Return the largest contention of the traces on the outer query's target, at least 1 if one is a dispute."""
    own = case((own_outcome().in_(DISPUTED), 1.0), else_=func.coalesce(col(TraceRow.contention), 0.0))
    largest = select(func.max(own)).select_from(OpinionRow).join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
    of_target = (col(OpinionRow.target_id) == col(TargetRow.id), col(OpinionRow.stage) == "verdict")
    return largest.where(*of_target).correlate(TargetRow).scalar_subquery()


def _draw(
    session: Session, study_id: int, by_subject: Mapping[Subject, Sequence[Design]], known: Sequence[_Known]
) -> None:
    """Store the draws of targets that differ from the stored ones."""
    changed: dict[Drawn, list[int]] = defaultdict(list)
    chosen: dict[tuple[Subject, int], set[str]] = defaultdict(set)
    for one in known:
        found = _drawn(by_subject[one.subject], one.number_key, one.state)
        if found != one.stored:
            changed[found].append(one.id)
            if one.labelled and one.stored.probability is not None and found.round and not one.stored.drawn:
                chosen[one.subject, found.round].add(one.number_key)
    _add_chosen(session, study_id, chosen)
    rows = [{"id": id, **found._asdict()} for found, ids in changed.items() for id in ids]
    if rows:
        session.execute(update(TargetRow), sorted(rows, key=lambda row: row["id"]))


def _add_chosen(session: Session, study_id: int, chosen: Mapping[tuple[Subject, int], set[str]]) -> None:
    """Store with a round the targets that it draws since they are in another stratum, and that had a label before."""
    if not chosen:
        return
    wanted = tuple_(col(DesignRow.kind), col(DesignRow.criterion), col(DesignRow.round)).in_(
        [(*subject, number) for subject, number in chosen]
    )
    query = select(DesignRow).where(col(DesignRow.study_id) == study_id, wanted).with_for_update()
    for row in session.scalars(query).all():
        row.before = sorted({*row.before, *chosen[(row.kind, row.criterion), row.round]})


def _drawn(own: Sequence[Design], key: str, state: State) -> Drawn:
    newest = own[-1]
    number, (stratum, probability, cut) = designs.permanent_number(newest.seed, key), newest.draw(state)
    is_drawn = number < cut
    return Drawn(stratum, probability, is_drawn, designs.first_round(own, number, state) if is_drawn else None)


# Changes of a design by people.


def set_design(
    session: Session,
    study_id: int,
    criterion: str,
    design: Design,
    sizes: Mapping[str, int] | None = None,
    kind: Kind = KIND,
) -> Design:
    """Store a round of the design of a criterion's pairs, or scores, draw, and fill the queue; return the round.

    `sizes`: stratum -> a fixed number of targets, which becomes its share. A design can be replaced until the first
    label on the criterion; from then on shares only grow. Labelled targets that the round is the first to draw are
    stored with it: somebody chose them. Raises TiebreakError for a design that cannot be drawn.
    """
    _lock(session, study_id)
    design, known, own = _prepared(session, study_id, criterion, design, sizes or {}, kind)
    subject = (kind, criterion)
    design = replace(design, author=audit.actor_name(), created_at=now(), round=1)
    chosen = [one for one in known if one.labelled]
    if own and chosen:
        design = designs.further_round(own[-1], design, [one.state for one in known])
    elif own:
        own = []
        session.execute(delete(DesignRow).where(*_of_criterion(DesignRow, study_id, criterion, kind)))
    all_rounds = [*own, design]
    # Of these the round is the first to draw them.
    first = [one.number_key for one in chosen if _drawn(all_rounds, one.number_key, one.state).round == design.round]
    design = replace(design, before=tuple(sorted(first)))
    add_rounds(session, study_id, subject, [design])
    _record(session, study_id, subject, design)
    session.get_one(StudyRow, study_id).removals += 1  # what was computed from the draws is out of date
    session.flush()
    _draw(session, study_id, {subject: [*own, design]}, known)
    targets.mark_disputed_of_study(session, study_id)
    return design


def with_sample(session: Session, study_id: int, criterion: str, count: int, seed: int) -> Design:
    """Return a round that draws `count` of all pairs of a criterion, beside what its present design draws.

    Without a design it has one stratum, or with disputes those of contention, of which every dispute is drawn.
    """
    present = current(session, study_id).get((KIND, criterion))
    known = _states_of_criterion(session, study_id, criterion, present or Design(Form.everything))
    numbers = sorted(designs.permanent_number(seed, one.number_key) for one in known)
    share, cut = min(1.0, count / len(numbers)) if numbers else 1.0, designs.cut_of(numbers, count)
    if present is None and any(one.state.disputed for one in known):
        present = designs.disputes_only()
    return designs.grown(present or Design(Form.random, shares={designs.WHOLE: 0.0}), seed, share, cut)


def preview(session: Session, study_id: int, criterion: str, design: Design, kind: Kind = KIND) -> list[Stratum]:
    """Return the strata that a design has, with the targets that it draws, and without their labels."""
    known = _states_of_criterion(session, study_id, criterion, design, kind)
    found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for one in known:
        draw = design.draw(one.state)
        is_drawn = designs.permanent_number(design.seed, one.number_key) < draw.cut
        found[draw.stratum].append((draw.probability, is_drawn))
    return [
        Stratum(name, max(share for share, _ in own), len(own), sum(drawn for _, drawn in own), 0, 0)
        for name, own in sorted(found.items())
    ]


def _prepared(
    session: Session, study_id: int, criterion: str, design: Design, sizes: Mapping[str, int], kind: Kind
) -> tuple[Design, list[_Known], list[Design]]:
    """Return a checked design with the shares of its sizes, all targets of the criterion, and the earlier rounds."""
    draws_unjudged = design.draws_unjudged or bool(sizes.get(designs.UNJUDGED))
    if kind == KIND and draws_unjudged and not create_pairs(session, study_id, criterion):
        raise TiebreakError("The study has no item with two responses.")
    known = _states_of_criterion(session, study_id, criterion, design, kind)
    if sizes:
        members: dict[str, list[float]] = defaultdict(list)
        for one in known:
            number = designs.permanent_number(design.seed, one.number_key)
            members[design.stratum(one.state)].append(number)
        design = designs.with_sizes(design, sizes, members)
    designs.check(design)
    return design, known, rounds(session, study_id).get((kind, criterion), [])


def _states_of_criterion(
    session: Session, study_id: int, criterion: str, design: Design, kind: Kind = KIND
) -> list[_Known]:
    with reading_for(QUEUE):
        return _states(session, study_id, {(kind, criterion): [design]})


def _of_criterion(row: Any, study_id: int, criterion: str, kind: Kind = KIND) -> tuple[Any, ...]:
    return col(row.study_id) == study_id, col(row.kind) == kind, col(row.criterion) == criterion


def _lock(session: Session, study_id: int) -> None:
    """Lock a study until the end of the transaction, also against new targets, traces and labels of it."""
    session.execute(select(col(StudyRow.id)).where(col(StudyRow.id) == study_id).with_for_update())


def _record(session: Session, study_id: int, subject: Subject, design: Design) -> None:
    audit.record(
        session, Action.settings, study_id=study_id, change="design of labels", kind=subject[0], criterion=subject[1],
        form=design.form.value, by=design.by, seed=design.seed, shares=dict(design.shares), round=design.round,
    )  # fmt: skip


def create_pairs(session: Session, study_id: int, criterion: str) -> int:
    """Add the pairs of a criterion that are no targets yet, and return the number of all of its pairs."""
    pairs = list(_pairs(session, study_id, criterion))
    targets.get_or_create_by_keys(session, study_id, pairs)
    return len(pairs)


def _pairs(session: Session, study_id: int, criterion: str) -> Iterator[TargetKey]:
    """Yield the pairs that were judged or labelled of each item, or all of its pairs if there are none."""
    query = select(col(TargetRow.item_id), col(TargetRow.part))
    known: dict[int, list[str]] = defaultdict(list)
    for item_id, part in session.execute(query.where(*_of_criterion(TargetRow, study_id, criterion))):
        known[item_id].append(part)
    responses = func.json_array_length(col(ItemRow.body)["responses"])
    items = select(col(ItemRow.id), col(ItemRow.key), responses).where(col(ItemRow.study_id) == study_id)
    for item_id, key, count in session.execute(items.order_by(col(ItemRow.position))):
        for part in known.get(item_id) or pair_parts(count):
            yield key, KIND, criterion, part


# What a design has come to.


def frame(session: Session, study_id: int) -> "pd.DataFrame | None":
    """Return the draw of each target of a kind and criterion with a design, by id; None without any design.

    Columns: item, kind, criterion (its name in reports), part, stratum, probability, drawn, and number, the permanent
    random number in (0, 1). Where a round drew targets that had a label before it, the probability is that of being
    drawn and labelled (`sample.answered`), and targets of a round with too few labels yet are not drawn.
    """
    by_subject = rounds(session, study_id)
    if not by_subject:
        return None
    import pandas as pd

    query = select(
        col(TargetRow.id), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part), col(ItemRow.key),
        col(ItemRow.scenario), col(ItemRow.cluster), col(TargetRow.stratum), col(TargetRow.probability),
        col(TargetRow.drawn), col(TargetRow.round), col(TargetRow.counted),
    ).join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))  # fmt: skip
    query = query.where(col(TargetRow.study_id) == study_id).order_by(col(TargetRow.id))
    chosen = {subject: {key for one in own for key in one.before} for subject, own in by_subject.items()}
    rows = []
    for id, kind, criterion, part, item, scenario, group, *stored, first, counted in session.execute(query):
        if (own := by_subject.get((kind, criterion))) is None:
            continue
        design = own[-1]
        number = designs.permanent_number(design.seed, f"{item}:{part}")
        stratum, probability, is_drawn = stored
        if probability is None:  # added since by a label or a mark, without a verdict
            stratum, probability, cut = design.draw(State(False, False, scenario or "", group or ""))
            is_drawn = number < cut
        draw = (id, item, kind, report_criterion(criterion), part, stratum, probability, is_drawn, number)
        rows.append((*draw, first or 0, f"{item}:{part}" in chosen[kind, criterion], counted > 0))
    found = pd.DataFrame(rows, columns=["id", *FRAME_COLUMNS, *ANSWERS])
    if found["chosen"].any():
        for places in found.groupby(["kind", "criterion", "stratum"]).groups.values():
            _answered(found, places)
    return found.drop(columns=list(ANSWERS)).set_index("id")


def _answered(found: "pd.DataFrame", places: Any) -> None:
    """Correct the draws of a stratum (rows at `places`) of which some targets had a label before they were drawn."""
    from core.statistics.data.sample import answered

    own = found.loc[places]
    if (own["drawn"] & own["chosen"]).any():
        first, *masks = (own[name].to_numpy() for name in ("first", "chosen", "drawn", "labelled"))
        drawn, share = answered(first, *masks)
        found.loc[places, "drawn"] = drawn
        found.loc[places, "probability"] *= share


def counts(session: Session, study_id: int, criterion: str, kind: Kind = KIND) -> list[Stratum]:
    """Return the strata of the design of a criterion's targets, in the order of their names; none without a design."""
    design = current(session, study_id).get((kind, criterion))
    if design is None:
        return []
    is_labelled = col(TargetRow.counted) > 0
    sums = (
        func.sum(case((condition, 1), else_=0))
        for condition in (
            col(TargetRow.drawn).is_(True),
            and_(col(TargetRow.drawn).is_(True), is_labelled),
            and_(col(TargetRow.drawn).is_(False), is_labelled),
        )
    )
    stratum: Any = col(TargetRow.stratum)
    if design.by == designs.CONTENTION:  # a label or a mark added a target that no judge has seen
        stratum = case((col(TargetRow.probability).is_(None), designs.UNJUDGED), else_=stratum).label("own")
    query = select(stratum, func.max(col(TargetRow.probability)), func.count(), *sums)
    rows = session.execute(query.where(*_of_criterion(TargetRow, study_id, criterion, kind)).group_by(stratum)).all()
    return [Stratum(name, share or 0.0, *map(int, numbers)) for name, share, *numbers in sorted(rows)]
