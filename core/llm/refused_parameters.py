"""Parameters that a server does not accept.

A refused parameter is omitted and the request is repeated; the reply has a note about it. The limit on tokens is sent
under its newer name instead. A refused JSON schema raises UnsupportedSchema, because the prompt has to change as well.
A client remembers the parameters that a model refused, and omits them from later calls.
"""

import re
from collections.abc import Mapping, Set
from typing import Any

from core.errors import UnsupportedSchema
from core.llm.chat_request import FORMAT, LIMIT, OPTIONAL, optional_parameters
from core.llm.errors import ServerError
from core.trace import Ask, Spec

_UNSUPPORTED_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter"}
_UNSUPPORTED = re.compile(
    r"not (?:\w+ )?(?:supported|permitted|allowed|available|implemented)|(?:does|do)(?: not|n't) (?:support|accept)"
    r"|unsupported|unavailable|unknown|unrecogni[sz]ed|unexpected",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"response_format|json[_ ]?schema|structured[_ ]output|guided_|grammar", re.IGNORECASE)
_REFUSING = {400, 415, 422, 501}
"""Statuses with which servers refuse a parameter."""


class RefusedParameters:
    """The parameters refused by each model at each address."""

    def __init__(self) -> None:
        self._names: dict[tuple[str | None, str], frozenset[str]] = {}

    def names(self, spec: Spec) -> frozenset[str]:
        """Return the parameters to omit from the calls of a model."""
        return self._names.get((spec.address, spec.model), frozenset())

    def add(self, spec: Spec, refused: Set[str]) -> None:
        """Remember the parameters without which a request succeeded."""
        if refused:
            self._names[spec.address, spec.model] = self.names(spec) | frozenset(refused)


def refused_parameter(error: ServerError, sent: Mapping[str, Any]) -> str | None:
    """Return the optional parameter that a server refuses; None if the error is about something else."""
    if error.status not in _REFUSING:
        return None
    if FORMAT in sent and _FORMAT.search(f"{error.param} {error.message}"):
        return FORMAT
    if not error.codes & _UNSUPPORTED_CODES and not _UNSUPPORTED.search(error.message):
        return None
    for name in OPTIONAL:
        if name in sent and (error.param == name or re.search(rf"\b{name}\b", error.message)):
            return name
    return None


def describe_omissions(ask: Ask, omitted: Set[str]) -> tuple[str, ...]:
    """Return a sentence for each parameter that was omitted from the request for an ask."""
    names = [name for name in optional_parameters(ask) if name in omitted and name != LIMIT]
    return tuple(f"{ask.spec.model} does not accept {name}: the parameter was omitted." for name in names)


def schema_refused(spec: Spec) -> UnsupportedSchema:
    """Return the problem to raise if a server does not accept structured output."""
    return UnsupportedSchema(
        f"{spec.model} does not accept the JSON schema of the answer; it is asked for text instead."
    )
