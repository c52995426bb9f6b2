"""The view of scoring by aspect: the weighted sums, the weights that would change the verdict, and people's weights.

The judgements are computed from the stored turns by the protocol's own functions; no model is called.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core import aspects as aspect_math
from core.aspects import Scores, Weights, overall_score, weighted_scores
from core.formats.charts import IntervalChart, Mark
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

# Charts of aspects: weighted scores by aspect, and weights by rater. Aspects are identified by letters.

ONE_TRACE = charts.ChartData(method="Scores of one trace")
# Opacity of neighbouring segments, in turn, so they can be distinguished.
TINTS = (1.0, 0.8, 0.62)
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
# Pixels for a response's bar.
BAR_HEIGHT = 46


# A part of the bar of each response: its name, and the value and the text on hover for each response.
Segment = tuple[str, Sequence[float], Sequence[str]]


def weighted_segments(weights: Weights, scores: Sequence[Scores]) -> list[Segment]:
    """Return weight x score of each response, by aspect."""
    parts = [weighted_scores(weights, of_response) for of_response in scores]
    return [
        (
            aspect_letter(index),
            [of_response[aspect] for of_response in parts],
            [
                f"{_short(aspect, 60)}<br>{weight:.1f} % × {of_response[aspect]:g} = {part[aspect]:.2f}"
                for of_response, part in zip(scores, parts, strict=True)
            ],
        )
        for index, (aspect, weight) in enumerate(weights.items())
    ]


def draw_bars(
    segments: Sequence[Segment], totals: Sequence[float], highest: float, title: str, axis: str, key: str
) -> None:
    """Draw a stacked bar for each response, with its overall score at the end."""
    names = [f"Response {number}" for number in range(1, len(totals) + 1)]
    figure = go.Figure(layout={"barmode": "stack"})
    for index, (segment, values, hover) in enumerate(segments):
        figure.add_bar(
            x=values,
            y=names,
            orientation="h",
            marker={
                "color": [_response_colour(number) for number in range(1, len(totals) + 1)],
                "opacity": TINTS[index % len(TINTS)],
            },
            text=[segment if value > highest / 40 else "" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            hovertext=hover,
            hoverinfo="text",
        )
    for name, total in zip(names, totals, strict=True):
        figure.add_annotation(x=total, y=name, text=f"<b>{total:.2f}</b>", showarrow=False, xanchor="left", xshift=6)
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title=f"{axis}, at most {highest:g}", range=[0, highest * 1.08])
    charts.apply_layout(figure, title, 100 + BAR_HEIGHT * len(names))
    alt = ", ".join(f"{name}: {total:.2f}" for name, total in zip(names, totals, strict=True))
    charts.draw(figure, key, alt, data=ONE_TRACE)


def draw_weights(judge: str, weights: Weights, people_weights: Mapping[str, Weights], key: str) -> None:
    """Draw the weights of the judge and of each person on the same rows."""
    raters = [(_short(judge, 24), weights), *((_short(name, 24), own) for name, own in people_weights.items())]
    marks = [
        Mark(aspect, own[aspect], None, None, name, "") for aspect in weights for name, own in raters if aspect in own
    ]
    series = [(name, SYMBOLS[place % len(SYMBOLS)]) for place, (name, _) in enumerate(raters)]
    title = "Weights of the judge and of people"
    figure = charts.shared_interval_figure(IntervalChart("weights", title, "Weight, %", series, marks))
    charts.draw(figure, key, title, data=ONE_TRACE)


def _short(name: str, length: int) -> str:
    return escape(truncate(name, length), quote=False)


def _response_colour(response: int) -> str:
    """Return the colour of a response; those after the second use the judges' muted colours."""
    return colours.RESPONSE.get(response) or colours.JUDGES[(response - 3) % len(colours.JUDGES)]


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
    verdict = turns.verdict_of(events)
    if verdict is not None:
        # One without a verdict begins with a judge's name, which is not changed.
        reason = verdict.reason
        reason = reason if verdict.outcome == "no_verdict" else reason[:1].upper() + reason[1:]
        st.markdown(f"**{escape_markdown(reason)}**")
    turns.draw_problems(events, "scoring")
    by_judge = {one.judge: one for one in judgements}
    names = {name: _name_with_overalls(one) for name, one in by_judge.items()}
    judgement = turns.choose("Judge", by_judge, f"judge-{trace.id}", names.__getitem__)
    if judgement is not None and isinstance(run_settings, ScoringSettings):
        draw_judge(trace, judgement, run_settings, live)
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


def draw_judge(trace: Trace, judgement: Judgement, settings: ScoringSettings, live: bool) -> None:
    """Draw one judge: the bars with the slider next to them, the table, and people's weights."""
    if judgement.problem and judgement.scores:
        status = "is running" if live else f"has no verdict: {judgement.problem}"
        st.caption(
            f":material/{'sync' if live else 'help'}: {escape_markdown(judgement.judge)} {escape_markdown(status)}"
        )
    key = f"{trace.id}-{judgement.judge}"
    weights = judgement.weights
    if weights is not None and judgement.complete and judgement.scores:
        left, right = st.columns([3, 2], gap="large")
        with right:
            current_weights = draw_weight_slider(weights, judgement, key)
        totals = [overall_score(current_weights, of_response) for of_response in judgement.scores]
        segments = weighted_segments(current_weights, judgement.scores)
        with left:
            draw_bars(segments, totals, settings.highest, "Overall score by aspect", "Weight × score", f"sums-{key}")
    elif judgement.overalls:
        segments = [("", judgement.overalls, [f"{value:g}" for value in judgement.overalls])]
        title = "Overall score, given by the judge"
        draw_bars(segments, judgement.overalls, settings.highest, title, "Score", f"overalls-{key}")
    if judgement.aspects:
        stated = judgement.stated_weights
        if stated and aspect_math.has_other_total(stated):
            listed = " · ".join(f"{weight:.3g}" for weight in stated.values())
            st.caption(f"The judge's weights sum to {sum(stated.values()):.4g} %: {listed}.")
        people_weights = load_people_weights(trace, judgement)
        draw_table(judgement, people_weights)
        if weights is not None:
            draw_comparison(judgement, weights, people_weights, key)


def draw_weight_slider(weights: Weights, judgement: Judgement, key: str) -> Weights:
    """Draw a slider for the weight of one aspect; returns the weights with the others scaled in proportion."""
    stated, weights = weights, aspect_math.in_percent(weights)
    names = list(weights)
    index = st.pills(
        "Change the weight of",
        range(len(names)),
        format_func=aspect_letter,
        default=max(range(len(names)), key=list(weights.values()).__getitem__),
        required=True,
        key=f"aspect-{key}",
    )
    aspect = names[int(index or 0)]
    percent = st.slider(
        f"{escape_markdown(truncate(aspect, 60))}: weight in %",
        0.0,
        100.0,
        float(round(weights[aspect], 1)),
        0.5,
        format="%.1f",
        key=f"weight-{key}-{index}",
    )
    st.markdown(describe_flips(weights, judgement, aspect))
    if abs(percent - weights[aspect]) < 0.05:
        st.caption("The bars show the judge's weights. Move the slider to try others; nothing is saved.")
        return stated
    adjusted = aspect_math.set_weight(weights, aspect, percent)
    winner = aspect_math.preferred_response([overall_score(adjusted, scores) for scores in judgement.scores])
    leader = f"response {winner} is ahead" if winner else "the best responses are equal"
    st.caption(f":material/tune: At {percent:g} % {leader}. The judge's weight is {weights[aspect]:.3g} %.")
    return adjusted


def describe_flips(weights: Weights, judgement: Judgement, aspect: str) -> str:
    """Return `Under 14.3 % response 2 would be ahead.` in Markdown."""
    flips = aspect_math.find_flips(weights, judgement.scores, aspect)
    if flips:
        return " ".join(
            f"**{flip.side.capitalize()} {flip.at:.3g} %** response {flip.to} would be ahead." for flip in flips
        )
    if not aspect_math.preferred_response(judgement.overalls or (0.0, 0.0)):
        return "The best responses are equal: any change of weight on which they differ decides the verdict."
    return "No weight of this aspect would change the verdict."


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


def draw_table(judgement: Judgement, people_weights: dict[str, Weights]) -> None:
    """Draw the aspects as a table with the weights and each response's scores."""
    average = aspect_math.mean_weights(list(people_weights.values()))
    headings = ["", "Aspect", *(["Weight"] if judgement.weights else []), *(["People"] if people_weights else [])]
    headings += [f"R{number}" for number in range(1, len(judgement.scores) + 1)]
    rows = []
    for index, aspect in enumerate(judgement.aspects):
        cells = [f"**{aspect_letter(index)}**", escape_markdown(aspect)]
        cells += [f"{judgement.weights[aspect]:.3g} %"] if judgement.weights else []
        cells += [f"{average[aspect]:.3g} %"] if people_weights else []
        cells += [f"{scores[aspect]:g}" if aspect in scores else "–" for scores in judgement.scores]
        rows.append(cells)
    turns.draw_table(headings, rows, left=2)


def draw_comparison(judgement: Judgement, weights: Weights, people_weights: dict[str, Weights], key: str) -> None:
    """Draw the judge's and people's weights, with their rank distances."""
    if not people_weights:
        return
    draw_weights(judgement.judge, weights, people_weights, f"weights-{key}")
    distances = [(name, rank_distance(weights, person_weights)) for name, person_weights in people_weights.items()]
    parts = [
        f"{escape_markdown(name)}: {'undefined (all weights equal)' if value is None else f'{value:.2f}'}"
        for name, value in distances
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
