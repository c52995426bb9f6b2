"""ScaleEval: judges debate which of two responses is better (Chern et al. 2024, arXiv:2401.16788, Section 4.1).

Every judge first gives its opinion alone (Eq. 4). Then they discuss for up to D - 1 rounds, each seeing the replies of
the round before (Eq. 6). If they still differ, the verdict is disputed and an annotator decides.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from core.answers import Choice
from core.contention import contention
from core.errors import TiebreakError
from core.items import Item
from core.labels import Opinion, Value
from core.protocols import Judge
from core.protocols.choices import describe_choice, in_item_order
from core.protocols.prompt_parts import criterion_text, item_material
from core.protocols.scaleeval.settings import Settings, Stopping
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Turn, Verdict

NAME = "scaleeval"
CHOICE = Choice(noun="Submission")


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """One debate. Every random choice is made from `rng` before the first ask."""
    debate = start_debate(item, settings, rng, templates)
    names = [judge.name for judge in settings.judges]
    turns = list((yield [ask_opinion(debate, judge) for judge in debate.speakers]))
    for number in range(1, settings.rounds):
        if find_consensus(latest_turns(turns), names, settings.stopping) is not None:
            break
        for speakers in speaking_groups(debate):
            turns += yield [ask_reply(debate, judge, turns, number) for judge in speakers]
    return conclude(turns, names, settings.criterion.name, settings.stopping)


@dataclass(frozen=True)
class Debate:
    """The constant parts of a debate: the material as shown to the judges, and the order of the speakers."""

    settings: Settings
    templates: Templates
    item: Item
    material: Mapping[str, Material]
    """Values of the blanks submission_1, submission_2 and criteria."""
    shown: tuple[int, ...]
    speakers: tuple[Judge, ...]

    def number(self, name: str) -> int:
        """Return the n of "Speaker n"."""
        return [judge.name for judge in self.speakers].index(name) + 1


def start_debate(item: Item, settings: Settings, rng: Random, templates: Templates) -> Debate:
    """Draw the order of responses and speakers, and format the criterion."""
    if len(item.responses) != 2:
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; ScaleEval compares two.")
    shown, speakers = [1, 2], list(settings.judges)
    if settings.shuffle_responses:
        rng.shuffle(shown)
    if settings.shuffle_speakers:
        rng.shuffle(speakers)
    material = {
        "submission_1": Material("Submission 1", item.responses[shown[0] - 1].text),
        "submission_2": Material("Submission 2", item.responses[shown[1] - 1].text),
        "criteria": Material("Criteria", criterion_text(settings.criterion, settings.format, rng), required=False),
    }
    return Debate(settings, templates, item, material, tuple(shown), tuple(speakers))


def speaking_groups(debate: Debate) -> list[tuple[Judge, ...]]:
    """Return the judges of one discussion round, grouped by who is asked in parallel."""
    return (
        [debate.speakers] if debate.settings.reply_order == "simultaneous" else [(judge,) for judge in debate.speakers]
    )


def ask_opinion(debate: Debate, judge: Judge) -> Ask:
    """Ask for the first opinion, given alone (Table 6, "Initial Evaluation")."""
    return _ask(debate, judge, "opinion", 0)


def ask_reply(debate: Debate, judge: Judge, turns: Sequence[Turn], number: int) -> Ask:
    """Ask for a reply in discussion round `number` (Table 6, "Discussion Rounds")."""
    return _ask(
        debate,
        judge,
        "reply",
        number,
        number=debate.number(judge.name),
        speakers=len(debate.speakers),
        discussion=[_quote(debate, turn) for turn in visible_turns(turns, number)],
    )


def visible_turns(turns: Sequence[Turn], number: int) -> list[Turn]:
    """Return the turns that a speaker of round `number` reads: the previous round, and this round so far."""
    return [turn for turn in turns if turn.round in (number - 1, number)]


def latest_turns(turns: Sequence[Turn]) -> dict[str, Turn]:
    """Return each judge's most recent turn."""
    return {turn.speaker: turn for turn in turns}


def find_consensus(last: Mapping[str, Turn], judges: Sequence[str], stopping: Stopping) -> Value | None:
    """Return the choice that satisfies the stopping rule; None if none does.

    Unanimity needs a readable opinion of every judge, a majority more than half of at least two readable ones.
    """
    counts = _count_choices(last, judges)
    if not counts:
        return None
    value, count = counts.most_common(1)[0]
    enough = count == len(judges) if stopping == "unanimity" else count >= 2 and count * 2 > counts.total()
    return value if enough else None


def conclude(turns: Sequence[Turn], judges: Sequence[str], criterion: str, stopping: Stopping = "unanimity") -> Verdict:
    """Agreed if the rule holds; disputed if two readable last opinions differ; otherwise no verdict."""
    last = latest_turns(turns)
    first = latest_turns(list(reversed(turns)))
    counts = _count_choices(last, judges)
    value = find_consensus(last, judges, stopping)
    outcome = "agreed" if value is not None else "disputed" if len(counts) > 1 else "no_verdict"
    reason = _describe_outcome(counts, len(judges), value)
    conclusion = Opinion(
        kind="preference",
        judge=NAME,
        stage="verdict",
        value=value,
        criterion=criterion,
        problem="" if value is not None else reason,
    )
    opinions = [_opinion(judge, "first", first.get(judge), criterion) for judge in judges]
    opinions += [_opinion(judge, "last", last.get(judge), criterion) for judge in judges]
    return Verdict(
        outcome=outcome,
        value=value,
        reason=reason,
        opinions=(*opinions, conclusion),
        contention=contention(counts.elements()),
    )


def _ask(debate: Debate, judge: Judge, step: str, round: int, **values: object) -> Ask:
    material = item_material(debate.item, debate.templates, step) | dict(debate.material)
    return Ask(
        speaker=judge.name,
        step=step,
        round=round,
        spec=judge.spec,
        prompt=render(debate.templates, step, **material, words=debate.settings.words, **values),
        answer=CHOICE,
        value=in_item_order(debate.shown),
        shown=debate.shown,
    )


def _quote(debate: Debate, turn: Turn) -> Material:
    when = "initial evaluation" if turn.round == 0 else f"discussion round {turn.round}"
    return Material(f"Speaker {debate.number(turn.speaker)}, {when}", turn.statement or "(no answer)")


def _count_choices(last: Mapping[str, Turn], judges: Sequence[str]) -> Counter[Value]:
    """Count the judges of each choice; a judge without a readable one is not counted."""
    readings = [last[judge].reading for judge in judges if judge in last]
    return Counter(reading for reading in readings if reading is not None)


def _opinion(judge: str, stage: Literal["first", "last"], turn: Turn | None, criterion: str) -> Opinion:
    value = turn.reading if turn else None
    problem = turn.problem if turn else "has given no reply"
    return Opinion(
        kind="preference",
        judge=judge,
        stage=stage,
        value=value,
        criterion=criterion,
        problem="" if value is not None else problem or "gave no opinion",
    )


def _describe_outcome(counts: Counter[Value], judges: int, value: Value | None) -> str:
    readable = counts.total()
    unread = f"; {judges - readable} of {judges} judges gave no readable opinion" if readable < judges else ""
    if value is not None:
        share = f"all {judges} judges" if counts[value] == judges else f"{counts[value]} of {readable} judges"
        return f"{share} chose {describe_choice(value)}{unread}"
    if len(counts) > 1:
        choices = ", ".join(f"{count} for {describe_choice(choice)}" for choice, count in counts.most_common())
        return f"the judges still differ: {choices}{unread}"
    return f"only {readable} of {judges} judges gave a readable opinion"
