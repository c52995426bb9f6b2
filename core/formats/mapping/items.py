"""Reads the items of a table. In a long table an item occupies several rows, which must agree about it."""

import hashlib

from pydantic import ValidationError

from core.formats.mapping.cells import parse_name
from core.formats.mapping.mapping import LongLabels, Mapping, ResponseFields, as_tuple
from core.formats.mapping.scope import Scope
from core.formats.records import ItemRecord
from core.formats.validation_errors import to_file_refused
from core.items import Item, Response
from core.problems import FileRefused

MAX_GROUP_LENGTH = 80
"""Characters. Longer group names, such as a whole question, are cut and made unique by a digest of the full text."""


class ItemReader:
    """Reads items; keeps the line and the hash of each to check repeated rows without storing the items."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.repeats = any(isinstance(labels, LongLabels) for labels in mapping.labels)
        self.first_seen: dict[str, tuple[int, int]] = {}
        """Item id -> (line, hash)."""

    def read(self, scope: Scope) -> tuple[str, ItemRecord | None]:
        """Return the item's id, and its record the first time it occurs."""
        mapping = self.mapping
        item_id = parse_name(scope.resolve(mapping.id), scope.line, mapping.id)
        item = _read_item(item_id, mapping, scope)
        if item_id not in self.first_seen:
            self.first_seen[item_id] = (scope.line, hash(item))
            return item_id, ItemRecord(item=item)
        self._check_repeat(item_id, hash(item), scope.line)
        return item_id, None

    def _check_repeat(self, item_id: str, item_hash: int, line: int) -> None:
        first_line, first_hash = self.first_seen[item_id]
        if not self.repeats:
            message = f"item {item_id!r} is already on line {first_line}"
            raise FileRefused(message, line=line, field=self.mapping.id)
        if item_hash != first_hash:
            message = f"expected item {item_id!r} to be the same as on line {first_line}, and it differs"
            raise FileRefused(message, line=line)


def _read_item(item_id: str, mapping: Mapping, scope: Scope) -> Item:
    try:
        return Item(
            id=item_id,
            prompt=scope.join_texts(as_tuple(mapping.prompt)) or "",
            responses=_read_responses(mapping, scope),
            context=scope.join_texts(as_tuple(mapping.context)) or None,
            reference=scope.join_texts(as_tuple(mapping.reference)) or None,
            scenario=_strip(mapping.scenario, scope),
            group=_group_name(mapping.group, scope),
        )
    except ValidationError as error:
        raise to_file_refused(error, line=scope.line) from None


def _read_responses(mapping: Mapping, scope: Scope) -> tuple[Response, ...]:
    responses: list[Response] = []
    for fields in mapping.responses:
        text = scope.text(fields.text)
        if text is None and not fields.optional:
            raise FileRefused("expected the text of a response", line=scope.line, field=fields.text)
        if text is not None and (text or not fields.optional):
            responses.append(_read_response(fields, text, scope))
    if not any(response.text.strip() or response.image for response in responses):
        raise FileRefused("expected at least one response", line=scope.line, field=mapping.responses[0].text)
    return tuple(responses)


def _read_response(fields: ResponseFields, text: str, scope: Scope) -> Response:
    system = scope.text(fields.system) if fields.system else fields.name
    return Response(text=text, system=system or None, image=scope.text(fields.image) or None if fields.image else None)


def _strip(source: str | None, scope: Scope) -> str | None:
    return (scope.resolve(source) or "").strip() or None if source else None


def _group_name(group: str | tuple[str, ...] | None, scope: Scope) -> str | None:
    """Return the same short name for all rows in which the group's fields are equal."""
    if group is None:
        return None
    if isinstance(group, str):
        text = scope.resolve(group) or ""
    else:
        text = " · ".join(scope.text(path) or "" for path in group)
    name = " ".join(text.split())
    if len(name) <= MAX_GROUP_LENGTH:
        return name or None
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{name[: MAX_GROUP_LENGTH - 10]}… {digest}"
