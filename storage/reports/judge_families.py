"""The model family of each judge and each system, and the responses of a judge's own family."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy.orm import Session

from core.families import find_family
from storage import runs
from storage.reports.frame_keys import distinct_rows
from storage.reports.references import settings_models
from storage.studies import Study

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd


def own_responses(
    session: Session,
    study: Study,
    opinions: "pd.DataFrame",
    targets: "npt.NDArray[np.int64]",
    systems: Sequence[tuple[str | None, str | None]],
) -> "npt.NDArray[np.float64]":
    """Return for each opinion the response (1 or 2) that alone is of the judge's family; 0 for neither or both.

    `systems` are those of the two responses of each target, None twice if they are unknown or there is no pair;
    `targets` the target of each opinion. nan if it is no preference, or if the family of the judge or of a system is
    not known.
    """
    named = study.rules.families
    settings = {run.id: run.settings for run in runs.of_study(session, study.id)}
    judges, distinct_judges = distinct_rows(opinions, ["run", "rater"])
    numbers: dict[str | None, int] = {None: -1}
    families = [judge_family(settings.get(run), rater, named) for run, rater in distinct_judges]
    own = np.array([numbers.setdefault(family, len(numbers)) for family in families])[judges]
    by_system = {system: find_family(system, named) for system in {one for pair in systems for one in pair} if system}
    first, second = (
        np.array([numbers.setdefault(by_system.get(pair[place] or ""), len(numbers)) for pair in systems])[targets]
        for place in (0, 1)
    )
    known = (own >= 0) & (first >= 0) & (second >= 0)
    is_first, is_second = own == first, own == second
    side = np.where(is_first == is_second, 0.0, np.where(is_first, 1.0, 2.0))
    return np.where(known, side, np.nan)


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


def unknown_systems(systems: Iterable[Sequence[str | None]], named: Mapping[str, str]) -> list[str]:
    """Return the systems without a known family, by name; `systems` are those of the responses of each item."""
    names = {name for of_item in systems for name in of_item if name}
    return sorted(name for name in names if find_family(name, named) is None)
