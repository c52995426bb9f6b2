"""Judges' answers about AIUs, critiques and refined answers. To be sent after the annotator's own label only."""

from collections.abc import Iterator

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.items import Item
from core.labels import Opinion, Target
from core.protocols import registry
from core.protocols.critique_baselines.protocol import CritiqueAsk, pair_name
from core.protocols.metacritique.evaluation import AiuJudgement, collect_judgements
from core.protocols.metacritique.protocol import replay_turns
from core.protocols.metacritique.settings import Settings
from core.trace import Event, Turn, TurnCompleted, VerdictReached
from storage import aius, runs, traces
from storage.labelling import critique_panels
from storage.labelling.judge_texts import find_references
from storage.labelling.response_order import PAIRS
from storage.labelling.work import Json, Task, Work
from storage.tables import ItemRow, RunRow, TraceRow

AiuOpinions = dict[Target, dict[str, Json]]
"""AIU -> judge -> its answer in its newest run."""


def about_aius(session: Session, study_id: int, item: Item) -> AiuOpinions:
    """Return the judges' answers about the AIUs of an item."""
    query = (
        select(col(TraceRow.id), col(TraceRow.run_id))
        .join(RunRow, col(RunRow.id) == col(TraceRow.run_id))
        .join(ItemRow, col(ItemRow.id) == col(TraceRow.item_id))
        .where(col(TraceRow.study_id) == study_id, col(ItemRow.key) == item.id)
        .where(col(RunRow.protocol).in_(registry.with_artifact("aius")))
        .order_by(col(RunRow.id))
    )
    answers: AiuOpinions = {}
    for trace_id, run_id in session.execute(query).all():
        events = [event for _, event in traces.events(session, trace_id)]
        run = runs.get(session, run_id)
        for target, answer in _aiu_answers(aius.evaluated_item(session, run, item), run.settings, events):
            answers.setdefault(target, {})[answer["judge"]] = answer
    return answers


def about_critiques(session: Session, work: Work, task: Task, item: Item) -> list[Json]:
    """Return the opinion of each judge about a critique or a pair in its newest run, with its reply."""
    opinions: dict[str, Json] = {}
    for trace in traces.of_target(session, work.study.id, task.target):
        asks = critique_panels.asks_of(session, trace, item)
        turns = {ask.judge: ask.turn for ask in asks if ask.step != "refine" and _part(ask) == task.target.part}
        events = [event for _, event in traces.events(session, trace.id)]
        for opinion in _verdict_opinions(events):
            if (opinion.kind, opinion.criterion, opinion.part) == _key(task.target):
                opinions.setdefault(opinion.judge, _opinion(work, opinion, turns.get(opinion.judge)))
    return list(opinions.values())


def _aiu_answers(item: Item, settings: object, events: list[Event]) -> Iterator[tuple[Target, Json]]:
    """Yield (AIU, answer) of a trace's verdict, with the rationale if the turns have one."""
    rationales = {(judgement.judge, judgement.target): judgement for judgement in _judgements(item, settings, events)}
    for opinion in _verdict_opinions(events):
        target = Target(item=item.id, kind=opinion.kind, part=opinion.part)
        if opinion.stage != "verdict":
            continue
        rationale = rationales.get((opinion.judge, target))
        answer = {
            "judge": opinion.judge,
            "value": opinion.value if isinstance(opinion.value, bool) else None,
            "problem": opinion.problem,
            "reason": rationale.reasoning if rationale is not None else opinion.reason,
            "evidence": rationale.evidence if rationale is not None else "",
        }
        yield target, answer


def _judgements(item: Item, settings: object, events: list[Event]) -> list[AiuJudgement]:
    """Replay a trace; an imported one may have settings that are invalid here, and gives none."""
    try:
        valid = Settings.model_validate(settings)
        turns = {event.ask: event.turn for event in events if isinstance(event, TurnCompleted)}
        return collect_judgements(replay_turns(item, valid, turns).evaluation)
    except (ValidationError, TiebreakError):
        return []


def _verdict_opinions(events: list[Event]) -> Iterator[Opinion]:
    for event in events:
        if isinstance(event, VerdictReached):
            yield from event.verdict.opinions


def _part(ask: CritiqueAsk) -> str:
    """Return the part of the target of an ask: a critique, or a pair."""
    return ask.critiques[0].id if len(ask.critiques) == 1 else pair_name(*ask.critiques)


def _key(target: Target) -> tuple[str, str, str]:
    return target.kind, target.criterion, target.part


def _opinion(work: Work, opinion: Opinion, turn: Turn | None) -> Json:
    reason = turn.reply.strip() if turn is not None else opinion.reason
    block = PAIRS.get(work.name)
    references = list(find_references(reason, turn.shown, 2, block)) if turn is not None and block else []
    return {
        "judge": opinion.judge,
        "value": opinion.value,
        "problem": opinion.problem,
        "reason": reason,
        "references": references,
    }
