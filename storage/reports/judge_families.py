"""The model family of each judge and each system, and the responses of a judge's own family."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from core.families import find_family
from core.items import Item
from core.pairs import pair_item
from storage import runs
from storage.reports.references import settings_models
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd


def own_responses(
    session: Session, study: Study, opinions: "pd.DataFrame", items_by_id: Mapping[str, Item]
) -> Iterator[int | None]:
    """Yield for each opinion the response (1 or 2) that alone is of the judge's family; 0 for neither or both.

    None if it is no preference, or if the family of the judge or of a system is not known.
    """
    named = study.rules.families
    settings = {run.id: run.settings for run in runs.of_study(session, study.id)}
    families: dict[tuple[int, str], str | None] = {}
    by_system: dict[str, str | None] = {}
    for run, rater, key, kind, part in zip(
        *(opinions[name] for name in ("run", "rater", "item", "kind", "part")), strict=True
    ):
        if (run, rater) not in families:
            families[run, rater] = judge_family(settings.get(run), rater, named)
        responses = pair_item(items_by_id[key], part).responses if kind == "preference" else ()
        systems = [response.system for response in responses if response.system is not None]
        if families[run, rater] is None or len(systems) != 2:
            yield None
            continue
        for system in systems:
            if system not in by_system:
                by_system[system] = find_family(system, named)
        own = [by_system[system] == families[run, rater] for system in systems]
        yield None if None in map(by_system.get, systems) else 0 if own[0] == own[1] else 1 + own.index(True)


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
