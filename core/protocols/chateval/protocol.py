"""ChatEval: personas discuss two responses, or one (Chan et al. 2023, arXiv:2308.07201, Appendix C).

The three communication strategies are Algorithms 1 to 3. The personas are not asked to agree: the verdict is formed
from the last turn of each, by average or by majority vote (Appendix B). With position calibration the discussion is run
once in each order of the responses.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from core.items import Item
from core.labels import Value
from core.problems import Problem, Unreadable
from core.protocols import ratings
from core.protocols.chateval import readings
from core.protocols.chateval.settings import Persona, Settings, Strategy
from core.protocols.chateval.verdicts import conclude
from core.protocols.prompt_parts import criterion_text, question_text
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn

DiscussionFlow = Generator[Sequence[Ask], list[Turn], None]
"""One discussion in one order of the responses."""


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """One item. The discussions in both orders are independent and run in parallel."""
    discussions = [start_discussion(item, settings, shown, rng, templates) for shown in settings.orders]
    strategy = STRATEGIES[settings.strategy]
    turns = yield from run_in_parallel([strategy(discussion) for discussion in discussions])
    return conclude(turns, settings)


@dataclass(frozen=True)
class Discussion:
    """The constant parts of a discussion: the material as shown to the personas, and the order of the responses."""

    settings: Settings
    templates: Templates
    material: Mapping[str, str]
    form: Mapping[str, object]
    """Values of the form's blanks."""
    shown: tuple[int, ...]


def one_by_one(discussion: Discussion) -> DiscussionFlow:
    """Algorithm 1: the personas speak in a fixed order; each contribution is in the history of the next ones."""
    turns: list[Turn] = []
    for number in range(discussion.settings.turns):
        for persona in discussion.settings.personas:
            history = history_text(discussion, visible_turns(discussion.settings, persona, turns))
            turns += yield [ask_contribution(discussion, persona, number, history)]


def simultaneous(discussion: Discussion) -> DiscussionFlow:
    """Algorithm 2: contributions are buffered, and the buffer is added to every history at the end of a turn.

    The algorithm as printed never empties its buffer; here each contribution is in a history once.
    """
    turns: list[Turn] = []
    for number in range(discussion.settings.turns):
        history = history_text(discussion, turns)
        turns += yield [
            ask_contribution(discussion, persona, number, history) for persona in discussion.settings.personas
        ]


def with_summary(discussion: Discussion) -> DiscussionFlow:
    """Algorithm 3: as Algorithm 2, with a summary of all contributions in place of every history.

    No summary is asked for after the last turn, since none would read it. Where a summary is unreadable, the
    contributions themselves are the history.
    """
    turns: list[Turn] = []
    history = history_text(discussion, turns)
    for number in range(discussion.settings.turns):
        turns += yield [
            ask_contribution(discussion, persona, number, history) for persona in discussion.settings.personas
        ]
        if number + 1 < discussion.settings.turns:
            (summary,) = yield [ask_summary(discussion, number, turns)]
            is_readable = summary.reading is not None
            history = summary_text(discussion, summary) if is_readable else history_text(discussion, turns)


def alone(discussion: Discussion) -> DiscussionFlow:
    """The ensemble of Section 3.2: every persona is asked once and sees no other contribution."""
    yield [ask_contribution(discussion, persona, 0, None) for persona in discussion.settings.personas]


STRATEGIES: Mapping[Strategy, Callable[[Discussion], DiscussionFlow]] = {
    "one by one": one_by_one,
    "simultaneous": simultaneous,
    "simultaneous with summary": with_summary,
    "alone": alone,
}


def run_in_parallel(flows: Sequence[DiscussionFlow]) -> Generator[Sequence[Ask], list[Turn], list[Turn]]:
    """Run several discussions with the same steps in parallel; return all turns in the order of the asks."""
    turns: list[Turn] = []
    rounds = [next(flow) for flow in flows]
    while any(rounds):
        answered = yield [ask for asks in rounds for ask in asks]
        turns += answered
        rest = iter(answered)
        rounds = [_advance(flow, [next(rest) for _ in asks]) for flow, asks in zip(flows, rounds, strict=True)]
    return turns


def visible_turns(settings: Settings, persona: Persona, turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that a persona sees one by one; in Algorithm 1 as printed, the first persona sees none."""
    if settings.hearing == "everybody":
        return list(turns)
    names = [other.name for other in settings.personas]
    position = names.index(persona.name)
    return [turn for turn in turns if position > 0 and names.index(turn.speaker) <= position]


def turns_in_history(settings: Settings, turn: Turn, turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns in the history of `turn`; `turns` are all turns of the trace in the order of the asks.

    A readable summary replaces the turns that it summarises.
    """
    earlier = [other for other in turns[: turns.index(turn)] if other.shown == turn.shown]
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
            is_replaced = turn.step == "talk" and summaries and summaries[0].reading is not None
            return summaries if is_replaced else of_earlier_rounds
        case "alone":
            return []


def start_discussion(
    item: Item, settings: Settings, shown: tuple[int, ...], rng: Random, templates: Templates
) -> Discussion:
    """Render the material that is constant in one discussion."""
    expected = len(shown) or 1
    if len(item.responses) != expected:
        purpose = "rates one" if settings.outcome == "rating" else "compares two"
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; this discussion {purpose}.")
    material = {"question": question_text(item), "criteria": criteria_text(settings, rng, templates)}
    material |= {f"answer_{place}": item.responses[number - 1].text for place, number in enumerate(shown, start=1)}
    material |= {} if shown else {"answer": item.responses[0].text}
    return Discussion(settings, templates, material, form_values(settings), shown)


def criteria_text(settings: Settings, rng: Random, templates: Templates) -> str:
    """Return the study's criterion, or the paper's four qualities."""
    if settings.criterion is None:
        return render(templates, "qualities")
    definition = criterion_text(settings.criterion, "general", rng)
    return render(templates, "criterion", criterion=settings.criterion.name, definition=definition).strip()


def form_values(settings: Settings) -> Mapping[str, object]:
    """Return the values of the form's blanks."""
    match settings.outcome:
        case "scores":
            return {"lowest": settings.lowest, "highest": settings.highest}
        case "vote":
            return {}
        case "rating":
            return {"values": ratings.describe_scale(settings.scale)}


def ask_contribution(discussion: Discussion, persona: Persona, number: int, history: str | None) -> Ask:
    """Ask a persona for its contribution in turn `number` (Table 4); `history` is None where there is no discussion."""
    settings, templates = discussion.settings, discussion.templates
    role = render(templates, "role", persona=persona.name, role=persona.role) if persona.role else ""
    values: dict[str, object] = {"role": role, "words": settings.words}
    if history is None:
        talk = render(templates, "alone", **values).strip()
    else:
        talk = render(templates, "talk", **values, persona=persona.name, history=history)
    prompt = render(
        templates,
        "rate" if settings.outcome == "rating" else "compare",
        **discussion.material,
        talk=talk,
        form=render(templates, f"form_{settings.outcome}", **discussion.form),
    )
    return Ask(
        speaker=persona.name,
        step="talk",
        round=number,
        spec=persona.spec,
        prompt=prompt,
        read=reply_reader(settings, discussion.shown),
        shown=discussion.shown,
        retry_prompt=render(templates, f"again_{settings.outcome}", prompt=prompt),
        grammar=reply_grammar(settings),
    )


def ask_summary(discussion: Discussion, number: int, turns: Sequence[Turn]) -> Ask:
    """Ask for the summary at the end of turn `number`."""
    summariser, history = discussion.settings.effective_summariser, history_text(discussion, turns)
    prompt = render(discussion.templates, "summarise", history=history, words=2 * discussion.settings.words)
    return Ask(
        speaker=summariser.name,
        step="summary",
        round=number,
        spec=summariser.spec,
        prompt=prompt,
        read=_read_summary,
        shown=discussion.shown,
    )


def history_text(discussion: Discussion, turns: Sequence[Turn]) -> str:
    """Return a history as the prompts quote it."""
    templates = discussion.templates
    if not turns:
        return render(templates, "silence")
    return "\n\n".join(
        render(templates, "said", persona=turn.speaker, turn=turn.round + 1, text=turn.reply.strip() or "(no answer)")
        for turn in turns
    )


def summary_text(discussion: Discussion, summary: Turn) -> str:
    """Return a history that consists of a summary."""
    return render(discussion.templates, "summary", text=summary.reply.strip())


def reply_reader(settings: Settings, shown: tuple[int, ...]) -> Callable[[str], Value]:
    """Return a reader of scores by response, of a vote, or of a rating, in the item's own order of responses."""
    match settings.outcome:
        case "scores":
            low, high = settings.lowest, settings.highest
            return lambda reply: _scores_in_item_order(readings.read_scores(reply, low, high), shown)
        case "vote":
            return lambda reply: (0, *shown)[readings.read_vote(reply)]
        case "rating":
            names = (settings.criterion.name,) if settings.criterion else ()
            return lambda reply: ratings.read_rating(reply, settings.scale, names)


def reply_grammar(settings: Settings) -> str:
    """Return the grammar of a contribution for the local model: some text, then the requested lines."""
    text = r'root ::= [^\n]{40,300} "\n\n" '
    match settings.outcome:
        case "scores":
            numbers = range(settings.highest, settings.lowest - 1, -1)
            score = " | ".join(f'"{number}"' for number in numbers)
            return rf'{text}"Score of Assistant 1: " score "\nScore of Assistant 2: " score' + f"\nscore ::= {score}"
        case "vote":
            return text + "[012]"
        case "rating":
            values = " | ".join(f'"{value}"' for value in settings.scale.categories) or "[0-9]+"
            return rf'{text}"Rating: " value' + f"\nvalue ::= {values}"


def any_reading(settings: Settings, ask: Ask) -> Value:
    """Return a valid reading; the number of calls does not depend on it."""
    if ask.step == "summary":
        return "a summary"
    match settings.outcome:
        case "scores":
            return {"1": float(settings.highest), "2": float(settings.lowest)}
        case "vote":
            return 1
        case "rating":
            return ratings.lowest_value(settings.scale)


def _scores_in_item_order(scores: Sequence[float], shown: Sequence[int]) -> dict[str, float]:
    by_response = dict(zip(map(str, shown), scores, strict=True))
    return {number: by_response[number] for number in sorted(by_response)}


def _read_summary(reply: str) -> str:
    if not reply.strip():
        raise Unreadable("the summary is empty")
    return reply.strip()


def _advance(flow: DiscussionFlow, turns: list[Turn]) -> Sequence[Ask]:
    """Send the turns to a discussion and return its next asks; none where it has ended."""
    try:
        return flow.send(turns)
    except StopIteration:
        return ()
