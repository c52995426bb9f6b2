"""The settings of a protocol as widgets: limits, defaults and help come from the class of the settings itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic.fields import FieldInfo

from core.frozen import Frozen
from core.items import Criterion
from pages.parts.text import safe

Draft = dict[str, Any]
"""Settings as they would stand in YAML, perhaps with parts still missing or wrong."""
ANOTHER, NONE = "another one …", "none"


@dataclass(frozen=True)
class SettingsForm:
    """What a protocol's form is made with."""

    settings: type[Frozen]
    start: Draft
    """What the widgets begin with."""
    prefix: str
    """What the keys of the widgets begin with."""
    criteria: Sequence[Criterion]
    """Those of the study."""
    troubles: list[str] = field(default_factory=list)
    """What is wrong beside what the class of the settings finds itself, a sentence each."""
    notes: list[str] = field(default_factory=list)
    """What has been said on the form already, and need not be said again."""

    def key(self, name: str) -> str:
        """The key of a widget."""
        return f"{self.prefix}{name}"

    def help(self, name: str) -> str:
        """What a setting is for, and its usual value."""
        info = self.settings.model_fields[name]
        words = " ".join((info.description or "").split())
        usual = "" if info.is_required() else _shown(info.get_default())
        return f"{words} Usually: {usual}." if usual else words

    def setting(self, name: str, label: str, words: Mapping[Any, str] | None = None) -> Any:
        """One setting as the widget of its type; `words` are what its options are called."""
        info = self.settings.model_fields[name]
        value = self.start.get(name, info.get_default())
        shown = {"label": label, "key": self.key(name), "help": self.help(name)}
        if get_origin(info.annotation) is Literal:
            return _choice(shown, get_args(info.annotation), value, words or {})
        if info.annotation is bool:
            return st.toggle(value=bool(value), **shown)
        if info.annotation is int:
            return st.number_input(value=int(value), step=1, **_limits(info), **shown)
        return (st.text_input if info.get_default() else st.text_area)(value=str(value), **shown)

    def criterion(self, name: str = "criterion", label: str = "Criterion", needed: bool = True) -> Draft | None:
        """One of the study's criteria, or another that is written here; none where none is needed."""
        start = self.start.get(name) or {}
        names = [criterion.name for criterion in self.criteria]
        options = [*([] if needed else [NONE]), *names, ANOTHER]
        begin = start["name"] if start.get("name") in names else ANOTHER if start.get("name") else options[0]
        chosen = st.selectbox(label, options, index=options.index(begin), key=self.key(name), help=self.help(name))
        if chosen == ANOTHER:
            return self._written(name, start)
        if chosen == NONE:
            return None
        criterion = self.criteria[names.index(str(chosen))]
        _words_of(criterion)
        return criterion.model_dump(mode="json")

    def several(self, name: str, label: str) -> list[Draft]:
        """Some of the study's criteria; others stay as they were loaded."""
        known = {criterion.name: criterion.model_dump(mode="json") for criterion in self.criteria}
        known |= {criterion["name"]: criterion for criterion in self.start.get(name, ())}
        begin = [criterion["name"] for criterion in self.start.get(name, ())]
        chosen = st.multiselect(label, list(known), begin, key=self.key(name), help=self.help(name), placeholder="none")
        return [known[criterion] for criterion in chosen]

    def _written(self, name: str, start: Draft) -> Draft:
        title = st.text_input(
            "Its name", start.get("name", ""), key=self.key(f"{name}_name"), placeholder="helpfulness"
        )
        definition = st.text_area("Definition", start.get("definition", ""), height=80, key=self.key(f"{name}_text"))
        rubric = st.text_area(
            "Rubric, one level a line, the lowest first",
            "\n".join(start.get("rubric", ())),
            height=140,
            key=self.key(f"{name}_rubric"),
            placeholder="Not helpful - The response misses what was asked.",
        )
        lines = [line.strip() for line in rubric.splitlines() if line.strip()]
        told = {"name": " ".join(title.split()), "definition": definition.strip(), "rubric": lines}
        return told | ({"scale": start["scale"]} if start.get("scale") else {})


def _choice(shown: Draft, options: Sequence[Any], value: Any, words: Mapping[Any, str]) -> Any:
    return st.selectbox(
        options=options,
        index=options.index(value) if value in options else 0,
        format_func=lambda option: words.get(option, str(option)),
        **shown,
    )


def _limits(info: FieldInfo) -> dict[str, int]:
    """The least and the most that the class allows."""
    found: dict[str, Any] = {}
    for limit in info.metadata:
        match limit:
            case annotated_types.Ge(ge=least):
                found["min_value"] = least
            case annotated_types.Le(le=most):
                found["max_value"] = most
    return found


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | str) else ""


def _words_of(criterion: Criterion) -> None:
    """A criterion without words leaves the judges to guess: say so."""
    if criterion.definition:
        st.caption(safe(criterion.definition))
    if criterion.rubric:
        st.caption(f"Rubric of {len(criterion.rubric)} levels.")
    if not criterion.definition and not criterion.rubric:
        st.caption(
            ":material/warning: Only a name: the judges are told no more. Add a definition or rubric under Studies."
        )
