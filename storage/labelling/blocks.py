"""Texts and targets of a task as the workbench receives them."""

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from core import remote_images
from core.items import Criterion, Item, Response
from core.labels import Scale, Target
from core.own_addresses import own_address
from storage.labelling.context import Json, Task, Work, target_name, task_name
from storage.studies import study_images

LONG = 400
"""A longer context or dialogue is collapsed to its end, the turn that is answered."""
SPEAKER = re.compile(r"^[^\s:][^:\n]{0,30}:\s", re.MULTILINE)
"""The beginning of a turn in a dialogue that is a plain text."""


def above(work: Work, task: Task, item: Item, *, reference: bool = True) -> list[Json]:
    """Return the blocks above the responses: context, question and reference."""
    blocks = []
    if item.context:
        blocks.append(
            {**_item_text(work, "context", "Context", item.context), "fold": _folded(item.context, is_dialogue=True)}
        )
    fold = _folded(item.prompt, is_dialogue=len(SPEAKER.findall(item.prompt)) > 1)
    question = {**_item_text(work, "question", "Question", item.prompt), "fold": fold}
    blocks.append(question | _image(work, task, "question", item.image))
    if item.reference and reference:
        reference_answer = _item_text(work, "reference", "Reference answer", item.reference)
        blocks.append({**reference_answer, "fold": True})
    return blocks


def _folded(text: str, *, is_dialogue: bool) -> str | bool:
    """Return "end" for a long text of which only the last lines are shown at first."""
    return "end" if is_dialogue and len(text) > LONG else False


def response_blocks(work: Work, task: Task, item: Item, order: Sequence[int] = ()) -> list[Json]:
    """Return a block for each response, in an order of their numbers or in that of the item.

    The id of a block has the response's own number, its title and colour the place where it is shown.
    """
    only = len(item.responses) == 1
    numbers = order or range(1, len(item.responses) + 1)
    return [
        _response(work, task, number, item.responses[number - 1], "Response" if only else f"Response {place}")
        | {"number": place}
        for place, number in enumerate(numbers, 1)
    ]


def better_options(noun: str, order: Sequence[int]) -> list[Json]:
    """Return the options of a comparison: the key is the place of a text, the value its own number."""
    options = [
        {
            "key": str(place),
            "value": number,
            "label": f"{noun} {place} is better",
            "short": str(place),
            "colour": f"response-{place}",
        }
        for place, number in enumerate(order, 1)
    ]
    return [*options, {"key": "0", "value": 0, "label": "Neither is better", "short": "tie", "colour": "tie"}]


def image_path(item: Item, block: str) -> str | None:
    """Return the path or URL of the image of a block; None if it has none."""
    images = {"question": item.image} | {
        f"response-{n}": response.image for n, response in enumerate(item.responses, 1)
    }
    return images.get(block)


def block(name: str, title: str, text: str) -> Json:
    """Return a text that is shown exactly as it is."""
    return {"id": name, "title": title, "format": "plain", "text": text}


def _item_text(work: Work, name: str, title: str, text: str) -> Json:
    """Return a text of an item, which is Markdown if the study declares it; with the addresses of images it shows."""
    plain = block(name, title, text)
    if not work.study.rules.markdown:
        return plain
    shown = remote_images.markdown_images(text, work.study.rules.image_hosts)
    images = {address: study_images.route(work.ids.secret, work.study.id, address) for address in shown}
    return plain | {"format": "markdown"} | ({"images": images} if images else {})


def target_json(work: Work, target: Target) -> Json:
    """Return the fields of every target; its options or its range are added."""
    return {"id": target_name(work, target), "kind": target.kind, "group": "", "required": True, "question": ""}


def _image(work: Work, task: Task, name: str, path: str | None) -> Json:
    """Return the address of an image by its block: the name of its file may reveal the system."""
    if not path:
        return {}
    query = {"study": work.study.name, "kind": work.name, "task": task_name(work, task.id), "block": name}
    return {"image": {"url": f"{own_address('/api/label/image')}?{urlencode(query)}", "alt": ""}}


def _response(work: Work, task: Task, number: int, response: Response, title: str) -> Json:
    name = f"response-{number}"
    return _item_text(work, name, title, response.text) | _image(work, task, name, response.image)


# The levels of a scale as options of the workbench, each with its key and rubric line.

LONGEST_LABEL = 160
"""Characters of a rubric line next to its key."""


def level_options(scale: Scale, criterion: Criterion | None) -> list[Json]:
    """Return one key for each value: the value itself if it is a digit, otherwise its place."""
    values = scale.categories
    digits = all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 9 for value in values)
    lines = criterion.rubric if criterion and len(criterion.rubric) == len(values) else ("",) * len(values)
    return [
        {
            "key": str(value) if digits else str(place % 10),
            "value": value,
            "label": _level_label(value, line, digits=digits),
            "short": str(value),
            "colour": "level",
        }
        for place, (value, line) in enumerate(zip(values, lines, strict=True), 1)
    ]


def _level_label(value: object, line: str, *, digits: bool) -> str:
    """Return the rubric line without the number that the key shows; the value if there is no line."""
    text = line.removeprefix(str(value)).lstrip(" :.-–—")
    if not text:
        return str(value)
    label = text[:1].upper() + text[1:] if digits else f"{value}: {text}"
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
