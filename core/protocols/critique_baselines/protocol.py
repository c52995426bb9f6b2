"""MetaCritique's baselines (Sun et al. 2024, arXiv:2401.04518, Sections 4.1 and 4.6): single, pairwise, refinement.

Single: one rating of a critique from 1 to 7 (Table 16). Pairwise: which of two critiques is better (Table 15).
Refinement: the answer is improved by each of two critiques (Table 17), and the two refined answers are compared
(Table 18): a better critique should lead to a better answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

from core.critiques import Critique, hypothesis_critiques
from core.frozen import Frozen
from core.items import Item
from core.labels import Kind, Opinion, Value
from core.problems import Problem
from core.protocols.critique_baselines.settings import PairwiseSettings, RefinementSettings, SingleSettings
from core.protocols.metacritique.evaluation import criticised_answer
from core.protocols.metacritique.protocol import start_evaluation
from core.protocols.metacritique.readings import read_letter, read_rating, read_text
from core.protocols.metacritique.settings import CritiqueJudge
from core.protocols.metacritique.settings import Settings as MetaCritiqueSettings
from core.protocols.prompt_parts import question_text
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn, Verdict

SINGLE_NAME, PAIRWISE_NAME, REFINEMENT_NAME = "metacritique-single", "metacritique-pairwise", "metacritique-refinement"
QUALITY, REFINED = "critique", "refined answer"
"""The criteria of the opinions: ratings and preferences of critiques, preferences of refined answers."""
PAIR_SEPARATOR = " or "
GRAMMARS = {
    "rate": r'root ::= [^\n]{40,400} "\n[[" [1-7] "]]"',
    "compare": r'root ::= [^\n]{40,400} "\n[[" [ABC] "]]"',
}
"""The grammar of each reply (llama.cpp's GBNF), for the local model alone."""
CritiquePair = tuple[Critique, Critique]


def single_flow(item: Item, settings: SingleSettings, rng: Random, templates: Templates) -> Flow:
    """One ask for each judge and critique."""
    critiques = _evaluable_critiques(item, settings.judges)
    jobs = [(judge, critique) for judge in settings.judges for critique in critiques]
    turns = yield [_ask_rating(item, judge, critique, templates) for judge, critique in jobs]
    results = [(judge.name, critique.id, turn) for (judge, critique), turn in zip(jobs, turns, strict=True)]
    return _conclude(results, "likert", QUALITY)


def pairwise_flow(item: Item, settings: PairwiseSettings, rng: Random, templates: Templates) -> Flow:
    """One ask for each judge and pair of critiques."""
    pairs = critique_pairs(item, settings)
    jobs = [(judge, pair, _draw_order(settings, rng)) for judge in settings.judges for pair in pairs]
    turns = yield [_ask_preference(item, judge, pair, shown, templates) for judge, pair, shown in jobs]
    results = [(judge.name, pair_name(*pair), turn) for (judge, pair, _), turn in zip(jobs, turns, strict=True)]
    return _conclude(results, "preference", QUALITY)


def refinement_flow(item: Item, settings: RefinementSettings, rng: Random, templates: Templates) -> Flow:
    """The answer refined by each critique of a pair; then the refined answers compared, pair by pair."""
    pairs = critique_pairs(item, settings)
    critiques = list(dict.fromkeys(critique for pair in pairs for critique in pair))
    turns = yield [_ask_refinement(item, settings.effective_writer, critique, templates) for critique in critiques]
    refined = dict(zip(critiques, turns, strict=True))
    jobs = [(judge, pair, _draw_order(settings, rng)) for judge in settings.judges for pair in pairs]
    ready = [job for job in jobs if all(refined[critique].reading is not None for critique in job[1])]
    compared: list[Turn] = []
    if ready:
        compared = yield [
            _ask_refined_preference(item, judge, [str(refined[c].reading) for c in pair], shown, templates)
            for judge, pair, shown in ready
        ]
    comparisons = dict(zip(((judge.name, pair) for judge, pair, _ in ready), compared, strict=True))
    unrefined = {pair: next((refined[c] for c in pair if refined[c].reading is None), None) for pair in pairs}
    results = [
        (judge.name, pair_name(*pair), comparisons.get((judge.name, pair)) or unrefined[pair])
        for judge, pair, _ in jobs
    ]
    return _conclude(results, "preference", REFINED)


def critique_pairs(item: Item, settings: PairwiseSettings) -> list[CritiquePair]:
    """Return the pairs of critiques to compare, in the item's own order; raises Problem where there is none."""
    sources = {"models": {"llm"}, "people": {"people"}, "everybody": {"llm", "people"}}[settings.among]
    critiques = [one for one in _evaluable_critiques(item, settings.judges) if one.source in sources]
    if len(critiques) < 2:
        authors = "" if settings.among == "everybody" else f" by {settings.among}"
        count = f"{len(critiques)} critique{'' if len(critiques) == 1 else 's'}{authors}"
        raise Problem(f"Item {item.id} has {count}; a comparison needs two.")
    return list(combinations(critiques, 2))


def pair_name(first: Critique, second: Critique) -> str:
    """Return a pair as the part of a target: the value 1 stands for the first critique, 2 for the second."""
    return f"{first.id}{PAIR_SEPARATOR}{second.id}"


@dataclass(frozen=True)
class CritiqueAsk:
    """One ask of these flows: its judge, step and critiques, and its turn where it is answered."""

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
    asks += [(judge.name, "compare", pair) for judge in settings.judges for pair in pairs if not unrefined & set(pair)]
    return [CritiqueAsk(number, *ask, turns.get(number)) for number, ask in enumerate(asks)]


def any_reading(settings: Frozen, ask: Ask) -> Value:
    """Return a valid reading; the number of calls does not depend on it."""
    readings: dict[str, Value] = {"rate": 4, "compare": 1, "refine": "words " * 80}
    return readings[ask.step]


def _evaluable_critiques(item: Item, judges: Sequence[CritiqueJudge]) -> tuple[Critique, ...]:
    """Return the item's critiques; raises Problem where MetaCritique could not evaluate them."""
    start_evaluation(item, MetaCritiqueSettings(judges=tuple(judges)))
    return hypothesis_critiques(item.critiques)


def _draw_order(settings: PairwiseSettings, rng: Random) -> tuple[int, int]:
    return (2, 1) if settings.shuffle and rng.random() < 0.5 else (1, 2)


def _ask_rating(item: Item, judge: CritiqueJudge, critique: Critique, templates: Templates) -> Ask:
    prompt = render(templates, "rate", **_criticised(item, critique), critique=critique.text)
    return _ask(judge, "rate", prompt, read_rating, templates)


def _ask_refinement(item: Item, writer: CritiqueJudge, critique: Critique, templates: Templates) -> Ask:
    prompt = render(templates, "refine", **_criticised(item, critique), critique=critique.text)
    return Ask(speaker=writer.name, step="refine", round=0, spec=writer.spec, prompt=prompt, read=read_text)


def _ask_preference(
    item: Item, judge: CritiqueJudge, pair: CritiquePair, shown: tuple[int, int], templates: Templates
) -> Ask:
    first, second = (pair[number - 1].text for number in shown)
    prompt = render(templates, "compare", **_criticised(item, pair[0]), critique_a=first, critique_b=second)
    return _ask(judge, "compare", prompt, _letter_reader(shown), templates, shown)


def _ask_refined_preference(
    item: Item, judge: CritiqueJudge, texts: Sequence[str], shown: tuple[int, int], templates: Templates
) -> Ask:
    first, second = (texts[number - 1] for number in shown)
    prompt = render(templates, "compare", question=question_text(item), answer_a=first, answer_b=second)
    return _ask(judge, "compare", prompt, _letter_reader(shown), templates, shown)


def _criticised(item: Item, critique: Critique) -> dict[str, str]:
    """Return the values of the blanks for the question and the answer that a critique is about."""
    return {"question": question_text(item), "answer": criticised_answer(item, critique)}


def _letter_reader(shown: tuple[int, int]) -> Callable[[str], int]:
    """Return a reader that maps "A" to the critique shown first; 0 is a tie."""
    return lambda reply: (0, *shown)[read_letter(reply)]


def _ask(
    judge: CritiqueJudge,
    step: str,
    prompt: str,
    read: Callable[[str], Value],
    templates: Templates,
    shown: tuple[int, ...] = (),
) -> Ask:
    return Ask(
        speaker=judge.name,
        step=step,
        round=0,
        spec=judge.spec,
        prompt=prompt,
        read=read,
        shown=shown,
        retry_prompt=render(templates, "again", prompt=prompt),
        grammar=GRAMMARS[step],
    )


def _conclude(results: Sequence[tuple[str, str, Turn | None]], kind: Kind, criterion: str) -> Verdict:
    """Return an opinion for each (judge, part, turn): a part is a critique or a pair.

    Their stage is "last" and not "verdict": where judges differ on critiques, the item's responses are not disputed,
    and only those are queued for annotators.
    """
    opinions: list[Opinion] = []
    by_part: dict[str, list[Value | None]] = {}
    for judge, part, turn in results:
        value = turn.reading if turn is not None and turn.step != "refine" else None
        problem = "" if value is not None else (turn.problem if turn is not None else "") or "has not been asked"
        opinions.append(
            Opinion(kind=kind, judge=judge, stage="last", value=value, criterion=criterion, part=part, problem=problem)
        )
        by_part.setdefault(part, []).append(value)
    has_unread = any(opinion.value is None for opinion in opinions)
    is_disputed = any(len({value for value in values if value is not None}) > 1 for values in by_part.values())
    return Verdict(
        outcome="disputed" if is_disputed else "no_verdict" if has_unread else "agreed",
        value=opinions[0].value if len(opinions) == 1 else None,
        reason="; ".join(f"{part}: {', '.join(map(_describe_value, values))}" for part, values in by_part.items()),
        opinions=tuple(opinions),
    )


def _describe_value(value: Value | None) -> str:
    return "–" if value is None else str(value)
