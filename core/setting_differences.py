"""Which settings differ between runs: paths with a value for each run, and long texts with their changed lines."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Characters of a value in a table; longer texts are compared by line.
MAX_VALUE = 80
CONTEXT_LINES = 2
# In place of a setting that a run does not have.
ABSENT = "–"


@dataclass(frozen=True)
class SettingDifference:
    """A setting with different values."""

    path: str
    """Names with dots between them, as axes of experiments name settings: `judges.0.model`."""
    values: tuple[str, ...]
    """One for each run."""


@dataclass(frozen=True)
class TextDifference:
    """A text, such as a template, with different values."""

    path: str
    texts: tuple[str | None, ...]
    """One for each run; None if the run has no such text."""

    def lines(self, other: int) -> list[str]:
        """Return the lines of a unified diff from the first run's text to another's; empty if they are equal.

        The first character of a line is "+", "-" or " ", or the line states its place: "@@ -1,3 +1,4 @@".
        """
        first, second = ((self.texts[place] or "").splitlines() for place in (0, other))
        return list(difflib.unified_diff(first, second, lineterm="", n=CONTEXT_LINES))[2:]


def setting_differences(
    settings: Sequence[Mapping[str, Any]],
) -> tuple[list[SettingDifference], list[TextDifference]]:
    """Return the settings of runs that are not the same in all, and those of them that are long texts.

    `settings` has one mapping for each run, which may be of different protocols.
    """
    flat = [dict(_flatten(fields)) for fields in settings]
    paths = dict.fromkeys(path for fields in flat for path in fields)
    short: list[SettingDifference] = []
    long: list[TextDifference] = []
    for path in paths:
        values = [fields.get(path, ABSENT) for fields in flat]
        if len(set(values)) == 1:
            continue
        if any("\n" in value or len(value) > MAX_VALUE for value in values):
            long.append(TextDifference(path, tuple(fields.get(path) for fields in flat)))
        else:
            short.append(SettingDifference(path, tuple(values)))
    return short, long


def text_differences(texts: Sequence[Mapping[str, str]]) -> list[TextDifference]:
    """Return the texts of runs that are not the same in all, in the order of their names."""
    names = sorted({name for of_run in texts for name in of_run})
    found = [TextDifference(name, tuple(of_run.get(name) for of_run in texts)) for name in names]
    return [difference for difference in found if len(set(difference.texts)) > 1]


def _flatten(settings: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, value as text) of nested settings, without empty values; `spec` is not part of a path."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            own = path if name == "spec" and path else f"{path}.{name}" if path else str(name)
            yield from _flatten(value, own)
    elif isinstance(settings, list | tuple) and any(isinstance(element, Mapping) for element in settings):
        for number, element in enumerate(settings):
            yield from _flatten(element, f"{path}.{number}")
    elif settings not in (None, "", [], ()):
        yield path, _as_text(settings)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(_as_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
