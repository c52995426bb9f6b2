"""Which item a released ScaleEval debate is about: its submissions were shuffled, and the shuffle was not saved."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.formats.mapping.rows import rows
from core.formats.published.scaleeval_files import Debate, naming, said
from core.items import Item, Response

SCENARIOS = {
    "brainstorming": "brainstorming",
    "code": "coding",
    "dialog": "dialog",
    "judgement": "judgement",
    "math": "math",
    "opendomain_general": "open-domain general",
    "opendomain_science": "open-domain science",
    "write": "writing",
}
"""File name -> the paper's name of the scenario; another file name is its own."""


@dataclass(frozen=True)
class Answer:
    """One system's answer to one prompt."""

    prompt: str
    text: str


@dataclass
class Items:
    """The items of one comparison, "gpt3.5_vs_claude": each question once, whatever criteria it was debated under."""

    comparison: str
    responses: Path | None
    """The folder with a folder of answers for each system; None where it was not found."""
    met: dict[str, Item] = field(default_factory=dict)
    _answers: dict[str, Sequence[Sequence[Answer]]] = field(default_factory=dict)

    def find(self, debate: Debate, scenario: str, criterion: str) -> tuple[Item, tuple[int, int]]:
        """(the item, which of its responses stood as Submission 1 and Submission 2).

        The item's own order is the one in which the comparison names the systems. Where the texts are in nobody's
        answers the systems stay unknown, and the item is the debate's own, in the debate's order.
        """
        number = self._number(debate, scenario)
        if number is not None:
            return self._matched(debate, scenario, number)
        return self._unmatched(debate, scenario, criterion)

    def _matched(self, debate: Debate, scenario: str, number: int) -> tuple[Item, tuple[int, int]]:
        pair = [answers[number] for answers in self._pairs(scenario)]
        systems = systems_of(self.comparison, self.responses)
        responses = [Response(text=a.text, system=name) for a, name in zip(pair, systems, strict=True)]
        item = self._keep(f"{self.comparison}/{scenario}/{number + 1}", debate, scenario, responses)
        return item, (1, 2) if _same(debate.submissions[0], responses[0].text) else (2, 1)

    def _unmatched(self, debate: Debate, scenario: str, criterion: str) -> tuple[Item, tuple[int, int]]:
        start = f"{self.comparison}/{scenario}/{debate.number} · "
        for identity, item in self.met.items():
            texts = tuple(response.text for response in item.responses)
            if identity.startswith(start) and set(texts) == set(debate.submissions):
                return item, (1, 2) if texts == debate.submissions else (2, 1)
        responses = [Response(text=text) for text in debate.submissions]
        return self._keep(start + criterion, debate, scenario, responses), (1, 2)

    def _keep(self, identity: str, debate: Debate, scenario: str, responses: Sequence[Response]) -> Item:
        if identity not in self.met:
            self.met[identity] = Item(
                id=identity,
                prompt=debate.question,
                responses=tuple(responses),
                scenario=SCENARIOS.get(scenario, scenario),
                group=f"{scenario}/{identity.removeprefix(f'{self.comparison}/{scenario}/')}",
            )
        return self.met[identity]

    def _number(self, debate: Debate, scenario: str) -> int | None:
        """The place of the question in the files of answers: the debate's own number first, for some stand twice."""
        pairs = self._pairs(scenario)
        if len(pairs) != 2:
            return None
        length = min(len(pairs[0]), len(pairs[1]))
        places = [debate.number - 1, *range(length)]
        return next((n for n in places if 0 <= n < length and _fits(debate, pairs[0][n], pairs[1][n])), None)

    def _pairs(self, scenario: str) -> Sequence[Sequence[Answer]]:
        if scenario not in self._answers:
            folders = systems_of(self.comparison, self.responses)
            files = [self.responses / name / f"{scenario}.jsonl" for name in folders if self.responses]
            self._answers[scenario] = [_read(file) for file in files if file.is_file()]
        return self._answers[scenario]


def systems_of(comparison: str, responses: Path | None) -> tuple[str, ...]:
    """The two folders that "gpt3.5_vs_claude" speaks of, such as gpt3.5 and claude-instant; empty if in doubt."""
    names = [folder.name for folder in sorted(responses.iterdir()) if folder.is_dir()] if responses else []
    found = [_folder(part, names) for part in comparison.split("_vs_")]
    return tuple(found) if len(found) == 2 and all(found) and found[0] != found[1] else ()  # type: ignore[arg-type]


def _folder(part: str, names: Sequence[str]) -> str | None:
    if part in names:
        return part
    beginning = [name for name in names if name.startswith(part)]
    return beginning[0] if len(beginning) == 1 else None


def _read(file: Path) -> Sequence[Answer]:
    with naming(file):
        return [Answer(said(row, "prompt", line), said(row, "response", line)) for line, row in rows(file)]


def _fits(debate: Debate, one: Answer, other: Answer) -> bool:
    if not _same(debate.question, one.prompt):
        return False
    first, second = debate.submissions
    straight = _same(first, one.text) and _same(second, other.text)
    return straight or (_same(first, other.text) and _same(second, one.text))


def _same(text: str, other: str) -> bool:
    """Blanks aside: one of the files was trimmed where the other was not."""
    return text == other or text.split() == other.split()
