"""The fields of a mapping that have to occur in at least one record of a table."""

from collections.abc import Iterator

from core.errors import FileFormatError
from core.formats.mapping.blocks import GoldBlock, JudgeBlock, Labels
from core.formats.mapping.fields import MISSING, Row, is_template, join_keys
from core.formats.mapping.mapping import Mapping, block_paths, field_paths, response_paths
from core.formats.mapping.scope import Scope

Field = tuple[str, str]
"""The list of a block with `each`, "" for a field of the record, and the field."""


class RequiredFields:
    """The fields that no record has had yet, with what the records have instead.

    Fields of optional responses may be missing from every record.
    """

    def __init__(self, mapping: Mapping) -> None:
        optional = {path for response in mapping.responses if response.optional for path in response_paths(response)}
        blocks: tuple[Labels | JudgeBlock | GoldBlock, ...] = (*mapping.labels, *mapping.judges, *mapping.gold)
        self.unseen: set[Field] = {("", path) for path in set(field_paths(mapping)) - optional}
        self.unseen |= {(block.each, path) for block in blocks if block.each for path in block_paths(block)}
        self.names: set[str] = set()
        self.lists: dict[str, str] = {}
        """Field of an object -> name of the list that it is in."""

    def check(self, scope: Scope) -> None:
        """Note the fields of a record."""
        if self.unseen:
            self.names.update(map(str, scope.row))
            self.lists.update(_fields_of_lists(scope.row))
            self.unseen -= _present(scope, self.unseen)

    def finish(self) -> None:
        """Raise FileFormatError for a field that no record has, with the next step."""
        if not self.unseen:
            return
        each, field = min(self.unseen)
        message = f"no record of the file has this field; there are {join_keys(sorted(self.names))}"
        if is_template(field):
            message = "this is not a template: write the field without braces, several texts of a prompt as a list"
        elif each:
            message = f"no element of {each!r} has this field"
        elif field in self.lists:
            name = self.lists[field]
            message = (
                f"no record has this field, but the objects in its list {name!r} do: add `each: {name}` to the block, "
                f"or `explode: {name}` if they are the items"
            )
        raise FileFormatError(message, field=field)


def _fields_of_lists(row: Row) -> Iterator[tuple[str, str]]:
    for name, cell in row.items():
        if isinstance(cell, list) and cell and isinstance(cell[0], dict):
            yield from ((str(field), str(name)) for field in cell[0])


def _present(scope: Scope, fields: set[Field]) -> set[Field]:
    """Return those of the fields that a record has."""
    present = {pair for pair in fields if not pair[0] and scope.get(pair[1]) is not MISSING}
    for list_path in {each for each, _ in fields if each}:
        for element in scope.elements(list_path):
            present |= {pair for pair in fields if pair[0] == list_path and element.get(pair[1]) is not MISSING}
    return present
