"""The control for entering the value of a reply by hand, as the answer type of the ask defines it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.answers import Answer, Aspects, Choice, Claims, Number, Option, Rating, Scores, Truth, Weights
from pages.parts.text import escape_markdown


def draw(answer: Answer[Any], key: str) -> Any:
    """Draw the control; returns the value, or None as long as it is incomplete."""
    match answer:
        case Choice():
            return _draw_choice(answer, key)
        case Truth():
            chosen = st.segmented_control("Value", ("true", "false"), key=key, label_visibility="collapsed")
            return None if chosen is None else chosen == "true"
        case Option():
            return st.segmented_control("Value", tuple(answer.letters), key=key, label_visibility="collapsed")
        case Rating():
            return _draw_rating(answer, key)
        case Number():
            return st.number_input("Number", value=None, key=key, format="%g", width=200)
    return _draw_structured(answer, key)


def describe(answer: Answer[Any], value: Any) -> str:
    """Return a value as text, in the terms of the reply."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() if isinstance(answer, Choice):
            return _choice_names(answer)[value]
        case Mapping():
            return ", ".join(f"{name} {number}".strip() for name, number in value.items())
        case tuple() | list():
            return "; ".join(map(str, value))
    return str(value)


def _draw_structured(answer: Answer[Any], key: str) -> Any:
    """Draw the control of an answer with several values."""
    match answer:
        case Scores(names=names, low=low, high=high, step=step):
            return _draw_numbers(names, key, low, high, step)
        case Weights(names=names):
            return _draw_weights(names, key)
        case Claims(noun=noun):
            lines = _draw_lines(f"One {noun} a line", key)
            return tuple(lines) or None
        case Aspects():
            lines = _draw_lines("One aspect per line: name, or name: definition", key)
            pairs = (line.partition(":") for line in lines)
            return {name.strip(): definition.strip() for name, _, definition in pairs} or None
    st.caption("This type of answer cannot be entered here.")
    return None


def _draw_choice(answer: Choice, key: str) -> int | None:
    names = _choice_names(answer)
    return st.segmented_control(
        "Value",
        list(names),
        format_func=lambda value: escape_markdown(names[value]),
        key=key,
        label_visibility="collapsed",
    )


def _choice_names(answer: Choice) -> dict[int, str]:
    return dict(enumerate(answer.names(), 1)) | ({0: "neither"} if answer.neither else {})


def _draw_rating(answer: Rating, key: str) -> Any:
    if answer.levels:
        return st.segmented_control("Value", answer.levels, format_func=str, key=key, label_visibility="collapsed")
    label = f"From {answer.low:g} to {answer.high:g}"
    return _draw_number(label, key, answer.low, answer.high, answer.step)


def _draw_number(label: str, key: str, low: float, high: float, step: float | None) -> float | int | None:
    value = st.number_input(
        label, float(low), float(high), value=None, step=float(step or 1), key=key, format="%g", width=160
    )
    return int(value) if value is not None and value.is_integer() else value


def _draw_numbers(
    names: tuple[str, ...], key: str, low: float, high: float, step: float | None
) -> dict[str, float] | None:
    with st.container(horizontal=True):
        values = {
            name: _draw_number(escape_markdown(name), f"{key}_{index}", low, high, step)
            for index, name in enumerate(names)
        }
    complete = {name: value for name, value in values.items() if value is not None}
    return complete if len(complete) == len(names) else None


def _draw_weights(names: tuple[str, ...], key: str) -> dict[str, float] | None:
    weights = _draw_numbers(names, key, 0, 100, None)
    if weights is None:
        return None
    total = sum(weights.values())
    if abs(total - 100) > 0.5:
        st.caption(f"The weights sum to {total:g}, not to 100.")
        return None
    return weights


def _draw_lines(label: str, key: str) -> list[str]:
    text = str(st.text_area(label, key=key, height=110))
    return [line.strip() for line in text.splitlines() if line.strip()]
