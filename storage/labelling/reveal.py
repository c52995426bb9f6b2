"""What an annotator sees after a label: the stances of the judges, their reasons, and what they refer to and quote."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from rapidfuzz import fuzz
from sqlalchemy.orm import Session

from core.items import Item
from core.labels import Target, Value
from core.stances import list_stances
from core.trace import Event, Turn, TurnCompleted, VerdictReached
from storage import aspects, runs, traces
from storage.labelling.panels import response_blocks
from storage.labelling.work import Json, Task, Work
from storage.traces import Trace

REFERENCE = re.compile(
    r"\b(?:submission|response|assistant|answer|candidate)\s+(?:#|no\.\s*)?([12AB])\b", re.IGNORECASE
)
QUOTATION = re.compile(r"“([^”]{8,300})”|\"([^\"]{8,300})\"|«([^»]{8,300})»")
"""A shorter quotation occurs by chance."""
SIMILAR = 90.0
"""The least similarity, in percent, of a quotation and the passage that it quotes."""
REASON_LENGTH = 200
OUTCOMES = {"agreed": "Agreed", "disputed": "No consensus", "no_verdict": "No verdict"}


def reveal(session: Session, work: Work, task: Task, item: Item) -> Json:
    """Return the reveal of a task's main target. To be sent after the annotator's label only."""
    found = traces.of_target(session, work.study.id, task.target)
    if task.target.kind == "aspect_weights":
        weights = aspects.judge_weights(session, work.study.id, task.target)
        named = [{"judge": judge, "weights": values} for judge, values in weights.items()]
        return {"weights": named, "columns": response_blocks(work, task, item)}
    grids = [_grid(session, work, task.target, item, trace) for trace in found]
    return {"stances": [grid for grid in grids if grid["judges"]]}


def _grid(session: Session, work: Work, target: Target, item: Item, trace: Trace) -> Json:
    """Return the turns of one trace about a target, by judge and round."""
    numbered = [pair for pair in traces.events(session, trace.id) if _concerns(pair[1], target)]
    rounds = sorted({event.turn.round for _, event in numbered if isinstance(event, TurnCompleted)})
    changed = {stance.seq: stance.changed for stance in list_stances(numbered)}
    judges: dict[str, list[Json]] = {name: [] for name in _judge_names(runs.get(session, trace.run_id).settings)}
    turns = [(seq, event.ask, event.turn) for seq, event in numbered if isinstance(event, TurnCompleted)]
    for seq, _, turn in sorted(turns, key=lambda entry: entry[1]):
        row = judges.setdefault(turn.speaker, [])
        row.append({"stage": rounds.index(turn.round), "changed": changed[seq], **_turn(turn, target, item)})
    query = urlencode({"study": work.study.name, "trace": trace.id})
    return {
        "run": trace.run,
        "protocol": trace.protocol,
        "href": f"/?{query}",
        "outcome": _outcome(trace, numbered, target),
        "stages": ["first" if number == 0 else f"round {number}" for number in rounds],
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


def _outcome(trace: Trace, events: Sequence[tuple[int, Event]], target: Target) -> str:
    """Return the outcome of a trace, with its value of the target where there is one."""
    opinions = [
        opinion
        for _, event in events
        if isinstance(event, VerdictReached)
        for opinion in event.verdict.opinions
        if opinion.stage == "verdict"
        and (opinion.kind, opinion.criterion, opinion.part) == (target.kind, target.criterion, target.part)
    ]
    word = OUTCOMES.get(trace.status, "")
    values = [_short(opinion.value, target) for opinion in opinions if opinion.value is not None]
    return f"{word}: {', '.join(values)}" if values else word


def _turn(turn: Turn, target: Target, item: Item) -> Json:
    value = turn.reading if isinstance(turn.reading, bool | int | float | str) else None
    text = turn.reply.strip()
    content = {
        "value": value,
        "short": "" if value is None else _short(value, target),
        "problem": turn.problem,
        "reason": first_sentence(text),
        "text": text,
        "references": list(find_references(text, turn.shown, len(item.responses))),
        "passages": list(find_quotations(text, item)),
    }
    return content if target.kind == "preference" else {**content, "colour": "level"}


def _short(value: Value | None, target: Target) -> str:
    if target.kind == "preference" and value == 0:
        return "tie"
    return f"{value:g}" if isinstance(value, float) else str(value)


def first_sentence(text: str) -> str:
    """Return the beginning of a text: its first line up to the end of the first sentence that says something."""
    line = text.split("\n", 1)[0]
    end = next((match.end() for match in re.finditer(r"[.!?](?=\s|$)", line) if match.end() > 20), len(line))
    return line[: min(end, REASON_LENGTH)]


def find_references(text: str, shown: Sequence[int], responses: int) -> Iterator[Json]:
    """Yield the places where a judge wrote "Submission 1" and the like, with the item's own response.

    `shown` has the number of the response at each place of the prompt.
    """
    order = tuple(shown) or tuple(range(1, responses + 1))
    for match in REFERENCE.finditer(text) if len(order) > 1 else ():
        place = {"1": 0, "A": 0, "2": 1, "B": 1}[match[1].upper()]
        if place < len(order):
            yield {"start": match.start(), "end": match.end(), "column": f"response-{order[place]}"}


def find_quotations(text: str, item: Item) -> Iterator[Json]:
    """Yield the passages of the responses that a judge quotes, with at most a few different characters."""
    for match in QUOTATION.finditer(text):
        quotation = next(group for group in match.groups() if group)
        passages = [_locate(quotation, number, response.text) for number, response in enumerate(item.responses, 1)]
        located = [passage for passage in passages if passage is not None]
        if located:
            yield max(located, key=lambda pair: pair[0])[1]


def _locate(quotation: str, number: int, text: str) -> tuple[float, Json] | None:
    """Return the similarity and the place of a quotation in a response; None where it does not occur."""
    exact = text.find(quotation)
    if exact >= 0:
        return 101.0, {"block": f"response-{number}", "start": exact, "end": exact + len(quotation)}
    if len(text) < len(quotation):  # the alignment would find the text in the quotation
        return None
    found = fuzz.partial_ratio_alignment(quotation, text, score_cutoff=SIMILAR)
    if found is None:
        return None
    return found.score, {"block": f"response-{number}", "start": found.dest_start, "end": found.dest_end}
