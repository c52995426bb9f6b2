"""A critique of a critique: the text with its AIUs marked in place, each judgement with its evidence and rationale."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.aiu_spans import places, segments
from core.critiques import Critique, Score
from core.items import Item
from core.labels import Kind
from core.protocols.metacritique import protocol as metacritique
from core.protocols.metacritique.progress import WRITING, Job, Judgement, judgements
from core.protocols.metacritique.protocol import Replay, Settings
from core.trace import Event, TurnTaken
from pages.parts import assets, resources
from pages.parts.text import plain, safe
from pages.watch.parts import turns
from storage import aius, database, traces
from storage.traces import Trace

Events = Sequence[tuple[int, Event]]
WRITTEN = {
    "reference_answer": "Reference answer",
    "reference_critique": "Reference critique",
    "extract": "AIUs extracted from",
}


_critique = st.components.v2.component(
    "critique",
    html='<div class="root"></div>',
    css=assets.read("parts/marked.css", "watch/parts/critique.css"),
    js=assets.read("parts/marked.js", "watch/parts/critique.js"),
)


def render(trace: Trace, item: Item, events: Events, settings: dict[str, Any], live: bool) -> None:
    """What was written first, then one critique at a time with its scores."""
    chosen = Settings.model_validate(settings)
    taken = {event.ask: event.turn for _, event in events if isinstance(event, TurnTaken)}
    replay = metacritique.replayed(item, chosen, taken)
    seq = {event.ask: number for number, event in events if isinstance(event, TurnTaken)}
    numbers = {job: seq[number] for job, number in replay.numbers.items() if number in seq}
    looked_at(trace, replay)
    prepared(trace, replay, numbers)
    for _, event in events:
        turns.trouble(event, "evaluation")
    critique = which(replay)
    if critique is not None:
        scored(replay, critique)
        drawn(trace, replay, critique, numbers, live)
    for problem in metacritique.missing(replay.case):
        st.caption(f":material/help: {plain(problem)}")


def looked_at(trace: Trace, replay: Replay) -> None:
    """A label given after looking is not blind: keep that in mind, and say it."""
    from pages.parts import shell

    name = shell.annotator()
    if name is None:
        return
    with database.writing(resources.engine()) as session:
        if aius.see(session, trace.study_id, {one.target for one in judgements(replay.case)}, name):
            st.caption(
                ":material/visibility: You have seen the judges now: a label you give later is kept as not blind."
            )


def prepared(trace: Trace, replay: Replay, numbers: Mapping[Job, int]) -> None:
    """References and AIUs that were written in this trace; what the item brought is with the item."""
    written = [(job, turn) for job, turn in replay.case.said.items() if job.step in WRITING]
    if not written:
        return
    with st.expander(f"Written by {plain(replay.case.settings.writing.name)}: {len(written)} texts"):
        for job, turn in written:
            st.markdown(f"**{WRITTEN[job.step]} {plain(job.critique)}**".replace(" **", "**"))
            st.markdown(safe(turn.reply) if turn.reading is not None else f"*{plain(turn.problem)}*")
            st.caption(turns.cost(turn.usage))
            turns.prompt(trace.id, numbers[job])


def which(replay: Replay) -> Critique | None:
    """The critique to look at; the choice is in the address."""
    there = {one.id: one for one in replay.case.critiques}
    if len(there) < 2:
        return next(iter(there.values()), None)
    chosen = st.segmented_control(
        "Critique by",
        list(there),
        format_func=lambda name: _title(there[name]),
        default=next(iter(there)),
        required=True,
        key="critique",
        bind="query-params",
    )
    return there.get(str(chosen)) or next(iter(there.values()))


def scored(replay: Replay, critique: Critique) -> None:
    """`P 0.71 · R 0.40 · F1 0.51`, for each judge."""
    found = metacritique.scores(replay.case)
    judges = replay.case.settings.judges
    with st.container(horizontal=True, gap="large"):
        for judge in judges:
            with st.container(width="content", gap=None):
                st.caption(plain(judge.name))
                st.markdown(f"### {_figures(found[judge.name, critique.id])}")


def drawn(trace: Trace, replay: Replay, critique: Critique, numbers: Mapping[Job, int], live: bool) -> None:
    """The component, and the prompt that was asked for."""
    said = [one for one in judgements(replay.case) if one.critique == critique.id]
    asked = set(replay.asked) if live else set()
    held = replay.case.reference
    parts = []
    if replay.case.settings.tasks != "recall":
        parts.append(_part("aiu_precision", f"Critique by {critique.author}", critique, said, numbers, asked))
    if replay.case.settings.tasks != "precision":
        title = f"Reference critique by {held.author}" if held else "Reference critique"
        parts.append(_part("aiu_recall", title, held, said, numbers, asked))
    found = _critique(
        key=f"critique_{trace.id}_{critique.id}",
        data={"name": critique.id, "parts": parts},
        on_prompt_change=lambda: None,
    )
    if found.prompt is not None:
        _prompt(trace.id, int(found.prompt["seq"]))


@st.dialog("Prompt", width="large")
def _prompt(trace_id: int, seq: int) -> None:
    with database.reading(resources.engine()) as session:
        text = traces.prompt(session, trace_id, seq)
    st.code(text or "The prompt was not recorded.", language=None, wrap_lines=True)


def _part(
    kind: Kind,
    title: str,
    critique: Critique | None,
    said: Sequence[Judgement],
    numbers: Mapping[Job, int],
    asked: set[Job],
) -> dict[str, Any]:
    """The text with its AIUs, and what the judges say of each."""
    here = [one for one in said if one.target.kind == kind]
    rows: dict[str, dict[str, Any]] = {}
    for one in here:
        row = rows.setdefault(
            one.aiu.id,
            {"key": f"{kind} {one.aiu.id}", "aiu": one.aiu.id, "number": len(rows) + 1, "text": one.aiu.text},
        )
        row.setdefault("judges", []).append(
            {
                "name": one.judge,
                "value": one.value,
                "problem": one.problem,
                "evidence": one.evidence,
                "reasoning": one.reasoning,
                "seq": numbers.get(one.job),
                "asked": one.job in asked,
            }
        )
        row["value"] = row["judges"][0]["value"]
        row["differ"] = {True, False} <= {judge["value"] for judge in row["judges"]}
    return {
        "kind": kind,
        "title": title,
        "segments": marked(critique) if critique else [],
        "nothing": "It is not written yet.",
        "question": "Is it factual? (precision)" if kind == "aiu_precision" else "Does the critique cover it? (recall)",
        "counts": _counts(kind, here),
        "rows": list(rows.values()),
    }


def marked(critique: Critique) -> list[dict[str, Any]]:
    """A critique's text in stretches, each with the AIUs that stand in it."""
    text = critique.text
    return [{"text": text[one.start : one.end], "aius": one.aius} for one in segments(text, places(critique))]


def _counts(kind: Kind, said: Sequence[Judgement]) -> str:
    """`judge A: 5 of 7`, for each judge."""
    names = list(dict.fromkeys(one.judge for one in said))
    by_judge = {name: [one.value for one in said if one.judge == name] for name in names}
    word = "factual" if kind == "aiu_precision" else "covered"
    told = []
    for name, values in by_judge.items():
        lost = values.count(None)
        told.append(
            f"{name}: {values.count(True)} of {len(values) - lost} {word}" + (f", {lost} not judged" if lost else "")
        )
    return " · ".join(told) or "No AIU yet."


def _title(critique: Critique) -> str:
    return critique.author if critique.author == critique.id else f"{critique.author} ({critique.id})"


def _figures(score: Score) -> str:
    named = (("P", score.precision), ("R", score.recall), ("F1", score.f1))
    return " · ".join(f"{name} {'–' if value is None else format(value, '.2f')}" for name, value in named)
