"""ChatEval: personas discuss two responses, or one (Chan et al. 2023, arXiv:2308.07201, Appendix C).

The three communication strategies are Algorithms 1 to 3. The personas are not asked to agree: the verdict is formed
from the last turn of each, by average or by majority vote (Appendix B). With position calibration the discussion is run
once in each order of the responses. Scores or votes are requested in the last turn, as in the released code.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from core.answers.answer import Answer
from core.answers.choice import Choice
from core.answers.scores import Scores
from core.errors import TiebreakError
from core.items import Item
from core.labels import Value
from core.protocols import PartialFlow, run_in_parallel
from core.protocols.chateval.settings import Persona, Settings, Strategy, role_alone
from core.protocols.chateval.verdicts import conclude
from core.protocols.prompt_parts import criterion_text, in_item_order, item_material, number_images, rating_answer
from core.templates import Material, RawText, Templates, is_raw, render
from core.trace import Ask, Flow, Turn, unchanged

ASSISTANTS = ("Assistant 1", "Assistant 2")
# The template of a contribution.
TEMPLATES = {"scores": "compare", "vote": "compare", "rating": "rate", "step": "step"}


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """Run one item. The discussions in both orders are independent and run in parallel."""
    discussions = [start_discussion(item, settings, shown, rng, templates) for shown in settings.orders]
    strategy = STRATEGIES[settings.strategy]
    turns, _ = yield from run_in_parallel([strategy(discussion) for discussion in discussions])
    return conclude(turns, settings)


@dataclass(frozen=True)
class Discussion:
    """The constant parts of a discussion: the material as shown to the personas, and the order of the responses."""

    settings: Settings
    templates: Templates
    item: Item
    """The item, with a note where each image belongs."""
    images: tuple[str, ...]
    material: Mapping[str, Material]
    """Values of the blanks for the responses and the criteria."""
    shown: tuple[int, ...]
    answer: Answer[Any]
    value: Callable[[Any], Value]


def one_by_one(discussion: Discussion) -> PartialFlow:
    """Algorithm 1: the personas speak in a fixed order; each contribution is in the history of the next ones."""
    turns: list[Turn] = []
    for number in range(discussion.settings.turns):
        for persona in discussion.settings.personas:
            history = contributions(discussion, visible_turns(discussion.settings, persona, turns))
            turns += yield [ask_contribution(discussion, persona, number, history)]


def simultaneous(discussion: Discussion) -> PartialFlow:
    """Algorithm 2: contributions are buffered, and the buffer is added to every history at the end of a turn.

    The algorithm as printed never empties its buffer; here each contribution is in a history once.
    """
    turns: list[Turn] = []
    for number in range(discussion.settings.turns):
        history = contributions(discussion, turns)
        turns += yield [
            ask_contribution(discussion, persona, number, history) for persona in discussion.settings.personas
        ]


def with_summary(discussion: Discussion) -> PartialFlow:
    """Algorithm 3: as Algorithm 2, with a summary of all contributions in place of every history.

    No summary is asked for after the last turn, since none would read it. If a summary is unreadable, the
    contributions themselves are the history.
    """
    turns: list[Turn] = []
    history = contributions(discussion, turns)
    for number in range(discussion.settings.turns):
        turns += yield [
            ask_contribution(discussion, persona, number, history) for persona in discussion.settings.personas
        ]
        if number + 1 < discussion.settings.turns:
            (summary,) = yield [ask_summary(discussion, number, turns)]
            quoted = Material("Summary of the discussion", summary.statement, required=False)
            history = contributions(discussion, turns) if summary.problem else [quoted]


def independent(discussion: Discussion) -> PartialFlow:
    """Run the ensemble of Section 3.2: every persona is asked once and sees no other contribution."""
    yield [ask_contribution(discussion, persona, 0, None) for persona in discussion.settings.personas]


STRATEGIES: Mapping[Strategy, Callable[[Discussion], PartialFlow]] = {
    "one by one": one_by_one,
    "simultaneous": simultaneous,
    "simultaneous with summary": with_summary,
    "independent": independent,
}


def visible_turns(settings: Settings, persona: Persona, turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that a persona sees one by one; in Algorithm 1 as printed, the first persona sees none."""
    if settings.visible_contributions == "all":
        return list(turns)
    names = [other.name for other in settings.personas]
    position = names.index(persona.name)
    return [turn for turn in turns if position > 0 and names.index(turn.speaker) <= position]


def turns_in_history(settings: Settings, turn: Turn, earlier: Sequence[Turn]) -> list[Turn]:
    """Return the turns in the history of `turn`; `earlier` are those before it, in the order of the asks.

    A readable summary replaces the turns that it summarises.
    """
    earlier = [other for other in earlier if other.shown == turn.shown]
    contributions = [other for other in earlier if other.step == "talk"]
    of_earlier_rounds = [other for other in contributions if other.round < turn.round or turn.step == "summary"]
    match settings.strategy:
        case "one by one":
            persona = next((persona for persona in settings.personas if persona.name == turn.speaker), None)
            return visible_turns(settings, persona, contributions) if persona else contributions
        case "simultaneous":
            return of_earlier_rounds
        case "simultaneous with summary":
            summaries = [other for other in earlier if other.step == "summary" and other.round == turn.round - 1]
            is_replaced = turn.step == "talk" and summaries and not summaries[0].problem
            return summaries if is_replaced else of_earlier_rounds
        case "independent":
            return []


def start_discussion(
    item: Item, settings: Settings, shown: tuple[int, ...], rng: Random, templates: Templates
) -> Discussion:
    """Render the material that is constant in one discussion."""
    expected = len(shown) or 1
    if len(item.responses) != expected:
        purpose = "compares two" if shown else "judges one"
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; this discussion {purpose}.")
    item, images = number_images(item, shown)
    if shown:
        texts = {f"answer_{place}": item.responses[number - 1].text for place, number in enumerate(shown, start=1)}
        material = {
            blank: Material(blank.replace("answer", "Answer of assistant"), text) for blank, text in texts.items()
        }
    else:
        material = {"response": Material("Response", item.responses[0].text)}
    criterion = settings.criterion
    if criterion is None:
        text = render(templates, "wrong_step" if settings.outcome == "step" else "qualities")  # the paper's four
    else:
        text = f"{criterion.name}\n{criterion_text(criterion, 'general', rng)}"
    criteria = Material("Criteria", text, required=False)
    answer, value = judgement(settings, item), in_own_order(settings, shown, item)
    return Discussion(settings, templates, item, images, material | {"criteria": criteria}, shown, answer, value)


def ask_contribution(
    discussion: Discussion, persona: Persona, number: int, history: Sequence[Material] | str | None
) -> Ask:
    """Ask a persona for its contribution in turn `number` (Table 4); `history` is None if there is no discussion."""
    settings, templates = discussion.settings, discussion.templates
    name = TEMPLATES[settings.outcome]
    values: dict[str, object] = {"persona": persona.name, "words": settings.words}
    own_role = role_alone(persona.role) if history is None else persona.role
    role = render(templates, "role", persona=persona.name, role=own_role).strip() if own_role else ""
    if history is None:
        name = f"{name}_alone"
    else:
        values |= {"turn": number + 1, "turns": settings.rounds, "history": history}
        values["task"] = render(templates, "judge" if settings.is_scored(number) else "discuss", **values)
    material = item_material(discussion.item, templates, name) | dict(discussion.material)
    return Ask(
        speaker=persona.name,
        step="talk",
        round=number,
        spec=persona.spec,
        prompt=render(templates, name, **material, **values, role=role),
        answer=discussion.answer if settings.is_scored(number) else None,
        value=discussion.value,
        shown=discussion.shown,
        images=discussion.images,
    )


def ask_summary(discussion: Discussion, number: int, turns: Sequence[Turn]) -> Ask:
    """Ask for the summary at the end of turn `number`."""
    settings, history = discussion.settings, contributions(discussion, turns)
    return Ask(
        speaker=settings.effective_summariser.name,
        step="summary",
        round=number,
        spec=settings.effective_summariser.spec,
        prompt=render(discussion.templates, "summarise", history=history, words=2 * settings.words),
        shown=discussion.shown,
    )


def contributions(discussion: Discussion, turns: Sequence[Turn]) -> Sequence[Material] | str:
    """Return a history as the prompts quote it: a raw one as the study's template `quote`, if there is one."""
    templates, settings = discussion.templates, discussion.settings
    if not turns:
        return render(templates, "no_history")
    if "quote" in templates and is_raw(templates, TEMPLATES[settings.outcome]):
        return RawText.joined(
            [
                render(templates, "quote", persona=turn.speaker, turn=turn.round + 1, text=Material("", turn.statement))
                for turn in turns
            ]
        )
    return [
        Material(f"{turn.speaker}, turn {turn.round + 1}", turn.statement or "(no answer)", required=False)
        for turn in turns
    ]


def judgement(settings: Settings, item: Item) -> Answer[Any]:
    """Return the answer type for the personas: two scores, a vote, a rating or a step."""
    match settings.outcome:
        case "scores":
            return Scores(names=ASSISTANTS, low=settings.lowest, high=settings.highest)
        case "vote":
            return Choice(noun="Assistant")
        case "rating":
            return rating_answer(settings.scale, settings.criterion_name)
        case "step":
            from core.protocols.steps import StepNumber, steps_of  # a discussion of responses loads no transcripts

            return StepNumber(last=steps_of(item)[-1][0])


def in_own_order(settings: Settings, shown: tuple[int, ...], item: Item) -> Callable[[Any], Value]:
    """Return a function that maps a judgement of "Assistant 1" and "Assistant 2" to the item's order of responses."""
    match settings.outcome:
        case "scores":
            return lambda scores: {str(n): scores[name] for n, name in sorted(zip(shown, ASSISTANTS, strict=True))}
        case "vote":
            return in_item_order(shown)
        case "rating":
            return unchanged
        case "step":
            from core.protocols.steps import step_in

            return step_in(item)
