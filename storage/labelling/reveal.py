"""The reveal after a label: the stances of the judges, their reasons, and their references and quotations."""

from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from core.items import Item
from core.labels import Target, Value
from core.own_addresses import own_address
from core.protocols.registry import PROTOCOLS
from core.stances import list_stances
from core.trace import Event, Turn, TurnCompleted, Verdict, VerdictReached
from core.verdicts import criterion_outcomes
from storage import aspects, debates
from storage.debates import Debate
from storage.labelling import critique_opinions, response_order
from storage.labelling.blocks import response_blocks
from storage.labelling.judge_texts import find_quotations, find_references, first_sentence
from storage.labelling.work import Json, Task, Work
from storage.operations import reading_for
from storage.read_guard import REVEAL
from storage.traces import Trace

OUTCOMES = {"agreed": "Agreed", "disputed": "No consensus", "no_verdict": "No verdict"}


@reading_for(REVEAL)
def reveals(session: Session, work: Work, task: Task, item: Item, wanted: Collection[Target]) -> dict[Target, Json]:
    """Return the reveals of targets of a task that the annotator has labelled. To be sent after the labels only.

    If no judge has an opinion, there is no reveal.
    """
    if work.name == "aius":
        opinions = critique_opinions.about_aius(session, work.study.id, item)
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
            return {"opinions": critique_opinions.about_critiques(session, work, task, item)}
    grids = [_grid(work, task.target, item, debate) for debate in debates.of_target(session, task.id)]
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
