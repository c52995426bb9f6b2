"""Whether the items of a study are those of a data set for which a paper prints figures."""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from sqlalchemy.orm import Session

from core.items import Item
from storage.studies import items
from storage.studies.studies import Study


def is_of(session: Session, study: Study, names: Sequence[str], known: Mapping[str, Any]) -> bool:
    """Return whether a study has items of one of these data sets, and no more items than these have together.

    `known` has the `marks` and the number of `items` of those that are public. A study of another data set says so: by
    its name, its description or a scenario.
    """
    return _is_of(items.of_study(session, study.id), study, names, known)


def size_of_paper(
    session: Session, study: Study, sizes: Mapping[str, int], known: Mapping[str, Any]
) -> tuple[int, int]:
    """Return the number of the items of a study, and of those that papers run of its data set; 0 if it is unknown.

    `sizes`: data set -> this number. `known` as in `is_of`.
    """
    found = items.of_study(session, study.id)
    return len(found), sum(size for name, size in sizes.items() if _is_of(found, study, [name], known))


def _is_of(found: Sequence[Item], study: Study, names: Sequence[str], known: Mapping[str, Any]) -> bool:
    public = [known[name] for name in names if name in known]
    marks = {mark for one in public for mark in one["marks"]}
    if len(found) <= sum(one["items"] for one in public) and any(mark_of(item) in marks for item in found):
        return True
    others = [name for name in names if name not in known]
    said = _letters(f"{study.name} {study.description}")
    return any(_letters(name) in said for name in others) or bool({*others} & {item.scenario for item in found})


def mark_of(item: Item) -> str:
    """Return eight hexadecimal digits of the texts that are judged: all responses in any order, otherwise the prompt.

    Only letters and digits count, because copies of a data set differ in their white space.
    """
    texts = sorted(_letters(response.text) for response in item.responses) or [_letters(item.prompt)]
    return sha256("|".join(texts).encode()).hexdigest()[:8]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())
