"""The items of a table. In a long table an item stands on many rows: it is told once, and the rows must agree."""

import hashlib

from pydantic import ValidationError

from core.formats.mapping.cells import name
from core.formats.mapping.mapping import LongLabels, Mapping, ResponseFields, several
from core.formats.mapping.scope import Scope
from core.formats.records import ItemRecord
from core.formats.validation_errors import refused
from core.items import Item, Response
from core.problems import FileRefused

LONGEST_GROUP = 80
"""A group is a name. Longer text, such as a whole question, is cut and told apart by a digest of all of it."""


class Items:
    """Reads items, and remembers of each its line and a number for what it said."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.repeats = any(isinstance(labels, LongLabels) for labels in mapping.labels)
        self.lines: dict[str, tuple[int, int]] = {}

    def read(self, scope: Scope) -> tuple[str, ItemRecord | None]:
        """(the item's id, its record the first time it is met)."""
        mapping = self.mapping
        identity = name(scope.source(mapping.id), scope.line, mapping.id)
        item = _item(identity, mapping, scope)
        said = hash(item)
        if identity not in self.lines:
            self.lines[identity] = (scope.line, said)
            return identity, ItemRecord(item=item)
        self._check_repeat(identity, said, scope.line)
        return identity, None

    def _check_repeat(self, identity: str, said: int, line: int) -> None:
        before, first = self.lines[identity]
        if not self.repeats:
            raise FileRefused(f"item {identity!r} is already on line {before}", line=line, field=self.mapping.id)
        if said != first:
            sentence = f"expected item {identity!r} to say the same as on line {before}, and it differs"
            raise FileRefused(sentence, line=line)


def _item(identity: str, mapping: Mapping, scope: Scope) -> Item:
    try:
        return Item(
            id=identity,
            prompt=scope.joined(several(mapping.prompt)) or "",
            responses=_responses(mapping, scope),
            context=scope.joined(several(mapping.context)) or None,
            reference=scope.joined(several(mapping.reference)) or None,
            scenario=_stripped(mapping.scenario, scope),
            group=_group(mapping.group, scope),
        )
    except ValidationError as error:
        raise refused(error, line=scope.line) from None


def _responses(mapping: Mapping, scope: Scope) -> tuple[Response, ...]:
    found: list[Response] = []
    for fields in mapping.responses:
        text = scope.text(fields.text)
        if text is None and not fields.optional:
            raise FileRefused("expected the text of a response", line=scope.line, field=fields.text)
        if text is not None and (text or not fields.optional):
            found.append(_response(fields, text, scope))
    if not any(response.text.strip() or response.image for response in found):
        raise FileRefused("expected at least one response", line=scope.line, field=mapping.responses[0].text)
    return tuple(found)


def _response(fields: ResponseFields, text: str, scope: Scope) -> Response:
    system = scope.text(fields.system) if fields.system else fields.name
    return Response(text=text, system=system or None, image=scope.text(fields.image) or None if fields.image else None)


def _stripped(source: str | None, scope: Scope) -> str | None:
    return (scope.source(source) or "").strip() or None if source else None


def _group(group: str | tuple[str, ...] | None, scope: Scope) -> str | None:
    """One name for all rows in which the fields are the same."""
    if group is None:
        return None
    if isinstance(group, str):
        whole = scope.source(group) or ""
    else:
        whole = " · ".join(scope.text(path) or "" for path in group)
    line = " ".join(whole.split())
    if len(line) <= LONGEST_GROUP:
        return line or None
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{line[: LONGEST_GROUP - 10]}… {digest}"
