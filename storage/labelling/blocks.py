"""Texts and targets of a task as the workbench receives them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

from core import remote_images
from core.items import Criterion, Item
from core.labels import Scale, Target, Value
from core.own_addresses import own_address
from core.texts import _, mark
from storage.labelling.context import Json, QueueContext, Refused, Task, target_name, task_name
from storage.studies import study_images, transcripts

# The order in which an annotator sees the texts that a task shows side by side: responses, critiques, refined answers.
#
# The order is counterbalanced: it begins with a permutation drawn for the target, and the next annotator has it rotated
# by one place. So each text is first for one of n annotators with successive numbers, and in one n-th of the targets of
# an annotator. It follows from the study's key, so a reload shows the same order. A label or draft keeps the order
# under which it was entered, whatever the rules say later.
#
# Only the screen has this order. Values, blocks and evidence have the item's own numbers everywhere.

# The numbers of the texts of an item, in the order in which they are shown.
Order = tuple[int, ...]
# Queue with two texts side by side -> what they are, which is the first part of the names of their blocks.
PAIRS: Mapping[str, str] = {"disagreements": "response", "critiques": "critique", "refined_answers": "answer"}
# What a pair consists of -> the question about it, the title of one of the two, and the answer that it is better.
PAIR_TEXTS: Mapping[str, tuple[str, str, str]] = {
    "response": (mark("Which response is better?"), mark("Response {number}"), mark("Response {number} is better")),
    "critique": (mark("Which critique is better?"), mark("Critique {number}"), mark("Critique {number} is better")),
    "answer": (mark("Which answer is better?"), mark("Answer {number}"), mark("Answer {number} is better")),
}
# Queues with all responses of an item side by side, unless a score is about one of them.
LISTS = ("scores", "answers")


def count_texts(work: QueueContext, task: Task, item: Item) -> int:
    """Return how many texts a task shows side by side; 0 if there are no several ones.

    `item` is the one of the target: `core.items.target_item`.
    """
    if work.name in PAIRS:
        return 2 if work.name != "disagreements" or len(item.responses) == 2 else 0
    is_one = task.target.kind == "score" and task.target.part.isdecimal()
    return len(item.responses) if work.name in LISTS and len(item.responses) > 1 and not is_one else 0


def assigned_order(work: QueueContext, task: Task, count: int) -> Order:
    """Return the order of this number of texts by the rules of the study; empty for none."""
    numbers = range(1, count + 1)
    if work.study.rules.response_order == "as_given":
        return tuple(numbers)
    drawn = sorted(numbers, key=lambda number: work.ids.digest("shown", task.key, number))
    first = work.annotator_id % count if count else 0
    return tuple(drawn[first:] + drawn[:first])


def entered_order(given: Sequence[int], work: QueueContext, task: Task, count: int) -> Order:
    """Return the order of what the annotator has entered, or the assigned one if it is not one of these texts."""
    return tuple(given) if is_order(given, count) else assigned_order(work, task, count)


def is_order(order: Sequence[int], count: int) -> bool:
    """Return whether an order has every number from 1 to `count` once."""
    return sorted(order) == list(range(1, count + 1))


def check_order(order: Sequence[int], work: QueueContext) -> None:
    """Raise Refused if an action states an order that the texts of the queue cannot have; an empty one is not known."""
    possible = work.name in LISTS or (work.name in PAIRS and len(order) == 2)
    if order and not (possible and is_order(order, len(order))):
        raise Refused("rejected", _("This answer was given under an order of texts that the item does not have."))


# The blocks of a task.

# A longer context or dialogue is collapsed to its end, the turn that is answered.
LONG = 400
# The beginning of a turn in a dialogue that is a plain text.
SPEAKER = re.compile(r"^[^\s:][^:\n]{0,30}:\s", re.MULTILINE)


def above(work: QueueContext, task: Task, item: Item, *, reference: bool = True) -> list[Json]:
    """Return the blocks above the responses: context, question and reference."""
    blocks = []
    if item.context:
        fold = {"fold": "end" if len(item.context) > LONG else False}
        blocks.append(block(work, "context", _("Context"), item.context) | fold)
    is_dialogue = len(SPEAKER.findall(item.prompt)) > 1
    question = block(work, "question", _("Question"), item.prompt) | _image(work, task, "question", item.image)
    question |= _transcript(work, item.transcript)
    is_folded = is_dialogue and len(item.prompt) > LONG and not item.transcript
    blocks.append(question | {"fold": "end" if is_folded else False})
    if item.reference and reference:
        blocks.append(block(work, "reference", _("Reference answer"), item.reference) | {"fold": True})
    return blocks


def response_blocks(work: QueueContext, task: Task, item: Item, order: Sequence[int] = ()) -> list[Json]:
    """Return a block for each response, in an order of their numbers or in that of the item.

    The id of a block has the response's own number, its title and colour the place where it is shown.
    """
    blocks = []
    for place, number in enumerate(order or range(1, len(item.responses) + 1), 1):
        response, name = item.responses[number - 1], f"response-{number}"
        title = _("Response") if len(item.responses) == 1 else _("Response {number}", number=place)
        text = block(work, name, title, response.text) | {"number": place}
        blocks.append(text | _image(work, task, name, response.image) | _transcript(work, response.transcript))
    return blocks


def better_options(noun: str, order: Sequence[int]) -> list[Json]:
    """Return the options of a comparison of a pair: the key is the place of a text, the value its own number."""
    options = [
        {
            "key": str(place),
            "value": number,
            "label": _(PAIR_TEXTS[noun][2], number=place),
            "short": str(place),
            "colour": f"response-{place}",
        }
        for place, number in enumerate(order, 1)
    ]
    return [*options, {"key": "0", "value": 0, "label": _("Neither is better"), "short": _("tie"), "colour": "tie"}]


def image_path(item: Item, block: str) -> str | None:
    """Return the path or URL of the image of a block; None if it has none."""
    images = {"question": item.image} | {
        f"response-{n}": response.image for n, response in enumerate(item.responses, 1)
    }
    return images.get(block)


def block(work: QueueContext, name: str, title: str, text: str) -> Json:
    """Return a text, which is Markdown unless the study's rules say that texts are shown exactly as they are; with the
    addresses of the images that it shows.
    """
    found = {"id": name, "title": title, "format": "markdown" if work.study.rules.markdown else "plain", "text": text}
    shown = remote_images.markdown_images(text, work.study.rules.image_hosts) if work.study.rules.markdown else []
    images = {address: study_images.route(work.ids.secret, work.study.id, address) for address in shown}
    return found | ({"images": images} if images else {})


def target_json(work: QueueContext, target: Target) -> Json:
    """Return the fields of every target; its options or its range are added."""
    return {"id": target_name(work, target), "kind": target.kind, "group": "", "required": True, "question": ""}


def _image(work: QueueContext, task: Task, name: str, path: str | None) -> Json:
    """Return the address of an image by its block: the name of its file may reveal the system."""
    if not path:
        return {}
    query = {"study": work.study.name, "kind": work.name, "task": task_name(work, task.key), "block": name}
    return {"image": {"url": f"{own_address('/api/label/image')}?{urlencode(query)}", "alt": ""}}


def _transcript(work: QueueContext, digest: str | None) -> Json:
    """Return the address of the transcript of a block; its text is what judges read of it."""
    return {"transcript": transcripts.address(work.study.id, digest)} if digest else {}


# The levels of a scale as options of the workbench, each with its key and rubric line.

# Characters of a rubric line next to its key.
LONGEST_LABEL = 160


def level_options(scale: Scale, criterion: Criterion | None) -> list[Json]:
    """Return the options of a scale with their rubric lines."""
    values = scale.categories
    lines = criterion.rubric if criterion and len(criterion.rubric) == len(values) else ("",) * len(values)
    return [
        {"key": key, "value": value, "label": label, "short": str(value), "colour": "level"}
        for value, key, label in zip(values, level_keys(values), _level_labels(values, lines), strict=True)
    ]


def level_keys(values: Sequence[Value]) -> list[str | None]:
    """Return the key of each value: the value itself if every value is a digit, otherwise its place."""
    digits = _are_digits(values)
    return [str(value) if digits else str(place % 10) for place, value in enumerate(values, 1)]


def _are_digits(values: Sequence[Value]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9 for value in values)


def _level_labels(values: Sequence[Value], lines: Sequence[str]) -> Iterator[str]:
    """Yield the rubric line of each value without the number that the key shows; the value if there is no line."""
    for value, line in zip(values, lines, strict=True):
        text = line.removeprefix(str(value)).lstrip(" :.-–—")
        if text:
            text = text[:1].upper() + text[1:] if _are_digits(values) else f"{value}: {text}"
        label = text or str(value)
        yield label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
