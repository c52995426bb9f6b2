"""Kinds, criteria and scenarios that a request names, compared with those that there are."""

from collections.abc import Collection, Sequence

from core.errors import TiebreakError
from core.statistics.data.frames import ALL
from core.wording import NO_CRITERION, scenario_name
from storage.reports.alignment import AlignmentData
from storage.reports.frame_keys import distinct_rows


def check_key(data: AlignmentData, kind: str | None, criterion: str | None) -> None:
    """Raise TiebreakError if no label, verdict or value of the reference has this kind and criterion; None is any."""
    frames = (data.labels, data.opinions, data.gold)
    check_keys({key for frame in frames for key in distinct_rows(frame, ("kind", "criterion"))[1]}, kind, criterion)


def check_keys(known: Collection[tuple[str, str]], kind: str | None, criterion: str | None) -> None:
    """Raise TiebreakError if none of the known (kind, criterion) is this one; None is any kind or criterion."""
    _check("kind", kind, sorted({name for name, _ in known}))
    criteria = {name for key, name in known if kind in (None, key)}
    pooled = {ALL} if len(criteria) > 1 else set()
    wanted = None if criterion is None else criterion or NO_CRITERION
    _check("criterion", wanted, [*pooled, *(name or NO_CRITERION for name in sorted(criteria - pooled))])


def check_scenario(known: Collection[str], scenario: str | None) -> None:
    """Raise TiebreakError if a scenario, "" for items without one, is not known; None is any."""
    _check("scenario", None if scenario is None else scenario_name(scenario), [*map(scenario_name, sorted(known))])


def check_scenario_of_items(data: AlignmentData, scenario: str | None) -> None:
    """Raise TiebreakError if no item of the study has this scenario, "" for none; None is any."""
    check_scenario({name for name, _ in data.systems.values()}, scenario)


def _check(noun: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and known and name not in known:
        raise TiebreakError(f"There is no {noun} called {name!r} here; there are: {', '.join(known)}.")
