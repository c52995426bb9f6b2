"""MetaCritique's baselines (Sun et al. 2024, arXiv:2401.04518, Sections 4.1 and 4.6): single, pairwise, refinement.

Single: one rating of a critique from 1 to 7 (Table 16). Pairwise: which of two critiques is better (Table 15).
Refinement: the answer is improved by each of two critiques (Table 17), and the two refined answers are compared
(Table 18): a better critique should lead to a better answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from random import Random
from typing import Any, Literal

from pydantic import Field

from core.answers.answer import Answer, Passage
from core.answers.choice import Choice
from core.answers.number import Rating
from core.critique_ratings import SEVEN_POINT_SCALE
from core.critiques import Critique, hypothesis_critiques
from core.errors import TiebreakError
from core.frozen import Frozen
from core.items import Item
from core.labels import Kind, Opinion, Value
from core.protocols.metacritique.protocol import criticised_answer, start_evaluation
from core.protocols.metacritique.settings import CritiqueJudge
from core.protocols.metacritique.settings import Settings as MetaCritiqueSettings
from core.protocols.prompt_parts import in_item_order, item_material
from core.templates import Material, Templates, render
from core.trace import Ask, Flow, Outcome, Turn, Verdict
from core.verdicts import DISPUTE_THRESHOLD, contention, is_disputed

SINGLE_NAME, PAIRWISE_NAME, REFINEMENT_NAME = "metacritique-single", "metacritique-pairwise", "metacritique-refinement"
# The criteria of the opinions: ratings and preferences of critiques, preferences of refined answers.
QUALITY, REFINED = "critique", "refined answer"
PAIR_SEPARATOR = " or "
ANSWERS: Mapping[str, Answer[Any]] = {
    "rate": Rating(levels=SEVEN_POINT_SCALE.categories),
    "refine": Passage(noun="refined answer"),
}
CritiquePair = tuple[Critique, Critique]


class SingleSettings(Frozen):
    """A rating of each critique."""

    judges: tuple[CritiqueJudge, ...] = Field(min_length=1)
    """The judges that rate. The paper has one, GPT-4."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """The contention of the judges on any critique above which the verdict is disputed: the range of their ratings as a
    share of the scale. 0.5: ratings that are more than 3 apart."""
    edited_aius: bool | None = None
    """Whether the run reads the current critiques, with those adopted and edited before its start. New runs do."""


class PairwiseSettings(Frozen):
    """A comparison of each pair of critiques."""

    judges: tuple[CritiqueJudge, ...] = Field(min_length=1)
    """The judges that compare. The paper has one, GPT-4."""
    among: Literal["models", "people", "everybody"] = "models"
    """Whose critiques are compared with each other. The paper compares the critiques of models only: those of people
    differ in style, and the style would decide."""
    shuffle: bool = True
    """Randomise for each pair which critique is read first, as the paper did; no effect if both orders are asked."""
    both_orders: bool = False
    """Ask twice about each pair, once in each order. A choice that changes with the order is no preference, and has the
    contention 1."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """The contention of the choices on any pair above which the verdict is disputed: two judges that differ have 1, two
    against one 0.5."""
    edited_aius: bool | None = None
    """Whether the run reads the current critiques, with those adopted and edited before its start. New runs do."""


class RefinementSettings(PairwiseSettings):
    """A comparison of the answers that each pair of critiques leads to."""

    writer: CritiqueJudge | None = None
    """The model that refines the answers. Empty: the first judge. The paper uses GPT-4 for both."""

    @property
    def effective_writer(self) -> CritiqueJudge:
        """The writer, by default the first judge."""
        return self.writer or self.judges[0]


def single_flow(item: Item, settings: SingleSettings, rng: Random, templates: Templates) -> Flow:
    """Yield one ask for each judge and critique."""
    critiques = _evaluable_critiques(item, settings.judges)
    jobs = [(judge, critique) for judge in settings.judges for critique in critiques]
    turns = yield [_ask(item, judge, "rate", templates, _criticised(item, critique)) for judge, critique in jobs]
    results = [Result(judge.name, critique.id, (turn,)) for (judge, critique), turn in zip(jobs, turns, strict=True)]
    return _conclude(results, "likert", QUALITY, settings.dispute_threshold)


def pairwise_flow(item: Item, settings: PairwiseSettings, rng: Random, templates: Templates) -> Flow:
    """Yield one ask for each judge and pair of critiques, or one for each order of the pair."""
    jobs = _draw_comparisons(settings, critique_pairs(item, settings), rng)
    turns = yield [_ask_comparison(item, job, "Critique", [c.text for c in job.pair], templates) for job in jobs]
    return _conclude(_results(zip(jobs, turns, strict=True)), "preference", QUALITY, settings.dispute_threshold)


def refinement_flow(item: Item, settings: RefinementSettings, rng: Random, templates: Templates) -> Flow:
    """Refine the answer by each critique of a pair, then compare the refined answers, pair by pair."""
    pairs = critique_pairs(item, settings)
    critiques = list(dict.fromkeys(critique for pair in pairs for critique in pair))
    writer = settings.effective_writer
    turns = yield [_ask(item, writer, "refine", templates, _criticised(item, critique)) for critique in critiques]
    refined = dict(zip(critiques, turns, strict=True))
    jobs = _draw_comparisons(settings, pairs, rng)
    ready = [job for job in jobs if all(refined[critique].reading is not None for critique in job.pair)]
    compared: list[Turn] = []
    if ready:
        compared = yield [
            _ask_comparison(item, job, "Answer", [str(refined[c].reading) for c in job.pair], templates)
            for job in ready
        ]
    comparisons = dict(zip(ready, compared, strict=True))
    unrefined = {pair: next((refined[c] for c in pair if refined[c].reading is None), None) for pair in pairs}
    answered = [(job, comparisons.get(job) or unrefined[job.pair]) for job in jobs]
    return _conclude(_results(answered), "preference", REFINED, settings.dispute_threshold)


@dataclass(frozen=True)
class Comparison:
    """One ask about a pair: the judge, and the order in which it reads the critiques."""

    judge: CritiqueJudge
    pair: CritiquePair
    shown: tuple[int, int]


@dataclass(frozen=True)
class Result:
    """A judge's turns about a part, which is a critique or a pair: one for each order that was asked.

    A turn is a refinement if the answers could not be compared, and None if it was not asked.
    """

    judge: str
    part: str
    turns: tuple[Turn | None, ...]

    @property
    def readings(self) -> list[Value]:
        """The readable ones."""
        return [turn.reading for turn in self.turns if turn and turn.step != "refine" and turn.reading is not None]

    @property
    def is_flipped(self) -> bool:
        """Whether the choice changed with the order."""
        return len(set(self.readings)) > 1

    @property
    def value(self) -> Value | None:
        """The reading, if every order has it."""
        return self.readings[0] if len(self.readings) == len(self.turns) and not self.is_flipped else None

    @property
    def problem(self) -> str:
        """Why there is no value; empty if there is one."""
        if self.value is not None:
            return ""
        if self.is_flipped:
            return "the choice changes with the order"
        problems = [turn.problem for turn in self.turns if turn and turn.problem]
        return problems[0] if problems else "has not been asked"


def _draw_comparisons(settings: PairwiseSettings, pairs: Sequence[CritiquePair], rng: Random) -> list[Comparison]:
    """Return the comparisons by judge and pair; the order is drawn unless both are asked."""
    comparisons = []
    for judge, pair in product(settings.judges, pairs):
        first = (2, 1) if not settings.both_orders and settings.shuffle and rng.random() < 0.5 else (1, 2)
        orders = [first, (2, 1)] if settings.both_orders else [first]
        comparisons += [Comparison(judge, pair, shown) for shown in orders]
    return comparisons


def _results(answered: Iterable[tuple[Comparison, Turn | None]]) -> list[Result]:
    """Group the turns by judge and pair."""
    turns: dict[tuple[str, str], list[Turn | None]] = {}
    for job, turn in answered:
        turns.setdefault((job.judge.name, pair_name(*job.pair)), []).append(turn)
    return [Result(judge, part, tuple(of_part)) for (judge, part), of_part in turns.items()]


def critique_pairs(item: Item, settings: PairwiseSettings) -> list[CritiquePair]:
    """Return the pairs of critiques to compare, in the item's own order; raises TiebreakError if there is none."""
    sources = {"models": {"llm"}, "people": {"people"}, "everybody": {"llm", "people"}}[settings.among]
    critiques = [critique for critique in _evaluable_critiques(item, settings.judges) if critique.source in sources]
    if len(critiques) < 2:
        authors = "" if settings.among == "everybody" else f" by {settings.among}"
        count = f"{len(critiques)} critique{'' if len(critiques) == 1 else 's'}{authors}"
        raise TiebreakError(f"Item {item.id} has {count}; a comparison needs two.")
    return list(combinations(critiques, 2))


def pair_name(first: Critique, second: Critique) -> str:
    """Return a pair as the part of a target: the value 1 is the first critique, 2 the second."""
    return f"{first.id}{PAIR_SEPARATOR}{second.id}"


@dataclass(frozen=True)
class CritiqueAsk:
    """One ask of these flows: its judge, step and critiques, and its turn if it is answered."""

    number: int
    judge: str
    step: str
    critiques: tuple[Critique, ...]
    turn: Turn | None


def list_asks(item: Item, settings: SingleSettings | PairwiseSettings, turns: Mapping[int, Turn]) -> list[CritiqueAsk]:
    """Return the asks of a trace in their order; refined answers are compared once both are known.

    `turns` are the turns so far, by the number of their ask.
    """
    asks: list[tuple[str, str, tuple[Critique, ...]]] = []
    if isinstance(settings, SingleSettings):
        critiques = _evaluable_critiques(item, settings.judges)
        asks = [(judge.name, "rate", (critique,)) for judge in settings.judges for critique in critiques]
        return [CritiqueAsk(number, *ask, turns.get(number)) for number, ask in enumerate(asks)]
    pairs, unrefined = critique_pairs(item, settings), set[Critique]()
    if isinstance(settings, RefinementSettings):
        needed = list(dict.fromkeys(critique for pair in pairs for critique in pair))
        asks = [(settings.effective_writer.name, "refine", (critique,)) for critique in needed]
        unrefined = {
            critique for number, critique in enumerate(needed) if number not in turns or turns[number].reading is None
        }
    orders = 2 if settings.both_orders else 1
    ready = [pair for pair in pairs if not unrefined & set(pair)]
    asks += [(judge.name, "compare", pair) for judge in settings.judges for pair in ready for _ in range(orders)]
    return [CritiqueAsk(number, *ask, turns.get(number)) for number, ask in enumerate(asks)]


def _evaluable_critiques(item: Item, judges: Sequence[CritiqueJudge]) -> tuple[Critique, ...]:
    """Return the item's critiques; raises TiebreakError if MetaCritique could not evaluate them."""
    start_evaluation(item, MetaCritiqueSettings(judges=tuple(judges)))
    return hypothesis_critiques(item.critiques)


def _criticised(item: Item, critique: Critique) -> dict[str, Material]:
    """Return the values of the blanks for a critique and the answer that it is about."""
    answer = Material("Model-generated answer", criticised_answer(item, critique))
    return {"response": answer, "critique": Material("Critique", critique.text)}


def _ask_comparison(item: Item, job: Comparison, noun: str, texts: Sequence[str], templates: Templates) -> Ask:
    """Ask which of two texts of a pair is better: its critiques, or the answers refined with them."""
    values = {} if noun == "Answer" else {"response": _criticised(item, job.pair[0])["response"]}
    for letter, number in zip("ab", job.shown, strict=True):
        values[f"{noun.lower()}_{letter}"] = Material(f"{noun} {letter.upper()}", texts[number - 1])
    ask = _ask(item, job.judge, "compare", templates, values)
    answer = Choice(noun=noun, letters=True)
    return replace(ask, answer=answer, value=in_item_order(job.shown), shown=job.shown)


def _ask(item: Item, judge: CritiqueJudge, step: str, templates: Templates, values: Mapping[str, Material]) -> Ask:
    return Ask(
        speaker=judge.name,
        step=step,
        round=0,
        spec=judge.spec,
        prompt=render(templates, step, **item_material(item, templates, step), **values),
        answer=ANSWERS.get(step),
    )


def _conclude(results: Sequence[Result], kind: Kind, criterion: str, threshold: float) -> Verdict:
    """Return an opinion for each judge and part.

    Their stage is "last" and not "verdict": if judges differ on critiques, the item's responses are not disputed,
    and only those are queued for annotators.
    """
    opinions = [
        Opinion(
            kind=kind,
            judge=result.judge,
            stage="last",
            value=result.value,
            criterion=criterion,
            part=result.part,
            problem=result.problem,
        )
        for result in results
    ]
    by_part: dict[str, list[Result]] = {}
    for result in results:
        by_part.setdefault(result.part, []).append(result)
    scale = SEVEN_POINT_SCALE if kind == "likert" else None
    distances = [
        contention((result.value for result in of_part), scale, flipped=any(result.is_flipped for result in of_part))
        for of_part in by_part.values()
    ]
    distance = max((distance for distance in distances if distance is not None), default=None)
    has_unread = any(opinion.value is None for opinion in opinions)
    stated = {part: ["–" if one.value is None else str(one.value) for one in of] for part, of in by_part.items()}
    outcome: Outcome = "no_verdict" if has_unread else "agreed"
    return Verdict(
        outcome="disputed" if is_disputed(distance, threshold) else outcome,
        value=opinions[0].value if len(opinions) == 1 else None,
        reason="; ".join(f"{part}: {', '.join(values)}" for part, values in stated.items()),
        opinions=tuple(opinions),
        contention=distance,
    )
