"""Numbers and names in sentences."""

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Self, TypeVar

# The display name of the items without a scenario.
NO_SCENARIO = "(no scenario)"
# The display name of the choice of no scenario.
ALL_SCENARIOS = "all scenarios"
RESERVED = (NO_SCENARIO, ALL_SCENARIOS, "all")
# The display names of targets without a criterion, and of all criteria together.
NO_CRITERION, ALL_CRITERIA = "(no criterion)", "All criteria"
RESERVED_CRITERIA = (NO_CRITERION, ALL_CRITERIA, ALL_CRITERIA.lower(), "all")


# Names that a note lists; of more it gives the number.
MAX_NAMES = 5


T = TypeVar("T")


class Described(StrEnum):
    """Codes, each declared with what it means in words: `few = "few_labels", "There are too few labels."`."""

    words: str

    def __new__(cls, code: str, words: str = "") -> Self:
        """Return the member whose value is the code."""
        member = str.__new__(cls, code)
        member._value_, member.words = code, words
        return member


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: `1 item`, `2,345 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_n(items: int, effective: float | None = None) -> str:
    """Return n, and the effective n of items that count differently: `n 120, effective 85`."""
    return f"n {items:,}" if effective is None else f"n {items:,}, effective {effective:,.0f}"


def scenario_name(scenario: str) -> str:
    """Return the display name of a scenario, "" for the items without one.

    A scenario that is itself called like one of RESERVED, quoted or not, is quoted once more.
    """
    return f'"{scenario}"' if scenario.strip('"') in RESERVED else scenario or NO_SCENARIO


def scenario_group(scenario: str) -> str:
    """Return the name of a scenario among groups, where "all" is all scenarios; "" for the items without one."""
    return scenario and scenario_name(scenario)


def scenario_of_name(name: str) -> str:
    """Return the scenario with a display name or that of a group, "" for the items without one."""
    if name == NO_SCENARIO:
        return ""
    return name[1:-1] if name.strip('"') in RESERVED and name.startswith('"') else name


def report_criterion(criterion: str) -> str:
    """Return the name of a criterion in reports, where "all" is all criteria together; "" remains "".

    A criterion that is itself called like one of RESERVED_CRITERIA, quoted or not, is quoted once more.
    """
    return f'"{criterion}"' if criterion.strip('"') in RESERVED_CRITERIA else criterion


def stored_criterion(name: str) -> str:
    """Return the criterion with a name in reports."""
    return name[1:-1] if name.strip('"') in RESERVED_CRITERIA and name.startswith('"') else name


def format_number(value: float, digits: int = 2) -> str:
    """Return a number with `digits` decimals; adding 0.0 turns -0.0 into 0.0."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def format_estimate(
    value: float | None, low: float | None, high: float | None, digits: int = 2, *, sign: bool = False
) -> str:
    """Return `0.62 [0.51, 0.71]`; a dash if the value is undefined.

    With `sign`, for differences, every number has its sign: `-0.00` if it is below 0, which decides whether an interval
    contains 0.
    """
    if value is None:
        return "–"
    form = f"{'+' if sign else ''}.{digits}f"
    # Adding 0.0 turns -0.0 into 0.0; 9 decimals remove the error of the arithmetic.
    decimals = 9 if sign else digits
    text, *ends = (format(round(one, decimals) + 0.0, form) for one in (value, low, high) if one is not None)
    return f"{text} [{', '.join(ends)}]" if len(ends) == 2 else text


def format_readable(readable: int, total: int) -> str:
    """Return `97.5 % of 40`; a dash if there is nothing to read."""
    return f"{round(100 * readable / total, 1):g} % of {total:,}" if total else "–"


def format_percent(share: float) -> str:
    """Return a share as `12%`; `<1%` and `>99%` if it is rounded to 0% or 100% and is neither."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def format_p(p: float | None) -> str:
    """Return a p-value with three decimals, `< 0.001` below that; a dash if there is none."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def equate_p(p: float) -> str:
    """Return a p-value for a sentence: `p = 0.012`, `p < 0.001`."""
    return f"p {format_p(p)}" if p < 0.001 else f"p = {format_p(p)}"


def significance_level(p: float | None) -> str:
    """Return the level of a p-value in DnA-Eval's Table 4: `*` p < .1, `**` p < .05, `***` p < .01; empty without p."""
    if p is None:
        return ""
    return "***" if p < 0.01 else "**" if p < 0.05 else "*" if p < 0.1 else "not significant"


def is_p_value(column: str) -> bool:
    """Return whether a column of a table has p-values by its name, such as `p` or `p_corrected`."""
    return column == "p" or column.startswith(("p_", "p "))


def format_minutes(seconds: float) -> str:
    """Return a duration: `45 s`, `12 min`."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:,.0f} min"


# Between the parts of a run's name.
PART = " · "


def join_notes(*notes: str) -> str:
    """Return the notes that are not empty, as one text."""
    return "; ".join(filter(None, notes))


def group_by_note(rows: Iterable[T], notes: Callable[[T], Iterable[str]]) -> dict[str, list[T]]:
    """Return each note that is not empty -> the rows that have it."""
    found: dict[str, list[T]] = {}
    for row in rows:
        for note in filter(None, notes(row)):
            found.setdefault(note, []).append(row)
    return found


def repeats_note(repeats: int) -> str:
    """Return the note of a value of all verdicts of several repeats, which are one judge in every table."""
    return f"{repeats} repeats together" if repeats > 1 else ""


def list_names(names: Sequence[str]) -> str:
    """Return the names, or the first five and the number of the others."""
    listed = ", ".join(names[:MAX_NAMES])
    return f"{listed} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else listed


def join_names(names: Sequence[str]) -> str:
    """Return "a, b and c"; of more than five names, the first four and the number of the others."""
    more = [f"{len(names) - MAX_NAMES + 1} more"] if len(names) > MAX_NAMES else []
    shown = [*names[: MAX_NAMES - 1], *more] if more else list(names)
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return name -> the name without the first and last parts that all names have in common."""
    parts = [name.split(PART) for name in dict.fromkeys(names)]
    shortest = min(map(len, parts), default=0)
    first = next((n for n in range(shortest) if len({own[n] for own in parts}) > 1), shortest)
    first = min(first, shortest - 1) if parts else 0
    room = shortest - first - 1
    last = next((n for n in range(room) if len({own[-1 - n] for own in parts}) > 1), room)
    return {PART.join(own): PART.join(own[first : len(own) - last]) for own in parts}


class NameWrapper(textwrap.TextWrapper):
    """Breaks lines at blanks and after hyphens, those before a digit too, as in `gpt-4o`: so no word is cut."""

    wordsep_re = re.compile(r"(\s+|[^\s-]+-+(?=\S))")
