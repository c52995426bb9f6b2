"""ScaleEval: judges debate which of two responses is better (Chern et al. 2024, arXiv:2401.16788, Section 4.1).

Every judge first gives its opinion alone (Eq. 4). Then they discuss for up to D - 1 rounds, each hearing what was said
in the round before (Eq. 6). Where they still differ, a person decides.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from core.frozen import Frozen
from core.items import Criterion, Item
from core.labels import Opinion, Value
from core.problems import Problem
from core.protocols import unique_names as unlike
from core.protocols.readings import choice
from core.protocols.scaleeval.criterion_formats import Format, written
from core.templates import Templates, render
from core.trace import Ask, Flow, Spec, Turn, Verdict

NAME = "scaleeval"
Stopping = Literal["unanimity", "majority"]
GRAMMAR = r'root ::= [^\n]{40,400} "\n\n" [012]'
"""Some reasoning, and the digit alone on the last line."""


class Judge(Frozen):
    """One debater. It is "Speaker n" to the others, so that no judge knows whose opinion it hears."""

    name: str = Field(min_length=1)
    spec: Spec


class Settings(Frozen):
    """A debate's configuration; every default is the paper's."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    judges: tuple[Judge, ...] = Field(min_length=2)
    """Who debates: m judges, each with a name of its own. The paper has three different models."""
    criterion: Criterion
    """What "better" means. The paper gives it as a rubric of five levels, "Level name - description"."""
    format: Format = "general"
    """How the criterion is written for the judges (Table 7). All but "general" wear it down on purpose, to see how much
    a judge leans on it: "shortened" drops the levels' names, "gibberish" puts symbols for letters, "shuffled" mixes the
    words, "flipped" reverses each word, "masked" puts "_" for letters."""
    rounds: int = Field(default=3, ge=1, le=20)
    """D, counted as the paper counts: the first opinions are round 0, so D = 3 is first opinions and at most two rounds
    of discussion, and D = 1 is no discussion at all."""
    stopping: Stopping = "unanimity"
    """When the debate has its answer. The paper wants all judges of one mind; "majority" is content with more than half
    of all judges, those without a readable opinion counted too."""
    speaking: Literal["at once", "in turn"] = "at once"
    """Who hears whom in a discussion round. "at once": each judge hears the round before (Eq. 6). "in turn": each also
    hears those who spoke before it in the same round, as the released code does; slower, since nobody may overlap."""
    shuffle_responses: bool = True
    """Toss a coin for each item on which response the judges read first, against position bias (Section 7)."""
    shuffle_speakers: bool = True
    """Draw for each item the order in which the judges are numbered and speak (Section 7)."""
    words: int = Field(default=150, ge=20, le=2000)
    """The limit on each explanation that the prompts name."""

    @field_validator("judges")
    @classmethod
    def _names_differ(cls, judges: tuple[Judge, ...]) -> tuple[Judge, ...]:
        unlike.differ((judge.name for judge in judges), "judges")
        return judges


def flow(item: Item, settings: Settings, chance: Random, templates: Templates) -> Flow:
    """One debate. Everything random is drawn from `chance`, before the first ask."""
    debate = opened(item, settings, chance, templates)
    names = [judge.name for judge in settings.judges]
    said = list((yield [opening(debate, judge) for judge in debate.speakers]))
    for number in range(1, settings.rounds):
        if settled(latest(said), names, settings.stopping) is not None:
            break
        for speakers in taking_turns(debate):
            said += yield [reply(debate, judge, said, number) for judge in speakers]
    return conclude(said, names, settings.criterion.name, settings.stopping)


@dataclass(frozen=True)
class Debate:
    """What stays the same through a debate: the material as the judges see it, and who is Speaker 1, 2, ..."""

    settings: Settings
    templates: Templates
    material: Mapping[str, str]
    """The slots question, submission_1, submission_2 and criteria."""
    shown: tuple[int, ...]
    speakers: tuple[Judge, ...]

    def number(self, name: str) -> int:
        """The n of "Speaker n"."""
        return [judge.name for judge in self.speakers].index(name) + 1


def opened(item: Item, settings: Settings, chance: Random, templates: Templates) -> Debate:
    """Draw the order of responses and of speakers, and write out the criterion."""
    if len(item.responses) != 2:
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; ScaleEval compares two.")
    shown, speakers = [1, 2], list(settings.judges)
    if settings.shuffle_responses:
        chance.shuffle(shown)
    if settings.shuffle_speakers:
        chance.shuffle(speakers)
    material = {
        "question": f"{item.context}\n\n{item.prompt}" if item.context else item.prompt,
        "submission_1": item.responses[shown[0] - 1].text,
        "submission_2": item.responses[shown[1] - 1].text,
        "criteria": written(settings.criterion, settings.format, chance),
    }
    return Debate(settings, templates, material, tuple(shown), tuple(speakers))


def taking_turns(debate: Debate) -> list[tuple[Judge, ...]]:
    """The judges of one discussion round, grouped by who speaks at the same moment."""
    return [debate.speakers] if debate.settings.speaking == "at once" else [(judge,) for judge in debate.speakers]


def opening(debate: Debate, judge: Judge) -> Ask:
    """The first opinion, given alone (Table 6, "Initial Evaluation")."""
    prompt = render(debate.templates, "opinion", **debate.material, words=debate.settings.words)
    return _ask(debate, judge, "opinion", 0, prompt)


def reply(debate: Debate, judge: Judge, said: Sequence[Turn], number: int) -> Ask:
    """A judge's part in discussion round `number` (Table 6, "Discussion Rounds")."""
    prompt = render(
        debate.templates,
        "reply",
        **debate.material,
        words=debate.settings.words,
        number=debate.number(judge.name),
        speakers=len(debate.speakers),
        discussion="\n\n".join(_quoted(debate, turn) for turn in heard(said, number)),
    )
    return _ask(debate, judge, "reply", number, prompt)


def heard(said: Sequence[Turn], number: int) -> list[Turn]:
    """What is before a speaker of round `number`: the round before, and what this round has brought so far."""
    return [turn for turn in said if turn.round in (number - 1, number)]


def own_order(shown: tuple[int, ...]) -> Callable[[str], int]:
    """A reading that takes "Submission 1" back to the response that stood there; 0 is neither."""
    return lambda text: (0, *shown)[choice(text)]


def latest(said: Sequence[Turn]) -> dict[str, Turn]:
    """Each judge's most recent turn."""
    return {turn.speaker: turn for turn in said}


def settled(last: Mapping[str, Turn], judges: Sequence[str], stopping: Stopping) -> Value | None:
    """The choice that the rule accepts, counted over all judges; None while there is none."""
    counts = _tally(last, judges)
    if not counts:
        return None
    value, most = counts.most_common(1)[0]
    enough = most == len(judges) if stopping == "unanimity" else most * 2 > len(judges)
    return value if enough else None


def conclude(said: Sequence[Turn], judges: Sequence[str], criterion: str, stopping: Stopping = "unanimity") -> Verdict:
    """Agreed when the rule holds over all judges; disputed when two readable last opinions differ; else no verdict."""
    last = latest(said)
    first = latest(list(reversed(said)))
    counts = _tally(last, judges)
    value = settled(last, judges, stopping)
    outcome = "agreed" if value is not None else "disputed" if len(counts) > 1 else "no_verdict"
    reason = _reason(counts, len(judges), value)
    ruling = Opinion(
        kind="preference",
        judge=NAME,
        stage="verdict",
        value=value,
        criterion=criterion,
        problem="" if value is not None else reason,
    )
    opinions = [_opinion(judge, "first", first.get(judge), criterion) for judge in judges]
    opinions += [_opinion(judge, "last", last.get(judge), criterion) for judge in judges]
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=(*opinions, ruling))


def longest(settings: Settings, ask: Ask) -> Value:
    """Opinions that never meet: the judges are dealt 1, 2, 0, 1, 2, ..."""
    return (1, 2, 0)[[judge.name for judge in settings.judges].index(ask.speaker) % 3]


def shortest(settings: Settings, ask: Ask) -> Value:
    """All of one mind at once."""
    return 1


def _ask(debate: Debate, judge: Judge, step: str, number: int, prompt: str) -> Ask:
    return Ask(
        speaker=judge.name,
        step=step,
        round=number,
        spec=judge.spec,
        prompt=prompt,
        read=own_order(debate.shown),
        shown=debate.shown,
        again=render(debate.templates, "again", prompt=prompt),
        grammar=GRAMMAR,
    )


def _quoted(debate: Debate, turn: Turn) -> str:
    number, text = debate.number(turn.speaker), turn.reply.strip() or "(no answer)"
    if turn.round == 0:
        return render(debate.templates, "said_first", number=number, text=text)
    return render(debate.templates, "said_later", number=number, round=turn.round, text=text)


def _tally(last: Mapping[str, Turn], judges: Sequence[str]) -> Counter[Value]:
    """How many judges hold each choice; a judge without a readable one is in none."""
    readings = [last[judge].reading for judge in judges if judge in last]
    return Counter(reading for reading in readings if reading is not None)


def _opinion(judge: str, stage: Literal["first", "last"], turn: Turn | None, criterion: str) -> Opinion:
    value = turn.reading if turn else None
    problem = turn.problem if turn else "has not spoken"
    return Opinion(
        kind="preference",
        judge=judge,
        stage=stage,
        value=value,
        criterion=criterion,
        problem="" if value is not None else problem or "gave no opinion",
    )


def _reason(counts: Counter[Value], judges: int, value: Value | None) -> str:
    """The outcome in words for a person."""
    if value is not None:
        share = f"all {judges}" if counts[value] == judges else f"{counts[value]} of {judges}"
        return f"{share} judges chose {_named(value)}"
    if len(counts) > 1:
        return "the judges still differ: " + ", ".join(f"{count} for {_named(v)}" for v, count in counts.most_common())
    return f"only {counts.total()} of {judges} judges gave a readable opinion"


def _named(value: Value) -> str:
    return "neither" if value == 0 else f"response {value}"
