"""The model family of each judge and each system, and the responses of a judge's own family."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy.orm import Session

from core.families import find_family
from core.items import Item
from core.pairs import pair_item
from storage import runs
from storage.reports.frame_keys import distinct_rows
from storage.reports.references import settings_models
from storage.studies import Study

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd


def own_responses(
    session: Session, study: Study, opinions: "pd.DataFrame", items_by_id: Mapping[str, Item]
) -> "npt.NDArray[np.float64]":
    """Return for each opinion the response (1 or 2) that alone is of the judge's family; 0 for neither or both.

    nan if it is no preference, or if the family of the judge or of a system is not known.
    """
    import pandas as pd

    named = study.rules.families
    settings = {run.id: run.settings for run in runs.of_study(session, study.id)}
    judges, distinct_judges = distinct_rows(opinions, ["run", "rater"])
    families = np.array([judge_family(settings.get(run), rater, named) for run, rater in distinct_judges], object)
    targets, distinct_targets = distinct_rows(opinions, ["item", "kind", "part"])
    by_system: dict[str, str | None] = {}
    pairs = [_systems_of_pair(items_by_id[item], kind, part) for item, kind, part in distinct_targets]
    for system in {system for pair in pairs for system in pair if system is not None}:
        by_system[system] = find_family(system, named)
    of_pairs = [tuple(system and by_system[system] for system in pair) for pair in pairs]
    first, second = np.array(of_pairs, object)[targets].T
    own = families[judges]
    known = pd.notna(own) & pd.notna(first) & pd.notna(second)
    is_first, is_second = own == first, own == second
    side = np.where(is_first == is_second, 0.0, np.where(is_first, 1.0, 2.0))
    return np.where(known, side, np.nan)


def _systems_of_pair(item: Item, kind: str, part: str) -> tuple[str | None, str | None]:
    """Return the two systems of a pair; None twice if one of them has no name."""
    responses = pair_item(item, part).responses if kind == "preference" else ()
    systems = [response.system for response in responses if response.system is not None]
    return (systems[0], systems[1]) if len(systems) == 2 else (None, None)


def judge_family(settings: Any, name: str, named: Mapping[str, str]) -> str | None:
    """Return the family of a judge: by its name in the study's rules, its model, or all models of its run."""
    if any(name.casefold() == key.casefold() for key in named):
        return find_family(name, named)
    model = judge_model(settings, name)
    models = {model} if model else settings_models(settings) or {name}
    families = {find_family(one, named) for one in models}
    return families.pop() if len(families) == 1 else None


def judge_model(settings: Any, name: str) -> str:
    """Return the model of the judge called `name`; empty if settings, which may be imported, have none."""
    fields = settings.values() if isinstance(settings, dict) else ()
    judges = [judge for field in fields for judge in (field if isinstance(field, list) else [field])]
    for judge in judges:
        if isinstance(judge, dict) and judge.get("name") == name and isinstance(judge.get("spec"), dict):
            return str(judge["spec"].get("model"))
    return ""
