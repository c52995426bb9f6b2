"""What MetaCritique is held against (Sun et al. 2024, Sections 4.1 and 4.6): single ratings, pairs, refinement.

Single: one rating of a critique from 1 to 7 (Table 16). Pairwise: which of two critiques is better (Table 15).
Refinement: the answer is improved by each of two critiques (Table 17), and the two refined answers are compared
(Table 18): a better critique should lead to a better answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Literal

from pydantic import ConfigDict, Field

from core.critiques import Critique, hypotheses
from core.frozen import Frozen
from core.items import Item
from core.labels import Kind, Opinion, Value
from core.problems import Problem
from core.protocols.metacritique.progress import question, response
from core.protocols.metacritique.protocol import Judge, opened
from core.protocols.metacritique.protocol import Settings as MetaCritique
from core.protocols.metacritique.readings import letter, rating, words
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn, Verdict

SINGLE, PAIRWISE, REFINEMENT = "metacritique-single", "metacritique-pairwise", "metacritique-refinement"
QUALITY, REFINED = "critique", "refined answer"
"""The criteria of what they say: a likert rating or a preference of critiques, a preference of refined answers."""
BETWEEN = " or "
GRAMMARS = {
    "rate": r'root ::= [^\n]{40,400} "\n[[" [1-7] "]]"',
    "compare": r'root ::= [^\n]{40,400} "\n[[" [ABC] "]]"',
}
"""The form of an answer, to which the local model is held."""
Pair = tuple[Critique, Critique]


class Single(Frozen):
    """A rating of each critique."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    judges: tuple[Judge, ...] = Field(min_length=1)
    """Who rates. The paper has one, GPT-4."""


class Pairwise(Frozen):
    """A comparison of each pair of critiques."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    judges: tuple[Judge, ...] = Field(min_length=1)
    """Who compares. The paper has one, GPT-4."""
    among: Literal["models", "people", "everybody"] = "models"
    """Whose critiques meet. The paper compares models with models alone: people write otherwise, and that would
    decide."""
    shuffle: bool = True
    """Toss a coin for each pair on which critique stands first. The paper drew the order of the two at random when it
    chose the models."""


class Refinement(Pairwise):
    """A comparison of what each pair of critiques makes of the answer."""

    writer: Judge | None = None
    """Who refines the answers. The first judge where nobody is named; the paper has GPT-4 for both."""


def single(item: Item, settings: Single, chance: Random, templates: Templates) -> Flow:
    """One ask for each judge and critique."""
    there = _there(item, settings.judges)
    jobs = [(judge, critique) for judge in settings.judges for critique in there]
    turns = yield [_rate(item, judge, critique, templates) for judge, critique in jobs]
    said = [(judge.name, critique.id, turn) for (judge, critique), turn in zip(jobs, turns, strict=True)]
    return _verdict(said, "likert", QUALITY)


def pairwise(item: Item, settings: Pairwise, chance: Random, templates: Templates) -> Flow:
    """One ask for each judge and pair."""
    pairs = paired(item, settings)
    jobs = [(judge, pair, _order(settings, chance)) for judge in settings.judges for pair in pairs]
    turns = yield [_compare(item, judge, pair, shown, templates) for judge, pair, shown in jobs]
    said = [(judge.name, name_of(*pair), turn) for (judge, pair, _), turn in zip(jobs, turns, strict=True)]
    return _verdict(said, "preference", QUALITY)


def refinement(item: Item, settings: Refinement, chance: Random, templates: Templates) -> Flow:
    """The answer refined by each critique that is in a pair; then the pairs compared."""
    pairs, writer = paired(item, settings), settings.writer or settings.judges[0]
    needed = list(dict.fromkeys(critique for pair in pairs for critique in pair))
    turns = yield [_refine(item, writer, critique, templates) for critique in needed]
    better = {critique: turn for critique, turn in zip(needed, turns, strict=True)}
    jobs = [(judge, pair, _order(settings, chance)) for judge in settings.judges for pair in pairs]
    ready = [job for job in jobs if all(better[critique].reading is not None for critique in job[1])]
    compared: list[Turn] = []
    if ready:
        compared = yield [
            _compare_refined(item, judge, [str(better[critique].reading) for critique in pair], shown, templates)
            for judge, pair, shown in ready
        ]
    found = dict(zip(((judge.name, pair) for judge, pair, _ in ready), compared, strict=True))
    lost = {pair: next((better[one] for one in pair if better[one].reading is None), None) for pair in pairs}
    said = [(judge.name, name_of(*pair), found.get((judge.name, pair)) or lost[pair]) for judge, pair, _ in jobs]
    return _verdict(said, "preference", REFINED)


def paired(item: Item, settings: Pairwise) -> list[Pair]:
    """The pairs of critiques that meet, in the item's own order; raises Problem where there is none."""
    wanted = {"models": {"llm"}, "people": {"people"}, "everybody": {"llm", "people"}}[settings.among]
    there = [one for one in _there(item, settings.judges) if one.source in wanted]
    if len(there) < 2:
        whose = "" if settings.among == "everybody" else f" by {settings.among}"
        found = f"{len(there)} critique{'' if len(there) == 1 else 's'}{whose}"
        raise Problem(f"Item {item.id} has {found}; a comparison needs two.")
    return list(combinations(there, 2))


def name_of(first: Critique, second: Critique) -> str:
    """A pair as a part of a target: 1 speaks of the first, 2 of the second."""
    return f"{first.id}{BETWEEN}{second.id}"


@dataclass(frozen=True)
class Told:
    """One ask of these flows: who was asked what about which critiques, and the turn where it is there."""

    number: int
    judge: str
    step: str
    critiques: tuple[Critique, ...]
    turn: Turn | None


def asked(item: Item, settings: Single | Pairwise, turns: Mapping[int, Turn]) -> list[Told]:
    """The asks of a trace in their order, by its turns so far; refined answers are compared once both are there."""
    told: list[tuple[str, str, tuple[Critique, ...]]] = []
    if isinstance(settings, Single):
        there = _there(item, settings.judges)
        told = [(judge.name, "rate", (one,)) for judge in settings.judges for one in there]
        return [Told(number, *one, turns.get(number)) for number, one in enumerate(told)]
    pairs, lost = paired(item, settings), set[Critique]()
    if isinstance(settings, Refinement):
        writer = settings.writer or settings.judges[0]
        needed = list(dict.fromkeys(critique for pair in pairs for critique in pair))
        told = [(writer.name, "refine", (one,)) for one in needed]
        lost = {one for place, one in enumerate(needed) if place not in turns or turns[place].reading is None}
    told += [(judge.name, "compare", pair) for judge in settings.judges for pair in pairs if not lost & set(pair)]
    return [Told(number, *one, turns.get(number)) for number, one in enumerate(told)]


def longest(settings: Frozen, ask: Ask) -> Value:
    """The course of these flows does not depend on what is said."""
    made_up: dict[str, Value] = {"rate": 4, "compare": 1, "refine": "words " * 80}
    return made_up[ask.step]


def _there(item: Item, judges: Sequence[Judge]) -> tuple[Critique, ...]:
    """The critiques of an item that can be judged at all."""
    opened(item, MetaCritique(judges=tuple(judges)))
    return hypotheses(item.critiques)


def _order(settings: Pairwise, chance: Random) -> tuple[int, int]:
    return (2, 1) if settings.shuffle and chance.random() < 0.5 else (1, 2)


def _rate(item: Item, judge: Judge, critique: Critique, templates: Templates) -> Ask:
    prompt = render(templates, "rate", question=question(item), answer=response(item, critique), critique=critique.text)
    return _ask(judge, "rate", prompt, rating, templates)


def _refine(item: Item, writer: Judge, critique: Critique, templates: Templates) -> Ask:
    prompt = render(
        templates, "refine", question=question(item), answer=response(item, critique), critique=critique.text
    )
    return Ask(speaker=writer.name, step="refine", round=0, spec=writer.spec, prompt=prompt, read=words)


def _compare(item: Item, judge: Judge, pair: Pair, shown: tuple[int, int], templates: Templates) -> Ask:
    first, second = (pair[place - 1].text for place in shown)
    prompt = render(
        templates,
        "compare",
        question=question(item),
        answer=response(item, pair[0]),
        critique_a=first,
        critique_b=second,
    )
    return _ask(judge, "compare", prompt, _own_order(shown), templates, shown)


def _compare_refined(
    item: Item, judge: Judge, texts: Sequence[str], shown: tuple[int, int], templates: Templates
) -> Ask:
    first, second = (texts[place - 1] for place in shown)
    prompt = render(templates, "compare", question=question(item), answer_a=first, answer_b=second)
    return _ask(judge, "compare", prompt, _own_order(shown), templates, shown)


def _own_order(shown: tuple[int, int]) -> Callable[[str], int]:
    """A reading that takes "A" back to the critique that stood there; 0 is a tie."""
    return lambda text: (0, *shown)[letter(text)]


def _ask(
    judge: Judge,
    step: str,
    prompt: str,
    read: Callable[[str], Value],
    templates: Templates,
    shown: tuple[int, ...] = (),
) -> Ask:
    again = render(templates, "again", prompt=prompt)
    return Ask(
        speaker=judge.name,
        step=step,
        round=0,
        spec=judge.spec,
        prompt=prompt,
        read=read,
        shown=shown,
        again=again,
        grammar=GRAMMARS[step],
    )


def _verdict(said: Sequence[tuple[str, str, Turn | None]], kind: Kind, criterion: str) -> Verdict:
    """An opinion for each judge and critique or pair. They are last words and not verdicts: what the judges leave open
    here is no disagreement about an item's responses, which is what people are asked to decide."""
    opinions: list[Opinion] = []
    held: dict[str, list[Value | None]] = {}
    for judge, part, turn in said:
        value = turn.reading if turn is not None and turn.step != "refine" else None
        problem = "" if value is not None else (turn.problem if turn is not None else "") or "has not been asked"
        opinions.append(
            Opinion(kind=kind, judge=judge, stage="last", value=value, criterion=criterion, part=part, problem=problem)
        )
        held.setdefault(part, []).append(value)
    unread = sum(one.value is None for one in opinions)
    differ = any(len({value for value in values if value is not None}) > 1 for values in held.values())
    told = "; ".join(f"{part}: {', '.join(_shown(value) for value in values)}" for part, values in held.items())
    return Verdict(
        outcome="disputed" if differ else "no_verdict" if unread else "agreed",
        value=opinions[0].value if len(opinions) == 1 else None,
        reason=told,
        opinions=tuple(opinions),
    )


def _shown(value: Value | None) -> str:
    return "–" if value is None else str(value)
