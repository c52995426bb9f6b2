"""The view of a critique evaluation: the critique with its AIUs highlighted, and each judgement with its rationale."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.aius import locate_aius, split_text
from core.critiques import Critique
from core.items import Item
from core.labels import Kind
from core.protocols.metacritique import protocol as metacritique
from core.protocols.metacritique.protocol import AiuJudgement, Job, Replay, ScoreRange, collect_judgements
from core.protocols.metacritique.settings import Settings
from core.trace import Event, Turn, TurnCompleted
from pages.parts import numbers, resources, shell
from pages.parts.text import escape_markdown
from pages.watch.parts import turns
from storage.runs import traces
from storage.runs.traces import Trace

TEXT_TITLES = {
    "reference_answer": "Reference answer",
    "reference_critique": "Reference critique",
    "hypothesis_critique": "Critique",
    "extract": "AIUs extracted from",
}


_critique_component = st.components.v2.component(
    "critique",
    html='<div class="root"></div>',
    css=shell.read_asset("parts/marked.css", "watch/parts/critique.css"),
    js=shell.read_asset("parts/marked.js", "watch/parts/critique.js"),
)


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw the texts that the trace wrote, then one critique with its scores and judgements."""
    run_settings = Settings.model_validate(settings)
    turns_by_ask = {event.ask: event.turn for _, event in events if isinstance(event, TurnCompleted)}
    replay = metacritique.replay_turns(item, run_settings, turns_by_ask)
    seq_by_ask = {event.ask: number for number, event in events if isinstance(event, TurnCompleted)}
    seq_by_job = {job: seq_by_ask[number] for job, number in replay.ask_numbers.items() if number in seq_by_ask}
    turns.note_views(trace.study_id, {judgement.target for judgement in collect_judgements(replay.evaluation)})
    draw_generated_texts(trace, replay, seq_by_job)
    turns.draw_problems(events, "evaluation")
    critiques: dict[str, Critique] = {critique.id: critique for critique in replay.evaluation.critiques}
    names = {id: one.author if one.author == id else f"{one.author} ({id})" for id, one in critiques.items()}
    critique = turns.choose(
        "Critique by", critiques, "critique", lambda id: escape_markdown(names[id]), bind="query-params"
    )
    if critique is not None:
        draw_scores(replay, critique)
        draw_critique(trace, replay, critique, seq_by_job, live)
    for problem in metacritique.missing_inputs(replay.evaluation):
        st.caption(f":material/help: {escape_markdown(problem)}")


def draw_generated_texts(trace: Trace, replay: Replay, seq_by_job: Mapping[Job, int]) -> None:
    """Draw the references and AIUs that a model wrote in this trace; those of the item are drawn with the item."""
    written = [(job, turn) for job, turn in replay.evaluation.turns.items() if job.step in metacritique.WRITING_STEPS]
    if not written:
        return
    writers = ", ".join(dict.fromkeys(escape_markdown(job.judge) for job, _ in written))
    with st.expander(f"Written by {writers}: {len(written)} texts"):
        for job, turn in written:
            name = job.judge if job.step == "hypothesis_critique" else job.critique
            title = f"**{TEXT_TITLES[job.step]} {escape_markdown(name)}**".replace(" **", "**")
            turns.draw_turn(trace.id, seq_by_job[job], turn, title)


def draw_scores(replay: Replay, critique: Critique) -> None:
    """Draw `P 0.71 · R 0.40 · F1 0.51` for each judge, with ranges if judgements are missing."""
    scores = metacritique.critique_scores(replay.evaluation)
    judges = replay.evaluation.settings.judges
    with st.container(horizontal=True, gap="large"):
        for judge in judges:
            with st.container(width="content", gap=None):
                st.caption(escape_markdown(judge.name))
                rated = scores[judge.name, critique.id]
                st.markdown(f"### {_format_scores(rated)}")
                if rated.unread:
                    missing = numbers.format_count(rated.unread, "judgement")
                    st.caption(f"{missing} of {rated.aius} missing; in parentheses the range that they allow.")


def draw_critique(trace: Trace, replay: Replay, critique: Critique, seq_by_job: Mapping[Job, int], live: bool) -> None:
    """Draw the component, and the prompt that was clicked in it."""
    task_judgements = [one for one in collect_judgements(replay.evaluation) if one.critique == critique.id]
    pending = set(replay.pending) if live else set()
    reference = replay.evaluation.reference
    parts = []
    if replay.evaluation.settings.tasks != "recall":
        title = f"Critique by {critique.author}"
        parts.append(_part_data("aiu_precision", title, critique, task_judgements, seq_by_job, pending))
    if replay.evaluation.settings.tasks != "precision":
        title = f"Reference critique by {reference.author}" if reference else "Reference critique"
        parts.append(_part_data("aiu_recall", title, reference, task_judgements, seq_by_job, pending))
    component = _critique_component(
        key=f"critique_{trace.id}_{critique.id}",
        data={"name": critique.id, "parts": parts},
        on_prompt_change=lambda: None,
    )
    if component.prompt is not None:
        turns_by_seq = {seq: replay.evaluation.turns.get(job) for job, seq in seq_by_job.items()}
        seq = int(component.prompt["seq"])
        _draw_ask(trace.id, seq, turns_by_seq.get(seq))


@st.dialog("Reading and prompt", width="large")
def _draw_ask(trace_id: int, seq: int, turn: Turn | None) -> None:
    """Draw a reply with the passage that was read, and its prompt."""
    if turn is not None:
        turns.draw_reply(turn)
        turns.draw_reading(turn)
    text = resources.read(traces.prompt, trace_id, seq)
    st.code(text or "The prompt was not recorded.", language=None, wrap_lines=True)


def _part_data(
    kind: Kind,
    title: str,
    critique: Critique | None,
    task_judgements: Sequence[AiuJudgement],
    seq_by_job: Mapping[Job, int],
    pending: set[Job],
) -> dict[str, Any]:
    """Return the data of one task: the text with its AIUs, and the judgements of each."""
    part_judgements = [judgement for judgement in task_judgements if judgement.target.kind == kind]
    rows: dict[str, dict[str, Any]] = {}
    for judgement in part_judgements:
        aiu = judgement.aiu
        new = {"key": f"{kind} {aiu.id}", "aiu": aiu.id, "number": len(rows) + 1, "text": aiu.text, "judges": []}
        row = rows.setdefault(aiu.id, new)
        row["judges"].append(
            {
                "name": judgement.judge,
                "value": judgement.value,
                "problem": judgement.problem,
                "evidence": judgement.evidence,
                "reasoning": judgement.reasoning,
                "seq": seq_by_job.get(judgement.job),
                "pending": judgement.job in pending,
            }
        )
        row["value"] = row["judges"][0]["value"]
        row["differ"] = {True, False} <= {judge["value"] for judge in row["judges"]}
    return {
        "kind": kind,
        "title": title,
        "segments": [
            {"text": critique.text[segment.start : segment.end], "aius": segment.aius}
            for segment in split_text(critique.text, locate_aius(critique))
        ]
        if critique
        else [],
        "placeholder": "Not written yet.",
        "question": "Is it factual? (precision)" if kind == "aiu_precision" else "Does the critique cover it? (recall)",
        "rows": list(rows.values()),
    }


def _format_scores(scores: ScoreRange) -> str:
    return " · ".join(
        f"{name} {metacritique.describe_range(scores, field)}" for name, field in metacritique.SCORES.items()
    )
