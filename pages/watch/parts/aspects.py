"""Scoring by aspect as people watch it: the weighted sums, the weight that would turn them, whose weights are whose.

Everything is put together from the turns by the protocol's own functions, so nothing here asks a model.
"""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from core import aspects as sums
from core.items import Item
from core.labels import Target
from core.protocols.dna_baselines import protocol as dna_baselines
from core.protocols.dna_eval import verdicts
from core.protocols.dna_eval.settings import Scoring, Settings
from core.protocols.dna_eval.verdicts import Judgement
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import checked
from core.statistics.reports.weight_distances import kendall
from core.trace import Event, Turn, TurnTaken, Verdict, VerdictReached
from pages.parts import numbers, resources, shell
from pages.parts.text import plain, short
from pages.watch.parts import aspect_charts, turns
from pages.watch.parts.aspect_charts import letter
from storage import aspects as stored
from storage import database, labels
from storage.traces import Trace

STEPS = {
    "aspects": "aspects",
    "weights": "weights",
    "overall": "overall scores",
    "direct": "scores",
    "reasoned": "scores",
}


def render(trace: Trace, item: Item, events: Sequence[tuple[int, Event]], settings: dict[str, Any], live: bool) -> None:
    """Each judge's sums in turn; `live` while more is to come."""
    told = checked(settings, PROTOCOLS[trace.protocol])
    taken = sorted((event.ask, seq, event.turn) for seq, event in events if isinstance(event, TurnTaken))
    said = [turn for _, _, turn in taken]
    judged = judgements(said, told, len(item.responses))
    for _, event in events:
        if isinstance(event, VerdictReached):
            st.markdown(f"**{plain(concluded(event.verdict))}**")
        elif not isinstance(event, TurnTaken):
            turns.trouble(event, "scoring")
    one = chosen(trace.id, judged)
    if one is not None and isinstance(told, Scoring):
        judge(trace, one, told, live)
    replies(trace.id, [(seq, turn) for _, seq, turn in taken], judged)


def concluded(verdict: Verdict) -> str:
    """The outcome as a sentence begins; one that begins with a judge's name is left alone."""
    reason = verdict.reason
    return reason if verdict.outcome == "no_verdict" else reason[:1].upper() + reason[1:]


def judgements(said: Sequence[Turn], settings: object, responses: int) -> list[Judgement]:
    """What the turns come to, by whichever protocol they were taken."""
    if isinstance(settings, dna_baselines.Settings):
        return dna_baselines.judgements(said, settings, responses)
    return verdicts.judgements(said, settings, responses) if isinstance(settings, Settings) else []


def chosen(trace_id: int, judged: Sequence[Judgement]) -> Judgement | None:
    """The judge to look at; what each came to stands in the choice."""
    if len(judged) < 2:
        return next(iter(judged), None)
    names = {one.judge: one for one in judged}
    name = st.segmented_control(
        "Judge",
        list(names),
        format_func=lambda name: " · ".join(filter(None, (name, outcome(names[name])))),
        default=judged[0].judge,
        required=True,
        key=f"judge-{trace_id}",
    )
    return names.get(str(name), judged[0])


def outcome(judged: Judgement) -> str:
    """`8.05 to 7.80`, or nothing while there is nothing."""
    return " to ".join(f"{value:.2f}" for value in judged.overalls or ())


def judge(trace: Trace, judged: Judgement, settings: Scoring, live: bool) -> None:
    """One judge: the bars with the slider beside them, the table, and people's weights."""
    if judged.problem and judged.scores:
        word = "is at work" if live else f"has no verdict: {judged.problem}"
        st.caption(f":material/{'sync' if live else 'help'}: {plain(judged.judge)} {plain(word)}")
    key = f"{trace.id}-{judged.judge}"
    weights = judged.weights
    if weights is not None and judged.complete and judged.scores:
        left, right = st.columns([3, 2], gap="large")
        with right:
            tried = slider(weights, judged, key)
        with left:
            aspect_charts.sums(tried, judged.scores, settings.highest, f"sums-{key}")
    elif judged.overalls:
        aspect_charts.overalls(judged.overalls, settings.highest, f"overalls-{key}")
    if judged.aspects:
        people = weights_of_people(trace, judged)
        table(judged, people)
        if weights is not None:
            beside(judged, weights, people, key)


def slider(weights: sums.Weights, judged: Judgement, key: str) -> sums.Weights:
    """Another weight for one aspect, the others in proportion; says where that turns the verdict."""
    names = list(weights)
    place = st.pills(
        "Another weight for",
        range(len(names)),
        format_func=letter,
        default=heaviest(weights),
        required=True,
        key=f"aspect-{key}",
    )
    aspect = names[int(place or 0)]
    percent = st.slider(
        f"{plain(short(aspect, 60))}: weight in %",
        0.0,
        100.0,
        float(round(weights[aspect], 1)),
        0.5,
        format="%.1f",
        key=f"weight-{key}-{place}",
    )
    st.markdown(turning(weights, judged, aspect))
    if abs(percent - weights[aspect]) < 0.05:
        st.caption("The bars are as the judge weighed. Move the slider to see others; nothing is asked or kept.")
        return weights
    tried = sums.reweighted(weights, aspect, percent)
    winner = sums.preferred([sums.overall(tried, one) for one in judged.scores])
    ahead = f"response {winner} is ahead" if winner else "the best are equal"
    st.caption(f":material/tune: At {percent:g} % {ahead}. The judge gave {weights[aspect]:.3g} %.")
    return tried


def heaviest(weights: sums.Weights) -> int:
    """The place of the aspect that weighs most."""
    return max(range(len(weights)), key=lambda place: list(weights.values())[place])


def turning(weights: sums.Weights, judged: Judgement, aspect: str) -> str:
    """`Under 14.3 % response 2 would be ahead.`"""
    found = sums.flips(weights, judged.scores, aspect)
    if found:
        return " ".join(
            f"**{one.side.capitalize()} {one.at:.3g} %** response {one.to} would be ahead." for one in found
        )
    if not sums.preferred(judged.overalls or (0.0, 0.0)):
        return "The best responses are equal: more or less weight where they differ turns it."
    return "No weight of this aspect would turn the verdict."


def weights_of_people(trace: Trace, judged: Judgement) -> dict[str, sums.Weights]:
    """People's weights, for whoever gave their own or labels nothing here; who looks now has seen the judge's."""
    target = Target(item=trace.item, kind="aspect_weights", part=sums.part(judged.aspects))
    name = shell.annotator()
    with database.writing(resources.engine()) as session:
        if name is not None and judged.weights is not None and not labels.own(session, trace.study_id, target, name):
            labels.see(session, trace.study_id, target, name)
            st.caption(
                ":material/visibility: You have seen the judge's weights now: weights you give later are kept as not "
                "blind. Other people's show after your own."
            )
            return {}
        return stored.weights_of_people(session, trace.study_id, target)


def table(judged: Judgement, people: dict[str, sums.Weights]) -> None:
    """The aspects by their letters: weights, and each response's score."""
    average = sums.mean(list(people.values()))
    heads = ["", "Aspect", *(["Weight"] if judged.weights else []), *(["People"] if people else [])]
    heads += [f"R{number}" for number in range(1, len(judged.scores) + 1)]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for place, aspect in enumerate(judged.aspects):
        cells = [f"**{letter(place)}**", plain(aspect)]
        cells += [f"{judged.weights[aspect]:.3g} %"] if judged.weights else []
        cells += [f"{average[aspect]:.3g} %"] if people else []
        cells += [f"{scores[aspect]:g}" if aspect in scores else "–" for scores in judged.scores]
        lines.append("| " + " | ".join(cells) + " |")
    st.markdown("\n".join(lines))


def beside(judged: Judgement, weights: sums.Weights, people: dict[str, sums.Weights], key: str) -> None:
    """The judge's weights beside people's, with their distance by rank."""
    if not people:
        return
    aspect_charts.whose(judged.judge, weights, people, f"whose-{key}")
    told = [(name, kendall(weights, given)) for name, given in people.items()]
    parts = [
        f"{plain(name)}: {'undefined (all weights equal)' if value is None else f'{value:.2f}'}" for name, value in told
    ]
    st.caption(
        f"Distance by rank from {plain(judged.judge)} to {', '.join(parts)} "
        "(Kendall's with ties: 0 the same order, 1 the opposite)."
    )


def replies(trace_id: int, taken: Sequence[tuple[int, Turn]], judged: Sequence[Judgement]) -> None:
    """Every ask with its reply, when somebody wants them."""
    if not taken or not st.toggle(
        f"Show {numbers.count(len(taken), 'ask with its reply', 'asks with their replies')}", key=f"replies-{trace_id}"
    ):
        return
    names = {one.judge: one.aspects for one in judged}
    for seq, turn in taken:
        with st.container(key=f"turn-{trace_id}-{seq}", gap="small"):
            with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
                wrong = f" · no reading: {plain(turn.problem)}" if turn.problem else ""
                st.markdown(f"**{plain(turn.speaker)}** · {asked_for(turn, names.get(turn.speaker, ()))}{wrong}")
                st.caption(turns.cost(turn.usage), width="content")
            st.code(turn.reply or "(an empty reply)", language=None, wrap_lines=True)
            turns.prompt(trace_id, seq)


def asked_for(turn: Turn, aspects: Sequence[str]) -> str:
    """What an ask was for."""
    if turn.step == "score" and turn.round <= len(aspects):
        return f"scores on {letter(turn.round - 1)} {plain(short(aspects[turn.round - 1], 60))}"
    return STEPS.get(turn.step, plain(turn.step))
