"""Later readings of stored replies: by a person, or by the parsers of this version.

A reading is added as an event, followed by the verdict that it leads to; the reply and every earlier reading stay
stored. A reading with which the protocol would have asked something else is refused: the verdict cannot be computed
from the stored replies.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.attempts import NeedsCalls, Replay, replay, reread_turn, stored_turns
from core.errors import TiebreakError, UnreadableReply
from core.labels import Value
from core.llm import costs
from core.protocols import registry, start_flow
from core.protocols.settings_file import validate_settings
from core.trace import (
    Ask,
    Event,
    Flow,
    ReadingReplaced,
    ReadingWithdrawn,
    Turn,
    TurnReadings,
    VerdictReached,
    current_events,
    turn_readings,
    with_reading,
)
from storage.db.connections import reading, writing
from storage.db.tables import TraceRow
from storage.runs import aius, outcomes, runs, traces
from storage.runs.claims import VERDICTS
from storage.runs.events import next_sequence_numbers, stored_events
from storage.runs.outcomes import NewEvent
from storage.studies import annotators, items, studies, transcripts
from storage.studies.studies import Study

PERSON = "person: "
NO_VALUE = "it states no value, according to a person"
# Traces read in one session.
BATCH = 200


@dataclass(frozen=True)
class Change:
    """A reply that this version reads differently."""

    trace_id: int
    run: str
    item: str
    """Its name, with the pair of responses if the trace is on one."""
    judge: str
    step: str
    round: int
    ask: int
    old: Value | None
    new: Value | None
    rule: str
    """The rule that reads it now; empty if it is unreadable now."""
    problem: str
    """The reason why it is unreadable now; empty if it is readable."""


@dataclass(frozen=True)
class Reread:
    """The changes in one trace, or the reason why it is not changed."""

    trace_id: int
    run: str
    item: str
    """Its name, with the pair of responses if the trace is on one."""
    changes: tuple[Change, ...] = ()
    outcome: str = ""
    """The outcome of the trace before, and after the changes: "no_verdict" or "no_verdict → agreed"."""
    needs_calls: str = ""
    """The reason why the changes cannot be applied; empty if they can."""


def of_trace(session: Session, trace_id: int) -> dict[int, TurnReadings]:
    """Return the number of each answered ask of a trace -> its reply with every reading of it."""
    return turn_readings([event for _, event in stored_events(session, trace_id)])


def find_ask(session: Session, trace_id: int, ask: int) -> Ask:
    """Return an ask of a finished trace, as the current protocol makes it.

    Raises NeedsCalls if the trace is not one of this version's flow, and TiebreakError if there is no such ask.
    """
    found = replay(_flow_of(session, traces.get(session, trace_id)), _stored(session, trace_id)).asks.get(ask)
    if found is None:
        raise TiebreakError(f"The trace has no ask {ask}.")
    return found


def state(session: Session, trace_id: int, ask: int, value: object, annotator: str) -> None:
    """Store which value a reply states, as read by a person; figures use it from now on.

    `value` is in the reply's own terms, as the answer type of the ask has it. Raises TiebreakError for a value that
    does not fit, and NeedsCalls if the protocol would have continued differently.
    """
    name = annotators.normalize_name(annotator)
    _replace(session, trace_id, ask, name, lambda asked: _stated(asked, ask, value, name))


def state_unreadable(session: Session, trace_id: int, ask: int, annotator: str) -> None:
    """Store that a reply states no value, as read by a person. Raises as `state` does."""
    name = annotators.normalize_name(annotator)
    none = ReadingReplaced(ask=ask, problem=NO_VALUE, reading_rule="stated", read_by=f"{PERSON}{name}")
    _replace(session, trace_id, ask, name, lambda asked: none)


def _replace(
    session: Session, trace_id: int, ask: int, annotator: str, later: Callable[[Ask], ReadingReplaced]
) -> None:
    """Add the reading that `later` returns for the ask, and the verdict that it leads to."""
    trace = _lock_finished(session, trace_id)

    def reread(number: int, asked: Ask, turn: Turn) -> Turn:
        return with_reading(turn, later(asked)) if number == ask else turn

    stored = _stored(session, trace_id)
    if ask not in stored:
        raise TiebreakError(f"The trace has no ask {ask}.")
    replayed = replay(_flow_of(session, trace), stored, reread)
    if ask not in replayed.turns:
        raise NeedsCalls("With the other readings, this reply would not have been requested.")
    annotators.get_or_create_id(session, annotator)
    _append(session, trace_id, [_replacement(ask, replayed.turns[ask])], replayed)


def _stated(ask: Ask, number: int, value: object, name: str) -> ReadingReplaced:
    if ask.answer is None:
        raise TiebreakError(
            "This protocol does not declare the answer type of its replies, so no value can be entered."
        )
    try:
        checked = ask.answer.parse(ask.answer.render(value, "json", "-")).value
        if isinstance(value, int | float | str) and checked != value:
            raise UnreadableReply(f"it would be read as {checked}")
        return ReadingReplaced(ask=number, reading=ask.value(checked), read_by=f"{PERSON}{name}", reading_rule="stated")
    except (UnreadableReply, TypeError, ValueError, LookupError, AttributeError) as error:
        reason = f": {error}" if isinstance(error, UnreadableReply) else ""
        raise TiebreakError(f"The value does not fit the requested answer type{reason}.") from error


def withdraw(session: Session, trace_id: int, ask: int, annotator: str) -> None:
    """Withdraw the latest reading of a reply; the previous one counts again. The withdrawal is also stored."""
    name = annotators.normalize_name(annotator)
    trace = _lock_finished(session, trace_id)
    events = traces.events_with_prompts(session, trace_id)
    withdrawn = ReadingWithdrawn(ask=ask, by=name)
    before, after = stored_turns(events), stored_turns([*events, withdrawn])
    if ask not in before or before[ask] == after[ask]:
        raise TiebreakError("There is no later reading of this reply.")
    replayed = replay(_flow_of(session, trace), before, lambda number, _, turn: after.get(number, turn))
    _append(session, trace_id, [withdrawn], replayed)


def reread_study(engine: Engine, study: Study, *, run: str | None = None, apply: bool = False) -> Iterator[Reread]:
    """Yield the readings that change with this version's parsers in the finished traces of a study, trace by trace.

    Traces without a difference are left out. With `apply` the changes of each trace are stored before it is yielded. A
    trace that would need new calls is yielded with the reason, and left alone. A person's reading is never replaced.
    """
    with reading(engine) as session:
        run_ids = [stored_run.id for stored_run in runs.of_study(session, study.id) if run in (None, stored_run.name)]
        if run is not None and not run_ids:
            raise TiebreakError(f"The study has no run called {run!r}.")
        query = select(col(TraceRow.id)).where(col(TraceRow.run_id).in_(run_ids), col(TraceRow.outcome).in_(VERDICTS))
        trace_ids = list(session.scalars(query.order_by(col(TraceRow.id))))
    for start in range(0, len(trace_ids), BATCH):
        with writing(engine) if apply else reading(engine) as session:
            rereads = [_reread(session, trace_id, apply=apply) for trace_id in trace_ids[start : start + BATCH]]
        yield from (reread for reread in rereads if reread is not None)


def _reread(session: Session, trace_id: int, *, apply: bool) -> Reread | None:
    trace = _lock_finished(session, trace_id) if apply else traces.get(session, trace_id)
    stored = _stored(session, trace_id)
    try:
        flow = _flow_of(session, trace)
        changes = _changes(trace, stored, replay(flow, stored))
    except TiebreakError as error:  # the protocol may not be installed, and an imported trace may have any turns
        has_unread = any(turn.is_unreadable for turn in stored.values())
        return Reread(trace_id, trace.run, trace.name, needs_calls=str(error)) if has_unread else None
    if not changes:
        return None
    try:
        replayed = replay(flow, stored, lambda _, ask, turn: _reread_turn(ask, turn))
    except NeedsCalls as error:
        return Reread(trace_id, trace.run, trace.name, changes, trace.status, needs_calls=str(error))
    if apply:
        changed = [
            _replacement(change.ask, replayed.turns[change.ask]) for change in changes if change.ask in replayed.turns
        ]
        _append(session, trace_id, changed, replayed)
    outcomes = dict.fromkeys((trace.status, replayed.verdict.outcome))
    return Reread(trace_id, trace.run, trace.name, changes, " → ".join(outcomes))


def _changes(trace: traces.Trace, stored: dict[int, Turn], replayed: Replay) -> tuple[Change, ...]:
    """Return the replies of a trace that are read differently now, in the order of the flow."""
    changes = []
    for number, ask in replayed.asks.items():
        old, new = stored[number], _reread_turn(ask, stored[number])
        if _same(old.reading, new.reading):
            continue
        place = (trace.id, trace.run, trace.name, old.speaker, old.step, old.round, number)
        changes.append(Change(*place, old.reading, new.reading, new.reading_rule, new.problem))
    return tuple(changes)


def _same(old: Value | None, new: Value | None) -> bool:
    return old == new and isinstance(old, bool) == isinstance(new, bool)


def _reread_turn(ask: Ask, turn: Turn) -> Turn:
    """Return the turn as this version reads it, unless a person read it, or only the extractor can."""
    if turn.read_by.startswith(PERSON):
        return turn
    again = reread_turn(ask, turn)
    if _same(turn.reading, again.reading) or (turn.read_by and again.reading is None):
        return turn
    return again


def _replacement(ask: int, turn: Turn) -> ReadingReplaced:
    names = ("reading", "problem", "reading_rule", "reading_span", "read_by")
    return ReadingReplaced(ask=ask, **{name: getattr(turn, name) for name in names})


def _append(session: Session, trace_id: int, added: Sequence[Event], replayed: Replay) -> None:
    """Store readings, and the verdict that they lead to."""
    first = next_sequence_numbers(session, [trace_id])[trace_id]
    events = [*added, VerdictReached(verdict=replayed.verdict)]
    outcomes.append_events(session, [NewEvent(trace_id, seq, event) for seq, event in enumerate(events, first)])


def _stored(session: Session, trace_id: int) -> dict[int, Turn]:
    return stored_turns(current_events(traces.events_with_prompts(session, trace_id)))


def _lock_finished(session: Session, trace_id: int) -> traces.Trace:
    """Return a finished trace, locked until the end of the transaction."""
    session.execute(select(col(TraceRow.id)).where(col(TraceRow.id) == trace_id).with_for_update())
    trace = traces.get(session, trace_id)
    if trace.status not in VERDICTS:
        raise TiebreakError("The trace has no verdict yet: resume its run first.")
    return trace


def _flow_of(session: Session, trace: traces.Trace) -> Callable[[], Flow]:
    """Return a function that starts the flow of a trace.

    Raises TiebreakError if its protocol or settings are unknown.
    """
    run = runs.get(session, trace.run_id)
    protocol = registry.get(run.protocol)
    settings = validate_settings(run.settings, protocol)
    study = studies.by_id(session, trace.study_id)
    templates = run.prompts if run.prompts and protocol.is_current(run.prompts) else study.templates(run.protocol)
    found = items.get(session, trace.study_id, trace.item)
    found = transcripts.with_text(session, run.study_id, found, costs.transcript_budget(settings))
    item = aius.evaluated_item(session, run, found)
    return lambda: start_flow(protocol, item, settings, seed=run.seed, templates=templates, part=trace.part)
