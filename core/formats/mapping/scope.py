"""What one item of a table can see: its row, or an element of the row's list together with the row's own fields."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.formats.mapping.cells import items, text
from core.formats.mapping.fields import BLANK, MISSING, Row, find, is_template, steps
from core.problems import FileRefused


@dataclass(frozen=True, slots=True)
class Scope:
    """The fields in reach, and where they stand."""

    row: Row
    line: int
    number: int
    """Which record of the file, from 1."""
    element: int = 1
    """Which element of the exploded list, from 1."""

    def get(self, path: str) -> Any:
        """The value at `path`, or MISSING."""
        return find(self.row, path)

    def text(self, path: str) -> str | None:
        """The text at `path`; None where nothing is said."""
        return text(find(self.row, path), self.line, path)

    def source(self, source: str) -> str | None:
        """The text of a field, or of a template whose every blank says something."""
        if not is_template(source):
            return self.text(source)
        return BLANK.sub(lambda blank: self._blank(blank[1]), source)

    def joined(self, fields: tuple[str, ...]) -> str | None:
        """The texts of several fields, a blank line between them; None where none says anything."""
        texts = [found for path in fields if (found := self.text(path)) is not None]
        return "\n\n".join(found for found in texts if found.strip()) if texts else None

    def _blank(self, name: str) -> str:
        if name in ("row", "element"):
            return str(self.number if name == "row" else self.element)
        found = self.text(name)
        if found is None or not found.strip():
            raise FileRefused("expected a name or a number, and it is empty", line=self.line, field=name)
        return found.strip()


def scopes(row: Row, line: int, number: int, explode: str | None) -> Iterator[Scope]:
    """One scope a row, or one for each element of its list; an element's field hides the row's of the same name,
    which can still be reached as `parent.<name>`."""
    if explode is None:
        yield Scope(row, line, number)
        return
    cell = find(row, explode)
    if cell is MISSING:
        raise FileRefused("this field is missing, and its elements are the items", line=line, field=explode)
    leaf = steps(explode)[-1]
    for place, element in enumerate(items(cell, line, explode), 1):
        own = element if isinstance(element, dict) else {leaf: element}
        yield Scope({"parent": row, **row, **own}, line, number, place)
