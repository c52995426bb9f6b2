"""ScaleEval: judges debate which of two responses is better (Chern et al. 2024, arXiv:2401.16788, Section 4.1).

Every judge first gives its opinion alone (Eq. 4). Then they discuss for up to D - 1 rounds, each seeing the replies of
the round before (Eq. 6). If they still differ, the verdict is disputed and an annotator decides. With position
calibration the debate is run once in each order of the responses.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from core.answers.answer import Answer
from core.answers.choice import Choice
from core.errors import TiebreakError
from core.items import Item
from core.labels import Kind, Opinion, Value
from core.protocols import Judge, PartialFlow, run_in_parallel
from core.protocols.prompt_parts import (
    criterion_text,
    describe_choice,
    describe_vote,
    draw_orders,
    in_item_order,
    item_material,
)
from core.protocols.scaleeval.settings import About, Settings, Stopping, Unread
from core.templates import Material, RawText, Templates, is_raw, render
from core.trace import Ask, Flow, Turn, Verdict
from core.verdicts import conclusion, contention

NAME = "scaleeval"
CHOICE = Choice(noun="Submission")


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """Run one debate, or one in each order of the responses. Random choices are made before the first ask."""
    debates = start_debates(item, settings, rng, templates)
    turns, _ = yield from run_in_parallel([discuss(debate) for debate in debates])
    rules = settings.stopping, settings.unread, settings.outcome
    return conclude(turns, debates[0].judges, settings.criterion.name, *rules)


def discuss(debate: "Debate") -> PartialFlow:
    """Run one debate: first opinions, then rounds of replies until the stopping rule is satisfied or all are run."""
    turns = list((yield [_ask(debate, judge, "opinion", 0) for judge in debate.speakers]))  # Table 6, given alone
    in_turn = debate.settings.reply_order == "sequential"
    groups = [(judge,) for judge in debate.speakers] if in_turn else [debate.speakers]
    for number in range(1, debate.settings.rounds):
        if debate.settings.stop_early and is_settled(turns, debate.judges, debate.settings):
            break
        for speakers in groups:
            turns += yield [ask_reply(debate, judge, turns, number) for judge in speakers]


@dataclass(frozen=True)
class Debate:
    """The constant parts of a debate: the material as shown to the judges, and the order of the speakers."""

    settings: Settings
    templates: Templates
    item: Item
    material: Mapping[str, Material]
    """Values of the blanks submission_1, submission_2 and criteria; of a debate about steps, response and criteria."""
    shown: tuple[int, ...]
    speakers: tuple[Judge, ...]
    answer: Answer[Any]
    value: Callable[[Any], Value]

    @property
    def judges(self) -> list[str]:
        """The names of the judges in the order of the settings."""
        return [judge.name for judge in self.settings.judges]

    def number(self, name: str) -> int:
        """Return the n of "Speaker n"."""
        return [judge.name for judge in self.speakers].index(name) + 1


def start_debates(item: Item, settings: Settings, rng: Random, templates: Templates) -> list[Debate]:
    """Draw the order of responses and speakers, and format the criterion; return a debate for each order."""
    if settings.outcome == "preference" and len(item.responses) != 2:
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; ScaleEval compares two.")
    orders, speakers = draw_orders(2, settings, rng), list(settings.judges)
    if settings.shuffle_speakers:
        rng.shuffle(speakers)
    criteria = Material("Criteria", criterion_text(settings.criterion, settings.format, rng), required=False)
    if settings.outcome == "step":
        return [_debate_about_steps(item, settings, templates, tuple(speakers), criteria)]
    debates = []
    for order in orders:
        material = {
            f"submission_{place}": Material(f"Submission {place}", item.responses[number - 1].text)
            for place, number in enumerate(order, start=1)
        }
        material["criteria"] = criteria
        value = in_item_order(order)
        debates.append(Debate(settings, templates, item, material, order, tuple(speakers), CHOICE, value))
    return debates


def _debate_about_steps(
    item: Item, settings: Settings, templates: Templates, speakers: tuple[Judge, ...], criteria: Material
) -> Debate:
    from core.protocols.steps import StepNumber, step_in, steps_of  # a debate about responses loads no transcripts

    value = step_in(item)
    material = {"response": Material("Transcript", item.responses[0].text), "criteria": criteria}
    return Debate(settings, templates, item, material, (), speakers, StepNumber(last=steps_of(item)[-1][0]), value)


def ask_reply(debate: Debate, judge: Judge, turns: Sequence[Turn], number: int) -> Ask:
    """Ask for a reply in discussion round `number` (Table 6, "Discussion Rounds")."""
    is_later = number > 1 and "reply_later" in debate.templates and debate.settings.outcome == "preference"
    template = "reply_later" if is_later else ""
    visible = visible_turns(debate.settings, number, turns)
    quoted: RawText | list[Material] = [_quote(debate, turn) for turn in visible]
    if is_raw(debate.templates, template or _template(debate, "reply")) and "quote" in debate.templates:
        quoted = RawText.joined([_raw_quote(debate, turn, number) for turn in visible])
    return _ask(
        debate,
        judge,
        "reply",
        number,
        template=template,
        number=debate.number(judge.name),
        speakers=len(debate.speakers),
        discussion=quoted,
    )


def visible_turns(settings: Settings, number: int, turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns that a speaker of round `number` reads: the previous round or all, and this round so far."""
    if settings.shared_rounds == "all":
        return turns
    recent = turns[-2 * len(settings.judges) :]
    return [turn for turn in recent if turn.round in (number - 1, number)]


def turns_in_history(settings: Settings, turn: Turn, earlier: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns that the speaker of `turn` had read; `earlier` are those before it in its debate."""
    if turn.round == 0:
        return []
    visible = visible_turns(settings, turn.round, earlier)
    return [other for other in visible if settings.reply_order == "sequential" or other.round < turn.round]


def is_settled(turns: Sequence[Turn], judges: Sequence[str], settings: Settings) -> bool:
    """Return whether the debate ends after these turns, by the stopping rule.

    Opinions are stable if as many judges have each choice as in each of the last `stable_rounds` rounds before; then,
    or once the judges are unanimous, a debate until stability ends.
    """
    last = latest_turns(turns)
    if settings.stopping != "stability":
        return find_consensus(last, judges, settings.stopping, settings.unread) is not None
    rounds = [
        _count_choices({turn.speaker: turn for turn in turns if turn.round == number}, judges)
        for number in sorted({turn.round for turn in turns})
    ][-settings.stable_rounds - 1 :]
    is_stable = len(rounds) > settings.stable_rounds and all(counts == rounds[0] for counts in rounds)
    return is_stable or find_consensus(last, judges, "unanimity", settings.unread) is not None


def latest_turns(turns: Sequence[Turn]) -> dict[str, Turn]:
    """Return each judge's most recent turn."""
    return {turn.speaker: turn for turn in turns}


def find_consensus(
    last: Mapping[str, Turn], judges: Sequence[str], stopping: Stopping, unread: Unread = "no verdict"
) -> Value | None:
    """Return the choice that satisfies the stopping rule; None if none does.

    Unanimity needs a readable opinion of every judge, or of at least two if unread judges are left out; a majority more
    than half of at least two readable ones.
    """
    counts = _count_choices(last, judges)
    if not counts:
        return None
    value, count = counts.most_common(1)[0]
    enough = count >= 2 and count * 2 > counts.total()
    if stopping == "unanimity":
        enough = count == len(judges) or (unread == "left out" and enough and count == counts.total())
    return value if enough else None


def conclude(
    turns: Sequence[Turn],
    judges: Sequence[str],
    criterion: str,
    stopping: Stopping = "unanimity",
    unread: Unread = "no verdict",
    about: About = "preference",
) -> Verdict:
    """Return the verdict: agreed if the rule holds, disputed if two readable last opinions differ, or none.

    If the debate was run in both orders of the responses, agreed only if the rule holds in both with the same choice,
    and no judge ends with another choice in the other order.
    """
    orders = list(dict.fromkeys(turn.shown for turn in turns)) or [()]
    last = [latest_turns([turn for turn in turns if turn.shown == order]) for order in orders]
    first = [latest_turns([turn for turn in reversed(turns) if turn.shown == order]) for order in orders]
    counts = [_count_choices(turns, judges) for turns in last]
    choices = [find_consensus(turns, judges, stopping, unread) for turns in last]
    has_flip = any(len(_choices(judge, last)) > 1 for judge in judges)
    value = choices[0] if len(set(choices)) == 1 and not has_flip else None
    differ = len(set().union(*counts)) > 1
    outcomes = [_describe_outcome(*outcome, len(judges), about) for outcome in zip(counts, choices, strict=True)]
    if len(orders) > 1:
        pairs = zip(orders, outcomes, strict=True)
        outcomes = [f"if response {order[0]} is read first, {outcome}" for order, outcome in pairs]
    reason = "; ".join(outcomes)
    kind: Kind = "answer" if about == "step" else "preference"
    opinions = [_opinion(judge, "first", first, kind, criterion) for judge in judges]
    opinions += [_opinion(judge, "last", last, kind, criterion) for judge in judges]
    return Verdict(
        outcome="agreed" if value is not None else "disputed" if differ else "no_verdict",
        value=value,
        reason=reason,
        opinions=(*opinions, conclusion(NAME, kind, value, reason, criterion)),
        contention=contention([choice for count in counts for choice in count.elements()], flipped=has_flip),
    )


def _ask(debate: Debate, judge: Judge, step: str, round: int, *, template: str = "", **values: object) -> Ask:
    template = template or _template(debate, step)
    material = item_material(debate.item, debate.templates, template) | dict(debate.material)
    return Ask(
        speaker=judge.name,
        step=step,
        round=round,
        spec=judge.spec,
        prompt=render(debate.templates, template, **material, words=debate.settings.words, **values),
        answer=debate.answer,
        value=debate.value,
        shown=debate.shown,
    )


def _template(debate: Debate, step: str) -> str:
    return f"step_{step}" if debate.settings.outcome == "step" else step


def _quote(debate: Debate, turn: Turn) -> Material:
    when = "initial evaluation" if turn.round == 0 else f"discussion round {turn.round}"
    return Material(f"Speaker {debate.number(turn.speaker)}, {when}", turn.statement or "(no answer)")


def _raw_quote(debate: Debate, turn: Turn, number: int) -> str:
    """Return a turn as the study's raw templates quote it in a reply of round `number`."""
    by_round = {number: "quote", 0: "quote_initial"}
    name = by_round.get(turn.round, "quote_previous")
    text = Material("Reply", turn.statement or "(no answer)")
    name = name if name in debate.templates else "quote"
    return render(debate.templates, name, number=debate.number(turn.speaker), round=turn.round, text=text)


def _count_choices(last: Mapping[str, Turn], judges: Sequence[str]) -> Counter[Value]:
    """Count the judges of each choice; a judge without a readable one is not counted."""
    readings = [last[judge].reading for judge in judges if judge in last]
    return Counter(reading for reading in readings if reading is not None)


def _choices(judge: str, turns: Sequence[Mapping[str, Turn]]) -> list[Value]:
    """Return the different readable choices of a judge over the orders of the responses."""
    readings = [round_turns[judge].reading for round_turns in turns if judge in round_turns]
    return list(dict.fromkeys(reading for reading in readings if reading is not None))


def _opinion(
    judge: str, stage: Literal["first", "last"], turns: Sequence[Mapping[str, Turn]], kind: Kind, criterion: str
) -> Opinion:
    """Return the opinion of a judge: the choice that it has in every order of the responses."""
    choices, own = _choices(judge, turns), [of_order[judge] for of_order in turns if judge in of_order]
    problem, unread = "" if choices else "has given no reply", next((one for one in own if one.reading is None), None)
    if len(choices) > 1:
        problem = f"its choice changes with the order of the responses: {' and '.join(map(describe_choice, choices))}"
    elif unread is not None:
        problem = unread.problem or "gave no opinion"
    value = None if problem else choices[0]
    return Opinion(kind=kind, judge=judge, stage=stage, value=value, criterion=criterion, problem=problem)


def _describe_outcome(counts: Counter[Value], value: Value | None, judges: int, about: About) -> str:
    readable, is_step = counts.total(), about == "step"
    unread = f"; {judges - readable} of {judges} judges gave no readable opinion" if readable < judges else ""
    if value is not None:
        share = f"all {judges} judges" if counts[value] == judges else f"{counts[value]} of {readable} judges"
        return f"{share} chose {describe_vote(value, is_step=is_step)}{unread}"
    if len(counts) > 1:
        choices = ", ".join(f"{n} for {describe_vote(one, is_step=is_step)}" for one, n in counts.most_common())
        return f"the judges still differ: {choices}{unread}"
    return f"only {readable} of {judges} judges gave a readable opinion"
