"""The check of the passages that an action selects as evidence."""

from collections.abc import Sequence

from pydantic import Field
from sqlalchemy.orm import Session

from core.labels import Evidence
from core.pairs import target_item
from storage import items
from storage.labelling import panels
from storage.labelling.work import Json, Refused, Task, Work


class Passage(Evidence):
    """A passage of a request: true and "1" are no positions."""

    start: int = Field(ge=0, strict=True)
    end: int = Field(ge=0, strict=True)


def checked(session: Session, work: Work, task: Task, passages: Sequence[Passage]) -> list[Json]:
    """Return passages as they are stored; none if the study has no evidence.

    Raises Refused for a passage that is not in a text of the task, and for one that is listed twice.
    """
    if not passages or not work.study.rules.evidence:
        return []
    item = target_item(items.by_ids(session, [task.item_id])[task.item_id], task.target)
    content = panels.task_content(session, work, task, item, None)
    lengths = {block["id"]: len(block["text"]) for block in (*content["above"], *content["columns"])}
    if not all(passage.start < passage.end <= lengths.get(passage.block, 0) for passage in passages):
        raise Refused("rejected", "The evidence is not a passage of a text of this item.")
    if len({(passage.block, passage.start, passage.end) for passage in passages}) < len(passages):
        raise Refused("rejected", "The evidence lists a passage twice.")
    return [passage.model_dump() for passage in passages]
