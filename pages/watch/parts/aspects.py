"""The view of scoring by aspect: scores, weights, the weights that would change the verdict, and people's weights.

The judgements are computed from the stored turns by the protocol's own functions; no model is called.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core import aspects as aspect_math
from core.aspects import Weights
from core.items import Item
from core.labels import Target
from core.protocols import dna_baselines
from core.protocols.dna_eval import verdicts
from core.protocols.dna_eval.settings import ScoringSettings, Settings, settings_of_item
from core.protocols.dna_eval.verdicts import Judgement
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import validate_settings
from core.statistics.reports.weight_distances import rank_distance
from core.trace import Event, Turn
from pages.parts import charts, colours, numbers, resources, shell
from pages.parts.numbers import aspect_letter
from pages.parts.text import escape_markdown, truncate
from pages.watch.parts import turns
from storage.db import connections
from storage.labels import labels
from storage.runs import aspects as stored_aspects
from storage.runs.traces import Trace

# Pixels of the chart without its bars, and of a bar.
BARS_HEIGHT, BAR_HEIGHT = 100, 46
STEPS = {
    "aspects": "aspects",
    "weights": "weights",
    "overall": "overall scores",
    "direct": "scores",
    "reasoned": "scores",
}


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Draw the verdict, the selected judge's scores and weights, and on request the replies."""
    run_settings = validate_settings(settings, PROTOCOLS[trace.protocol])
    completed = turns.completed(events)
    if isinstance(run_settings, ScoringSettings):
        run_settings = settings_of_item(run_settings, item)
    judgements = compute_judgements([turn for _, turn in completed], run_settings, len(item.responses))
    turns.draw_verdict(turns.verdict_of(events))
    turns.draw_problems(events, "scoring")
    by_judge = {one.judge: one for one in judgements}
    names = {name: _name_with_overalls(one) for name, one in by_judge.items()}
    judgement = turns.choose("Judge", by_judge, f"judge-{trace.id}", names.__getitem__)
    if judgement is not None and isinstance(run_settings, ScoringSettings):
        draw_judge(trace, judgement, live)
    draw_replies(trace.id, completed, judgements)


def compute_judgements(completed_turns: Sequence[Turn], settings: object, responses: int) -> list[Judgement]:
    """Return the judgements that follow from the turns, by the protocol that the settings belong to."""
    if isinstance(settings, dna_baselines.Settings):
        return dna_baselines.collect_judgements(completed_turns, settings, responses)
    return verdicts.collect_judgements(completed_turns, settings, responses) if isinstance(settings, Settings) else []


def _name_with_overalls(judgement: Judgement) -> str:
    """Return `judge A · 8.05 to 7.80`; the name alone while there are no overall scores."""
    overalls = " to ".join(f"{value:.2f}" for value in judgement.overalls or ())
    return " · ".join(filter(None, (escape_markdown(judgement.judge), overalls)))


def draw_judge(trace: Trace, judgement: Judgement, live: bool) -> None:
    """Draw one judge: the table of its scores and weights, and how people's weights differ from its own."""
    if judgement.problem and judgement.scores:
        status = "is running" if live else f"has no verdict: {judgement.problem}"
        st.caption(
            f":material/{'sync' if live else 'help'}: {escape_markdown(judgement.judge)} {escape_markdown(status)}"
        )
    if not judgement.aspects:
        return
    stated = judgement.stated_weights
    if stated and aspect_math.has_other_total(stated):
        listed = " · ".join(f"{weight:.3g}" for weight in stated.values())
        st.caption(f"The judge's weights sum to {sum(stated.values()):.4g} %: {listed}.")
    people_weights = load_people_weights(trace, judgement)
    if judgement.weights is not None and judgement.complete:
        draw_bars(judgement, judgement.weights, f"sums-{trace.id}-{judgement.judge}")
    draw_table(judgement, people_weights)
    if judgement.weights is not None and people_weights:
        draw_distances(judgement, judgement.weights, people_weights)


def draw_bars(judgement: Judgement, weights: Weights, key: str) -> None:
    """Draw a stacked bar for each response: its overall score, of which each aspect has weight x score."""
    overalls = [aspect_math.overall_score(weights, scores) for scores in judgement.scores]
    names = [f"Response {number}: {overall:.2f}" for number, overall in enumerate(overalls, 1)]
    figure = go.Figure(layout={"barmode": "stack"})
    for index, (aspect, weight) in enumerate(weights.items()):
        parts = [weight * scores[aspect] / aspect_math.TOTAL for scores in judgement.scores]
        name = escape(truncate(aspect, 60), quote=False)
        hover = [f"{name}<br>{part:.2f}, weight {weight:.3g} %" for part in parts]
        figure.add_bar(
            x=parts, y=names, orientation="h", text=aspect_letter(index), textangle=0, hovertext=hover,
            hoverinfo="text", marker={"color": colours.JUDGES[index % len(colours.JUDGES)]},
        )  # fmt: skip
    figure.update_yaxes(autorange="reversed")
    title = "Overall score: weight × score of each aspect"
    charts.apply_layout(figure, title, BARS_HEIGHT + BAR_HEIGHT * len(names))
    charts.draw(figure, key, ", ".join(names), data=charts.ChartData(method="Scores of one trace"))


def describe_flips(judgement: Judgement, aspect: str) -> str:
    """Return `under 14.3 %: response 2`, the weights of an aspect from which another response is ahead."""
    if judgement.weights is None or not judgement.complete:
        return ""
    flips = aspect_math.find_flips(aspect_math.in_percent(judgement.weights), judgement.scores, aspect)
    return ", ".join(f"{flip.side} {flip.at:.3g} %: response {flip.to}" for flip in flips)


def load_people_weights(trace: Trace, judgement: Judgement) -> dict[str, Weights]:
    """Return people's weights by annotator; none for an annotator who has not given their own.

    Records that this annotator has seen the judge's weights.
    """
    target = Target(item=trace.item, kind="aspect_weights", part=aspect_math.aspect_set_id(judgement.aspects))
    annotator = shell.current_annotator()
    if judgement.weights is not None:
        shell.record_views(trace.study_id, [target])
    with connections.reading(resources.engine()) as session:
        if annotator is None or judgement.weights is None or labels.current(session, trace.study_id, target, annotator):
            return stored_aspects.annotator_weights(session, trace.study_id, target)
    st.caption(
        ":material/visibility: You have seen the judge's weights. Weights that you give from now on are recorded as "
        "not blind. Other people's weights are shown after your own."
    )
    return {}


def draw_table(judgement: Judgement, people_weights: Mapping[str, Weights]) -> None:
    """Draw the aspects with the weights, each response's scores, and the weights that would change the verdict."""
    average = aspect_math.mean_weights(list(people_weights.values()))
    headings = ["", "Aspect", *(["Weight"] if judgement.weights else []), *(["People"] if people_weights else [])]
    headings += [f"R{number}" for number in range(1, len(judgement.scores) + 1)]
    flips = {aspect: describe_flips(judgement, aspect) for aspect in judgement.aspects}
    changes = any(flips.values())
    rows = []
    for index, aspect in enumerate(judgement.aspects):
        cells = [f"**{aspect_letter(index)}**", escape_markdown(aspect)]
        cells += [f"{judgement.weights[aspect]:.3g} %"] if judgement.weights else []
        cells += [f"{average[aspect]:.3g} %"] if people_weights else []
        cells += [f"{scores[aspect]:g}" if aspect in scores else "–" for scores in judgement.scores]
        rows.append([*cells, flips[aspect]] if changes else cells)
    turns.draw_table([*headings, "Would be ahead"] if changes else headings, rows, left=2)


def draw_distances(judgement: Judgement, weights: Weights, people_weights: Mapping[str, Weights]) -> None:
    """Draw the rank distance between the judge's weights and those of each person."""
    distances = {name: rank_distance(weights, own) for name, own in people_weights.items()}
    parts = [
        f"{escape_markdown(name)}: {'undefined (all weights equal)' if value is None else f'{value:.2f}'}"
        for name, value in distances.items()
    ]
    st.caption(
        f"Rank distance from {escape_markdown(judgement.judge)} to {', '.join(parts)} "
        "(Kendall's tau-b, scaled: 0 is the same order, 1 the opposite)."
    )


def draw_replies(trace_id: int, numbered_turns: Sequence[tuple[int, Turn]], judgements: Sequence[Judgement]) -> None:
    """Draw every reply with its prompt, if the toggle is on."""
    if not numbered_turns or not st.toggle(
        f"Show {numbers.format_count(len(numbered_turns), 'reply', 'replies')}",
        key=f"replies-{trace_id}",
    ):
        return
    aspects_by_judge = {judgement.judge: judgement.aspects for judgement in judgements}
    has_orders = len({turn.shown for _, turn in numbered_turns if turn.shown}) > 1
    for seq, turn in numbered_turns:
        step = describe_ask(turn, aspects_by_judge.get(turn.speaker, ()))
        step += f" · order {', '.join(map(str, turn.shown))}" if has_orders and turn.shown else ""
        turns.draw_turn(trace_id, seq, turn, f"**{escape_markdown(turn.speaker)}** · {step}")


def describe_ask(turn: Turn, aspects: Sequence[str]) -> str:
    """Return the content of an ask."""
    if turn.step == "score" and turn.round <= len(aspects):
        return f"scores on {aspect_letter(turn.round - 1)} {escape_markdown(truncate(aspects[turn.round - 1], 60))}"
    return STEPS.get(turn.step, escape_markdown(turn.step))
