"""The fields available to one item of a table: its row, or an element of the row's list together with the row."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.formats.mapping.cells import parse_list, parse_text
from core.formats.mapping.fields import BLANK, COUNTERS, MISSING, Row, get_value, is_template, parse_path
from core.problems import FileRefused


@dataclass(frozen=True, slots=True)
class Scope:
    """The fields of one item and their location in the file."""

    row: Row
    line: int
    number: int
    """The number of the record in the file, from 1."""
    element: int = 1
    """The number of the element in the exploded list, from 1."""

    def get(self, path: str) -> Any:
        """Return the value at `path`, or MISSING."""
        return get_value(self.row, path)

    def text(self, path: str) -> str | None:
        """Return the text at `path`; None for an empty or missing field."""
        return parse_text(get_value(self.row, path), self.line, path)

    def resolve(self, source: str) -> str | None:
        """Return the text of a field path or of a template; raises FileRefused for an empty field in a template."""
        if not is_template(source):
            return self.text(source)
        return BLANK.sub(lambda blank: self._fill(blank[1]), source)

    def join_texts(self, paths: tuple[str, ...]) -> str | None:
        """Return the texts of several fields, separated by a blank line; None where all of them are missing."""
        texts = [text for path in paths if (text := self.text(path)) is not None]
        return "\n\n".join(text for text in texts if text.strip()) if texts else None

    def _fill(self, name: str) -> str:
        if name in COUNTERS:
            return str(self.number if name == "row" else self.element)
        text = self.text(name)
        if text is None or not text.strip():
            raise FileRefused("expected a name or a number, and it is empty", line=self.line, field=name)
        return text.strip()


def iter_scopes(row: Row, line: int, number: int, explode: str | None) -> Iterator[Scope]:
    """Yield one scope for a row, or one for each element of its list.

    An element's field hides the row's field of the same name, which is still available as `parent.<name>`.
    """
    if explode is None:
        yield Scope(row, line, number)
        return
    cell = get_value(row, explode)
    if cell is MISSING:
        raise FileRefused("this field is missing, and its elements are the items", line=line, field=explode)
    name = parse_path(explode)[-1]
    for position, element in enumerate(parse_list(cell, line, explode), 1):
        fields = element if isinstance(element, dict) else {name: element}
        yield Scope({"parent": row, **row, **fields}, line, number, position)
