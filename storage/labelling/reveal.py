"""The reveal after a label: the stances of the judges, their reasons, and their references and quotations."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from pydantic import ValidationError
from rapidfuzz import fuzz
from sqlalchemy import Integer, Select, Text, bindparam, cast, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.items import Item
from core.labels import Opinion, Target, Value
from core.own_addresses import own_address
from core.protocols import registry
from core.protocols.critique_baselines.protocol import CritiqueAsk, pair_name
from core.protocols.metacritique.protocol import AiuJudgement, collect_judgements, replay_turns
from core.protocols.metacritique.settings import Settings
from core.protocols.registry import PROTOCOLS
from core.trace import Event, Turn, TurnCompleted, Verdict, VerdictReached, current_numbered_events
from core.verdicts import criterion_outcomes, list_stances
from storage.db.connections import execute
from storage.db.guards import REVEAL, reading_for
from storage.db.tables import EventRow, ItemRow, OpinionRow, RunRow, TraceRow
from storage.labelling import critique_panels, response_order
from storage.labelling.blocks import response_blocks
from storage.labelling.context import Json, Task, Work
from storage.labelling.response_order import PAIRS
from storage.runs import aius, aspects, runs, traces
from storage.runs.events import parse_event
from storage.runs.traces import Trace, trace_of_row, trace_query

# Texts of judges: their first sentence, the responses that they refer to, and the passages that they quote.

REFERENCE = re.compile(
    r"\b(?:submission|response|assistant|answer|candidate|critique)\s+(?:#|no\.\s*)?([12AB])\b", re.IGNORECASE
)
QUOTATION = re.compile(r"“([^”]{8,300})”|\"([^\"]{8,300})\"|«([^»]{8,300})»")
"""Minimum length of a quotation; a shorter one may occur by chance."""
SIMILAR = 90.0
"""The minimum similarity, in percent, of a quotation and the quoted passage."""
REASON_LENGTH = 200


def first_sentence(text: str) -> str:
    """Return the beginning of a text: its first line up to the end of the first sentence with content."""
    line = text.split("\n", 1)[0]
    end = next((match.end() for match in re.finditer(r"[.!?](?=\s|$)", line) if match.end() > 20), len(line))
    return line[: min(end, REASON_LENGTH)]


def find_references(text: str, shown: Sequence[int], responses: int, block: str = "response") -> Iterator[Json]:
    """Yield the places where a judge wrote "Submission 1" and the like, with the block of the referenced text.

    `shown` has the number of the response at each place of the prompt.
    """
    order = tuple(shown) or tuple(range(1, responses + 1))
    for match in REFERENCE.finditer(text) if len(order) > 1 else ():
        place = {"1": 0, "A": 0, "2": 1, "B": 1}[match[1].upper()]
        if place < len(order):
            yield {"start": match.start(), "end": match.end(), "column": f"{block}-{order[place]}"}


def find_quotations(text: str, item: Item) -> Iterator[Json]:
    """Yield the passages of the responses that a judge quotes, allowing a few different characters."""
    for match in QUOTATION.finditer(text):
        quotation = next(group for group in match.groups() if group)
        passages = [_locate(quotation, number, response.text) for number, response in enumerate(item.responses, 1)]
        located = [passage for passage in passages if passage is not None]
        if located:
            yield max(located, key=lambda pair: pair[0])[1]


def _locate(quotation: str, number: int, text: str) -> tuple[float, Json] | None:
    """Return the similarity and the place of a quotation in a response; None if it does not occur."""
    exact = text.find(quotation)
    if exact >= 0:
        return 101.0, {"block": f"response-{number}", "start": exact, "end": exact + len(quotation)}
    if len(text) < len(quotation):  # the alignment would find the text in the quotation
        return None
    alignment = fuzz.partial_ratio_alignment(quotation, text, score_cutoff=SIMILAR)
    if alignment is None:
        return None
    return alignment.score, {"block": f"response-{number}", "start": alignment.dest_start, "end": alignment.dest_end}


# Judges' answers about AIUs, critiques and refined answers. To be sent after the annotator's own label only.

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


# Traces with their events and the settings of their runs, as they are shown after a label.


@dataclass(frozen=True)
class Debate:
    """A trace with its events and the settings of its run."""

    trace: Trace
    settings: Mapping[str, object]
    events: Sequence[tuple[int, Event]]
    """See `storage.runs.traces.events`."""


def debate_of_target(session: Session, target_id: int) -> list[Debate]:
    """Return the traces that judged a target with their events, newest run first."""
    rows = execute(session, _traces_query(), {"target": target_id}).all()
    events_by_trace: dict[int, list[tuple[int, Event]]] = defaultdict(list)
    for trace_id, seq, body in execute(session, _events_query(), {"traces": [row[0] for row in rows]}):
        events_by_trace[trace_id].append((seq, parse_event(body)))
    return [Debate(trace_of_row(row[:-1]), row[-1], current_numbered_events(events_by_trace[row[0]])) for row in rows]


@cache  # to build the queries takes longer than to execute them
def _traces_query() -> Select[*tuple[Any, ...]]:
    target = bindparam("target", type_=Integer)
    judged = select(col(OpinionRow.trace_id)).where(col(OpinionRow.target_id) == target)
    query = trace_query(None).add_columns(col(RunRow.settings)).where(col(TraceRow.id).in_(judged))
    return query.order_by(col(RunRow.id).desc())


@cache
def _events_query() -> Select[*tuple[Any, ...]]:
    traces = bindparam("traces", type_=Integer, expanding=True)
    query = select(col(EventRow.trace_id), col(EventRow.seq), cast(col(EventRow.body), Text))
    return query.where(col(EventRow.trace_id).in_(traces)).order_by(col(EventRow.trace_id), col(EventRow.seq))


OUTCOMES = {"agreed": "Agreed", "disputed": "No consensus", "no_verdict": "No verdict"}


@reading_for(REVEAL)
def reveals(session: Session, work: Work, task: Task, item: Item, wanted: Collection[Target]) -> dict[Target, Json]:
    """Return the reveals of targets of a task that the annotator has labelled. To be sent after the labels only.

    If no judge has an opinion, there is no reveal.
    """
    if work.name == "aius":
        opinions = about_aius(session, work.study.id, item)
        return {target: {"opinions": list(opinions[target].values())} for target in wanted if target in opinions}
    if task.target not in wanted:
        return {}
    content = {name: part for name, part in _main_reveal(session, work, task, item).items() if part}
    return {task.target: content} if content else {}


def _main_reveal(session: Session, work: Work, task: Task, item: Item) -> Json:
    """Return the reveal of a task's main target."""
    match work.name:
        case "weights":
            weights = aspects.judge_weights(session, work.study.id, task.target)
            order = response_order.assigned(work, task, len(item.responses))
            named = [{"judge": judge, "weights": values} for judge, values in weights.items()]
            return {"weights": named, "columns": response_blocks(work, task, item, order)}
        case "critiques" | "critique_ratings" | "refined_answers":
            return {"opinions": about_critiques(session, work, task, item)}
    grids = [_grid(work, task.target, item, debate) for debate in debate_of_target(session, task.id)]
    return {"stances": [grid for grid in grids if grid["judges"]]}


def _grid(work: Work, target: Target, item: Item, debate: Debate) -> Json:
    """Return the turns of one trace about a target, by judge and round."""
    trace = debate.trace
    numbered = [pair for pair in debate.events if _concerns(pair[1], target)]
    rounds = sorted({event.turn.round for _, event in numbered if isinstance(event, TurnCompleted)})
    changed = {stance.seq: stance.changed for stance in list_stances(numbered)}
    judges: dict[str, list[Json]] = {name: [] for name in _judge_names(debate.settings)}
    turns = [(seq, event.ask, event.turn) for seq, event in numbered if isinstance(event, TurnCompleted)]
    for seq, _, turn in sorted(turns, key=lambda entry: entry[1]):
        row = judges.setdefault(turn.speaker, [])
        row.append({"stage": rounds.index(turn.round), "changed": changed[seq], **_turn(turn, target, item)})
    query = urlencode({"study": work.study.name, "trace": trace.id})
    return {
        "run": trace.run,
        "protocol": PROTOCOLS[trace.protocol].title if trace.protocol in PROTOCOLS else trace.protocol,
        "href": f"{own_address('/traces')}?{query}",
        **_outcome(trace, numbered, target),
        "stages": ["opinion"] if len(rounds) == 1 else ["first" if n == 0 else f"round {n}" for n in rounds],
        "judges": [{"name": name, "turns": row} for name, row in judges.items() if row],
    }


def _concerns(event: Event, target: Target) -> bool:
    if isinstance(event, TurnCompleted):
        return event.turn.criterion in ("", target.criterion)
    return isinstance(event, VerdictReached)


def _judge_names(settings: Mapping[str, object]) -> list[str]:
    """Return the judges in the order of the settings; an imported run may have any settings."""
    judges = settings.get("judges")
    if not isinstance(judges, list):
        return []
    return [str(judge["name"]) for judge in judges if isinstance(judge, dict) and "name" in judge]


def _outcome(trace: Trace, events: Sequence[tuple[int, Event]], target: Target) -> Json:
    """Return the outcome of a trace on the target, with its values, if there are any."""
    verdicts = [event.verdict for _, event in events if isinstance(event, VerdictReached)]
    opinions = [
        opinion
        for verdict in verdicts
        for opinion in verdict.opinions
        if opinion.stage == "verdict"
        and (opinion.kind, opinion.criterion, opinion.part) == (target.kind, target.criterion, target.part)
    ]
    own = criterion_outcomes(verdicts[-1]).get(target.criterion) if verdicts else None
    several = len(_concluded(verdicts)) > 1  # the outcome of the trace is then not that of this target
    word = OUTCOMES[own] if own else "Verdict" if several else OUTCOMES.get(trace.status, "")
    values = [opinion.value for opinion in opinions if opinion.value is not None]
    return {"outcome": word, "verdicts": [{"value": value, "short": _short(value, target)} for value in values]}


def _concluded(verdicts: Sequence[Verdict]) -> set[tuple[str, str, str]]:
    """Return kind, criterion and part of each target that the trace has a verdict on."""
    opinions = [opinion for verdict in verdicts for opinion in verdict.opinions if opinion.stage == "verdict"]
    return {(opinion.kind, opinion.criterion, opinion.part) for opinion in opinions}


def _turn(turn: Turn, target: Target, item: Item) -> Json:
    value = turn.reading if isinstance(turn.reading, bool | int | float | str) else None
    text = turn.statement.strip()
    return {
        "value": value,
        "short": "" if value is None else _short(value, target),
        "problem": turn.problem,
        "reason": first_sentence(text),
        "text": text,
        "references": list(find_references(text, turn.shown, len(item.responses))),
        "passages": list(find_quotations(text, item)),
    }


def _short(value: Value | None, target: Target) -> str:
    if target.kind == "preference" and value == 0:
        return "tie"
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)
