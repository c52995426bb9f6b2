"""Small studies with the shape of the papers' data: their systems, dialogues, annotators, criteria and scales."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from core.critiques import Critique, aius_with_numbers, critique_targets, reference_critique
from core.formats.records import CriterionRecord, ItemRecord, LabelRecord, Record, ScaleRecord
from core.items import Criterion, Item, Response
from core.labels import Kind, Label, Scale, Target, Value
from tests.conftest import make_item
from tests.core.protocols.critiques import make_item as make_critiqued_item
from tests.papers.packs import CRITERIA

ANNOTATORS = ("annotator 1", "annotator 2", "annotator 3")
SYSTEMS = ("system a", "system b", "system c")
SIX = tuple(f"system {letter}" for letter in "abcdef")
GROUPS = 2
NUMBERS = Scale(level="interval", low=-1e12, high=1e12)
LETTERS = Scale(level="nominal", categories=tuple("ABCDEF"))
CELLS = {"helpfulness": ("brainstorming",), "interpretability": ("coding",)}
"""Criteria of ScaleEval and the scenarios of those of its cells that the tests execute."""
CATEGORIES = ("writing", "coding", "knowledge", "generic")


def records_for(name: str, media: Path) -> list[Record]:
    """Return the study of a file of docs/papers."""
    return list(STUDIES[study_of(name)](media))


def study_of(name: str) -> str:
    """Return the name of the study that a file of docs/papers is executed in."""
    name = name.removesuffix("-today")
    special = {
        "chateval/table-2": "texts",
        "chateval/table-2-g-eval": "texts",
        "refer/table-4": "letters",
        "refer/table-4-gsm8k": "numbers",
        "realcritic/critique-numbers": "sums",
    }
    special |= {"refer/table-2": "six"}
    special |= {"refer/table-3-captions": "captions", "refer/table-3-images": "images"}
    return special.get(name) or {"refer": "texts"}.get(name.partition("/")[0]) or name.partition("/")[0]


def _texts(media: Path) -> Iterator[Record]:
    """Yield replies of three systems in three dialogues, rated on every criterion of the papers by three people."""
    yield from (CriterionRecord(criterion=criterion) for criterion in CRITERIA)
    yield from _rated(CRITERIA)


def _six(media: Path) -> Iterator[Record]:
    """Yield replies of six systems, as the summaries and dialogues of ReFeR's tables have, rated on 0/1 and 1 to 3."""
    chosen = [one for one in CRITERIA if one.name in ("Natural", "Maintains Context", "Uses Knowledge")]
    yield from (CriterionRecord(criterion=criterion) for criterion in CRITERIA)
    yield from _rated(chosen, systems=SIX)


def _rated(criteria: list[Criterion], image: str = "", systems: tuple[str, ...] = SYSTEMS) -> Iterator[Record]:
    for criterion in criteria:
        assert criterion.scale is not None
        yield ScaleRecord(kind="score", criterion=criterion.name, scale=criterion.scale)
    for group in range(GROUPS):
        for place, system in enumerate(systems):
            response = Response(text=f"Reply {place} to {group}.", system=system, image=image or None)
            item = make_item(f"{group}-{place}", responses=(response,), context="A fact.", group=f"dialogue {group}")
            yield ItemRecord(item=item)
            for number, criterion in enumerate(criteria):
                target = Target(item=item.id, kind="score", criterion=criterion.name)
                yield from _labels(target, _ratings(criterion, group + place + number))


def _ratings(criterion: Criterion, seed: int) -> tuple[Value, ...]:
    scale = criterion.scale
    assert scale is not None
    if scale.categories:
        return tuple(scale.categories[(seed + extra) % len(scale.categories)] for extra in (0, 0, 1))
    assert scale.high is not None
    return tuple((seed + extra) * scale.high / 8 for extra in (0, 1, 2))


def _labels(target: Target, values: tuple[Value, ...]) -> Iterator[Record]:
    for annotator, value in zip(ANNOTATORS, values, strict=False):
        yield LabelRecord(label=Label(target=target, annotator=annotator, value=value))


def _pictures(criterion: str, high: float) -> Callable[[Path], Iterator[Record]]:
    def records(media: Path) -> Iterator[Record]:
        yield from _rated([Criterion(name=criterion, scale=Scale(level="interval", low=0, high=high))], "boat.png")

    return records


def _problems(scale: Scale, answers: Mapping[str, Value]) -> Callable[[Path], Iterator[Record]]:
    """Return the problems of data sets, three of each, with one right answer."""

    def records(media: Path) -> Iterator[Record]:
        yield ScaleRecord(kind="answer", criterion="", scale=scale)
        for scenario, answer in answers.items():
            for number in range(3):
                item = Item(id=f"{scenario} {number}", prompt=f"Problem {number}?", scenario=scenario)
                yield ItemRecord(item=item)
                yield from _labels(Target(item=item.id, kind="answer"), (answer,))

    return records


def _pairs(kinds: Mapping[str, tuple[str, ...]], count: int) -> Callable[[Path], Iterator[Record]]:
    """Return pairs of responses of two systems in scenarios, `count` in each, with preferences of three people."""

    def records(media: Path) -> Iterator[Record]:
        for criterion, scenarios in kinds.items():
            for number, scenario in enumerate(name for name in scenarios for _ in range(count)):
                responses = tuple(Response(text=f"Answer {n}.", system=name) for n, name in enumerate(SYSTEMS[:2]))
                item = make_item(f"{criterion} {number}", responses=responses, scenario=scenario)
                yield ItemRecord(item=item)
                target = Target(item=item.id, kind="preference", criterion=criterion)
                yield from _labels(target, (1 + number % 2, 1 + number % 2, number % 3))

    return records


def _critiques(media: Path) -> Iterator[Record]:
    """Yield answers with critiques of two models and a reference, whose AIUs three people have judged."""
    for number in range(3):
        critiques = [
            Critique(id=name, author=name, text=f"Critique {name} {number}.", aius=aius_with_numbers(name, aius))
            for name, aius in (("m1", ["One.", "Two."]), ("m2", ["Three."]))
        ]
        aius = aius_with_numbers("ref", ["Four."])
        reference = Critique(id="ref", author="r", role="reference", text="R.", aius=aius)
        item = make_critiqued_item(id=f"q{number}", reference="Right.", critiques=(*critiques, reference))
        yield ItemRecord(item=item)
        targets = [t for c in critiques for t in critique_targets(item.id, c, reference_critique(item.critiques))]
        for place, target in enumerate(targets):
            yield from _labels(target, (place != number, True, place != number))
        for name, rating in (("m1", 3 + number), ("m2", 5)):
            likert: Kind = "likert"
            yield from _labels(Target(item=item.id, kind=likert, part=name), (rating, rating, rating))


def _solutions(answers: Mapping[str, str], references: str) -> Callable[[Path], Iterator[Record]]:
    """Return problems of two data sets, each with one solution; `answers` is a letter of the texts -> an answer."""

    def records(media: Path) -> Iterator[Record]:
        for place, (given, right) in enumerate(zip("ABABAC", references, strict=True)):
            response = Response(text=f"I think so. Answer: {answers[given]}")
            yield ItemRecord(
                item=Item(
                    id=f"p{place}", prompt=f"Problem {place}?", reference=answers[right], responses=(response,),
                    scenario="GPQA" if place < 4 else "ARC",
                )
            )  # fmt: skip

    return records


STUDIES: Mapping[str, Callable[[Path], Iterator[Record]]] = {
    "texts": _texts,
    "six": _six,
    "captions": _pictures("Caption Quality", 100),
    "images": _pictures("Image Quality", 5),
    "letters": _problems(LETTERS, {"AQuA": "A", "BBH-DU": "B"}),
    "numbers": _problems(NUMBERS, {"GSM8k": 1}),
    "realcritic": _solutions({"A": "A", "B": "B", "C": "C"}, "AAABBC"),
    "sums": _solutions({"A": "1", "B": "2", "C": "0"}, "AAABBC"),
    "chateval": _pairs({"overall quality": CATEGORIES}, 1),
    "dna_eval": _pairs({"": ("math",)}, 4),
    "scaleeval": _pairs(CELLS, 3),
    "metacritique": _critiques,
}
