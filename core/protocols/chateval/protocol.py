"""ChatEval: personas talk over what two responses, or one, are worth (Chan et al. 2023, arXiv:2308.07201, Appendix C).

The three ways to talk are Algorithms 1 to 3. Nobody is asked to agree: the answer is taken from the last turn of each,
by average or by majority vote (Appendix B). With position calibration the talk is held in both orders of the responses.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from core.items import Item
from core.labels import Value
from core.problems import Problem, Unreadable
from core.protocols import ratings
from core.protocols.chateval import readings as chateval_readings
from core.protocols.chateval.settings import Persona as Persona
from core.protocols.chateval.settings import Settings as Settings
from core.protocols.chateval.settings import Strategy
from core.protocols.chateval.verdicts import NAME as NAME
from core.protocols.chateval.verdicts import conclude as conclude
from core.protocols.scaleeval.criterion_formats import written
from core.templates import Templates, render
from core.trace import Ask, Flow, Turn

Talk = Generator[Sequence[Ask], list[Turn], None]
"""One talk in one order of the responses."""


def flow(item: Item, settings: Settings, chance: Random, templates: Templates) -> Flow:
    """One item. The talks in both orders know nothing of each other, and go side by side."""
    tables = [opened(item, settings, shown, chance, templates) for shown in settings.orders]
    talk = TALKS[settings.strategy]
    said = yield from together([talk(table) for table in tables])
    return conclude(said, settings)


@dataclass(frozen=True)
class Table:
    """What lies before the personas: the material as they read it, and in which order that is."""

    settings: Settings
    templates: Templates
    material: Mapping[str, str]
    form: Mapping[str, object]
    """What fills the blanks of the form."""
    shown: tuple[int, ...]


def one_by_one(table: Table) -> Talk:
    """Algorithm 1: everybody speaks in a set order; what was said is added to the history of those who follow."""
    said: list[Turn] = []
    for turn in range(table.settings.turns):
        for persona in table.settings.personas:
            said += yield [speech(table, persona, turn, told(table, within_hearing(table.settings, persona, said)))]


def simultaneous(table: Table) -> Talk:
    """Algorithm 2: a turn goes into a buffer, and the buffer into every history when the turn has ended.

    The box never empties its buffer; each contribution stands once in a history here.
    """
    said: list[Turn] = []
    for turn in range(table.settings.turns):
        heard = told(table, said)
        said += yield [speech(table, persona, turn, heard) for persona in table.settings.personas]


def with_summary(table: Table) -> Talk:
    """Algorithm 3: as Algorithm 2, but every history is replaced by a summary of all that was said.

    The summary after the last turn, which nobody would hear, is not asked for. Where none could be had, the
    contributions themselves are passed on.
    """
    said: list[Turn] = []
    heard = told(table, said)
    for turn in range(table.settings.turns):
        said += yield [speech(table, persona, turn, heard) for persona in table.settings.personas]
        if turn + 1 < table.settings.turns:
            (summed,) = yield [summary(table, turn, said)]
            heard = told(table, said) if summed.reading is None else retold(table, summed)


def alone(table: Table) -> Talk:
    """The ensemble of Section 3.2: everybody is asked once, and nobody hears anybody."""
    yield [speech(table, persona, 0, None) for persona in table.settings.personas]


TALKS: Mapping[Strategy, Callable[[Table], Talk]] = {
    "one by one": one_by_one,
    "simultaneous": simultaneous,
    "simultaneous with summary": with_summary,
    "alone": alone,
}


def together(talks: Sequence[Talk]) -> Generator[Sequence[Ask], list[Turn], list[Turn]]:
    """Hold several talks side by side, which take the same steps; everything that was said."""
    said: list[Turn] = []
    rounds = [next(talk) for talk in talks]
    while any(rounds):
        turns = yield [ask for asks in rounds for ask in asks]
        said += turns
        rest = iter(turns)
        rounds = [_sent(talk, [next(rest) for _ in asks]) for talk, asks in zip(talks, rounds, strict=True)]
    return said


def within_hearing(settings: Settings, persona: Persona, said: Sequence[Turn]) -> list[Turn]:
    """What a persona hears of what was said; by the letter of the box, the first one hears nobody."""
    if settings.hearing == "everybody":
        return list(said)
    names = [one.name for one in settings.personas]
    place = names.index(persona.name)
    return [turn for turn in said if place > 0 and names.index(turn.speaker) <= place]


def heard(settings: Settings, turn: Turn, said: Sequence[Turn]) -> list[Turn]:
    """What stood in the history of a turn, of everything that was said, in the order of the asks: for whoever watches.

    A summary that could be had stands for all that it sums up.
    """
    before = [one for one in said[: said.index(turn)] if one.shown == turn.shown]
    talk = [one for one in before if one.step == "talk"]
    earlier = [one for one in talk if one.round < turn.round or turn.step == "summary"]
    match settings.strategy:
        case "one by one":
            persona = next((one for one in settings.personas if one.name == turn.speaker), None)
            return within_hearing(settings, persona, talk) if persona else talk
        case "simultaneous":
            return earlier
        case "simultaneous with summary":
            summed = [one for one in before if one.step == "summary" and one.round == turn.round - 1]
            return summed if turn.step == "talk" and summed and summed[0].reading is not None else earlier
        case "alone":
            return []


def opened(item: Item, settings: Settings, shown: tuple[int, ...], chance: Random, templates: Templates) -> Table:
    """Write out what stays the same through a talk."""
    wanted = len(shown) or 1
    if len(item.responses) != wanted:
        does = "rates one" if settings.outcome == "rating" else "compares two"
        raise Problem(f"Item {item.id} has {len(item.responses)} responses; this talk {does}.")
    material = {
        "question": f"{item.context}\n\n{item.prompt}" if item.context else item.prompt,
        "criteria": criteria(settings, chance, templates),
    }
    material |= {f"answer_{place}": item.responses[number - 1].text for place, number in enumerate(shown, start=1)}
    material |= {} if shown else {"answer": item.responses[0].text}
    return Table(settings, templates, material, form(settings), shown)


def criteria(settings: Settings, chance: Random, templates: Templates) -> str:
    """What to judge by: the study's criterion, or the paper's four qualities."""
    if settings.criterion is None:
        return render(templates, "qualities")
    definition = written(settings.criterion, "general", chance)
    return render(templates, "criterion", criterion=settings.criterion.name, definition=definition).strip()


def form(settings: Settings) -> Mapping[str, object]:
    """What the form names."""
    match settings.outcome:
        case "scores":
            return {"lowest": settings.lowest, "highest": settings.highest}
        case "vote":
            return {}
        case "rating":
            return {"values": ratings.values(settings.scale)}


def speech(table: Table, persona: Persona, turn: int, heard: str | None) -> Ask:
    """A persona's contribution (Table 4). `heard` is what it knows of the talk; None where there is no talk."""
    settings, texts = table.settings, table.templates
    role = render(texts, "role", persona=persona.name, role=persona.role) if persona.role else ""
    slots: dict[str, object] = {"role": role, "words": settings.words}
    if heard is None:
        talk = render(texts, "alone", **slots).strip()
    else:
        talk = render(texts, "talk", **slots, persona=persona.name, history=heard)
    prompt = render(
        texts,
        "rate" if settings.outcome == "rating" else "compare",
        **table.material,
        talk=talk,
        form=render(texts, f"form_{settings.outcome}", **table.form),
    )
    return Ask(
        speaker=persona.name,
        step="talk",
        round=turn,
        spec=persona.spec,
        prompt=prompt,
        read=reader(settings, table.shown),
        shown=table.shown,
        again=render(texts, f"again_{settings.outcome}", prompt=prompt),
        grammar=grammar(settings),
    )


def summary(table: Table, turn: int, said: Sequence[Turn]) -> Ask:
    """The summariser's part at the end of a turn."""
    who = table.settings.summing
    prompt = render(table.templates, "summarise", history=told(table, said), words=2 * table.settings.words)
    return Ask(who.name, "summary", turn, who.spec, prompt, _summed, table.shown)


def told(table: Table, said: Sequence[Turn]) -> str:
    """A history as it stands in a prompt."""
    texts = table.templates
    if not said:
        return render(texts, "silence")
    return "\n\n".join(
        render(texts, "said", persona=turn.speaker, turn=turn.round + 1, text=turn.reply.strip() or "(no answer)")
        for turn in said
    )


def retold(table: Table, summed: Turn) -> str:
    """A history that is a summary."""
    return render(table.templates, "summary", text=summed.reply.strip())


def reader(settings: Settings, shown: tuple[int, ...]) -> Callable[[str], Value]:
    """A reading in the item's own order: scores by response, a vote, or a rating."""
    match settings.outcome:
        case "scores":
            low, high = settings.lowest, settings.highest
            return lambda text: _own(chateval_readings.scores(text, low, high), shown)
        case "vote":
            return lambda text: (0, *shown)[chateval_readings.vote(text)]
        case "rating":
            names = (settings.criterion.name,) if settings.criterion else ()
            return lambda text: ratings.rating(text, settings.scale, names)


def grammar(settings: Settings) -> str:
    """The form for the local model: a contribution, then the lines that are asked for."""
    talk = r'root ::= [^\n]{40,300} "\n\n" '
    match settings.outcome:
        case "scores":
            numbers = range(settings.highest, settings.lowest - 1, -1)
            score = " | ".join(f'"{number}"' for number in numbers)
            return rf'{talk}"Score of Assistant 1: " score "\nScore of Assistant 2: " score' + f"\nscore ::= {score}"
        case "vote":
            return talk + "[012]"
        case "rating":
            values = " | ".join(f'"{value}"' for value in settings.scale.categories) or "[0-9]+"
            return rf'{talk}"Rating: " value' + f"\nvalue ::= {values}"


def longest(settings: Settings, ask: Ask) -> Value:
    """Every course takes the same calls."""
    if ask.step == "summary":
        return "summed up"
    match settings.outcome:
        case "scores":
            return {"1": float(settings.highest), "2": float(settings.lowest)}
        case "vote":
            return 1
        case "rating":
            found = [one for one in settings.scale.categories if isinstance(one, int | float)]
            return found[0] if found else settings.scale.low or 0


def _own(scores: Sequence[float], shown: Sequence[int]) -> dict[str, float]:
    """Scores by the item's own response."""
    found = dict(zip(map(str, shown), scores, strict=True))
    return {number: found[number] for number in sorted(found)}


def _summed(reply: str) -> str:
    if not reply.strip():
        raise Unreadable("the summary is empty")
    return reply.strip()


def _sent(talk: Talk, turns: list[Turn]) -> Sequence[Ask]:
    """The next asks of a talk; none when it has ended."""
    try:
        return talk.send(turns)
    except StopIteration:
        return ()
