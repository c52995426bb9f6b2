"""The reveal after a label: the stances of the judges, their reasons, and their references and quotations."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlencode

from pydantic import ValidationError
from sqlalchemy import Integer, bindparam, select
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
from core.texts import _, mark
from core.trace import Event, Turn, TurnCompleted, VerdictReached
from core.verdicts import criterion_outcomes, list_stances
from storage.db.connections import execute
from storage.db.guards import REVEAL, reading_for
from storage.db.tables import ItemRow, OpinionRow, RunRow, TraceRow
from storage.labelling import _panels
from storage.labelling.blocks import PAIRS, assigned_order, response_blocks
from storage.labelling.context import Json, QueueContext, Task
from storage.runs import aius, aspects, runs, traces

# Texts of judges: their first sentence, the responses that they refer to, and the passages that they quote.

REFERENCE = re.compile(
    r"\b(?:submission|response|assistant|answer|candidate|critique|antwort|kritik)\s+(?:#|no\.\s*)?([12AB])\b",
    re.IGNORECASE,
)
# Minimum length of a quotation; a shorter one may occur by chance.
QUOTATION = re.compile(r"“([^”]{8,300})”|\"([^\"]{8,300})\"|«([^»]{8,300})»")
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
    """Yield the passages of the responses that a judge quotes word by word."""
    for match in QUOTATION.finditer(text):
        quotation = next(group for group in match.groups() if group)
        for number, response in enumerate(item.responses, 1):
            start = response.text.find(quotation)
            if start >= 0:
                yield {"block": f"response-{number}", "start": start, "end": start + len(quotation)}
                break


# Judges' answers about AIUs, critiques and refined answers. To be sent after the annotator's own label only.

# AIU -> judge -> its answer in its newest run.
AiuOpinions = dict[Target, dict[str, Json]]


def _about_aius(session: Session, study_id: int, item: Item) -> AiuOpinions:
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


def _about_critiques(session: Session, work: QueueContext, task: Task, item: Item) -> list[Json]:
    """Return the opinion of each judge about a critique or a pair in its newest run, with its reply."""
    opinions: dict[str, Json] = {}
    for trace in traces.of_target(session, work.study.id, task.target):
        asks = _panels.asks_of(session, trace, item)
        turns = {ask.judge: ask.turn for ask in asks if ask.step != "refine" and _part(ask) == task.target.part}
        for opinion in _verdict_opinions(event for _seq, event in traces.events(session, trace.id)):
            if _key(opinion) == _key(task.target):
                opinions.setdefault(opinion.judge, _opinion(work, opinion, turns.get(opinion.judge)))
    return list(opinions.values())


def _aiu_answers(item: Item, settings: object, events: list[Event]) -> Iterator[tuple[Target, Json]]:
    """Yield (AIU, answer) of a trace's verdict, with the rationale if the turns have one."""
    rationales = {(judgement.judge, judgement.target): judgement for judgement in _judgements(item, settings, events)}
    for opinion in _verdict_opinions(events):
        target = Target(item=item.id, kind=opinion.kind, part=opinion.part)
        if opinion.stage == "verdict":
            rationale = rationales.get((opinion.judge, target))
            value = opinion.value if isinstance(opinion.value, bool) else None
            answer = {"judge": opinion.judge, "value": value, "problem": opinion.problem}
            reason = rationale.reasoning if rationale is not None else opinion.reason
            yield target, answer | {"reason": reason, "evidence": rationale.evidence if rationale is not None else ""}


def _judgements(item: Item, settings: object, events: list[Event]) -> list[AiuJudgement]:
    """Replay a trace; an imported one may have settings that are invalid here, and gives none."""
    try:
        valid = Settings.model_validate(settings)
        turns = {event.ask: event.turn for event in events if isinstance(event, TurnCompleted)}
        return collect_judgements(replay_turns(item, valid, turns).evaluation)
    except (ValidationError, TiebreakError):
        return []


def _verdict_opinions(events: Iterable[Event]) -> Iterator[Opinion]:
    for event in events:
        if isinstance(event, VerdictReached):
            yield from event.verdict.opinions


def _part(ask: CritiqueAsk) -> str:
    """Return the part of the target of an ask: a critique, or a pair."""
    return ask.critiques[0].id if len(ask.critiques) == 1 else pair_name(*ask.critiques)


def _key(about: Target | Opinion) -> tuple[str, str, str]:
    return about.kind, about.criterion, about.part


def _opinion(work: QueueContext, opinion: Opinion, turn: Turn | None) -> Json:
    reason = turn.reply.strip() if turn is not None else opinion.reason
    block = PAIRS.get(work.name)
    references = list(find_references(reason, turn.shown, 2, block)) if turn is not None and block else []
    answer = {"judge": opinion.judge, "value": opinion.value, "problem": opinion.problem}
    return answer | {"reason": reason, "references": references}


# The reveal of a target after its label.

OUTCOMES = {"agreed": mark("Agreed"), "disputed": mark("No consensus"), "no_verdict": mark("No verdict")}


_JUDGED = select(col(OpinionRow.trace_id)).where(col(OpinionRow.target_id) == bindparam("target", type_=Integer))
# The traces that judged a target with the settings of their runs, newest run first. Built once: that takes longer than
# to execute it.
_TRACES = (
    traces.trace_query(None)
    .add_columns(col(RunRow.settings))
    .where(col(TraceRow.id).in_(_JUDGED))
    .order_by(col(RunRow.id).desc())
)


@reading_for(REVEAL)
def reveals(
    session: Session, work: QueueContext, task: Task, item: Item, wanted: Collection[Target]
) -> dict[Target, Json]:
    """Return the reveals of targets of a task that the annotator has labelled. To be sent after the labels only.

    If no judge has an opinion, there is no reveal.
    """
    if work.name == "aius":
        opinions = _about_aius(session, work.study.id, item)
        return {target: {"opinions": list(opinions[target].values())} for target in wanted if target in opinions}
    if task.target not in wanted:
        return {}
    content = {name: part for name, part in _main_reveal(session, work, task, item).items() if part}
    return {task.target: content} if content else {}


def _main_reveal(session: Session, work: QueueContext, task: Task, item: Item) -> Json:
    """Return the reveal of a task's main target."""
    match work.name:
        case "weights":
            weights = aspects.judge_weights(session, work.study.id, task.target)
            order = assigned_order(work, task, len(item.responses))
            named = [{"judge": judge, "weights": values} for judge, values in weights.items()]
            return {"weights": named, "columns": response_blocks(work, task, item, order)}
        case "critiques" | "critique_ratings" | "refined_answers":
            return {"opinions": _about_critiques(session, work, task, item)}
    grids = [
        _grid(work, task.target, item, traces.trace_of_row(row), settings, traces.events(session, row[0]))
        for *row, settings in execute(session, _TRACES, {"target": task.id}).all()
    ]
    return {"stances": [grid for grid in grids if grid["judges"]]}


def _grid(
    work: QueueContext,
    target: Target,
    item: Item,
    trace: traces.Trace,
    settings: Mapping[str, object],
    events: Sequence[tuple[int, Event]],
) -> Json:
    """Return the turns of one trace about a target, by judge and round."""
    numbered = [pair for pair in events if _concerns(pair[1], target)]
    has_turns = any(isinstance(event, TurnCompleted) for _, event in numbered)
    numbered += _without_turn(numbered, target)
    turns = [(event.ask, seq, event.turn) for seq, event in numbered if isinstance(event, TurnCompleted)]
    rounds = sorted({turn.round for *_, turn in turns})
    changed = {stance.seq: stance.changed for stance in list_stances(numbered)}
    judges: dict[str, list[Json]] = {name: [] for name in _judge_names(settings)}
    for _ask, seq, turn in sorted(turns, key=lambda entry: entry[:1]):
        row = judges.setdefault(turn.speaker, [])
        row.append({"stage": rounds.index(turn.round), "changed": changed[seq], **_turn(turn, target, item)})
    query = urlencode({"study": work.study.name, "trace": trace.id})
    return {
        "run": trace.run,
        "protocol": PROTOCOLS[trace.protocol].title if trace.protocol in PROTOCOLS else trace.protocol,
        "href": f"{own_address('/traces')}?{query}",
        **_outcome(trace, [event for _, event in numbered], target),
        "stages": [_("opinion")]
        if len(rounds) == 1
        else [_("first") if n == 0 else _("round {number}", number=n) if has_turns else _("last") for n in rounds],
        "judges": [{"name": name, "turns": row} for name, row in judges.items() if row],
    }


def _without_turn(numbered: Sequence[tuple[int, Event]], target: Target) -> list[tuple[int, Event]]:
    """Return the opinions of judges without a turn as turns: an imported verdict may have no replies.

    The conclusion of several judges is the outcome, not an opinion.
    """
    turns = [event.turn for _, event in numbered if isinstance(event, TurnCompleted)]
    opinions = [one for one in _verdict_opinions(event for _, event in numbered) if _key(one) == _key(target)]
    stated = [one for one in opinions if one.stage != "verdict"] or ([] if turns else opinions)
    last = max((turn.round for turn in turns), default=1)
    added: list[tuple[int, Event]] = []
    for opinion in stated:
        if all(turn.speaker != opinion.judge for turn in turns):
            reply = opinion.reason or ("" if opinion.problem else _("The reply is not stored."))
            stage = {"step": "opinion", "round": last if opinion.stage == "last" else 0, "model": ""}
            read = {"reading": opinion.value, "problem": opinion.problem}
            turn = Turn.model_validate({"speaker": opinion.judge, "reply": reply, **stage, **read})
            added.append((-len(added) - 1, TurnCompleted(ask=len(added), turn=turn)))
    return added


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


def _outcome(trace: traces.Trace, events: Sequence[Event], target: Target) -> Json:
    """Return the outcome of a trace on the target, with its values, if there are any."""
    verdicts = [event.verdict for event in events if isinstance(event, VerdictReached)]
    concluded = [opinion for opinion in _verdict_opinions(events) if opinion.stage == "verdict"]
    own = criterion_outcomes(verdicts[-1]).get(target.criterion) if verdicts else None
    several = len({_key(opinion) for opinion in concluded}) > 1  # the trace's outcome is then not that of this target
    outcome = OUTCOMES[own] if own else mark("Verdict") if several else OUTCOMES.get(trace.status)
    values = [opinion.value for opinion in concluded if _key(opinion) == _key(target) and opinion.value is not None]
    return {
        "outcome": _(outcome) if outcome else "",
        "verdicts": [{"value": value, "short": _short(value, target)} for value in values],
    }


def _turn(turn: Turn, target: Target, item: Item) -> Json:
    value = turn.reading if isinstance(turn.reading, bool | int | float | str) else None
    text, shown = turn.statement.strip(), turn.shown
    if target.kind == "preference" and value is not None and len(text.split()) == 1:  # an imported "A" is a place
        text, shown = _("Response {number}", number=value) if value in (1, 2) else _("Tie"), ()
    return {
        "value": value,
        "short": "" if value is None else _short(value, target),
        "problem": turn.problem,
        "reason": first_sentence(text),
        "text": text,
        "references": list(find_references(text, shown, len(item.responses))),
        "passages": list(find_quotations(text, item)),
    }


def _short(value: Value | None, target: Target) -> str:
    if target.kind == "preference" and value == 0:
        return "tie"
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)
