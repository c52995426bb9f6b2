"""Identifies the item of a released ScaleEval debate: its submissions were shuffled, and the order was not saved."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.formats.mapping.rows import read_rows
from core.formats.published.scaleeval_files import Debate, name_file_in_errors, text_field
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
"""File name -> the paper's name of the scenario; any other file name is used unchanged."""


@dataclass(frozen=True)
class Answer:
    """One system's answer to one prompt."""

    prompt: str
    text: str


@dataclass
class ItemFinder:
    """The items of one comparison, "gpt3.5_vs_claude": each question once, regardless of its criteria."""

    comparison: str
    responses: Path | None
    """The folder with a folder of answers for each system; None if it is not available."""
    by_id: dict[str, Item] = field(default_factory=dict)
    """Item id -> item, of the debates so far."""
    _answers: dict[str, Sequence[Sequence[Answer]]] = field(default_factory=dict)

    def find(self, debate: Debate, scenario: str, criterion: str) -> tuple[Item, tuple[int, int]]:
        """Return the item, and the numbers of its responses shown as Submission 1 and Submission 2.

        Responses are in the order in which the comparison names the systems. If the texts are not among the
        systems' answers, the systems are unknown and the responses are in the debate's order.
        """
        index = self._question_index(debate, scenario)
        if index is not None:
            return self._matched_item(debate, scenario, index)
        return self._unmatched_item(debate, scenario, criterion)

    def _matched_item(self, debate: Debate, scenario: str, index: int) -> tuple[Item, tuple[int, int]]:
        pair = [answers[index] for answers in self._answer_lists(scenario)]
        systems = system_folders(self.comparison, self.responses)
        responses = [Response(text=answer.text, system=name) for answer, name in zip(pair, systems, strict=True)]
        item = self._add(f"{self.comparison}/{scenario}/{index + 1}", debate, scenario, responses)
        return item, (1, 2) if _is_same_text(debate.submissions[0], responses[0].text) else (2, 1)

    def _unmatched_item(self, debate: Debate, scenario: str, criterion: str) -> tuple[Item, tuple[int, int]]:
        prefix = f"{self.comparison}/{scenario}/{debate.number} · "
        for item_id, item in self.by_id.items():
            texts = tuple(response.text for response in item.responses)
            if item_id.startswith(prefix) and set(texts) == set(debate.submissions):
                return item, (1, 2) if texts == debate.submissions else (2, 1)
        responses = [Response(text=text) for text in debate.submissions]
        return self._add(prefix + criterion, debate, scenario, responses), (1, 2)

    def _add(self, item_id: str, debate: Debate, scenario: str, responses: Sequence[Response]) -> Item:
        if item_id not in self.by_id:
            self.by_id[item_id] = Item(
                id=item_id,
                prompt=debate.question,
                responses=tuple(responses),
                scenario=SCENARIOS.get(scenario, scenario),
                group=f"{scenario}/{item_id.removeprefix(f'{self.comparison}/{scenario}/')}",
            )
        return self.by_id[item_id]

    def _question_index(self, debate: Debate, scenario: str) -> int | None:
        """Return the index of the question in the files of answers; None if it is not there.

        The debate's own number is tried first: some questions occur twice.
        """
        lists = self._answer_lists(scenario)
        if len(lists) != 2:
            return None
        length = min(len(lists[0]), len(lists[1]))
        candidates = [debate.number - 1, *range(length)]
        return next((n for n in candidates if 0 <= n < length and _matches(debate, lists[0][n], lists[1][n])), None)

    def _answer_lists(self, scenario: str) -> Sequence[Sequence[Answer]]:
        if scenario not in self._answers:
            folders = system_folders(self.comparison, self.responses)
            files = [self.responses / name / f"{scenario}.jsonl" for name in folders if self.responses]
            self._answers[scenario] = [_read_answers(file) for file in files if file.is_file()]
        return self._answers[scenario]


def system_folders(comparison: str, responses: Path | None) -> tuple[str, ...]:
    """Return the two folders named by "gpt3.5_vs_claude", such as gpt3.5 and claude-instant; empty if ambiguous."""
    names = [folder.name for folder in sorted(responses.iterdir()) if folder.is_dir()] if responses else []
    folders = [_find_folder(part, names) for part in comparison.split("_vs_")]
    if len(folders) != 2 or folders[0] == folders[1]:
        return ()
    return tuple(folder for folder in folders if folder) if all(folders) else ()


def _find_folder(part: str, names: Sequence[str]) -> str | None:
    if part in names:
        return part
    matching = [name for name in names if name.startswith(part)]
    return matching[0] if len(matching) == 1 else None


def _read_answers(file: Path) -> Sequence[Answer]:
    with name_file_in_errors(file):
        return [
            Answer(text_field(row, "prompt", line), text_field(row, "response", line)) for line, row in read_rows(file)
        ]


def _matches(debate: Debate, answer: Answer, other: Answer) -> bool:
    """Return whether two answers to one prompt are the debate's submissions, in either order."""
    if not _is_same_text(debate.question, answer.prompt):
        return False
    first, second = debate.submissions
    in_order = _is_same_text(first, answer.text) and _is_same_text(second, other.text)
    return in_order or (_is_same_text(first, other.text) and _is_same_text(second, answer.text))


def _is_same_text(text: str, other: str) -> bool:
    """Compare without whitespace: some of the files were stripped and others were not."""
    return text == other or text.split() == other.split()
