"""Hypothesis strategies for records: every field, with any text that a database can store and any finite number."""

import types
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import reject
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from core.formats.records import Record
from core.labels import Adjudication, Label, Target, Value

texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
names = st.text("ab1", min_size=1, max_size=4)
floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)  # SQLite stores -0.0 as 0.0
time_zones = st.none() | st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
PLAIN = {
    str: texts, bool: st.booleans(), type(None): st.none(), Any: json_values, float: floats,
    int: st.integers(-(2**31), 2**31 - 1),  # as a database stores
    datetime: st.datetimes(timezones=time_zones),
}  # fmt: skip


LIMITS = {"ge": "min_value", "le": "max_value"}


def strategy_of(annotation: Any, metadata: list[Any]) -> st.SearchStrategy:
    """Return a strategy for the values of a field."""
    limits = {side: getattr(one, key) for one in metadata for key, side in LIMITS.items() if hasattr(one, key)}
    if annotation in (int, float) and limits:
        return st.integers(**limits) if annotation is int else st.floats(**limits, allow_infinity=False)
    if annotation is str and metadata:
        return names  # of limited length or characters
    if annotation in PLAIN:
        return PLAIN[annotation]
    if get_origin(annotation) is not None:
        return strategy_of_parts(get_origin(annotation), get_args(annotation), metadata)
    return st.sampled_from(annotation) if issubclass(annotation, Enum) else record_of(annotation)


def strategy_of_parts(origin: Any, arguments: tuple[Any, ...], metadata: list[Any]) -> st.SearchStrategy:
    if origin is Annotated:
        return strategy_of(arguments[0], metadata)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(strategy_of(one, metadata) for one in arguments)
    parts = [strategy_of(one, []) for one in arguments if one is not Ellipsis]
    if origin is not tuple:
        return st.dictionaries(*parts, max_size=2)
    if Ellipsis not in arguments:
        return st.tuples(*parts)
    least = max((one.min_length for one in metadata if hasattr(one, "min_length")), default=0)
    return st.lists(*parts, min_size=least, max_size=max(2, least)).map(tuple)


@st.composite
def record_of(draw: st.DrawFn, model: type[BaseModel]) -> BaseModel:
    """Draw a model with a value in each field."""
    values = {name: draw(strategy) for name, strategy in fields_of(model).items()}
    try:
        return model(**values)
    except ValidationError:  # fields that contradict each other
        reject()


@cache
def fields_of(model: type[BaseModel]) -> dict[str, st.SearchStrategy]:
    fields = model.model_fields.items()
    return {name: strategy_of(field.annotation, field.metadata) for name, field in fields if name != "type"}


targets, labels, adjudications = record_of(Target), record_of(Label), record_of(Adjudication)
values = strategy_of(Value, [])
records = strategy_of(Record, [])
