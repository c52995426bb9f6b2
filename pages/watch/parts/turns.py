"""The parts of a turn that every view draws: its usage, its reply, its prompt, and earlier failures."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import streamlit as st

from core.errors import TiebreakError
from core.items import Item
from core.labels import Target
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import validate_settings
from core.trace import (
    CallFailed,
    Event,
    ReadingReplaced,
    ReadingWithdrawn,
    ReplyExtracted,
    ReplyUnreadable,
    SchemaRefused,
    TraceFailed,
    TraceRestarted,
    Turn,
    TurnCompleted,
    Verdict,
    VerdictReached,
)
from core.transcripts import CITATION, steps_left_out
from core.verdicts import Heard, Stance, verdict_of_criterion
from core.wording import join_names
from pages.parts import numbers, resources, shell
from pages.parts.text import Mark, escape_markdown, text_html, to_html
from storage.db import connections
from storage.runs import trace_opinions, traces
from storage.studies import transcripts

Option = TypeVar("Option")
# The number of an event in its trace, and the event.
NumberedEvent = tuple[int, Event]
# The number of an event, and its turn.
NumberedTurn = tuple[int, Turn]

# Pixels of a long prompt.
PROMPT_HEIGHT = 600
# Characters; a longer text is drawn as plain text that is scrolled: a browser needs minutes to lay out one megabyte of
# Markdown, and seconds as plain text.
LONGEST_MARKDOWN = 5_000


def draw_text(text: str, turn: Turn | None = None, raw: str | None = None) -> None:
    """Draw a text as Markdown with its citations marked; of a turn, also its passage and the responses that it names.

    `raw` is the reply, if the text is a readable form of it: it has the passage.
    """
    span = turn.reading_span if turn is not None else None
    if len(text) > LONGEST_MARKDOWN:
        st.html(f'<pre class="reading whole-text" dir="auto">{marked_html(text if raw is None else raw, span)}</pre>')
        return
    passage = []
    if span is not None:
        start, end = within(text if raw is None else raw, span)
        passage = [{"start": start, "end": end, "class": "passage"}]
    marks = [*named_responses(text, turn.shown if turn is not None else ()), *citations(text)]
    written = {} if raw is None else {"text": raw, "marks": passage}
    st.html(text_html(text, marks if written else [*passage, *marks], raw=written))


def marked_html(text: str, span: tuple[int, int] | None) -> str:
    """Return the whole text as HTML with the passage in a <mark>; the text is text only."""
    start, end = within(text, span or (0, 0))
    passage = f"<mark>{to_html(text[start:end])}</mark>" if span else ""
    return f"{to_html(text[:start])}{passage}{to_html(text[end:])}"


def within(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return the span inside the text: an imported trace may have any numbers."""
    start = min(max(span[0], 0), len(text))
    return start, min(max(span[1], start), len(text))


# The parsers' rules in words.
RULES = {
    "json": "the field of the structured answer",
    "marked": "marks around the answer",
    "labelled": "a labelled answer",
    "line": "the last line",
    "sentence": "a plain sentence",
    "named": "numbers next to names",
    "row": "a row of numbers",
    "list": "a list",
}


def draw_reply(turn: Turn) -> None:
    """Draw a reply as Markdown with the passage of the reading highlighted; structured output in words."""
    statement = turn.statement
    if not turn.reply.strip():
        st.markdown("*(empty reply)*")
    elif turn.format == "json" and statement and statement != turn.reply.strip():
        draw_text(statement, turn, raw=turn.reply)
    else:
        draw_text(turn.reply, turn)


def draw_reading(turn: Turn) -> None:
    """Draw the value and the rule by which it was read; nothing if no value was asked for."""
    if turn.reading is None:
        if turn.problem:
            st.caption(f":material/help: Unreadable: {escape_markdown(turn.problem)}")
        return
    parts = [f"Read as **{escape_markdown(numbers.format_value(turn.reading))}**"]
    if turn.shown and list(turn.shown) != sorted(turn.shown):
        parts[0] += " in the item's own order"
    if source := reading_source(turn):
        parts.append(f"**{escape_markdown(source)}**" if turn.read_by else escape_markdown(source))
    st.caption(":material/find_in_page: " + " · ".join(parts))


def reading_source(turn: Turn) -> str:
    """Return who read a reply, or else the parser's rule in words; empty if neither is known."""
    if not turn.read_by:
        return RULES.get(turn.reading_rule, turn.reading_rule)
    role, _, name = turn.read_by.partition(": ")
    return f"stated by {name}" if role == "person" else f"read by the {role} {name}".rstrip()


# A response as judges of a pair name it, in the order in which they read the two; outside of code.
SUBMISSION = re.compile(r"(`+).*?\1|\b(?:[Ss]ubmission|Assistant) ([12])\b", re.DOTALL)
# A response as a chip in the colour that it has everywhere.
CHIPS = {1: ":blue-badge[{}]", 2: ":orange-badge[{}]", 0: ":gray-badge[{}]"}


def named_responses(text: str, shown: Sequence[int]) -> Iterator[Mark]:
    """Yield a chip with the item's own number in place of each submission that the judge names."""
    for match in SUBMISSION.finditer(text) if len(shown) == 2 else ():
        if match[2]:
            number = shown[int(match[2]) - 1]
            chip = {"class": f"chip response-{number}", "words": f"Response {number}"}
            yield chip | {"start": match.start(), "end": match.end(), "title": f"written as “{match[0]}”"}


# Citations of steps: `[12]` or `[3, 12]`.
def citations(text: str) -> Iterator[Mark]:
    """Yield a link for each step that a text cites; those of steps that do not exist are marked as missing."""
    steps: int = st.session_state.get("cited_steps", 0)
    for group in CITATION.finditer(text) if steps else ():
        for match in re.finditer(r"\[?(\d+)\]?", group[0]):
            start = group.start()
            mark = {"start": start + match.start(), "end": start + match.end(), "words": f"[{match[1]}]"}
            link = {"class": "citation", "href": f"#step-{match[1]}"}
            exists = 1 <= int(match[1]) <= steps
            yield mark | (link if exists else {"class": "missing", "words": f"[{match[1]}] (no such step)"})


NOT_BLIND = (
    ":material/visibility: You have seen the judges' opinions. Labels that you give from now on are recorded as not "
    "blind."
)


def note_views(study_id: int, viewed: Collection[Target]) -> None:
    """Record that judges' opinions about targets are shown; draw a note if later labels of them are not blind."""
    if viewed and shell.record_views(study_id, viewed):
        st.caption(NOT_BLIND)


def note_judged(study_id: int, trace_ids: Iterable[int]) -> None:
    """Record that the judges' opinions in these traces are shown, see `note_views`."""
    with connections.reading(resources.engine()) as session:
        viewed = {target for id in trace_ids for target in trace_opinions.judged_targets(session, id)}
    note_views(study_id, viewed)


def format_usage(turn: Turn) -> str:
    """Return `214 tokens · 1.9 s · $0.003`, without unknown values; first the run that paid it if it was reused."""
    usage = turn.usage
    parts = [f"reused from {escape_markdown(turn.reused)}"] if turn.reused else []
    if usage.completion_tokens is not None:
        parts.append(numbers.format_count((usage.prompt_tokens or 0) + usage.completion_tokens, "token"))
    if usage.seconds is not None:
        parts.append(numbers.format_duration(usage.seconds))
    if usage.dollars is not None:
        parts.append(numbers.format_dollars(usage.dollars))
    return " · ".join(parts).replace("$", r"\$")


def draw_turn(trace_id: int, seq: int, turn: Turn, heading: str) -> None:
    """Draw a turn: `heading` in Markdown next to its usage, the reply with its reading, and the collapsed prompt."""
    with st.container(key=f"turn-{trace_id}-{seq}", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(heading)
            st.caption(format_usage(turn), width="content")
        with st.container(key=f"card-turn-{trace_id}-{seq}"):
            draw_reply(turn)
        draw_reading(turn)
        for sentence in turn.notes:
            st.caption(escape_markdown(sentence))
        draw_prompt(trace_id, seq)


def draw_prompt(trace_id: int, seq: int) -> None:
    """Draw the prompt of an event in an expander; it is loaded when the expander is opened."""
    expander = st.expander("Prompt", key=f"prompt-{trace_id}-{seq}", on_change="rerun")
    if expander.open:
        text = resources.read(traces.prompt, trace_id, seq) or "The prompt was not recorded."
        with expander:
            if omitted := steps_left_out(text):
                st.caption(f"Left out of the transcripts in this prompt: {'; '.join(omitted)}.")
            height: Any = PROMPT_HEIGHT if len(text) > LONGEST_MARKDOWN else "content"
            st.code(text, language=None, wrap_lines=True, height=height)


def completed(events: Iterable[NumberedEvent]) -> list[NumberedTurn]:
    """Return the turns of a trace in the order of the flow."""
    found = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnCompleted))
    return [(seq, turn) for _, seq, turn in found]


def verdict_of(events: Iterable[NumberedEvent]) -> Verdict | None:
    """Return the verdict of a trace; None before it has one."""
    return next((event.verdict for _, event in events if isinstance(event, VerdictReached)), None)


def draw_verdict(verdict: Verdict | None) -> None:
    """Draw the value of a verdict and its reason, if there is one yet."""
    if verdict is None:
        return
    value, reason = numbers.format_value(verdict.value), escape_markdown(verdict.reason)
    if verdict.value is None and verdict.outcome == "disputed":  # another reason begins with a judge's name
        reason = reason[:1].upper() + reason[1:]
    if isinstance(verdict.value, int) and verdict.opinions[0].kind == "preference":
        value = numbers.VERDICT_NAMES.get(verdict.value, value)
    st.markdown(reason if verdict.value is None else f"**{escape_markdown(value)}** · {reason}")


def format_reading(turn: Turn, names: Mapping[Any, str] | None = None) -> str:
    """Return the value of a reply or its name, or the reason why there is none, in Markdown."""
    if turn.reading is None:
        return f"no verdict: {escape_markdown(turn.problem)}" if turn.problem else escape_markdown(turn.step)
    if names is not None and isinstance(turn.reading, int):
        return f"**{names.get(turn.reading, str(turn.reading))}**"
    return f"**{escape_markdown(numbers.format_value(turn.reading))}**"


def describe_order(stance: Stance, name_round: Callable[[int], str]) -> str:
    """Return `, as judge B held in round 1` of a changed stance; empty if what its judge had read is not known.

    It states an order, not a cause. `name_round` returns `first`, `round 1` or the like.
    """
    if stance.held_before is None:
        return ""
    by_round: dict[int, list[str]] = {}
    for judge, number in stance.held_before:
        by_round.setdefault(number, []).append(judge)
    places = {number: f"in {name_round(number)}".replace("in first", "at first") for number in sorted(by_round)}
    held = ", and ".join(f"{join_names(by_round[number])} held {place}" for number, place in places.items())
    return f", as {held}" if held else "; no other judge held this in the replies it had read"


def history_of(protocol: str, settings: Mapping[str, Any]) -> Heard | None:
    """Return which turns a judge had read before a turn; None if that is not known."""
    history = PROTOCOLS[protocol].history if protocol in PROTOCOLS else None
    try:
        return partial(history, validate_settings(dict(settings), PROTOCOLS[protocol])) if history else None
    except TiebreakError:
        return None


def choose(
    label: str, options: Mapping[str, Option], key: str, names: Callable[[str], str] = escape_markdown, **widget: Any
) -> Option | None:
    """Draw the choice of one of several options, and return it; the only one, or None, without a choice."""
    if len(options) < 2:
        return next(iter(options.values()), None)
    first = next(iter(options))
    chosen = st.segmented_control(
        label, list(options), format_func=names, default=first, required=True, key=key, **widget
    )
    return options.get(str(chosen), options[first])


def draw_table(headings: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Draw a table of Markdown cells; the first `left` columns are of texts, the others of figures."""
    lines = [headings, ["---"] * left + ["---:"] * (len(headings) - left), *rows]
    st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def draw_problems(events: Iterable[NumberedEvent], name: str) -> None:
    """Draw the failures of a trace, see `draw_problem`."""
    for _, event in events:
        draw_problem(event, name)


def draw_problem(event: Event, name: str) -> None:
    """Draw an unreadable reply, a failed call or a failed trace; `name` is the failed unit: "debate", "review"..."""
    match event:
        case ReplyUnreadable(turn=turn, max_tokens=limit):
            again = f"asked once more with a limit of {limit} tokens" if limit else "asked once more"
            problem = escape_markdown(turn.problem)
            with st.expander(f"{escape_markdown(turn.speaker)}: the reply could not be read ({problem}); {again}"):
                draw_text(turn.reply)
        case CallFailed() | SchemaRefused():
            st.caption(_describe_unanswered(event))
        case ReplyExtracted(turn=turn):
            result = "the extractor found no value" if turn.reading is None else "read by the extractor"
            with st.expander(f"{escape_markdown(turn.speaker)}: {result} ({escape_markdown(turn.model)})"):
                draw_text(turn.reply)
                st.caption(format_usage(turn))
        case ReadingReplaced(read_by=read_by, reading=value):
            reader = escape_markdown(read_by.partition(": ")[2]) or "the parsers of a later version"
            result = "no value" if value is None else escape_markdown(numbers.format_value(value))
            st.caption(f":material/edit: A reply was read again by {reader}: {result}. The earlier reading is stored.")
        case ReadingWithdrawn(by=by):
            st.caption(f":material/undo: {escape_markdown(by)} withdrew a reading.")
        case TraceRestarted(reason=reason):
            st.caption(f":material/restart_alt: {escape_markdown(reason)}")
        case TraceFailed(problem=problem):
            st.error(f"The {name} stopped: {escape_markdown(problem)}", icon=":material/error:")


def _describe_unanswered(event: CallFailed | SchemaRefused) -> str:
    text = escape_markdown(f"{event.speaker}: {event.problem}")
    if isinstance(event, SchemaRefused):
        return f":material/info: {text}"
    outcome = "no more retries" if event.wait is None else f"retried after {numbers.format_duration(event.wait)}"
    return f":material/sync_problem: {text} ({outcome})"


# The choice of a criterion for the views that draw one: of a trace on several, the part on the selected criterion.


def choose_part(
    trace: traces.Trace, events: Sequence[NumberedEvent], settings: dict[str, Any]
) -> tuple[traces.Trace, Sequence[NumberedEvent], dict[str, Any]]:
    """Draw the choice; return the trace, events and settings as those of a run on the selected criterion alone.

    Failed attempts belong to the criterion of their turn, and to every criterion until the turn is complete. A trace on
    one criterion is returned unchanged.
    """
    further = settings.get("criteria") or ()
    if not further:
        return trace, events, settings
    criteria = {str(one.get("name")): one for one in (settings.get("criterion") or {}, *further)}
    chosen: Any = choose("Criterion", criteria, f"criterion_{trace.id}")
    name, own_settings = str(chosen.get("name")), {**settings, "criterion": chosen, "criteria": []}
    return replace(trace, criterion=name), _events_of(events, name), own_settings


def _events_of(events: Sequence[NumberedEvent], criterion: str) -> list[NumberedEvent]:
    asks = {event.ask: event.turn.criterion for _, event in events if isinstance(event, TurnCompleted)}
    return [
        (seq, VerdictReached(verdict=verdict_of_criterion(event.verdict, criterion)))
        if isinstance(event, VerdictReached)
        else (seq, event)
        for seq, event in events
        if asks.get(getattr(event, "ask", -1), "") in ("", criterion)
    ]


# Draws a trace with the view that its protocol's registry entry names.
#
# A view is a module with a function `render(trace, item, events, settings, live)`. It is called again when events
# arrive, so it draws from its arguments alone.

# The view of a trace whose protocol is not installed here.
DEFAULT = "pages.watch.parts.debate"
# Views with many turns: the item is beside them and stays in view.
BESIDE = (DEFAULT, "pages.watch.parts.persona_talk")


def view_of(trace: traces.Trace) -> str:
    """Return the module that draws a trace."""
    return PROTOCOLS[trace.protocol].view if trace.protocol in PROTOCOLS else DEFAULT


def render_trace(
    trace: traces.Trace, item: Item, events: Sequence[NumberedEvent], settings: dict[str, Any], *, live: bool
) -> None:
    """Draw a trace; the view's module is imported now, since charts take a second to import."""
    if trace.protocol not in PROTOCOLS:
        st.info(
            f"The protocol “{escape_markdown(trace.protocol)}” is not installed here. Its turns are shown without "
            "the charts of its own view."
        )
    found = resources.read(transcripts.count_parts, trace.study_id, item.transcripts) if item.transcripts else {}
    st.session_state["cited_steps"] = max(found.values(), default=0)
    import_module(view_of(trace)).render(trace, item, events, settings, live)
