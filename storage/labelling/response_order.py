"""The order in which an annotator sees the texts that a task shows side by side: responses, critiques, refined answers.

The order is counterbalanced: it begins with a permutation drawn for the target, and the next annotator has it rotated
by one place. So each text is first for one of n annotators with successive numbers, and in one n-th of the targets of
an annotator. It follows from the study's key, so a reload shows the same order. A label or draft keeps the order under
which it was entered, whatever the rules say later.

Only the screen has this order. Values, blocks and evidence have the item's own numbers everywhere.
"""

from collections.abc import Mapping, Sequence

from core.items import Item
from storage.labelling.context import Refused, Task, Work

Order = tuple[int, ...]
"""The numbers of the texts of an item, in the order in which they are shown."""
PAIRS: Mapping[str, str] = {"disagreements": "response", "critiques": "critique", "refined_answers": "answer"}
"""Queue with two texts side by side -> what they are, which is the first part of the names of their blocks."""
LISTS = ("scores", "answers")
"""Queues with all responses of an item side by side, unless a score is about one of them."""


def count_texts(work: Work, task: Task, item: Item) -> int:
    """Return how many texts a task shows side by side; 0 if there are no several ones.

    `item` is the one of the target: `core.items.target_item`.
    """
    if work.name in PAIRS:
        return 2 if work.name != "disagreements" or len(item.responses) == 2 else 0
    is_one = task.target.kind == "score" and task.target.part.isdecimal()
    return len(item.responses) if work.name in LISTS and len(item.responses) > 1 and not is_one else 0


def assigned(work: Work, task: Task, count: int) -> Order:
    """Return the order of this number of texts by the rules of the study; empty for none."""
    numbers = range(1, count + 1)
    if work.study.rules.response_order == "as_given":
        return tuple(numbers)
    drawn = sorted(numbers, key=lambda number: work.ids.digest("shown", task.id, number))
    first = work.annotator_id % count if count else 0
    return tuple(drawn[first:] + drawn[:first])


def entered(entered_order: Sequence[int], work: Work, task: Task, count: int) -> Order:
    """Return the order of what the annotator has entered, or the assigned one if it is not one of these texts."""
    return tuple(entered_order) if is_order(entered_order, count) else assigned(work, task, count)


def is_order(order: Sequence[int], count: int) -> bool:
    """Return whether an order has every number from 1 to `count` once."""
    return sorted(order) == list(range(1, count + 1))


def check(order: Sequence[int], work: Work) -> None:
    """Raise Refused if an action states an order that the texts of the queue cannot have; an empty one is not known."""
    possible = work.name in LISTS or (work.name in PAIRS and len(order) == 2)
    if order and not (possible and is_order(order, len(order))):
        raise Refused("rejected", "This answer was given under an order of texts that the item does not have.")
