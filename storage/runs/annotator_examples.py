"""The examples of simulated annotators (arXiv 2407.18370): what annotators decided on development items.

They are inputs of a run, which are chosen when it is created and stored with its settings. Held-out items are never
among them. One example more than are shown is stored of each annotator, so the item that is judged can be left out.
"""

from collections import defaultdict
from collections.abc import Mapping
from random import Random
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.frozen import Frozen
from core.improvement.suggestion import Case, example_text
from core.items import Item
from core.labels import Label, Target
from core.wording import format_count
from storage.db.tables import ItemPartRow, ItemRow
from storage.labels import labels
from storage.studies import items

# The settings of a protocol with simulated annotators: their number, the examples that each sees, and all examples.
NUMBER, EACH, EXAMPLES = "simulated_annotators", "examples_each", "annotator_examples"


def with_examples(session: Session, study_id: int, settings: Frozen, seed: int) -> Frozen:
    """Return the settings of a new run with a set of examples for each simulated annotator.

    The annotators are those with the most labels. Their names are not stored. Raises TiebreakError if there are too
    few with enough labels of development items.
    """
    wanted = getattr(settings, NUMBER, 0)
    if not wanted:
        return settings.model_copy(update={EXAMPLES: ()}) if getattr(settings, EXAMPLES, ()) else settings
    each = getattr(settings, EACH) + 1
    by_annotator = _labels_of_annotators(session, study_id, settings.criterion.name)  # type: ignore[attr-defined]
    able = {name: own for name, own in by_annotator.items() if len(own) >= each}
    if len(able) < wanted:
        raise TiebreakError(
            f"Simulated annotators need {format_count(wanted, 'annotator')} with labels of {each} development items "
            f"on this criterion; there are {len(able)}. A split of the study decides which items these are."
        )
    order = sorted(able, key=lambda name: (-len(able[name]), name))[:wanted]
    chosen = [Random(f"{seed} {name}").sample([*able[name].values()], each) for name in order]
    by_key = items.by_keys(session, study_id, {label.target.item for own in chosen for label in own})
    examples = [[_example(by_key[label.target.item], label) for label in own] for own in chosen]
    return type(settings).model_validate({**settings.model_dump(), EXAMPLES: examples})


def without_examples(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings of a run without the examples, which every run draws itself."""
    return {name: value for name, value in settings.items() if name != EXAMPLES}


def _labels_of_annotators(session: Session, study_id: int, criterion: str) -> dict[str, dict[str, Label]]:
    """Return annotator -> development item -> the newest label of a preference on it, in the order of items."""
    of_development = (
        select(col(ItemRow.key))
        .join(ItemPartRow, col(ItemPartRow.item_id) == col(ItemRow.id))
        .where(col(ItemPartRow.study_id) == study_id, col(ItemPartRow.held_out).is_(False))
    )
    newest: dict[tuple[str, Target], Label] = {}
    for label in labels.of_items(session, study_id, list(session.scalars(of_development))):
        if (label.target.kind, label.target.criterion) == ("preference", criterion):
            newest[label.annotator, label.target] = label
    found: dict[str, dict[str, Label]] = defaultdict(dict)
    for (annotator, target), label in sorted(newest.items(), key=lambda pair: (pair[0][1].item, pair[0][1].part)):
        if label.value is not None:
            found[annotator].setdefault(target.item, label)
    return found


def _example(item: Item, label: Label) -> dict[str, str]:
    case = Case(item, label.target, label.value or 0, "single", "", None, 0.0, 0)
    return {"item": item.id, "text": example_text(case)}
